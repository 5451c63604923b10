"""The verdict on a product: what it is, what a tester is told, and which of two products is better."""

from __future__ import annotations

from pathlib import Path

import pytest

from chatdev.acceptance import RunResult
from chatdev.checkpoint import Verdict, check
from chatdev.command_line import read_command_line
from chatdev.session import parse_session
from journal import Journal, read
from journal.events import Executed, RunStarted
from sandbox.completeness import Finding

WORKS = "import sys\nprint(sum(map(int, sys.argv[1:])))\n"
SESSION = parse_session("$ python main.py 2 3\n5\n$ python main.py x\nerror")
GAP = Finding("main.py", 3, "f", "the function has no implementation")
BREAK = Finding("main.py", 1, "(", "invalid syntax")
GOOD, POOR = RunResult("$ a", 2), RunResult("$ b", 1, difference="must print '5', but: '6'")
CRASH = RunResult("$ c", 0, fault="Traceback\nKeyError: 'x'")


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    journal = Journal(tmp_path / "journal.jsonl")
    journal.append(RunStarted("P", "O", "1", "t", {}, "m"))
    return journal


def checked(tmp_path: Path, journal: Journal, source: str, session: bool = False) -> Verdict:
    product = tmp_path / "product"
    product.mkdir(exist_ok=True)
    (product / "main.py").write_text(source)
    return check(product, {"main.py": source}, SESSION if session else (), journal)


def executions(journal: Journal) -> list[str]:
    return [event.purpose for event in read(journal.path) if isinstance(event, Executed)]


def test_a_program_that_ends_well_passes(tmp_path: Path, journal: Journal) -> None:
    verdict = checked(tmp_path, journal, "print(1)\n")
    assert (verdict.status, verdict.works, verdict.passed, verdict.report()) == ("runs", True, True, "")
    assert executions(journal) == ["start"]


def test_a_program_that_crashes_fails_and_the_tester_hears_why(tmp_path: Path, journal: Journal) -> None:
    verdict = checked(tmp_path, journal, "print(1)\nraise SystemExit(int('x'))\n")
    assert (verdict.status, verdict.works) == ("fails", False)
    assert "invalid literal for int" in verdict.report()


def test_what_does_not_compile_is_told_with_its_line_and_never_executed(tmp_path: Path, journal: Journal) -> None:
    verdict = checked(tmp_path, journal, "print(1)\nprint(\n", session=True)
    assert not verdict.works
    assert verdict.report().startswith("main.py, line 2: ")
    assert executions(journal) == []


def test_a_product_without_main_fails(tmp_path: Path, journal: Journal) -> None:
    verdict = check(tmp_path, {"app.py": "print(1)\n"}, (), journal)
    assert (verdict.works, verdict.report()) == (False, "python main.py: There is no main.py to start.")


def test_a_stub_is_missing_although_the_program_runs(tmp_path: Path, journal: Journal) -> None:
    verdict = checked(tmp_path, journal, "def f():\n    pass\nf()\n")
    assert (verdict.status, verdict.works) == ("runs", False)
    assert verdict.report() == "main.py, line 1: the function has no implementation"


def test_acceptance_runs_decide_whether_it_passes_but_not_whether_it_works(
    tmp_path: Path, journal: Journal
) -> None:
    verdict = checked(tmp_path, journal, "print(6)\n", session=True)
    assert (verdict.works, verdict.passed, verdict.points) == (True, False, 1)
    assert "$ python main.py 2 3\nmust print '5', but: '6'" in verdict.report()
    assert executions(journal) == ["start", "acceptance"]


def test_a_program_that_only_runs_with_its_arguments_runs(tmp_path: Path, journal: Journal) -> None:
    needy = "import sys\nn = int(sys.argv[1])\nprint(n + int(sys.argv[2]))\n"
    assert checked(tmp_path, journal, needy).status == "fails"
    assert checked(tmp_path, journal, needy, session=True).status == "runs"


def test_a_program_that_fails_however_it_is_called_fails(tmp_path: Path, journal: Journal) -> None:
    verdict = checked(
        tmp_path, journal, "import sys\nsys.exit('error: no' if sys.argv[1:] else 0)\n", session=True
    )
    assert (verdict.status, verdict.works) == ("fails", False)
    assert "each time" in verdict.reason


@pytest.mark.parametrize(
    ("source", "needs", "status"),
    [
        ("raise SystemExit('error: give a file')", True, "runs"),
        ("raise SystemExit('error: give a file')", False, "fails"),
        ("raise KeyError('file')", True, "fails"),
    ],
)
def test_only_a_program_that_needs_arguments_may_refuse_to_start_and_only_with_a_message(
    tmp_path: Path, journal: Journal, source: str, needs: bool, status: str
) -> None:
    (tmp_path / "main.py").write_text(source)
    line = read_command_line(
        "`python main.py FILE` counts words." if needs else "`python main.py [FILE]` counts words."
    )
    verdict = check(tmp_path, {"main.py": source}, (), journal, line=line)
    assert verdict.status == status


def test_a_resumed_run_takes_executions_from_its_journal(tmp_path: Path, journal: Journal) -> None:
    before = checked(tmp_path, journal, WORKS, session=True)
    journal.close()
    recorded = journal.path.read_bytes()
    resumed = Journal.resume(journal.path)
    resumed.append(RunStarted("P", "O", "1", "t", {}, "m"))
    assert checked(tmp_path, resumed, WORKS, session=True) == before
    assert journal.path.read_bytes() == recorded


def test_what_was_executed_for_other_files_is_not_taken_for_these(tmp_path: Path, journal: Journal) -> None:
    checked(tmp_path, journal, WORKS)
    journal.close()
    resumed = Journal.resume(journal.path)
    resumed.append(RunStarted("P", "O", "1", "t", {}, "m"))
    assert checked(tmp_path, resumed, "raise SystemExit(3)\n").status == "fails"


def verdict(
    *results: RunResult, broken: bool = False, missing: bool = False, status: str = "runs", reason: str = ""
) -> Verdict:
    return Verdict((BREAK,) * broken, (GAP,) * missing, status, reason, results)


def test_products_are_ranked_from_what_does_not_compile_to_what_does_it_all() -> None:
    ladder = [
        verdict(broken=True, status="fails"),
        verdict(status="fails"),
        verdict(CRASH, missing=True),
        verdict(CRASH),
        verdict(CRASH, POOR),
        verdict(GOOD, CRASH),
        verdict(POOR, POOR),
        verdict(GOOD, POOR, missing=True),
        verdict(GOOD, POOR),
        verdict(GOOD, GOOD),
    ]
    ranks = [step.rank for step in ladder]
    assert ranks == sorted(ranks)
    assert len(set(ranks)) == len(ranks)
    assert verdict(status="not_verifiable").rank == verdict(status="runs").rank


def test_the_report_tells_the_worst_first_and_no_more_than_can_be_acted_upon() -> None:
    assert verdict(broken=True, status="fails", reason="It does not compile.").report() == (
        "main.py, line 1: invalid syntax"
    )
    report = verdict(POOR, GOOD, CRASH, POOR, POOR, POOR, missing=True).report()
    assert report.startswith("$ $ c\nTraceback\nKeyError: 'x'")
    assert report.count("must print") == 2, "three differences in all"
    assert report.endswith("main.py, line 3: the function has no implementation")


def test_a_long_traceback_is_cut_to_its_end() -> None:
    fault = "\n".join(f"frame {number}" for number in range(100))
    report = verdict(RunResult("a", 0, fault=fault)).report()
    assert "frame 99" in report
    assert len(report.splitlines()) < 12


def test_a_verdict_is_kept_as_json() -> None:
    record = verdict(POOR, missing=True).to_json()
    assert (record["works"], record["passed"], record["points"]) == (False, False, 1)
    assert record["missing"][0]["path"] == "main.py"
