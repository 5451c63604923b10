"""Programs compared by what they do, in the sandbox: noise, randomness, loops, crashes and files."""

from __future__ import annotations

import pytest

from chatdev.executor import SandboxExecutor
from uq.clustering import Verdicts, leader_clusters
from uq.execution import Call, ExecutionJudge, Run, Trials, run_candidates

pytestmark = pytest.mark.xdist_group("executor")  # one worker runs the programs once
CALLS = tuple(map(Call, ["[3, 1, 2], 2", "[], 1", "[1], 9"]))


def judged(programs: dict[str, str], trials: Trials) -> ExecutionJudge:
    files = {label: {trials.place: code} for label, code in programs.items()}
    judge = run_candidates(files, trials, SandboxExecutor())
    assert isinstance(judge, ExecutionJudge)
    return judge


@pytest.fixture(scope="module")
def functions() -> ExecutionJudge:
    head = "def f(numbers, k):\n"
    programs = {
        "sorted": head + "    return sorted(numbers)[:k]",
        "in place": head + "    numbers.sort()\n    return [1.0 * n + 0.1 - 0.1 for n in numbers[:k]]",
        "other": head + "    return numbers[:k]",
        "tuple": head + "    return tuple(sorted(numbers)[:k])",
        "prints": head + "    print(numbers)\n    return sorted(numbers)[:k]",
        "generator": head + "    yield from sorted(numbers)[:k]",
        "generator too": head + "    return iter(sorted(numbers)[:k])",
        "generator of others": head + "    return iter(numbers[:k])",
        "address": head + "    return print, lambda: 0, object(), f'{object()}'",
        "address too": head + "    return print, lambda: 0, object(), f'{object()}'  # elsewhere",
        "random": "import random\n" + head + "    return random.random()",
        "random too": "import random\n" + head + "    return 1 - random.random()",
        "order of a set": head + "    return list({'a', 'b', 'c', 'd', 'e', 'f', 'g'})",
        "loops": head + "    while True: pass",
        "loops in C": head + "    return len(str(7 ** 7 ** 9))",
        "no program": "def f(",
        "no program too": "def g(",
        "ends all": "import os, signal\n" + head + "    os.kill(os.getppid(), signal.SIGKILL)",
        "quits": head + "    raise SystemExit",
        "raises": head + "    return {}[tuple(numbers)] if k > 1 else []",
        "raises too": head + "    if k > 1: raise KeyError('other words')\n    return []",
        "writes": head + "    open('notes.txt', 'w').write(str(k))\n    return 0",
        "writes too": head + "    open('notes.txt', 'w').write(f'{k}\\n')\n    return 0",
        "writes bytes": head + "    open('notes.bin', 'wb').write(b'\\xff')\n    return 0",
        "writes other bytes": head + "    open('notes.bin', 'wb').write(b'\\xfe')\n    return 0",
        "makes a folder": "import os\n" + head + "    os.mkdir('notes')\n    return 0",
        "makes another": "import os\n" + head + "    os.mkdir('other')\n    return 0",
        "deep": head + "    return [[[[[[[[[[1]]]]]]]]]]",
        "deep otherwise": head + "    return [[[[[[[[[[2]]]]]]]]]]",
        "indents": head + "    print('  1')",
        "indents not": head + "    print('1')",
        "writes otherwise": head + "    open('notes.txt', 'w').write(str(k + 1))\n    return 0",
    }
    return judged(programs, Trials(CALLS, "f", given=3))


@pytest.mark.parametrize(
    ("first", "second", "verdict"),
    [
        ("sorted", "in place", True),
        ("sorted", "other", False),
        ("sorted", "tuple", False),
        ("sorted", "prints", False),
        ("generator", "generator too", True),
        ("generator", "generator of others", False),
        ("address", "address too", True),
        ("random", "random too", None),
        ("random", "sorted", None),
        ("order of a set", "sorted", None),
        ("loops", "sorted", False),
        ("loops", "loops in C", None),
        ("no program", "no program too", None),
        ("no program", "sorted", False),
        ("ends all", "sorted", False),
        ("ends all", "no program", False),
        ("quits", "sorted", False),
        ("raises", "raises too", True),
        ("raises", "sorted", False),
        ("writes", "writes too", True),
        ("writes", "writes otherwise", False),
        ("writes bytes", "writes other bytes", False),
        ("makes a folder", "makes another", False),
        ("deep", "deep otherwise", False),
        ("indents", "indents not", False),
        ("no program", "no program", None),
        ("random", "random", None),
        ("sorted", "sorted", True),
    ],
)
def test_functions(functions: ExecutionJudge, first: str, second: str, verdict: bool | None) -> None:
    assert functions(first, second) is verdict
    assert functions(second, first) is verdict


def test_the_shortest_input_that_tells_two_apart(functions: ExecutionJudge) -> None:
    found = functions.difference("sorted", "other")
    assert found is not None
    call, one, other = found
    assert (call, "[1, 2]" in one.seen, "[3, 1]" in other.seen) == (CALLS[0], True, True)
    assert functions.difference("sorted", "in place") is None


def test_agreement_in_shares_of_the_inputs(functions: ExecutionJudge) -> None:
    assert functions.agreement("sorted", "in place") == 1
    assert functions.agreement("sorted", "other") == pytest.approx(2 / 3)
    assert functions.agreement("no program", "no program too") == 0, "failing alike is no agreement"
    assert functions.agreement("random", "sorted") is None


def test_groups_by_behaviour_ask_no_model_and_count_what_they_cannot_say(functions: ExecutionJudge) -> None:
    clustering = leader_clusters(["sorted", "other", "in place", "random"], Verdicts(functions))
    assert clustering.groups == ((0, 2), (1,), (3,))
    assert clustering.abstained == 2


def test_an_input_that_most_candidates_refuse_counts_only_where_the_task_names_it() -> None:
    programs = {
        "a": "def f(x): return 1 / x",
        "b": "def f(x): return x ** -1",
        "c": "def f(x): return 1 / x if x else 0",
    }
    inputs = (Call("2"), Call("0"))
    assert judged(programs, Trials(inputs, "f", given=1)).counting == (0,)
    strict = judged(programs, Trials(inputs, "f", given=2))
    assert (strict.counting, strict("a", "b"), strict("a", "c")) == ((0, 1), True, False)


def test_whole_programs_by_command_line_and_standard_input() -> None:
    head = "import sys\n"
    programs = {
        "sum": head + "print(sum(map(int, sys.argv[1:])) or input('? '))",
        "loop": head + "n = 0\nfor word in sys.argv[1:]: n += int(word)\nprint(n or input('? '), '  ')",
        "first": head + "print(sys.argv[1] if sys.argv[1:] else input('? '))",
    }
    trials = Trials((Run(("1", "2")), Run(("x",)), Run((), "typed\n")), given=3)
    judge = judged(programs, trials)
    assert judge("sum", "loop") is True
    assert judge("sum", "first") is False
    (_, error, _) = (outcome for outcome in judge.outcomes["sum"])
    assert (error.kind, "ValueError" in error.seen) == ("raised", True)


def test_a_candidate_that_loops_is_given_up_after_two_inputs(functions: ExecutionJudge) -> None:
    assert [outcome.kind for outcome in functions.outcomes["loops"]] == ["timeout", "timeout", "skipped"]
    assert [outcome.kind for outcome in functions.outcomes["loops in C"]] == ["timeout", "timeout", "skipped"]
