"""What is shown to agents is read back as the same files."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from chatdev.reply import parse_reply, render_files

LINES = st.one_of(
    st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), max_size=20),
    st.sampled_from(
        [
            "```",
            "````",
            "```python",
            "~~~",
            "~~~~",
            "   ```",
            "- ```",
            "main.py",
            "# a.py",
            "'''",
            '"""',
            "x = 1",
            "",
        ]
    ),
)
CONTENT = st.lists(LINES, max_size=12).map(lambda lines: "".join(f"{line}\n" for line in lines))
FOLDERS = st.sampled_from(["", "src/", "a-b/c.d/", "tests/unit/"])
NAMES = """main.py board.py GameBoard.py __init__.py my-app.py index.min.js style.css README.md data.json notes.txt
Dockerfile Makefile .gitignore run.sh a.yaml odd.quiz 2.py file.py"""
PATHS = st.builds(str.__add__, FOLDERS, st.sampled_from(NAMES.split()))
# A file that holds its own name alone is taken for a misunderstanding.
FILES = st.dictionaries(PATHS, CONTENT, max_size=5).filter(
    lambda files: not any(path == text.strip() for path, text in files.items())
)


@settings(deadline=None, max_examples=400)
@given(FILES)
def test_rendered_files_parse_to_the_same_files(files: dict[str, str]) -> None:
    reply = parse_reply("Here is the product.\n\n" + render_files(files) + "\nThat is all.\n")
    assert reply.files == files
    assert reply.problems == ()


@settings(deadline=None, max_examples=300)
@given(st.text(st.one_of(st.sampled_from("`~ \n#*.py:/\\'\"()x-"), st.characters()), max_size=200))
def test_any_reply_can_be_read(text: str) -> None:
    reply = parse_reply(text)
    assert all("\r" not in content for content in reply.files.values())
    assert not any(path.startswith("/") or ".." in path.split("/") for path in reply.files)


def test_the_form_shown_to_agents() -> None:
    shown = render_files({"main.py": "import a", "README.md": "```\nx\n```\n"})
    assert shown == "main.py\n```python\nimport a\n```\n\nREADME.md\n````markdown\n```\nx\n```\n````\n"
