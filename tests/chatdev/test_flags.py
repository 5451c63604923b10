"""The switches of a company: each does what it promises, alone and with the others."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import chatdev.run
from chatdev import memory
from chatdev.cli import main
from chatdev.company import PROJECT
from chatdev.run import resume, start
from chatdev.settings import Settings
from journal import Event, read
from journal.events import Answered, Noted, Retrieved, SubtaskStarted
from retrieval import Unavailable
from retrieval.records import Hit

Tools = Any  # the fixtures of conftest.py
Shelf = Any
GOOD, BETTER, CRASHES = (
    f"main.py\n```python\n{code}\n```\n" for code in ("print(1)", "print(2)", "raise SystemExit('no file')")
)
SCRIPT = {
    "Coding": GOOD,
    "CodeReviewComment": "<INFO> Finished",
    "CodeReviewModification": BETTER,
    "ELSE": "Here you are.\n<INFO> Build a to-do list kept in todo.json with `add TEXT`.",
}
Run = Callable[..., tuple[int, Path]]


@pytest.fixture
def run(tmp_path: Path, tools: Tools) -> Run:
    """Run the small company with flags, each run in a folder of its own of one warehouse."""
    runs = iter(range(100))

    def with_flags(
        flags: dict[str, str], task: str = "A to-do list", script: Any = SCRIPT, chain: Any = None, **more: Any
    ) -> tuple[int, Path]:
        number = next(runs)
        company = tools.write_company(tmp_path / f"company{number}", chain or ["Coding", tools.REVIEW])
        file = company / "ChatChainConfig.json"
        file.write_text(json.dumps({**json.loads(file.read_text()), **flags}))
        settings = Settings(
            task=task,
            name=f"Run{number}",
            config=str(company),
            model=tools.script_file(tmp_path / f"script{number}.json", script),
            uq="off",
            **more,
        )
        code = start(settings, tmp_path / "warehouse")
        return code, next((tmp_path / "warehouse").glob(f"Run{number}_*"))

    return with_flags


def events(product: Path, kind: type[Event]) -> list[Any]:
    return [event for event in read(product / "journal.jsonl") if isinstance(event, kind)]


def prompts(product: Path, subtask: str) -> list[str]:
    return [event.messages[-1]["content"] for event in events(product, Answered) if event.subtask == subtask]


# self_improve


def test_the_task_is_put_into_better_words_once_and_all_prompts_have_them(run: Run) -> None:
    code, product = run({"self_improve": "True"}, task="todo list in todo.json, `add TEXT`")
    assert code == 0
    assert [event.subtask for event in events(product, SubtaskStarted)] == [
        "SelfImprove",
        "Coding",
        "CodeReviewComment",
    ]
    assert (product / "Run0.prompt").read_text() == "todo list in todo.json, `add TEXT`"
    assert "Task:\nBuild a to-do list kept in todo.json with `add TEXT`.\n" in (product / "meta.txt").read_text()


def test_better_words_that_lose_a_name_or_number_are_not_taken(run: Run) -> None:
    task = 'Keep at most 30 entries in `my.db`, called with --level or "fast"'
    _, product = run({"self_improve": "True"}, task=task)
    (note,) = [event.note for event in events(product, Noted)]
    assert note.startswith("the task stays as it is; its new words lack ")
    for detail in ("30", "`my.db`", "--level", '"fast"'):
        assert detail in note
    assert f"Task:\n{task}\n" in (product / "meta.txt").read_text()


# with_memory

WRONG = {**SCRIPT, "CodeReviewComment": ["It forgets to save the file.", "<INFO> Finished"]}


def test_what_a_similar_product_taught_reaches_the_prompt_of_the_next(run: Run, tmp_path: Path) -> None:
    run({"with_memory": "True"}, task="A to-do list kept in a file", script=WRONG)
    run({"with_memory": "True"}, task="A chess clock for two players", script=WRONG)
    store = tmp_path / "warehouse" / memory.STORE
    assert [json.loads(line)["task"] for line in store.read_text().splitlines()] == [
        "A to-do list kept in a file",
        "A chess clock for two players",
    ]
    _, product = run({"with_memory": "True"}, task="To-do lists with priorities, kept in a file")
    (asked,) = prompts(product, "Coding")
    assert "[Coding] in Python\n\nWhat went wrong in similar programs before:" in asked
    assert "It forgets to save the file. The change that was kept:\n  print(2)" in asked
    _, unlike = run({"with_memory": "True"}, task="Sudoku solver")
    assert prompts(unlike, "Coding") == ["[Coding] in Python"]


def test_a_task_with_an_odd_line_break_is_remembered(tmp_path: Path) -> None:
    entry = {"product": "P", "task": "a to-do list\u2028kept in a file", "lessons": ["Close the file."]}
    (tmp_path / "memory.jsonl").write_text(json.dumps(entry, ensure_ascii=False) + "\n", encoding="utf-8")
    assert "Close the file." in memory.recall(tmp_path / "memory.jsonl", "a to-do list kept in a file")


def test_without_the_flag_nothing_is_remembered_nor_recalled(run: Run, tmp_path: Path) -> None:
    run({"with_memory": "True"}, script=WRONG)
    _, product = run({}, script=WRONG)
    assert prompts(product, "Coding") == ["[Coding] in Python"]
    assert len((tmp_path / "warehouse" / memory.STORE).read_text().splitlines()) == 1


def test_a_comment_whose_change_was_taken_back_teaches_nothing_and_a_failure_does(
    run: Run, tmp_path: Path
) -> None:
    run({"with_memory": "True"}, script={**WRONG, "CodeReviewModification": CRASHES})
    assert not (tmp_path / "warehouse" / memory.STORE).exists()
    run({"with_memory": "True"}, script={**SCRIPT, "Coding": CRASHES}, chain=["Coding"])
    (line,) = (tmp_path / "warehouse" / memory.STORE).read_text().splitlines()
    assert json.loads(line)["lessons"] == ["It failed in the end: It ended with exit code 1: no file"]


def test_a_resumed_run_recalls_what_it_recalled_and_a_damaged_store_does_no_harm(run: Run, tmp_path: Path) -> None:
    run({"with_memory": "True"}, script=WRONG)
    _, product = run({"with_memory": "True"})
    asked = prompts(product, "Coding")
    store = tmp_path / "warehouse" / memory.STORE
    store.write_text('not json\n{"product": 1}\n[]\n')
    lines = (product / "journal.jsonl").read_bytes().splitlines(keepends=True)
    (product / "journal.jsonl").write_bytes(b"".join(lines[:-1]))
    assert resume(product) == 0
    assert prompts(product, "Coding") == asked
    assert run({"with_memory": "True"})[0] == 0


def test_a_run_that_goes_on_from_within_its_folder_remembers_in_the_warehouse(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, product = run({"with_memory": "True"}, script=WRONG)
    (tmp_path / "warehouse" / memory.STORE).unlink()
    lines = (product / "journal.jsonl").read_bytes().splitlines(keepends=True)
    (product / "journal.jsonl").write_bytes(b"".join(lines[:-1]))
    monkeypatch.chdir(product)
    assert resume(Path()) == 0
    assert (tmp_path / "warehouse" / memory.STORE).is_file() and not (product / memory.STORE).exists()


def test_a_store_that_cannot_be_used_does_no_harm_and_is_named(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "warehouse" / memory.STORE).mkdir(parents=True)
    code, _ = run({"with_memory": "True"}, script=WRONG)
    said = capsys.readouterr()
    assert code == 0 and "The product is in" in said.out
    assert "memory.jsonl cannot be written (Is a directory)." in said.err

    def refuse(*arguments: object) -> str:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(chatdev.run, "recall", refuse)
    assert run({"with_memory": "True"})[0] == 0
    assert "memory.jsonl cannot be read (Permission denied)." in capsys.readouterr().err


def test_a_prompt_with_a_place_for_examples_has_them_there(run: Run, tools: Tools, tmp_path: Path) -> None:
    store = tmp_path / "warehouse" / memory.STORE
    store.parent.mkdir()
    store.write_text(json.dumps({"product": "P", "task": "A to-do list", "lessons": ["Save it."]}) + "\n")
    company = tools.write_company(tmp_path / "mine", ["Coding"])
    phases, chain = company / "PhaseConfig.json", company / "ChatChainConfig.json"
    phases.write_text(phases.read_text().replace("[Coding] in {language}", "[Coding] ({examples})"))
    chain.write_text(json.dumps({**json.loads(chain.read_text()), "with_memory": 1}))
    model = tools.script_file(tmp_path / "script.json", SCRIPT)
    start(Settings(task="A to-do list", config=str(company), model=model, uq="off"), tmp_path / "warehouse")
    (product,) = (folder for folder in (tmp_path / "warehouse").iterdir() if folder.is_dir())
    assert prompts(product, "Coding") == ["[Coding] (What went wrong in similar programs before:\n- Save it.)"]


# web_spider


LISTS = Hit("Lists", "pydoc:lists", "A list of things to do.", 1.0)


def test_what_the_web_says_is_the_description(run: Run, shelf: Shelf) -> None:
    shelf.says = (LISTS,)
    script = {**SCRIPT, "Slogan": "Do it."}
    _, product = run({"web_spider": "True"}, retrieval="docs", chain=["Slogan", "Coding"], script=script)
    assert shelf.asked == ["to-do list"]
    (retrieved,) = events(product, Retrieved)
    assert [passage["text"] for passage in retrieved.passages] == ["A list of things to do."]
    (slogan,), (coding,) = prompts(product, "Slogan"), prompts(product, "Coding")
    assert slogan == "[Slogan] for A to-do list"
    assert coding.startswith("[Coding] in Python\n\n") and "A list of things to do." in coding


def test_a_prompt_with_a_place_for_the_description_has_it_there_alone(
    run: Run, tools: Tools, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf.says = (LISTS,)
    monkeypatch.setitem(tools.PHASES, "Coding", ("Programmer", "Chief Technology Officer", "({description})"))
    _, product = run({"web_spider": "True"}, retrieval="docs", chain=["Coding"])
    (coding,) = prompts(product, "Coding")
    assert coding.count("A list of things to do.") == 1


def test_where_nothing_is_found_a_note_says_so(run: Run, shelf: Shelf) -> None:
    shelf.says = Unavailable("blocked")
    for retrieval in ("off", "docs"):
        code, product = run({"web_spider": "True"}, retrieval=retrieval)
        assert code == 0
        assert "web_spider is on, but nothing was found" in events(product, Noted)[0].note


# clear_structure, and all together


def test_nothing_in_the_warehouse_is_deleted_that_the_run_did_not_make(run: Run, tmp_path: Path) -> None:
    warehouse = tmp_path / "warehouse"
    (warehouse / "Old_Demo_1" / "__pycache__").mkdir(parents=True)
    mine = [warehouse / ".gitkeep", warehouse / "README.md", warehouse / "Old_Demo_1" / "__pycache__" / "a.pyc"]
    for path in mine:
        path.write_text("mine")
    assert run({"clear_structure": "True"})[0] == 0
    assert [path.read_text() for path in mine] == ["mine"] * 3


def test_a_finished_product_holds_no_leftovers(run: Run) -> None:
    _, product = run({"clear_structure": "True"})
    assert not [path for path in product.rglob("*") if path.name == "__pycache__" or path.suffix == ".tmp"]


@pytest.mark.parametrize(("value", "asked"), [("True", True), ("False", False)])
def test_a_graphical_interface_is_asked_for_where_it_is_wanted(tmp_path: Path, value: str, asked: bool) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    chain = json.loads((PROJECT / "CompanyConfig" / "Default" / "ChatChainConfig.json").read_text())
    (folder / "ChatChainConfig.json").write_text(json.dumps({**chain, "gui_design": value}))
    (tmp_path / "script.json").write_text(json.dumps([{"match": ".", "text": GOOD}]))
    settings = Settings(config=str(folder), model=f"scripted:{tmp_path / 'script.json'}", uq="off")
    assert start(settings, tmp_path / "warehouse") == 0
    (product,) = (tmp_path / "warehouse").iterdir()
    assert ("graphical interface" in prompts(product, "Coding")[0]) == asked


FLAGS = ("clear_structure", "gui_design", "git_management", "web_spider", "self_improve", "with_memory")


@pytest.mark.parametrize("config", ["Art", "Draft", "Human", "Incremental"])
@pytest.mark.parametrize("value", ["True", "False"])
def test_flags_combine_freely_with_every_company(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, config: str, value: str
) -> None:
    company = tmp_path / config
    company.mkdir()
    chain = json.loads((PROJECT / "CompanyConfig" / config / "ChatChainConfig.json").read_text())
    wanted = {**dict.fromkeys(FLAGS, value), "background_prompt": "We are a test."}
    (company / "ChatChainConfig.json").write_text(json.dumps({**chain, **wanted}))
    script = [{"match": ".", "text": f"{BETTER}\nsun.png: a sun\n"}]
    (tmp_path / "script.json").write_text(json.dumps(script))
    monkeypatch.setattr(sys, "stdin", io.StringIO("print 2\nend\nexit\n"))
    arguments = ["--config", str(company), "--model", f"scripted:{tmp_path / 'script.json'}", "--uq", "off"]
    arguments += ["--warehouse", str(tmp_path / "w"), "--path", str(PROJECT / "tests" / "data" / "incremental")]
    assert main(arguments) == 0
    product = next(folder for folder in (tmp_path / "w").iterdir() if folder.is_dir())
    assert (product / ".git").exists() == (value == "True")
    assert f"ChatEnvConfig.with_memory: {value}" in (product / "meta.txt").read_text()
    answered = events(product, Answered)
    assert all(event.messages[0]["content"].startswith("We are a test.") for event in answered)


def test_the_three_modes_may_be_one_company(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chains = {
        config: json.loads((PROJECT / "CompanyConfig" / config / "ChatChainConfig.json").read_text())
        for config in ("Art", "Human")
    }
    human = chains["Human"]["chain"]
    art = next(entry for entry in chains["Art"]["chain"] if entry["phase"] == "Art")
    (tmp_path / "all").mkdir()
    merged = {
        **chains["Human"],
        "chain": [*human[:4], art, *human[4:]],
        "incremental_develop": "True",
        "brainstorming": "True",
    }
    (tmp_path / "all" / "ChatChainConfig.json").write_text(json.dumps(merged))
    (tmp_path / "script.json").write_text(json.dumps([{"match": ".", "text": f"{BETTER}\nsun.png: a sun\n"}]))
    monkeypatch.setattr(sys, "stdin", io.StringIO("print 2\nend\nexit\n"))
    arguments = [
        "--config",
        str(tmp_path / "all"),
        "--model",
        f"scripted:{tmp_path / 'script.json'}",
        "--uq",
        "off",
    ]
    arguments += ["--warehouse", str(tmp_path / "w"), "--path", str(PROJECT / "tests" / "data" / "incremental")]
    assert main(arguments) == 0
    (product,) = (tmp_path / "w").iterdir()
    played = [event.subtask for event in events(product, SubtaskStarted)]
    assert {"CodeChange", "ArtDesign", "ArtIntegration", "CodeReviewHuman"} <= set(played)
    assert "Coding" not in played
