"""A whole run from the command line: what it leaves, what it prints, and how it ends when something is wrong."""

from __future__ import annotations

import errno
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from chatdev import product
from chatdev.chat_log import ChatLog
from chatdev.cli import main
from chatdev.company import COMPANY_FILES, PROJECT
from journal import read
from journal.events import Deliberated, Gated, Measured, Noted, RunEnded, RunStarted, SubtaskStarted

Tools = Any  # the fixture of conftest.py
BROKEN = PROJECT / "tests" / "data" / "companies"
GOOD = "main.py\n```python\nprint(1)\n```\n"
SCRIPT = {
    "DemandAnalysis": "<INFO> Application",
    "LanguageChoose": "<INFO> Python",
    "Coding": GOOD,
    "CodeReviewComment": "<INFO> Finished",
    "EnvironmentDoc": "```\npygame\n```\n<INFO> done",
    "Manual": "# Manual\n\nRun it.",
}


class Command:
    """Runs the command in a warehouse of its own, with the small company unless told otherwise."""

    def __init__(self, folder: Path, tools: Tools) -> None:
        self.folder, self.tools = folder, tools
        self.warehouse = folder / "warehouse"
        self.company = folder / "company"

    def arguments(self, *more: str, script: Mapping[str, Any] = SCRIPT, chain: Any = None) -> list[str]:
        if not self.company.exists():
            self.tools.write_company(self.company, chain or self.tools.WHOLE_CHAIN)
        given = {
            "--task": "a program that prints 1",
            "--name": "Todo",
            "--org": "Demo",
            "--config": str(self.company),
            "--warehouse": str(self.warehouse),
            "--model": self.tools.script_file(self.folder / "script.json", script),
        }
        given.update(zip(more[::2], more[1::2], strict=True))
        return [word for pair in given.items() for word in pair]

    def __call__(self, *more: str, **options: Any) -> int:
        return main(self.arguments(*more, **options))

    @property
    def products(self) -> list[Path]:
        return sorted(self.warehouse.iterdir()) if self.warehouse.exists() else []

    @property
    def product(self) -> Path:
        (folder,) = self.products
        return folder


@pytest.fixture
def command(tmp_path: Path, tools: Tools) -> Command:
    return Command(tmp_path, tools)


def subprocess_of(*arguments: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, *arguments], cwd=cwd, capture_output=True, timeout=60, env={**os.environ, **environment}
    )


def test_a_run_leaves_all_that_chatdev_leaves(command: Command) -> None:
    assert command() == 0
    folder = command.product
    assert re.fullmatch(r"Todo_Demo_\d{14}", folder.name)
    assert {path.name for path in folder.iterdir()} == {
        "main.py",
        "requirements.txt",
        "manual.md",
        "meta.txt",
        "Todo.prompt",
        f"{folder.name}.log",
        "journal.jsonl",
        *COMPANY_FILES,
    }
    assert (folder / "main.py").read_text() == "print(1)\n"
    assert (folder / "requirements.txt").read_text() == "pygame\n"
    assert (folder / "manual.md").read_text() == "# Manual\n\nRun it.\n"
    assert (folder / "Todo.prompt").read_text() == "a program that prints 1"
    for name in COMPANY_FILES:
        assert (folder / name).read_bytes() == (command.company / name).read_bytes()


def test_policy_hassum_from_the_command_line(command: Command, capsys: pytest.CaptureFixture[str]) -> None:
    # The embedding model is another process's affair: it may be installed here or not.
    command.tools.write_company(command.company, command.tools.WHOLE_CHAIN, {"hassum": {"density": None}})
    assert command("--uq", "hassum") == 0
    decided = [event for event in read(command.product / "journal.jsonl") if isinstance(event, Deliberated)]
    prose = ["DemandAnalysis", "LanguageChoose", "CodeReviewComment", "EnvironmentDoc", "Manual"]
    assert [(event.subtask, event.decision) for event in decided] == [(phase, "accept") for phase in prose]
    assert re.search(r"^Manual .*hassum: accept after round 1", capsys.readouterr().out, re.MULTILINE)


def test_meta_has_chatdevs_labels_in_order(command: Command) -> None:
    command()
    meta = (command.product / "meta.txt").read_text("utf-8")
    sections = re.findall(r"^(\w+):\n", meta, re.MULTILINE)
    assert sections == [
        "Task",
        "Config",
        "Roster",
        "Modality",
        "Ideas",
        "Language",
        "Code_Version",
        "Proposed_images",
        "Incorporated_images",
        "Status",
    ]
    config = meta.partition("Config:\n")[2].partition("\n\n")[0]
    assert re.findall(r"ChatEnvConfig\.(\w+): ", config) == [
        "with_memory",
        "clear_structure",
        "git_management",
        "gui_design",
        "incremental_develop",
        "background_prompt",
    ]
    assert "Task:\na program that prints 1\n\n" in meta
    assert "Modality:\napplication\n\n" in meta
    assert "Language:\nPython\n\n" in meta
    assert re.search(r"Code_Version:\n\d+\.\d\n\n", meta)


def test_the_closing_table_has_a_row_for_each_subtask_and_says_where_the_product_is(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    command()
    table = capsys.readouterr().out
    events = read(command.product / "journal.jsonl")
    started = [event.subtask for event in events if isinstance(event, SubtaskStarted)]
    rows = [line.split()[0] for line in table.splitlines() if line and line.split()[0] in (*started, "total")]
    assert rows == [*started, "total"]
    assert re.search(r"^Coding +0\.020 +0\.500 fallback +proceed +1 ", table, re.MULTILINE)
    ended = events[-1]
    assert isinstance(ended, RunEnded)
    assert re.search(rf"^total +{len(started)} +{ended.totals['prompt_tokens']} ", table, re.MULTILINE)
    assert "The product runs: It ended with exit code 0." in table
    assert str(command.product) in table


def test_progress_is_told_while_the_run_goes_on(command: Command, capsys: pytest.CaptureFixture[str]) -> None:
    command()
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "Todo: Demo works on it with scripted."
    assert "Coding …" in lines
    assert any(line.startswith("Coding: 1 calls, ") for line in lines)


def test_the_log_has_the_records_that_chatdevs_pages_know(command: Command) -> None:
    command()
    log = (command.product / f"{command.product.name}.log").read_text("utf-8")
    assert re.match(r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d INFO\] \*\*\[Preprocessing\]\*\*", log)
    for marker in (
        f"**ChatDev Starts** ({command.product.name[-14:]})",
        "| **model_type** | scripted |",
        "Chief Technology Officer: **[Start Chat]**\n\n[You are the Programmer.]",
        "Programmer: **Programmer<->Chief Technology Officer on : Coding, turn 0**",
        "**[OpenAI_Usage_Info Receive]**\nprompt_tokens: ",
        "**[Seminar Conclusion]**:\n\n Python",
        "**[Update Codes]**",
        "**[Test Reports]**",
        "**[Post Info]**",
        "ChatDev Ends (",
    ):
        assert marker in log, marker


def test_a_product_that_fails_is_exit_code_4_and_says_why(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    failing = {**SCRIPT, "Coding": "main.py\n```python\nraise SystemExit('no')\n```\n"}
    assert command(script=failing, chain=["Coding"]) == 4
    assert "The product fails: It ended with exit code 1: no" in capsys.readouterr().out


def test_a_product_with_stubs_is_exit_code_4_and_names_them(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    stub = {**SCRIPT, "Coding": "main.py\n```python\ndef run():\n    ...\nrun()\n```\n"}
    assert command(script=stub, chain=["Coding"]) == 4
    assert "main.py:1: the function has no implementation" in capsys.readouterr().out


def test_a_chain_without_code_is_exit_code_4(command: Command, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(chain=["Slogan"], script={"Slogan": "Buy it"}) == 4
    assert "never checked" in capsys.readouterr().out


@pytest.mark.parametrize(("mode", "measured", "gated"), [("on", 6, 6), ("observe", 6, 6), ("off", 0, 0)])
def test_uncertainty_is_measured_where_it_is_wanted(
    command: Command, mode: str, measured: int, gated: int
) -> None:
    assert command("--uq", mode) == 0
    events = read(command.product / "journal.jsonl")
    assert sum(isinstance(event, Measured) for event in events) == measured
    assert sum(isinstance(event, Gated) for event in events) == gated


def test_a_company_may_ask_to_be_observed_only(command: Command, tools: Tools) -> None:
    tools.write_company(command.company, ["Manual"], {"mode": "observe"})
    unsure = [{"text": "# Manual", "u": 2.0}]
    (command.folder / "unsure.json").write_text(json.dumps(unsure))
    command("--model", f"scripted:{command.folder / 'unsure.json'}")
    (gated,) = [event for event in read(command.product / "journal.jsonl") if isinstance(event, Gated)]
    assert gated.triggered and gated.remedies == []


@pytest.mark.parametrize("config", ["Default", "DEFAULT", " default "])
def test_the_default_company_is_found_in_any_case_and_finishes_a_run(command: Command, config: str) -> None:
    everything = [{"match": ".", "text": f"{GOOD}\n<INFO> Finished"}]
    (command.folder / "all.json").write_text(json.dumps(everything))
    assert command("--config", config, "--model", f"scripted:{command.folder / 'all.json'}") == 0
    default = PROJECT / "CompanyConfig" / "Default"
    for name in COMPANY_FILES:
        assert (command.product / name).read_bytes() == (default / name).read_bytes()


def refused(command: Command, capsys: pytest.CaptureFixture[str], *more: str, code: int = 2) -> str:
    """What is said about a run that is refused: one clear sentence, nothing made, no traceback."""
    assert command(*more) == code
    assert command.products == []
    said = capsys.readouterr()
    assert said.out == ""
    assert "Traceback" not in said.err
    return said.err


def test_an_unknown_company_is_told_which_there_are(command: Command, capsys: pytest.CaptureFixture[str]) -> None:
    said = refused(command, capsys, "--config", "Defualt")
    assert "no company 'Defualt'" in said
    assert "there are: Art, Default, Draft, Human, Incremental" in said


@pytest.mark.parametrize(
    "broken", ["broken_comma", "broken_too_many_turns", "broken_prompt_text", "broken_encoding"]
)
def test_a_malformed_company_is_told_with_file_line_and_key(
    command: Command, capsys: pytest.CaptureFixture[str], broken: str
) -> None:
    expected = json.loads((BROKEN / "expected.json").read_text())[broken]
    said = refused(command, capsys, "--config", str(BROKEN / broken))
    assert f"{BROKEN / broken / expected['file']}:{expected['line']}: {expected['key']}" in said


@pytest.mark.parametrize(
    ("settings", "place"),
    [
        ({"cap": -1}, "2: cap: -1 "),
        ({"a": 1}, "2: a: there is no such key"),
        ({"remedies": ["x"]}, "3: remedies[0]: "),
    ],
)
def test_a_senseless_uncertainty_policy_is_told_with_file_line_and_key(
    command: Command, capsys: pytest.CaptureFixture[str], tools: Tools, settings: Any, place: str
) -> None:
    tools.write_company(command.company, ["Coding"], settings)
    said = refused(command, capsys)
    assert f"{command.company / 'UncertaintyConfig.json'}:{place}" in said


@pytest.mark.parametrize("task", ["", "  \n"])
def test_an_empty_task_is_refused(command: Command, capsys: pytest.CaptureFixture[str], task: str) -> None:
    assert "The task is empty" in refused(command, capsys, "--task", task)


def test_a_task_that_is_no_text_is_refused(command: Command, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ending:
        command("--task", os.fsdecode(b"caf\xe9"))
    assert ending.value.code == 2 and command.products == []
    assert "argument --task: is not text in UTF-8" in capsys.readouterr().err


def test_a_task_in_any_language_is_understood_in_a_locale_that_knows_none(command: Command) -> None:
    arguments = command.arguments("--task", "日本語のプログラム", "--name", "日本語")
    plain = {"PYTHONUTF8": "0", "LC_ALL": "C", "LANG": "C"}
    ended = subprocess_of(str(PROJECT / "run.py"), *arguments, cwd=command.folder, **plain)
    assert ended.returncode == 0, ended.stderr
    (prompt,) = command.product.glob("*.prompt")
    assert prompt.read_text("utf-8") == "日本語のプログラム"


def test_a_path_that_is_not_there_is_refused(command: Command, capsys: pytest.CaptureFixture[str]) -> None:
    assert "nowhere: there is no such folder" in refused(command, capsys, "--path", "nowhere")


@pytest.mark.parametrize("model", ["gpt-6", "scripted:nowhere.json", "nowhere.gguf", "scripted:", "hf:some/model"])
def test_a_model_that_cannot_be_had_is_exit_code_3(
    command: Command, capsys: pytest.CaptureFixture[str], model: str
) -> None:
    said = refused(command, capsys, "--model", model, code=3)
    assert len(said.strip().splitlines()) == 1


def test_a_model_that_cannot_be_quantized_is_exit_code_3(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command.arguments(), "--quantize"]) == 3
    assert "Only hf: models are quantized on loading" in capsys.readouterr().err
    assert command.products == []


def test_a_model_that_fails_on_the_way_is_exit_code_3_and_loses_nothing(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(script={"DemandAnalysis": "<INFO> Application", "ELSE": "<INFO> Python"}) == 3
    said = capsys.readouterr().err
    assert "Stopped: The script has no reply left" in said
    assert f"--resume {str(command.product)!r}" in said


def test_an_engine_without_log_probs_ends_the_run_of_a_company_that_wants_them(
    command: Command, tools: Tools, capsys: pytest.CaptureFixture[str]
) -> None:
    tools.write_company(command.company, ["Manual"], {"on_unavailable": "stop"})
    script = command.folder / "blind.json"
    script.write_text(json.dumps([{"text": "# Manual", "logprobs": [None, None]}]))
    assert command("--model", f"scripted:{script}") == 3
    assert "set on_unavailable to proceed" in capsys.readouterr().err


@pytest.mark.parametrize(
    "name", ["My / list: 2.0", "../../etc/passwd", "", "...", "Ünïcode 漢字", "漢" * 200, "a\nb"]
)
def test_any_name_becomes_the_name_of_one_folder(command: Command, name: str) -> None:
    assert command("--name", name, chain=["Coding"]) == 0
    assert re.fullmatch(r"[\w.+-]+_Demo_\d{14}", command.product.name)
    assert list(command.product.glob("*.prompt"))


def test_who_gives_an_odd_name_is_told_what_the_folder_is_called(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    command("--name", "My / list", chain=["Coding"])
    assert "named My_list_Demo" in capsys.readouterr().err


def test_runs_of_the_same_second_get_folders_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time", lambda: 1767265200.0)
    made = [product.create_folder(tmp_path / "new" / "warehouse", "Todo", "Demo") for _ in range(3)]
    stamps = [stamp for _, stamp in made]
    assert len({folder for folder, _ in made}) == 3
    assert stamps == sorted(stamps)
    assert all(folder.is_dir() and folder.name == f"Todo_Demo_{stamp}" for folder, stamp in made)


def test_a_warehouse_that_cannot_be_made_is_refused(command: Command, capsys: pytest.CaptureFixture[str]) -> None:
    (command.folder / "file").write_text("")
    said = refused(command, capsys, "--warehouse", str(command.folder / "file" / "warehouse"))
    assert "No product folder can be made" in said


def test_what_a_company_file_says_that_nobody_knows_is_noted(command: Command, tools: Tools) -> None:
    tools.write_company(command.company, ["Coding"])
    chain = command.company / "ChatChainConfig.json"
    chain.write_text(json.dumps({**json.loads(chain.read_text()), "colour": "red"}))
    assert command() == 0
    (note,) = [event.note for event in read(command.product / "journal.jsonl") if isinstance(event, Noted)]
    assert "unknown key 'colour'" in note


def full_disk_after(confirmed: int) -> Callable[[int], None]:
    left = iter(range(confirmed))

    def fsync(_: int) -> None:
        if next(left, None) is None:
            raise OSError(errno.ENOSPC, "No space left on device")

    return fsync


@pytest.mark.parametrize("confirmed", [1, 2, 5, 6, 7, 8, 12, 20])
def test_a_full_disk_ends_the_run_with_a_sentence_and_the_run_can_go_on(
    command: Command, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], confirmed: int
) -> None:
    arguments = command.arguments(chain=["DemandAnalysis", "Coding", "Manual"])
    with monkeypatch.context() as context:
        context.setattr(os, "fsync", full_disk_after(confirmed))
        assert main(arguments) == 4
    said = capsys.readouterr().err
    assert "Stopped: the disk refuses to be written: No space left on device" in said
    assert "Traceback" not in said
    assert isinstance(read(command.product / "journal.jsonl")[0], RunStarted)
    assert main(["--resume", str(command.product)]) == 0
    assert (command.product / "manual.md").read_text() == "# Manual\n\nRun it.\n"
    assert (command.product / "main.py").read_text() == "print(1)\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_log_that_finds_no_room_is_no_traceback(
    command: Command, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("chatdev.run.ChatLog", lambda path, company: ChatLog(Path("/dev/full"), company))
    assert command() == 4
    assert "Stopped: the disk refuses to be written" in capsys.readouterr().err


def test_it_works_from_any_folder_with_relative_paths(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = command.arguments("--config", "company", "--warehouse", "warehouse", chain=["Coding"])
    monkeypatch.chdir(command.folder)
    assert main(arguments) == 0
    assert (command.product / "main.py").exists()


def test_a_terminal_that_cannot_show_every_character_still_gets_the_whole_run(command: Command) -> None:
    script = {
        "AcceptanceRuns": "$ python main.py\n✓ 漢字",
        "Coding": "main.py\n```python\nprint('→ 🎉')\n```\n",
        "Manual": "# Größe ✓",
    }
    task = "Prints ✓ 漢字 🎉 when called as `python main.py`"
    arguments = command.arguments("--task", task, script=script, chain=["AcceptanceRuns", "Coding", "Manual"])
    ended = subprocess_of(
        str(PROJECT / "run.py"), *arguments, cwd=command.folder, PYTHONIOENCODING="cp1252", PYTHONUTF8="0"
    )
    assert ended.returncode == 0, ended.stderr.decode("cp1252")
    assert "must print '? ??', but: '? ?'" in ended.stdout.decode("cp1252")
    assert (command.product / "Todo.prompt").read_text("utf-8") == task
    assert (command.product / "manual.md").read_text("utf-8") == "# Größe ✓\n"
    assert "→ 🎉" in (command.product / "main.py").read_text("utf-8")
    assert task in (command.product / "meta.txt").read_text("utf-8")


def test_help_needs_neither_engine_nor_model_nor_time(tmp_path: Path) -> None:
    began = time.monotonic()
    ended = subprocess_of("-X", "importtime", str(PROJECT / "run.py"), "--help", cwd=tmp_path)
    seconds = time.monotonic() - began
    assert ended.returncode == 0
    assert b"--resume DIR" in ended.stdout
    assert b"exit codes: 0 product complete and running" in ended.stdout
    imported = {line.rpartition("|")[2].strip() for line in ended.stderr.decode().splitlines()}
    assert "argparse" in imported
    assert not {"openai", "xllamacpp", "sandbox", "numpy", "httpx", "journal", "calibration"} & imported
    assert seconds < 1.5


@pytest.mark.parametrize(
    "arguments",
    [
        ["--uq", "maybe"],
        ["--seed", "x"],
        ["--colour", "red"],
        ["--budget", "-5"],
        ["--budget", "0"],
        ["--budget", "nan"],
        ["--seed", "-1"],
    ],
)
def test_arguments_that_make_no_sense_are_exit_code_2(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ending:
        main(["--model", "scripted:nowhere", *arguments])
    assert ending.value.code == 2
    assert arguments[0] in capsys.readouterr().err


def test_a_budget_below_one_token_is_told_what_it_must_be(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--model", "scripted:nowhere", "--budget", "-5"])
    assert "--budget: must be a whole number of at least 1, not '-5'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("flag", "value", "code", "message"),
    [
        ("--image-url", "nonsense", 3, "Give --image-url like http://"),
        ("--retrieval", "http://", 2, "names no host, or a user beside it; off looks nothing up."),
    ],
)
def test_an_address_that_is_none_is_told_with_the_flag_that_gave_it(
    command: Command, capsys: pytest.CaptureFixture[str], flag: str, value: str, code: int, message: str
) -> None:
    assert message in refused(command, capsys, flag, value, code=code)
