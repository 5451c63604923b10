"""Incremental runs: a whole tree comes in, the change asked for is made, and the unchanged rest goes out."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from chatdev import given
from chatdev.additions import with_additions
from chatdev.chain import ChatChain
from chatdev.checkpoint import check
from chatdev.cli import main
from chatdev.company import PROJECT, ComposedEntry, SimpleEntry, load_company
from chatdev.session import parse_session
from chatdev.workspace import Workspace
from journal import Event, Journal, read
from journal.events import Answered, Executed, Noted, RolledBack

Tools = Any  # the fixture of conftest.py
PROJECT_GIVEN = PROJECT / "tests" / "data" / "incremental"
CHANGED = """words/store/files.py
```python
def load(path: str) -> list[str]:
    return sorted(['fig', 'apple'])
```
"""
SCRIPT = {
    "DemandAnalysis": "<INFO> Application",
    "LanguageChoose": "<INFO> Python",
    "CodeChange": CHANGED,
    "CodeReviewComment": "<INFO> Finished",
    "EnvironmentDoc": "```\n```",
    "Manual": "# Manual",
}
# How the shipped prompts of each phase are told apart.
PROMPTS = {
    "DemandAnalysis": "What kind of product",
    "LanguageChoose": "Which programming language",
    "CodeChange": "Now make this change|changes nothing",
    "CodeReviewComment": "Compare the program with the task",
    "CodeReviewModification": "A comment on it",
    "TestErrorSummary": "most likely cause",
    "TestModification": "The likely cause",
    "EnvironmentDoc": "Which packages",
    "Manual": "Write the user manual",
}


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """The small nested project, with a picture."""
    copy = shutil.copytree(PROJECT_GIVEN, tmp_path / "given", ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "words" / "logo.png").write_bytes(b"\x89PNG\r\n\x1a\n\x00\xff")
    return copy


@pytest.fixture
def change(tmp_path: Path, tree: Path) -> Callable[..., tuple[int, Path]]:
    def run(*more: str, **script: Any) -> tuple[int, Path]:
        replies = [
            {"match": PROMPTS[phase], "text": text}
            for phase, said in {**SCRIPT, **script}.items()
            for text in ([said] if isinstance(said, str) else said)
        ]
        (tmp_path / "script.json").write_text(json.dumps(replies), encoding="utf-8")
        arguments = ["--task", "Print the words in order.", "--name", "Words", "--org", "Demo", "--uq", "off"]
        arguments += ["--config", "incremental", "--model", f"scripted:{tmp_path / 'script.json'}"]
        arguments += ["--warehouse", str(tmp_path / "warehouse"), "--path", str(tree), *more]
        code = main(arguments)
        return code, sorted((tmp_path / "warehouse").iterdir())[-1]

    return run


def test_the_change_is_made_and_every_other_file_is_delivered_byte_for_byte(
    change: Callable[..., tuple[int, Path]], tree: Path
) -> None:
    before = contents(tree)
    code, product = change()
    assert code == 0
    after = contents(product)
    changed = after["words/store/files.py"].decode()
    assert "return sorted(['fig', 'apple'])" in changed
    # A part of a file changes that part.
    assert "def save(path" in changed and 'ENCODING = "utf-8"' in changed
    for path in before.keys() - {"words/store/files.py"}:
        assert after[path] == before[path], path
    assert {f"base/{path}": text for path, text in before.items()}.items() <= after.items()
    assert contents(tree) == before
    assert "ChatEnvConfig.incremental_develop: True" in (product / "meta.txt").read_text()


def test_the_programmer_sees_the_whole_tree_and_not_only_python(change: Callable[..., tuple[int, Path]]) -> None:
    _, product = change()
    answered = [event for event in read(product / "journal.jsonl") if isinstance(event, Answered)]
    (asked,) = [event.messages[-1]["content"] for event in answered if event.subtask == "CodeChange"]
    for shown in ("main.py\n```python", "words/store/files.py\n", "templates/page.html\n```html", "words.txt\n"):
        assert shown in asked
    assert "logo.png" not in asked


def test_a_reply_that_changes_nothing_is_asked_for_once_more(change: Callable[..., tuple[int, Path]]) -> None:
    same = f"main.py\n```python\n{(PROJECT_GIVEN / 'main.py').read_text()}```\n"
    code, product = change(CodeChange=[same, CHANGED])
    answered = [event for event in read(product / "journal.jsonl") if isinstance(event, Answered)]
    assert [event.purpose for event in answered if event.subtask == "CodeChange"] == ["answer", "form"]
    assert code == 0


def test_a_run_that_changes_nothing_does_not_succeed_and_says_so(
    change: Callable[..., tuple[int, Path]], tree: Path
) -> None:
    code, product = change(CodeChange="I would rather not.", EnvironmentDoc="```\nrich\n```")
    assert code == 4 and (product / "requirements.txt").read_text() == "rich\n"
    notes = [event.note for event in read(product / "journal.jsonl") if isinstance(event, Noted)]
    assert "Nothing was changed: the product is the given code." in notes
    assert (product / "words/store/files.py").read_bytes() == (tree / "words/store/files.py").read_bytes()


def test_a_change_that_breaks_the_program_is_taken_back_and_asked_for_again_with_the_reason(
    change: Callable[..., tuple[int, Path]],
) -> None:
    breaks = "words/store/files.py\n```python\ndef load(path: str) -> list[str]:\n    return lost\n```\n"
    code, product = change(CodeChange=[breaks, CHANGED])
    events = read(product / "journal.jsonl")
    asked = [event for event in events if isinstance(event, Answered) and event.subtask == "CodeChange"]
    assert [event.reason for event in events if isinstance(event, RolledBack)] == ["it made the product worse"]
    assert "The last change was taken back" not in asked[0].messages[-1]["content"]
    assert "The last change was taken back, it made the product worse:" in asked[1].messages[-1]["content"]
    assert code == 0
    assert "sorted" in (product / "words/store/files.py").read_text()


def test_a_list_of_packages_that_cannot_be_read_stays_and_is_no_change(
    change: Callable[..., tuple[int, Path]], tree: Path
) -> None:
    (tree / "requirements.txt").write_text("rich\n", encoding="utf-16")
    code, product = change(CodeChange="I would rather not.", EnvironmentDoc="```\nflask\n```")
    assert code == 4
    assert (product / "requirements.txt").read_text("utf-16") == "rich\n"


def test_a_change_of_the_list_of_packages_is_a_change_and_stays(
    change: Callable[..., tuple[int, Path]], tree: Path
) -> None:
    (tree / "requirements.txt").write_text("rich==1\n")
    listed = "requirements.txt\n```\nrich==2\n```\n"
    code, product = change(CodeChange=listed, EnvironmentDoc="```\nrich\nflask\n```")
    assert code == 0
    assert (product / "requirements.txt").read_text() == "rich==2\nflask\n"


def test_windows_line_ends_stay_in_a_file_that_changes(change: Callable[..., tuple[int, Path]]) -> None:
    page = "templates/page.html\n```html\n<h1>Words in order</h1>\n<ol>{words}</ol>\n```\n"
    _, product = change(CodeChange=page)
    assert (product / "templates/page.html").read_bytes() == b"<h1>Words in order</h1>\r\n<ol>{words}</ol>\r\n"


def test_what_was_unfinished_or_broken_before_is_nobodys_business(
    change: Callable[..., tuple[int, Path]], tree: Path
) -> None:
    old = "import some_inhouse_package\n\n\ndef later():\n    pass\n"
    (tree / "words" / "plans.py").write_text(old)
    (tree / "templates" / "page.py").write_text("def {{ name }}:\n")
    code, product = change()
    assert code == 0
    assert (product / "words" / "plans.py").read_text() == old


def test_hidden_files_are_delivered_and_never_shown_to_a_model(
    change: Callable[..., tuple[int, Path]], tree: Path
) -> None:
    (tree / ".env").write_text("TOKEN=secret")
    _, product = change()
    assert (product / ".env").read_text() == "TOKEN=secret"
    assert "secret" not in (product / "journal.jsonl").read_text()


def test_a_tree_without_a_main_py_is_not_blamed_for_it(
    change: Callable[..., tuple[int, Path]], tree: Path
) -> None:
    (tree / "main.py").rename(tree / "app.py")
    code, product = change()
    assert code == 0
    assert (product / "app.py").exists() and not (product / "main.py").exists()


def test_a_product_of_an_earlier_run_can_be_worked_on(change: Callable[..., tuple[int, Path]]) -> None:
    _, first = change()
    code, second = change("--path", str(first), CodeChange="words.txt\n```\nkiwi\n```\n")
    assert code == 0 and first != second
    assert (second / "words.txt").read_text() == "kiwi\n"
    assert (second / "base/words.txt").read_bytes() == (PROJECT_GIVEN / "words.txt").read_bytes()
    assert "sorted" in (second / "words/store/files.py").read_text()
    assert not (second / "base" / "base").exists() and not (second / "base" / "meta.txt").exists()


def test_a_stopped_run_goes_on_although_the_given_folder_is_gone(
    change: Callable[..., tuple[int, Path]], tree: Path
) -> None:
    _, product = change()
    whole = contents(product)
    lines = (product / "journal.jsonl").read_bytes().splitlines(keepends=True)
    at = next(place for place, line in enumerate(lines) if b'"FilesChanged"' in line)
    (product / "journal.jsonl").write_bytes(b"".join(lines[: at + 1]))
    shutil.rmtree(tree)
    assert main(["--resume", str(product)]) == 0
    records = {name for name in whole if name.endswith((".jsonl", ".log"))}
    assert {path: text for path, text in contents(product).items() if path not in records} == {
        path: text for path, text in whole.items() if path not in records
    }


def test_a_disk_that_is_full_before_the_first_call_stops_the_run_which_can_go_on(
    change: Callable[..., tuple[int, Path]], monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = shutil.copy

    def copy_once(source: Path, target: Path) -> None:
        if "base" in source.parts:
            raise OSError(errno.ENOSPC, "No space left on device")
        copy(source, target)

    monkeypatch.setattr(shutil, "copy", copy_once)
    code, product = change()
    assert code == 4
    assert main(["--resume", str(product)]) == 4
    monkeypatch.undo()
    assert main(["--resume", str(product)]) == 0


def test_a_stopped_run_whose_given_code_is_gone_says_so(
    change: Callable[..., tuple[int, Path]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(ChatChain, "run", interrupt)
    code, product = change()
    assert code == 130
    shutil.rmtree(product / "base")
    assert main(["--resume", str(product)]) == 2
    assert "the copy of the given code is gone; put base back." in capsys.readouterr().err


def interrupt(chain: ChatChain) -> None:
    raise KeyboardInterrupt


def test_links_tools_and_records_are_left_out_and_named(tree: Path, tmp_path: Path) -> None:
    for path in (".git/config", "node_modules/a/b.js", "env/pyvenv.cfg", "journal.jsonl", "__pycache__/a.pyc"):
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_text("x")
    os.symlink("/etc/passwd", tree / "words" / "passwd")
    (tmp_path / "product").mkdir()
    left_out = given.keep_copy(tree, tmp_path / "product")
    assert sorted(line.partition(":")[0] for line in left_out) == [
        ".git",
        "__pycache__",
        "env",
        "journal.jsonl",
        "node_modules",
        "words/passwd",
    ]
    assert given.take_over(tmp_path / "product", Workspace(tmp_path / "product")).files.keys() == {
        path for path in contents(PROJECT_GIVEN) if "__pycache__" not in path
    }


def test_a_folder_called_base_of_ones_own_is_worked_on_too(tree: Path, tmp_path: Path) -> None:
    (tree / "base").mkdir()
    (tree / "base" / "unit.py").write_text("ONE = 1\n")
    product = tmp_path / "product"
    product.mkdir()
    given.keep_copy(tree, product)
    taken = given.take_over(product, Workspace(product))
    assert taken.base == "base_before"
    assert taken.files["base/unit.py"] == "ONE = 1\n"


def test_a_stopped_run_is_a_product_too_and_its_copy_no_code(tree: Path, tmp_path: Path) -> None:
    (tree / "base").mkdir()
    (tree / "journal.jsonl").write_text("{}")
    for name in ("product", "later"):
        (tmp_path / name).mkdir()
    assert "base: made by a company" in given.keep_copy(tree, tmp_path / "product")
    (tree / "base_before").mkdir()
    (tree / "base" / "unit.py").write_text("ONE = 1\n")
    assert "base_before: made by a company" in given.keep_copy(tree, tmp_path / "later")
    assert (tmp_path / "later" / "base_before" / "base" / "unit.py").exists()


def test_a_warehouse_can_be_given_without_being_copied_into_itself(tree: Path) -> None:
    before = contents(tree)
    product = tree / "product"
    product.mkdir()
    assert given.keep_copy(tree, product) == ("product: made by a company",)
    assert contents(product / "base") == before


def test_what_may_not_be_read_is_left_out_and_named(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    may, closed = os.access, ("words.txt", "store")
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path).name not in closed and may(path, mode))
    (tmp_path / "product").mkdir()
    left_out = given.keep_copy(tree, tmp_path / "product")
    assert set(left_out) == {"words.txt: not to be read", "words/store: not to be read"}


def test_files_stay_executable_and_protected(tree: Path, tmp_path: Path) -> None:
    (tree / "words.txt").chmod(0o444)
    (tree / "main.py").chmod(0o755)
    product = tmp_path / "product"
    product.mkdir()
    given.keep_copy(tree, product)
    for _ in range(2):  # as in a resumed run
        workspace = Workspace(product)
        given.take_over(product, workspace)
    workspace.apply({"main.py": "print(1)\n"})
    modes = {path: (product / path).stat().st_mode & 0o777 for path in ("words.txt", "main.py")}
    assert modes == {"words.txt": 0o444, "main.py": 0o755}


def test_no_reply_changes_the_kept_copy_nor_what_nobody_was_shown(tree: Path, tmp_path: Path) -> None:
    (tree / "requirements.txt").write_text("rich\n", encoding="utf-16")
    (tree / ".env").write_text("TOKEN=secret")
    product = tmp_path / "product"
    product.mkdir()
    given.keep_copy(tree, product)
    workspace = Workspace(product)
    given.take_over(product, workspace)
    before = contents(product)
    names = ("base/main.py", "./base/new.py", "requirements.txt", ".env", "words/logo.png")
    change = workspace.apply(dict.fromkeys(names, "print(1)\n"))
    assert set(change.refused) == set(names)
    assert contents(product) == before


def test_the_program_runs_without_the_kept_copy_beside_it(tmp_path: Path) -> None:
    (tmp_path / "base").mkdir()
    source = "import os\nprint(os.path.exists('base'))\n"
    (tmp_path / "main.py").write_text(source)
    (run,) = parse_session("```\n$ python main.py\nFalse\n```")
    journal = Journal(tmp_path / "journal.jsonl")
    executed: list[Event] = []
    journal.listeners.append(lambda event, replayed: executed.append(event))
    assert check(tmp_path, {"main.py": source}, [run], journal, given=given.Given({"main.py": source})).passed
    started = next(event.result for event in executed if isinstance(event, Executed))
    assert started["execution"]["stdout"] == "False\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--path", ""], "Incremental works on code that is there: say with --path where it is."),
        (["--path", "nowhere"], "nowhere: there is no such folder."),
    ],
)
def test_without_code_there_is_nothing_to_work_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    assert main(["--config", "Incremental", "--warehouse", str(tmp_path / "w"), *arguments]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "w").exists()


def test_an_empty_folder_is_no_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty").mkdir()
    assert (
        main(["--config", "Incremental", "--warehouse", str(tmp_path / "w"), "--path", str(tmp_path / "empty")])
        == 2
    )
    assert "no file in it that could be worked on" in capsys.readouterr().err


def test_a_company_that_starts_anew_says_that_it_does_not_look_at_the_path(
    change: Callable[..., tuple[int, Path]], capsys: pytest.CaptureFixture[str]
) -> None:
    change("--config", "Default")
    assert "--path is not used" in capsys.readouterr().err


def test_an_incremental_company_of_chatdev_1_gets_the_phase_that_makes_the_change(
    tmp_path: Path, tools: Tools
) -> None:
    review = tools.composed("CodeReview", 3, "CodeReviewComment", "CodeReviewModification")
    for place, chain in enumerate(
        (["LanguageChoose", review, "Manual"], ["LanguageChoose", "Coding", review, "Manual"])
    ):
        folder = tools.write_company(tmp_path / str(place), chain)
        file = folder / "ChatChainConfig.json"
        file.write_text(json.dumps({**json.loads(file.read_text()), "incremental_develop": "True"}))
        company = with_additions(load_company(str(folder), PROJECT), PROJECT)
        assert company.chain[1] == ComposedEntry("Change", 3, (SimpleEntry("CodeChange", 1),))
        assert [entry.phase for entry in company.chain] == ["LanguageChoose", "Change", "CodeReview", "Manual"]
        assert company.phases["Manual"].lines == ("[Manual] needs {requirements}",)
        assert "{codes}" in company.phases["CodeChange"].text(composed=True)


@pytest.mark.model
@pytest.mark.timeout(900)
def test_a_small_model_delivers_every_file_and_the_changed_one(tree: Path, tmp_path: Path) -> None:
    task = "Change the function show in main.py: it prints the number of each word before the word, like `1 pear`."
    arguments = [
        "--task",
        task,
        "--name",
        "Words",
        "--org",
        "Test",
        "--config",
        "Incremental",
        "--path",
        str(tree),
    ]
    main([*arguments, "--model", "qwen2.5-coder-0.5b", "--warehouse", str(tmp_path / "warehouse")])
    (product,) = (tmp_path / "warehouse").iterdir()
    before, after = contents(tree), contents(product)
    assert before.keys() <= after.keys()
    assert after["main.py"] != before["main.py"]
    for path in ("words/store/__init__.py", "words/logo.png", "templates/page.html"):
        assert after[path] == before[path], path
