"""Phases that users wrote in Python for ChatDev 1.x, and what is never loaded."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

import chatdev.phase
from chatdev.cli import main
from chatdev.company import PROJECT, examine_folder
from journal import read
from journal.events import Answered

Play = Any  # the fixtures of conftest.py
Tools = Any
GOOD, BETTER = (f"main.py\n```python\nprint({number})\n```\n" for number in (1, 2))
SCRIPT = {"Coding": GOOD, "Slogan": f"Think.\n<INFO> {BETTER}", "Advert": "Buy it."}
# As a user would have written it beside the original's own phases.
PHASES = """
from chatdev.chat_env import ChatEnv
from chatdev.phase import Phase
from chatdev.statistics import get_info
from chatdev.utils import log_visualize


class Slogan(Phase):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)

    def update_phase_env(self, chat_env):
        self.phase_env.update({"task": chat_env.env_dict["task_prompt"].upper(), "codes": chat_env.get_codes()})

    def update_chat_env(self, chat_env) -> ChatEnv:
        chat_env.env_dict["mood"] = "cheerful"
        chat_env.env_dict["review_comments"] = "from " + self.assistant_role_name
        chat_env.update_codes(self.seminar_conclusion)
        if chat_env.codes.codebooks["main.py"] != "print(2)\\n":
            raise ValueError("No Valid Codes.")
        chat_env.rewrite_codes("Slogan #" + str(self.phase_env["cycle_index"]) + " Finished")
        chat_env._update_manuals("# By hand")
        chat_env.rewrite_manuals()
        chat_env._update_requirements("```\\npygame\\n```")
        chat_env.rewrite_requirements()
        log_visualize("**[Slogan]**: " + chat_env.env_dict["directory"])
        log_visualize(get_info(chat_env.env_dict["directory"], self.log_filepath))
        return chat_env
"""


REVIEW = """
from chatdev.phase import Phase


class CodeReviewComment(Phase):
    def update_phase_env(self, chat_env):
        self.phase_env.update({"codes": chat_env.get_codes()})

    def update_chat_env(self, chat_env):
        chat_env.env_dict["review_comments"] = self.seminar_conclusion
        return chat_env
"""


class Company:
    """A company with a chain of `Coding`, `Slogan`, `Advert`, and the command that runs it."""

    def __init__(self, folder: Path, tools: Tools) -> None:
        self.folder, self.warehouse = folder / "company", folder / "warehouse"
        tools.write_company(self.folder, ["Coding", "Slogan", "Advert"])
        file = self.folder / "PhaseConfig.json"
        text = file.read_text().replace("with the slogan {Slogan}", "{mood}, {comments}, {task}")
        file.write_text(text.replace("for {task}", "for {task}: {codes}"))
        self.model = tools.script_file(folder / "script.json", SCRIPT)

    def run(self, config: Path | None = None) -> int:
        arguments = ["--config", str(config or self.folder), "--model", self.model, "--uq", "off"]
        return main([*arguments, "--task", "a list", "--warehouse", str(self.warehouse)])

    @property
    def product(self) -> Path:
        return sorted(self.warehouse.iterdir())[-1]

    def prompts(self) -> list[str]:
        events = read(self.product / "journal.jsonl")
        return [event.messages[-1]["content"] for event in events if isinstance(event, Answered)]


@pytest.fixture
def company(tmp_path: Path, tools: Tools) -> Company:
    return Company(tmp_path, tools)


def test_a_users_phase_fills_its_prompt_and_concludes_as_it_wants(
    company: Company, capsys: pytest.CaptureFixture[str]
) -> None:
    (company.folder / "phases.py").write_text(PHASES)
    assert company.run() == 0
    assert company.prompts()[1:] == [
        "[Slogan] for A LIST: main.py\n```python\nprint(1)\n```\n",
        "[Advert] cheerful, from Chief Product Officer, a list",
    ]
    product = company.product
    assert (product / "main.py").read_text() == "print(2)\n"
    assert (product / "manual.md").read_text() == "# By hand\n"
    assert (product / "requirements.txt").read_text() == "pygame\n"
    assert f"**[Slogan]**: {product}" in capsys.readouterr().err
    assert chatdev.phase is sys.modules["chatdev.phase"] and not hasattr(chatdev.phase.Phase, "update_chat_env")


def test_a_review_of_a_users_own_ends_when_nothing_is_left_to_say(tmp_path: Path, tools: Tools) -> None:
    folder = tools.write_company(tmp_path / "company", ["Coding", tools.REVIEW])
    (folder / "phases.py").write_text(REVIEW)
    script = {"Coding": GOOD, "CodeReviewComment": "<INFO> Finished"}
    arguments = ["--config", str(folder), "--model", tools.script_file(tmp_path / "script.json", script)]
    assert main([*arguments, "--uq", "off", "--warehouse", str(tmp_path / "warehouse")]) == 0
    (product,) = (tmp_path / "warehouse").iterdir()
    answered = [event.subtask for event in read(product / "journal.jsonl") if isinstance(event, Answered)]
    assert answered == ["Coding", "CodeReviewComment"]


def test_a_resumed_run_has_the_users_phases_with_it(company: Company) -> None:
    (company.folder / "phases.py").write_text(PHASES)
    company.run()
    journal = company.product / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    at = next(place for place, line in enumerate(lines) if b'"SubtaskEnded"' in line)
    journal.write_bytes(b"".join(lines[: at + 1]))
    shutil.rmtree(company.folder)
    assert main(["--resume", str(company.product)]) == 0
    assert company.prompts()[2] == "[Advert] cheerful, from Chief Product Officer, a list"


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("def (", "phases.py: it cannot be loaded: SyntaxError"),
        ("raise SystemExit(0)", "phases.py: it cannot be loaded: SystemExit: 0"),
        ("import nowhere_to_be_found", "phases.py: it cannot be loaded: ModuleNotFoundError: No module named"),
        ("from chatdev.phase import Coding", "phases.py: it cannot be loaded: ImportError: cannot import name"),
    ],
)
def test_a_file_that_cannot_be_loaded_is_one_sentence_and_nothing_is_made(
    company: Company, capsys: pytest.CaptureFixture[str], source: str, said: str
) -> None:
    (company.folder / "phases.py").write_text(source)
    assert company.run() == 2
    assert said in capsys.readouterr().err
    assert not company.warehouse.exists()


def test_a_phase_that_fails_on_the_way_stops_the_run_which_can_go_on(
    company: Company, capsys: pytest.CaptureFixture[str]
) -> None:
    (company.folder / "phases.py").write_text(PHASES.replace('["task_prompt"]', '["tusk"]'))
    assert company.run() == 2
    assert "Stopped: Slogan: update_phase_env failed: KeyError: 'tusk'" in capsys.readouterr().err
    (company.product / "PhaseConfig.py").write_text(PHASES)
    assert main(["--resume", str(company.product)]) == 0


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ("super().__init__(**kwargs)", "pass", "update_phase_env failed: AttributeError"),
        ("return chat_env", "chat_env.env_dict = None", "update_chat_env failed: AttributeError"),
    ],
)
def test_whatever_a_phase_does_wrong_is_one_sentence(
    company: Company, capsys: pytest.CaptureFixture[str], right: str, wrong: str, said: str
) -> None:
    (company.folder / "phases.py").write_text(PHASES.replace(right, wrong))
    assert company.run() == 2
    assert f"Stopped: Slogan: {said}" in capsys.readouterr().err


def test_what_a_model_wrote_is_never_loaded(company: Company, tmp_path: Path) -> None:
    trap = f"open({str(tmp_path / 'sprung')!r}, 'w')"
    company.run()
    product = company.product
    for name in ("phases.py", "Phases.py"):
        (product / name).write_text(trap)
    assert company.run(config=product) == 0
    (product / "meta.txt").unlink()
    (product / "journal.jsonl").unlink()
    company.run(config=product)
    assert not (tmp_path / "sprung").exists()


def test_validating_runs_nobodys_code(company: Company, tmp_path: Path) -> None:
    (company.folder / "phases.py").write_text(f"open({str(tmp_path / 'sprung')!r}, 'w')")
    assert examine_folder(company.folder, PROJECT)[0] == []
    assert not (tmp_path / "sprung").exists()


def test_a_prompt_may_say_which_round_of_a_loop_it_is(
    play: Play, tools: Tools, monkeypatch: pytest.MonkeyPatch
) -> None:
    who = tools.PHASES["CodeReviewComment"][:2]
    monkeypatch.setitem(tools.PHASES, "CodeReviewComment", (*who, "round {cycle_index} of {cycle_num}"))
    comments = ["Print 2.", "<INFO> Finished"]
    script = {"Coding": GOOD, "CodeReviewComment": comments, "CodeReviewModification": BETTER}
    talker = play(["Coding", tools.REVIEW], script).talker
    said = zip(talker.phases, talker.prompts, strict=True)
    assert [prompt for phase, prompt in said if phase == "CodeReviewComment"] == [
        "[CodeReviewComment] round 1 of 3",
        "[CodeReviewComment] round 2 of 3",
    ]
