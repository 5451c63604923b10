"""Company files of ChatDev 1.x: what loads, what it becomes, and what is refused on which line."""

from __future__ import annotations

import io
import json
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from chatdev.__main__ import dispatch
from chatdev.company import (
    PROJECT,
    CompanyError,
    ComposedEntry,
    Flags,
    Problem,
    SimpleEntry,
    examine_folder,
    fill,
    load_company,
    role_prompt,
)

BROKEN = Path(__file__).parent.parent / "data" / "companies"
EXPECTED: dict[str, dict[str, Any]] = json.loads((BROKEN / "expected.json").read_text("utf-8"))
CEO, CPO, CTO = "Chief Executive Officer", "Chief Product Officer", "Chief Technology Officer"
ROLES = {
    name: ["{chatdev_prompt}", f"You are the {name}.", "The task: {task}"]
    for name in (
        CEO,
        "Counselor",
        CPO,
        CTO,
        "Programmer",
        "Code Reviewer",
        "Software Test Engineer",
        "Chief Human Resource Officer",
        "Chief Creative Officer",
    )
}
PHASES = {
    name: {"assistant_role_name": assistant, "user_role_name": user, "phase_prompt": ["Do", name, "{task}"]}
    for name, assistant, user in (
        ("DemandAnalysis", CPO, CEO),
        ("LanguageChoose", CTO, CEO),
        ("Coding", "Programmer", CTO),
        ("CodeReviewComment", "Code Reviewer", "Programmer"),
        ("CodeReviewModification", "Programmer", "Code Reviewer"),
    )
}


def simple(phase: Any, **keys: Any) -> dict[str, Any]:
    return {"phase": phase, "phaseType": "SimplePhase", "max_turn_step": 1, "need_reflect": "False", **keys}


def composed(phase: str, *members: Any, **keys: Any) -> dict[str, Any]:
    return {
        "phase": phase,
        "phaseType": "ComposedPhase",
        "cycleNum": 3,
        "Composition": list(members),
        **keys,
    }


CHAIN = [
    simple("DemandAnalysis", max_turn_step=-1, need_reflect="True"),
    simple("Coding"),
    composed("CodeReview", simple("CodeReviewComment"), simple("CodeReviewModification")),
]


def write(folder: Path, **files: Any) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, value in files.items():
        (folder / f"{name}Config.json").write_text(json.dumps(value, indent=1), "utf-8")
    return folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write(tmp_path / "CompanyConfig" / "Default", ChatChain={"chain": CHAIN}, Phase=PHASES, Role=ROLES)
    return tmp_path


def problems_of(root: Path, **files: Any) -> list[Problem]:
    return examine_folder(write(root / "CompanyConfig" / "Mine", **files), root)[0]


# What loads


def test_only_a_chain_is_needed_and_the_rest_has_the_documented_defaults(root: Path) -> None:
    company = load_company("Default", root)
    assert company.flags == Flags(True, True, False, False, False, False, False)
    assert company.background_prompt == ""
    assert company.recruitments == tuple(ROLES)
    assert company.uncertainty == {}
    assert company.warnings == ()
    assert company.chain == (
        SimpleEntry("DemandAnalysis", 10, True),
        SimpleEntry("Coding", 1, False),
        ComposedEntry(
            "CodeReview", 3, (SimpleEntry("CodeReviewComment", 1), SimpleEntry("CodeReviewModification", 1))
        ),
    )


OLD_KEYS = {
    "recruitments": list(ROLES),
    "clear_structure": "True",
    "gui_design": "False",
    "git_management": "True",
    "self_improve": "False",
}


@pytest.mark.parametrize(
    "more",
    [
        {"brainstorming": "False"},
        {"brainstorming": "False", "incremental_develop": "True"},
        {"brainstorming": "False", "web_spider": "True", "with_memory": "True"},
        {"background_prompt": "A company of agents.", "incremental_develop": "True", "web_spider": "False"},
        {
            "background_prompt": "A company of agents.",
            "brainstorming": "True",
            "incremental_develop": "False",
            "web_spider": "True",
            "with_memory": "True",
        },
    ],
    ids=lambda more: "+".join(more),
)
def test_each_key_set_seen_in_the_wild_loads_without_a_warning(root: Path, more: dict[str, str]) -> None:
    write(root / "CompanyConfig" / "Old", ChatChain={"chain": CHAIN, **OLD_KEYS, **more})
    company = load_company("Old", root)
    assert company.warnings == ()
    assert company.background_prompt == more.get("background_prompt", "")
    assert (company.flags.gui_design, company.flags.git_management) == (False, True)
    for flag in ("incremental_develop", "web_spider", "with_memory"):
        assert getattr(company.flags, flag) is (more.get(flag) == "True")


@pytest.mark.parametrize("value", ["True", "true", " TRUE ", True, 1, "1"])
def test_a_flag_is_on_in_every_spelling(root: Path, value: object) -> None:
    chain = [simple("Coding", need_reflect=value)]
    write(root / "CompanyConfig" / "Mine", ChatChain={"chain": chain, "self_improve": value})
    company = load_company("Mine", root)
    assert company.flags.self_improve
    assert company.chain == (SimpleEntry("Coding", 1, True),)


@pytest.mark.parametrize("value", ["False", "false", False, 0, "0"])
def test_a_flag_is_off_in_every_spelling(root: Path, value: object) -> None:
    write(root / "CompanyConfig" / "Mine", ChatChain={"chain": CHAIN, "gui_design": value})
    assert not load_company("Mine", root).flags.gui_design


@pytest.mark.parametrize(("written", "turns"), [(-1, 10), (0, 10), (1, 1), (100, 100)])
def test_turns_of_zero_or_less_mean_ten(root: Path, written: int, turns: int) -> None:
    write(root / "CompanyConfig" / "Mine", ChatChain={"chain": [simple("Coding", max_turn_step=written)]})
    assert load_company("Mine", root).chain == (SimpleEntry("Coding", turns),)


def test_unknown_keys_are_ignored_with_one_warning_each(root: Path) -> None:
    chain = [simple("Coding", multiplicityExitNum=2), simple("Coding", multiplicityExitNum=3)]
    write(root / "CompanyConfig" / "Mine", ChatChain={"colour": "red", "chain": chain})
    warnings = load_company("Mine", root).warnings
    assert [(warning.line, warning.key) for warning in warnings] == [
        (2, "colour"),
        (9, "chain[0].multiplicityExitNum"),
    ]


def test_a_key_that_stands_twice_is_warned_about_and_the_last_counts(root: Path) -> None:
    folder = write(root / "CompanyConfig" / "Mine", ChatChain={"chain": CHAIN})
    text = (folder / "ChatChainConfig.json").read_text("utf-8")
    (folder / "ChatChainConfig.json").write_text(text.replace("{", '{"chain": [],', 1), "utf-8")
    company = load_company("Mine", root)
    assert [(warning.line, warning.key) for warning in company.warnings] == [(2, "chain")]
    assert len(company.chain) == len(CHAIN)


def test_a_byte_order_mark_and_other_scripts_are_read(root: Path) -> None:
    folder = write(root / "CompanyConfig" / "Mine", ChatChain={"chain": CHAIN})
    text = json.dumps({"chain": CHAIN, "background_prompt": "公司 🚀"}, ensure_ascii=False)
    (folder / "ChatChainConfig.json").write_text(text, "utf-8-sig")
    assert load_company("Mine", root).background_prompt == "公司 🚀"


def test_a_phase_only_the_user_wrote_is_fine(root: Path) -> None:
    phases = {"Naming": PHASES["Coding"]}
    write(root / "CompanyConfig" / "Mine", ChatChain={"chain": [simple("Naming")]}, Phase=phases)
    company = load_company("Mine", root)
    assert company.phases["Naming"].assistant_role == "Programmer"
    assert list(company.phases) == ["Naming"]


# Which files are read


def test_each_missing_file_comes_whole_from_default(root: Path) -> None:
    home = root / "CompanyConfig"
    write(home / "Mine", Role={**ROLES, "Programmer": ["Mine."]}, Uncertainty={"cap": 2})
    company = load_company("Mine", root)
    assert company.name == "Mine"
    assert company.roles["Programmer"].lines == ("Mine.",)
    assert company.uncertainty == {"cap": 2}
    assert company.sources == {
        "ChatChainConfig.json": home / "Default" / "ChatChainConfig.json",
        "PhaseConfig.json": home / "Default" / "PhaseConfig.json",
        "RoleConfig.json": home / "Mine" / "RoleConfig.json",
        "UncertaintyConfig.json": home / "Mine" / "UncertaintyConfig.json",
    }


def test_a_name_matches_in_any_case_but_its_own_spelling_first(root: Path) -> None:
    for name in ("Incremental", "incremental"):
        write(root / "CompanyConfig" / name, ChatChain={"chain": CHAIN, "background_prompt": name})
    assert load_company("incremental", root).background_prompt == "incremental"
    assert load_company("dEfAuLt", root).name == "Default"


def test_an_unknown_name_is_refused_and_the_known_ones_are_told(root: Path) -> None:
    write(root / "CompanyConfig" / "Art", ChatChain={"chain": CHAIN})
    (root / "CompanyConfig" / "empty").mkdir()
    for config in ("Incremental", "", "..", "empty", "a\0b", "x" * 5000):
        with pytest.raises(CompanyError, match=r"there are: Art, Default$"):
            load_company(config, root)


def test_a_path_to_a_folder_is_a_company_and_a_default_beside_it_comes_first(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = write(root / "elsewhere" / "Mine", ChatChain={"chain": CHAIN})
    assert load_company(str(elsewhere), root).roles["Programmer"].lines == tuple(ROLES["Programmer"])
    write(root / "elsewhere" / "Default", Role={**ROLES, "Programmer": ["Beside."]})
    monkeypatch.chdir(root)
    assert load_company("elsewhere/Mine", root).roles["Programmer"].lines == ("Beside.",)


def test_a_file_that_is_nowhere_or_no_file_is_named(tmp_path: Path) -> None:
    folder = write(tmp_path / "Mine", ChatChain={"chain": CHAIN})
    (folder / "PhaseConfig.json").mkdir()
    with pytest.raises(CompanyError) as caught:
        load_company(str(folder), tmp_path)
    assert [problem.file.name for problem in caught.value.problems] == ["PhaseConfig.json", "RoleConfig.json"]
    assert "RoleConfig.json: is missing" in str(caught.value)


# What is said to the model


def test_blank_lines_part_a_prompt_in_the_chain_and_none_in_a_composed_phase(root: Path) -> None:
    prompt = load_company("Default", root).phases["Coding"]
    assert prompt.text(composed=False) == "Do\n\nCoding\n\n{task}"
    assert prompt.text(composed=True) == "Do\nCoding\n{task}"


def test_only_known_placeholders_are_filled(root: Path) -> None:
    template = '{task} {} {0} {unknown} {"a": {"b": 1}} { task } {task!r} {cycle}'
    filled = fill(template, {"task": "a {cycle} and a {task}", "cycle": 3})
    assert filled == 'a {cycle} and a {task} {} {0} {unknown} {"a": {"b": 1}} { task } {task!r} 3'


def test_empty_braces_in_a_prompt_are_warned_about_with_file_line_and_key(root: Path) -> None:
    phases = {**PHASES, "Coding": {**PHASES["Coding"], "phase_prompt": ["Answer with", '{"files": {}}']}}
    company = load_company(str(write(root / "Mine", ChatChain={"chain": CHAIN}, Phase=phases)), root)
    text = (root / "Mine" / "PhaseConfig.json").read_text("utf-8").splitlines()
    (warning,) = company.warnings
    assert (warning.file.name, warning.key) == ("PhaseConfig.json", "Coding.phase_prompt[1]")
    assert "files" in text[warning.line - 1]


def test_a_role_is_found_whatever_its_spelling_and_knows_the_background(root: Path) -> None:
    write(root / "CompanyConfig" / "Mine", ChatChain={"chain": CHAIN, "background_prompt": "We are {x}."})
    company = load_company("Mine", root)
    prompt = role_prompt(company, "chief_product  OFFICER", {"task": "a clock"})
    assert prompt == "We are {x}.\nYou are the Chief Product Officer.\nThe task: a clock"
    with pytest.raises(KeyError, match=r"no role 'Plumber'.*Programmer"):
        role_prompt(company, "Plumber", {})


def test_recruitments_match_roles_without_case_spaces_and_underscores(root: Path) -> None:
    recruits = [role.upper().replace(" ", "_") for role in ROLES]
    assert problems_of(root, ChatChain={"chain": CHAIN, "recruitments": recruits}) == []


# What is refused


def test_there_are_twenty_broken_companies() -> None:
    assert sorted(folder.name for folder in BROKEN.glob("broken_*")) == sorted(EXPECTED)
    assert len(EXPECTED) == 20


@pytest.mark.parametrize("name", EXPECTED)
def test_a_broken_company_is_refused_on_the_right_line(root: Path, name: str) -> None:
    (problem,) = examine_folder(BROKEN / name, root)[0]
    assert {"file": problem.file.name, "line": problem.line, "key": problem.key} == EXPECTED[name]
    assert str(problem).startswith(f"{problem.file}:{problem.line}: {problem.key}")


@pytest.mark.parametrize(
    ("files", "key", "message"),
    [
        ({"ChatChain": []}, "", "must be an object, not a list"),
        ({"ChatChain": {"chain": {}}}, "chain", "must be a list, not an object"),
        ({"ChatChain": {"chain": None}}, "chain", "must be a list, not null"),
        ({"ChatChain": {"chain": ["Coding"]}}, "chain[0]", "must be an object, not a string"),
        ({"ChatChain": {"chain": [{"phase": "Coding"}]}}, "chain[0].phaseType", "is missing"),
        ({"ChatChain": {"chain": [simple(7)]}}, "chain[0].phase", "not a whole number"),
        ({"ChatChain": {"chain": [simple("")]}}, "chain[0].phase", "is empty"),
        (
            {"ChatChain": {"chain": [simple("Coding", max_turn_step=1.5)]}},
            "chain[0].max_turn_step",
            "must be a whole number, not a number",
        ),
        (
            {"ChatChain": {"chain": [simple("Coding", max_turn_step=True)]}},
            "chain[0].max_turn_step",
            "not true or false",
        ),
        (
            {"ChatChain": {"chain": [simple("Coding", need_reflect="often")]}},
            "chain[0].need_reflect",
            "must be true or false",
        ),
        (
            {"ChatChain": {"chain": [composed("CodeReview", simple("Coding"), cycleNum=-2)]}},
            "chain[0].cycleNum",
            "must be at least 1, not -2",
        ),
        ({"ChatChain": {"chain": [composed("CodeReview")]}}, "chain[0].Composition", "is empty"),
        (
            {"ChatChain": {"chain": [composed("CodeReview", 4)]}},
            "chain[0].Composition[0]",
            "must be an object",
        ),
        ({"ChatChain": {"chain": CHAIN, "with_memory": 2}}, "with_memory", "must be true or false"),
        ({"ChatChain": {"chain": CHAIN, "with_memory": 1.0}}, "with_memory", "must be true or false"),
        (
            {"ChatChain": {"chain": CHAIN, "background_prompt": ["a"]}},
            "background_prompt",
            "must be a string, not a list",
        ),
        ({"ChatChain": {"chain": CHAIN, "recruitments": "all"}}, "recruitments", "must be a list"),
        ({"Phase": {**PHASES, "Coding": []}}, "Coding", "must be an object, not a list"),
        ({"Phase": {**PHASES, "Coding": {}}}, "Coding.assistant_role_name", "is missing"),
        (
            {"Phase": {**PHASES, "Coding": {**PHASES["Coding"], "phase_prompt": []}}},
            "Coding.phase_prompt",
            "is empty",
        ),
        ({"Role": {**ROLES, "Programmer": "You."}}, "Programmer", "must be a list, not a string"),
        ({"Role": {**ROLES, "Programmer": ["You", 1]}}, "Programmer[1]", "must be a string"),
        ({"Uncertainty": "off"}, "", "must be an object, not a string"),
        (
            {"ChatChain": {"chain": [simple("Coding")], "recruitments": [CTO]}},
            "Coding.assistant_role_name",
            "speaks here without being in recruitments: Programmer",
        ),
        (
            {"ChatChain": {"chain": [simple("Coding", need_reflect=1)], "recruitments": ["Programmer", CTO]}},
            "chain[0].need_reflect",
            f"without being in recruitments: {CEO}, Counselor",
        ),
    ],
)
def test_a_wrong_value_is_told_with_its_key(root: Path, files: dict[str, Any], key: str, message: str) -> None:
    problems = problems_of(root, **files)
    assert problems[0].key == key
    assert message in problems[0].message
    assert {problem.key.partition(".")[0] for problem in problems} == {key.partition(".")[0]}


def test_all_problems_of_a_company_are_told_in_one_go(root: Path) -> None:
    problems = problems_of(
        root,
        ChatChain={"chain": [simple("Coda"), simple("Coding", max_turn_step=500)], "gui_design": "?"},
        Role={**ROLES, "Programmer": 5},
    )
    assert [problem.key for problem in problems] == [
        "chain[0].phase",
        "chain[1].max_turn_step",
        "gui_design",
        "Programmer",
    ]
    assert [problem.line for problem in problems] == [4, 12, 16, 22]


# Folders


def test_a_folder_of_companies_is_validated_company_by_company(root: Path) -> None:
    home = root / "CompanyConfig"
    assert examine_folder(home, root)[0] == []
    shutil.copytree(BROKEN / "broken_flag", home / "Flag")
    shutil.copytree(BROKEN / "broken_comma", home / "Comma")
    (home / "notes").mkdir()
    problems = examine_folder(home, root)[0]
    assert [problem.file.parent.name for problem in problems] == ["Comma", "Flag"]


def test_a_folder_without_a_company_or_no_folder_is_a_problem(root: Path) -> None:
    for path in (root, root / "nowhere", root / "CompanyConfig" / "Default" / "RoleConfig.json"):
        (problem,) = examine_folder(path, root)[0]
        assert str(problem).startswith(f"{path}: no company here")


def test_the_command_accepts_the_projects_own_companies(capsys: pytest.CaptureFixture[str]) -> None:
    home = PROJECT / "CompanyConfig"
    assert sorted(folder.name for folder in home.iterdir()) == ["Art", "Default", "Draft", "Human", "Incremental"]
    assert dispatch(["validate", *map(str, home.iterdir())]) == 0
    assert dispatch(["validate", str(home)]) == 0
    assert capsys.readouterr().out == "All is well.\n" * 2


def test_the_command_rejects_the_twenty_broken_ones_on_the_right_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert dispatch(["validate", str(BROKEN)]) == 2
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 20
    for name, place in EXPECTED.items():
        wanted = f"{BROKEN / name / place['file']}:{place['line']}: {place['key']}"
        assert any(line.startswith(wanted) for line in lines), wanted


def test_a_console_without_the_characters_of_a_company_shows_the_rest(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write(root / "Mine", ChatChain={"chain": CHAIN, "名字": 1}, Phase=PHASES, Role=ROLES)
    out = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(out, encoding="cp1252", write_through=True))
    assert dispatch(["validate", str(folder)]) == 0
    assert b"unknown key '??'" in out.getvalue()


def test_the_command_tells_what_is_only_odd_and_accepts_it(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    phases = {**PHASES, "Coding": {**PHASES["Coding"], "phase_prompt": ["Answer with {}"]}}
    folder = write(root / "Mine", ChatChain={"chain": CHAIN, "colour": "red"}, Phase=phases, Role=ROLES)
    assert dispatch(["validate", str(folder)]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[-1] == "All is well."
    assert [line.partition(": ")[0] for line in said[:-1]] == ["warning"] * 2
    assert "colour: unknown key 'colour', ignored" in said[0]
    assert "Coding.phase_prompt[0]: {} names nothing" in said[1]


def test_sixty_two_companies_are_validated_in_under_a_second(root: Path) -> None:
    lines = [f"{number}. A line of a prompt about {{task}}, of the usual length." for number in range(18)]
    phases = {**PHASES, **{f"Phase{n}": {**PHASES["Coding"], "phase_prompt": lines} for n in range(13)}}
    chain = CHAIN * 4
    for number in range(62):
        write(root / "many" / f"company{number}", ChatChain={"chain": chain}, Phase=phases, Role=ROLES)
    start = time.perf_counter()
    assert examine_folder(root / "many", root)[0] == []
    assert time.perf_counter() - start < 1
