"""The chain: who is asked what in which order, when loops end, and what becomes of the answers."""

from __future__ import annotations

from typing import Any

import pytest

from camel.models.scripted import Reply
from chatdev.handoff import Handoff, Hook
from journal import Journal
from journal.events import Answered, Checked, FilesChanged, Noted, RolledBack, SubtaskEnded, SubtaskStarted

Play = Any  # the fixtures of conftest.py
Tools = Any

DESIGN = {"DemandAnalysis": "<INFO> Application.", "LanguageChoose": "<INFO> Python"}
DOCUMENTS = {"EnvironmentDoc": "```\n```\n<INFO> done", "Manual": "# Manual\n\nRun it."}
STUB = "def run():\n    pass\nrun()"


def python(body: str) -> str:
    return f"main.py\n```python\n{body}\n```\n"


GOOD, CRASHES, BROKEN = python("print(1)"), python("raise SystemExit('no')"), python("print(")
STILL_CRASHES = python("raise SystemExit('still not')")


def subtasks(played: Any) -> list[str]:
    return [event.subtask for event in played.events(SubtaskStarted)]


def test_a_good_first_answer_costs_the_calls_of_chatdev(play: Play, tools: Tools) -> None:
    played = play(
        tools.WHOLE_CHAIN, {**DESIGN, **DOCUMENTS, "Coding": GOOD, "CodeReviewComment": "<INFO> Finished"}
    )
    assert played.talker.phases == [
        "DemandAnalysis",
        "LanguageChoose",
        "Coding",
        "CodeReviewComment",
        "EnvironmentDoc",
        "Manual",
    ]
    assert played.talker.prompts[1:3] == ["[LanguageChoose] for a application", "[Coding] in Python"]
    assert played.files == {"main.py": "print(1)\n", "requirements.txt": ""}
    assert (played.folder / "product" / "manual.md").read_text() == "# Manual\n\nRun it.\n"


def test_a_model_that_never_concludes_is_asked_to_the_last_turn_and_reflected_upon(
    play: Play, tools: Tools
) -> None:
    script = {
        "DemandAnalysis": ["A game?", "Hm.", "An app?", "Hm."],
        "LanguageChoose": "<INFO> Rust",
        "Reflection": "<INFO> Website",
    }
    played = play(tools.WHOLE_CHAIN[:2], script)
    assert played.talker.phases == ["DemandAnalysis"] * 4 + ["Reflection", "LanguageChoose"]
    assert [event.purpose for event in played.events(Answered)] == [*["answer"] * 4, "reflection", "answer"]
    assert [event.role for event in played.events(Answered)][:2] == [
        "Chief Product Officer",
        "Chief Executive Officer",
    ]
    reflection = played.talker.prompts[4]
    assert "Chief Product Officer: A game?" in reflection
    assert "Chief Executive Officer: Hm." in reflection
    assert (played.environment.modality, played.environment.language) == ("website", "Rust")


def test_the_review_goes_on_until_the_reviewer_has_nothing_to_say(play: Play, tools: Tools) -> None:
    script = {
        "Coding": GOOD,
        "CodeReviewComment": ["print 2 instead", "<INFO> Finished", "never asked"],
        "CodeReviewModification": python("print(2)"),
    }
    played = play(["Coding", tools.REVIEW], script)
    assert played.talker.phases[1:] == ["CodeReviewComment", "CodeReviewModification", "CodeReviewComment"]
    assert played.talker.prompts[2] == "[CodeReviewModification] comment: print 2 instead"
    assert [event.cycle for event in played.events(SubtaskStarted)] == [None, 1, 1, 2]
    assert played.files["main.py"] == "print(2)\n"


def test_a_reviewer_who_is_never_satisfied_is_heard_as_often_as_the_company_says(play: Play, tools: Tools) -> None:
    script = {"Coding": GOOD, "CodeReviewComment": "print 2", "CodeReviewModification": python("print(2)")}
    played = play(["Coding", tools.REVIEW], script)
    assert played.talker.phases.count("CodeReviewComment") == 3


def test_a_second_review_begins_anew(play: Play, tools: Tools) -> None:
    script = {"Coding": GOOD, "CodeReviewComment": "<INFO> Finished"}
    played = play(["Coding", tools.REVIEW, tools.REVIEW], script)
    assert played.talker.phases.count("CodeReviewComment") == 2


def test_the_test_loop_costs_nothing_where_nothing_is_wrong(play: Play, tools: Tools) -> None:
    played = play(["Coding", tools.TEST], {"Coding": GOOD})
    assert played.talker.phases == ["Coding"]
    assert played.environment.verdict.works


def test_the_test_loop_hands_on_what_went_wrong_and_ends_when_it_is_right(play: Play, tools: Tools) -> None:
    script = {
        "Coding": CRASHES,
        "TestErrorSummary": "it exits",
        "TestModification": [STILL_CRASHES, GOOD, "never asked"],
    }
    played = play(["Coding", tools.TEST], script)
    assert played.talker.phases[1:] == ["TestErrorSummary", "TestModification"] * 2
    assert "ended with exit code 1: no" in played.talker.prompts[1]
    assert played.talker.prompts[2].endswith("summary: it exits")
    assert played.environment.verdict.works


def test_the_last_fix_is_tested_too(play: Play, tools: Tools) -> None:
    script = {
        "Coding": CRASHES,
        "TestErrorSummary": "it exits",
        "TestModification": [STILL_CRASHES, STILL_CRASHES, GOOD],
    }
    played = play(["Coding", tools.TEST], script)
    assert played.talker.phases.count("TestModification") == 3
    assert [event.passed for event in played.events(Checked)][-1]
    assert played.environment.verdict.works


def test_a_fix_that_changes_nothing_ends_the_loop(play: Play, tools: Tools) -> None:
    script = {"Coding": CRASHES, "TestErrorSummary": "it exits", "TestModification": "I cannot."}
    played = play(["Coding", tools.TEST], script)
    assert played.talker.phases == ["Coding", "TestErrorSummary", "TestModification"]


def test_a_program_that_is_never_right_does_not_end_the_run(play: Play, tools: Tools) -> None:
    script = {**DOCUMENTS, "Coding": CRASHES, "TestErrorSummary": "it exits", "TestModification": STILL_CRASHES}
    played = play(["Coding", tools.TEST, "Manual"], script)
    assert played.talker.phases.count("TestModification") == 3
    assert played.talker.phases[-1] == "Manual"
    assert not played.environment.verdict.works


def test_a_change_that_makes_the_product_worse_is_taken_back(play: Play, tools: Tools) -> None:
    worse = f"{BROKEN}\nhelp.py\n```python\nx = 1\n```\n"
    script = {"Coding": GOOD, "CodeReviewComment": "better it", "CodeReviewModification": [worse, CRASHES, GOOD]}
    played = play(["Coding", tools.REVIEW], script)
    assert [event.reason for event in played.events(RolledBack)] == ["it made the product worse"] * 2
    assert set(played.events(RolledBack)[0].diffs) == {"main.py", "help.py"}
    assert played.files == {"main.py": "print(1)\n"}
    assert not (played.folder / "product" / "help.py").exists()
    assert played.environment.verdict.works


def test_a_function_that_comes_in_a_file_of_its_own_name_changes_the_program(play: Play, tools: Tools) -> None:
    program = "def greet():\n    print(1)\n\n\nif __name__ == '__main__':\n    greet()"
    stray = "greet.py\n```python\ndef greet():\n    print(2)\n```\n"
    script = {"Coding": python(program), "CodeReviewComment": "print 2", "CodeReviewModification": stray}
    played = play(["Coding", tools.REVIEW], script)
    assert played.files == {"main.py": f"{program}\n".replace("print(1)", "print(2)")}


def test_of_two_programs_that_both_fail_the_better_is_kept(play: Play, tools: Tools) -> None:
    stub_that_runs = python(f"{STUB}\nprint(2)")
    script = {"Coding": stub_that_runs, "TestErrorSummary": "a stub", "TestModification": [BROKEN, CRASHES, "no"]}
    played = play(["Coding", tools.TEST], script)
    assert played.files["main.py"].startswith("def run")


def test_a_fix_that_fixes_nothing_is_taken_back_and_the_next_is_bolder(play: Play, tools: Tools) -> None:
    script = {
        "Coding": CRASHES,
        "TestErrorSummary": "x",
        "TestModification": [python("raise SystemExit(3)"), GOOD],
    }
    played = play(["Coding", tools.TEST], script)
    assert [event.reason for event in played.events(RolledBack)] == ["it did not make the product better"]
    fixes = [
        sampling.temperature
        for phase, sampling in zip(played.talker.phases, played.talker.samplings, strict=True)
        if phase == "TestModification"
    ]
    assert fixes[1] > fixes[0]
    assert played.chain.workshop.setbacks == 0


def test_a_program_that_runs_but_does_something_else_is_found(play: Play, tools: Tools) -> None:
    script = {
        "AcceptanceRuns": "```\n$ python main.py 2 3\n5\n```",
        "Coding": python("print(6)"),
        "TestErrorSummary": "it must add",
        "TestModification": python("import sys\nprint(sum(map(int, sys.argv[1:])))"),
    }
    task = "An adder. `python main.py A B` prints the sum."
    played = play(["AcceptanceRuns", "Coding", tools.TEST], script, task=task)
    assert played.talker.phases == ["AcceptanceRuns", "Coding", "TestErrorSummary", "TestModification"]
    assert "must print '5', but: '6'" in played.talker.prompts[2]
    assert "python main.py A B" in played.talker.prompts[0]
    assert played.environment.verdict.passed


def test_no_acceptance_runs_are_written_where_nobody_said_how_it_is_called(play: Play) -> None:
    played = play(["AcceptanceRuns", "Coding"], {"Coding": GOOD}, task="A snake game.")
    assert played.talker.phases == ["Coding"]


def test_unfinished_files_are_completed_one_after_the_other(play: Play, tools: Tools) -> None:
    two = f"{python(f'import a{chr(10)}a.run(){chr(10)}{STUB}')}\na.py\n```python\n{STUB}\n```\n"
    script = {
        "Coding": two,
        "CodeComplete": [python("import a\na.run()"), "a.py\n```python\ndef run():\n    print(1)\n```\n"],
    }
    played = play(["Coding", tools.COMPLETION], script)
    asked = [prompt.partition(" of ")[0] for prompt in played.talker.prompts[1:]]
    assert asked == ["[CodeComplete] finish <main.py>", "[CodeComplete] finish <a.py>"]
    assert not played.environment.verdict.missing


def test_a_file_that_stays_unfinished_is_given_up_after_four_attempts(play: Play, tools: Tools) -> None:
    script = {
        **DOCUMENTS,
        "Coding": python(STUB),
        "CodeComplete": [python(f"{STUB}\n\nx = {number}") for number in range(9)],
    }
    played = play(["Coding", tools.COMPLETION, "Manual"], script)
    assert played.talker.phases == ["Coding", *["CodeComplete"] * 4, "Manual"]


def test_who_leaves_stubs_as_they_are_is_asked_for_one_after_the_other_and_more_boldly(
    play: Play, tools: Tools
) -> None:
    stubs = "def a():\n    # later\n    pass\n\n\ndef b():\n    pass\n"
    script = {
        "Coding": python(f"{stubs}\n\nif __name__ == '__main__':\n    a()\n    b()\n"),
        "CodeComplete": [python(stubs), python("def a():\n    print(1)\n"), python("def b():\n    print(2)\n")],
    }
    company = ["Coding", tools.COMPLETION]
    played = play(company, script)
    assert played.talker.phases == ["Coding", *["CodeComplete"] * 3]
    temperatures = [event.sampling["temperature"] for event in played.events(Answered)]
    assert temperatures[1] < temperatures[2]
    assert not played.environment.verdict.missing
    assert not any("# later" in prompt for prompt in played.talker.prompts[1:])


def test_the_tester_blames_one_function_after_the_other(play: Play, tools: Tools) -> None:
    script = {
        "AcceptanceRuns": "```\n$ python main.py f.json add x\n1\n$ python main.py f.json list\nx\n```",
        "Coding": python(
            "def do_add(file: str, text: str):\n    print(2)\ndef do_list(file: str):\n    print('y')"
        ),
        "TestErrorSummary": "a wrong number",
        "TestModification": [
            python("def do_add(file: str, text: str):\n    print(3)"),
            python("def do_list(file: str):\n    print('x')"),
        ],
    }
    task = "Call it with `python main.py FILE COMMAND ...`. `add TEXT` prints a number. `list` prints all."
    played = play(["AcceptanceRuns", "Coding", tools.TEST], script, task=task)
    blamed = [prompt for prompt in played.talker.prompts if prompt.startswith("[TestErrorSummary]")]
    assert ["main.py f.json add x" in prompt for prompt in blamed[:2]] == [True, False]
    assert ["main.py f.json list" in prompt for prompt in blamed[:2]] == [False, True]
    assert "print(2)" in played.files["main.py"]
    assert "print('x')" in played.files["main.py"]
    assert 'if __name__ == "__main__":' in played.files["main.py"]


@pytest.mark.parametrize("place", ["alone", "in a loop of another name"])
def test_nobody_is_asked_to_complete_a_file_without_a_name(play: Play, tools: Tools, place: str) -> None:
    entry = "CodeComplete" if place == "alone" else tools.composed("Polish", 2, "CodeComplete")
    played = play(["Coding", entry], {"Coding": GOOD})
    assert played.talker.phases == ["Coding"]


def test_a_reply_without_a_file_is_asked_for_once_more_with_the_form_shown(play: Play) -> None:
    played = play(["Coding"], {"Coding": ["I would write a class.", GOOD]})
    assert played.talker.phases == ["Coding", "Coding"]
    assert "a line with the file name" in played.talker.prompts[1]
    first, second = played.events(Answered)
    assert second.messages[-2] == {"role": "assistant", "content": "I would write a class."}
    assert (first.purpose, second.purpose) == ("answer", "form")
    assert played.files == {"main.py": "print(1)\n"}


def test_it_is_asked_for_once_only_and_the_run_goes_on_without(play: Play, tools: Tools) -> None:
    script = {**DOCUMENTS, "Coding": ["no code", "no code either", GOOD], "Manual": "# M"}
    played = play(["Coding", tools.COMPLETION, "Manual"], script)
    assert played.talker.phases == ["Coding", "Coding", "Manual"]
    assert played.files == {}
    assert not played.environment.verdict.works
    assert played.events(SubtaskEnded)[0].conclusion == "no code", "the first answer counts where both are useless"


def test_a_product_that_got_no_code_at_first_may_get_it_in_the_tests(play: Play, tools: Tools) -> None:
    script = {"Coding": "no", "TestErrorSummary": "there is no main.py", "TestModification": GOOD}
    played = play(["Coding", tools.TEST], script)
    assert "There is no main.py to start." in played.talker.prompts[2]
    assert played.environment.verdict.works


def test_a_model_that_answers_nothing_is_asked_twice_and_survived(play: Play, tools: Tools) -> None:
    silent = dict.fromkeys([*DESIGN, *DOCUMENTS, "Coding", "CodeReviewComment", "Reflection"], "")
    silent |= dict.fromkeys(["CodeReviewModification", "TestErrorSummary", "TestModification"], "")
    played = play(tools.WHOLE_CHAIN, silent)
    assert played.talker.phases[-2:] == ["Manual", "Manual"]
    assert played.environment.language == "Python"
    assert not played.environment.verdict.works
    assert (played.folder / "product" / "requirements.txt").read_text() == ""


def test_a_silent_first_answer_may_be_followed_by_a_good_one(play: Play) -> None:
    played = play(["Manual"], {"Manual": [" \n", "# Manual"]})
    first, second = played.events(Answered)
    assert first.messages == second.messages
    assert first.sampling["seed"] != second.sampling["seed"]
    assert (played.folder / "product" / "manual.md").read_text() == "# Manual\n"


def test_a_model_that_says_the_same_line_for_ever_is_cut_off_and_survived(play: Play, tools: Tools) -> None:
    endless = Reply("x = 1\n" * 300, finish_reason="length")
    names = [*DESIGN, *DOCUMENTS, "Coding", "CodeReviewComment", "CodeReviewModification", "Reflection"]
    script = dict.fromkeys([*names, "TestErrorSummary", "TestModification"], endless)
    played = play(tools.WHOLE_CHAIN, script)
    assert all(event.purpose != "continuation" for event in played.events(Answered))
    assert max(len(event.conclusion) for event in played.events(SubtaskEnded)) < 20
    assert not played.environment.verdict.works


def test_a_line_that_the_token_limit_cut_is_left_out(play: Play) -> None:
    script = {
        "AcceptanceRuns": Reply(
            "```\n$ python main.py 2 3\n5\n$ python main.py 1 1\n2\n$ python main.py 4",
            u=0.1,
            finish_reason="length",
        ),
        "Coding": python("import sys\nprint(sum(map(int, sys.argv[1:])))"),
        "Manual": Reply("# Adder\n\nStart it.\nThen gi", finish_reason="length"),
    }
    task = "An adder. `python main.py A B` prints the sum."
    played = play(["AcceptanceRuns", "Coding", "Manual"], script, task=task)
    assert [result.line for result in played.environment.verdict.results] == [
        "python main.py 2 3",
        "python main.py 1 1",
    ]
    assert (played.folder / "product" / "manual.md").read_text() == "# Adder\n\nStart it.\n"


def test_a_phase_that_only_the_users_company_knows_is_played_and_its_conclusion_may_be_used(play: Play) -> None:
    played = play(
        ["Slogan", "Advert"], {"Slogan": "Think.\n<INFO> Lists for all", "Advert": "Buy it"}, task="a list"
    )
    assert played.talker.prompts == ["[Slogan] for a list", "[Advert] with the slogan Lists for all"]
    assert played.environment.conclusions == {"Slogan": "Lists for all", "Advert": "Buy it"}


def test_names_that_lead_out_of_the_product_are_refused_and_noted(play: Play) -> None:
    bad = "\n".join(
        f"{name}\n```python\nx = 1\n```\n"
        for name in ("../up.py", "/tmp/absolute.py", "meta.txt", "pkg/../../out.py")
    )
    played = play(["Coding"], {"Coding": f"{bad}\n{GOOD}"})
    notes = [event.note for event in played.events(Noted)]
    refused = [note.removeprefix("A file was not saved: ").split(": ")[0] for note in notes]
    assert refused == ["../up.py", "/tmp/absolute.py", "meta.txt", "pkg/../../out.py"]
    assert played.files == {"main.py": "print(1)\n"}
    assert sorted(path.name for path in (played.folder / "product").iterdir()) == ["main.py"]


def test_a_file_that_finds_no_room_on_the_disk_as_it_is_is_told_in_the_journal(play: Play) -> None:
    reply = "a/b.py\n```python\nx = 1\n```\n\na/b.py/c.py\n```python\nx = 1\n```\n" + GOOD
    played = play(["Coding"], {"Coding": reply})
    (change,) = played.events(FilesChanged)
    assert change.refused == {"a/b.py/c.py": "a file has the name of one of its folders"}


def test_what_each_subtask_cost_adds_up_to_what_the_run_cost(play: Play, tools: Tools) -> None:
    script = {**DESIGN, **DOCUMENTS, "Coding": ["no", GOOD], "CodeReviewComment": "<INFO> Finished"}
    played = play(tools.WHOLE_CHAIN, script)
    ended = played.events(SubtaskEnded)
    assert [event.calls for event in ended] == [1, 1, 2, 1, 1, 1]
    for name in ("prompt_tokens", "completion_tokens"):
        assert sum(event.usage[name] for event in ended) == getattr(played.chain.asker.usage, name)


def test_what_is_imported_from_a_module_is_no_package(play: Play) -> None:
    program = python("import tqdm\nfrom tkinter import messagebox\nfrom tqdm import tqdm\nprint(1)")
    listed = "```\nmessagebox\ntqdm\nopencv-python\n```"
    played = play(["Coding", "EnvironmentDoc"], {"Coding": program, "EnvironmentDoc": listed})
    assert played.files["requirements.txt"] == "tqdm\nopencv-python\n"


def test_an_empty_requirements_file_is_no_unfinished_product(play: Play, tools: Tools) -> None:
    script = {**DOCUMENTS, "Coding": GOOD, "CodeReviewComment": "x", "CodeReviewModification": python("print(2)")}
    played = play(["Coding", "EnvironmentDoc", tools.REVIEW], script)
    assert played.environment.verdict.works


class Hooked:
    """A hook that replaces each answer, and remembers what it saw."""

    def __init__(self, replacement: str) -> None:
        self.replacement = replacement
        self.seen: list[Handoff] = []

    def __call__(self, journal: Journal) -> Hook:
        def hook(handoff: Handoff) -> Any:
            self.seen.append(handoff)
            return handoff.ask_again(self.replacement, after=handoff.answer)

        return hook


def test_hooks_stand_between_an_answer_and_what_becomes_of_it(play: Play) -> None:
    hooked = Hooked("Are you sure?")
    played = play(["Coding"], {"Coding": [GOOD, python("print(2)")]}, hook=hooked)
    (handoff,) = hooked.seen
    assert (handoff.subtask, handoff.answer.text) == ("Coding", GOOD)
    assert handoff.usable(handoff.answer)
    assert played.events(Answered)[1].purpose == "remedy"
    assert played.events(Answered)[1].messages[-1] == {"role": "user", "content": "Are you sure?"}
    assert played.files["main.py"] == "print(2)\n"
