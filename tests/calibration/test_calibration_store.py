"""Learning into a store: what is learnt, what is refused, and that many may do it at once."""

from __future__ import annotations

import json
import math
import random
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from calibration import CalibrationError
from calibration.labels import Group, Outcome, Response
from calibration.quantiles import conformal
from calibration.snapshot import Snapshot, from_json, to_json
from calibration.store import open_store
from calibration.thresholds import StoreThresholds
from uq.decision import decide
from uq.scores import Score
from uq.threshold import FixedThresholds

GROUP = Group("Coding", "m", "raw", "content-v1", "token-uncertainty")


def response(
    number: int, u: float, outcome: Outcome = "correct", group: Group = GROUP, task: str = ""
) -> Response:
    return Response(f"run{number:06}", 0, task or f"task{number}", f"{20260101000000 + number}", group, u, outcome)


def responses(count: int, group: Group = GROUP) -> list[Response]:
    """Correct answers of distinct tasks, with u = 0.01, 0.02, ..."""
    return [response(number, number / 100, group=group) for number in range(1, count + 1)]


def learn(path: Path, answers: Iterable[Response], method: str = "conformal", alpha: float = 0.1) -> Snapshot:
    with open_store(path, create=True) as store:
        return store.learn(answers, method, alpha)


def content(path: Path) -> tuple[int, int]:
    with open_store(path) as store:
        newest = store.snapshot()
        return len(list(store.history())), newest.number if newest else 0


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "calibration" / "store.sqlite"


def test_fifty_correct_answers_make_a_threshold_and_forty_nine_do_not(path: Path) -> None:
    (few,) = learn(path, responses(49)).thresholds
    assert (few.tau, few.n_correct, few.reason) == (0.5, 49, "lacks 1 of 50 correct answers")
    (enough,) = learn(path, responses(50)).thresholds
    assert (enough.tau, enough.rank, enough.n_correct, enough.reason) == (0.46, 46, 50, "")
    assert enough.rates == pytest.approx((0.040, 0.174), abs=6e-4)
    assert (enough.window_start, enough.window_end) == ("20260101000001", "20260101000050")


def test_the_paper_s_percentile_is_there_too(path: Path) -> None:
    assert learn(path, responses(50), "linear").thresholds[0].tau == pytest.approx(0.451)


def test_tasks_count_and_not_answers(path: Path) -> None:
    many = [response(number, number / 100, task=f"task{number % 49}") for number in range(200)]
    (item,) = learn(path, many).thresholds
    assert (item.n_correct, item.tau) == (49, 0.5)


def test_the_order_of_the_history_does_not_matter(tmp_path: Path) -> None:
    many = [response(number, number / 100, task=f"task{number % 60}") for number in range(200)]
    shuffled = many.copy()
    random.Random(5).shuffle(shuffled)
    first, second = (
        learn(tmp_path / name, answers).thresholds for name, answers in (("a", many), ("b", shuffled))
    )
    assert first == second


def test_wrong_and_unknown_answers_are_counted_and_not_learnt_from(path: Path) -> None:
    more = [response(100 + n, 5.0, "incorrect") for n in range(7)] + [response(200, 9.0, "unknown")]
    (item,) = learn(path, [*responses(50), *more]).thresholds
    assert (item.tau, item.n_incorrect, item.n_unknown, item.auroc) == (0.46, 7, 1, 1.0)


def test_each_kind_of_answer_has_a_threshold_of_its_own(path: Path) -> None:
    others = [GROUP._replace(**{name: "other"}) for name in Group._fields]
    answers = [*responses(50)]
    for place, group in enumerate(others, 1):
        answers += [replace(answer, run=f"{answer.run}/{place}", group=group) for answer in responses(49)]
    snapshot = learn(path, answers)
    assert len(snapshot.thresholds) == 6
    assert snapshot.lookup(GROUP).source == "calibrated #1"
    assert {snapshot.lookup(group).source for group in others} == {"fallback"}
    assert snapshot.lookup(others[0]).reason == "lacks 1 of 50 correct answers"


def test_the_threshold_says_where_it_came_from_and_only_strictly_above_triggers(path: Path) -> None:
    thresholds = StoreThresholds(learn(path, responses(50)), by_hand=FixedThresholds({"Manual": 0.2}))
    threshold = thresholds.lookup(*GROUP[:4])
    assert (threshold.source, threshold.n_correct, threshold.method, threshold.alpha) == (
        "calibrated #1",
        50,
        "conformal",
        0.1,
    )
    actions = []
    for u in (0.46, math.nextafter(0.46, 1), math.inf):
        score = Score(signal=GROUP.signal, value=u, n=1, model="m", logprob_kind="raw", selection="content-v1")
        actions.append(decide(score, threshold).action)
    assert actions == ["proceed", "trigger", "trigger"]


def test_thresholds_set_by_hand_come_first(path: Path) -> None:
    thresholds = StoreThresholds(learn(path, responses(50)), by_hand=FixedThresholds({"Coding": 0.9}))
    assert (thresholds.lookup(*GROUP[:4]).tau, thresholds.lookup(*GROUP[:4]).source) == (0.9, "policy")


def test_snapshots_are_numbered_and_never_change(path: Path) -> None:
    first = learn(path, responses(50))
    second = learn(path, [response(100 + n, 0.9) for n in range(50)])
    assert (first.number, second.number, second.parent) == (1, 2, 1)
    assert second.thresholds[0].tau == 0.9
    with open_store(path) as store:
        assert store.snapshot(1) == first
        assert store.snapshot() == second
        with pytest.raises(CalibrationError, match="no snapshot #3, but 1, 2"):
            store.snapshot(3)
    with sqlite3.connect(path) as connection, pytest.raises(sqlite3.IntegrityError, match="never changed"):
        connection.execute("UPDATE snapshots SET record = ''")


def test_a_run_learnt_from_twice_counts_once(path: Path) -> None:
    assert learn(path, responses(50)).thresholds == learn(path, responses(50)).thresholds
    assert content(path) == (50, 2)


def test_censored_history_is_refused_and_the_store_stays_as_it_was(path: Path) -> None:
    learn(path, responses(50))
    with pytest.raises(CalibrationError, match=r"no label \(Coding 2\).*--uq observe"):
        learn(path, [response(60, 0.1), response(61, 0.9, "censored"), response(62, 0.8, "censored")])
    assert content(path) == (50, 1)


def test_a_full_disk_is_said_and_the_store_stays_as_it_was(path: Path) -> None:
    learn(path, responses(50))
    with pytest.raises(CalibrationError, match="disk is full"), open_store(path) as store:
        store._connection.execute("PRAGMA max_page_count = 12")
        store.learn([response(number, 0.1) for number in range(100, 2000)], "conformal", 0.1)
    assert content(path) == (50, 1)


@pytest.mark.parametrize(
    ("u", "alpha", "complaint"), [(0.1, 0.01, "50 values are too few for alpha 0.01"), (math.inf, 0.1, "infinite")]
)
def test_a_threshold_that_nothing_could_exceed_is_refused(
    path: Path, u: float, alpha: float, complaint: str
) -> None:
    with pytest.raises(CalibrationError, match=f"Nothing could ever exceed the threshold of Coding .*{complaint}"):
        learn(path, [response(number, u) for number in range(50)], alpha=alpha)
    assert content(path) == (0, 0)


@pytest.mark.parametrize("alpha", [0.0, 1.0, -1.0, math.nan])
def test_an_impossible_alpha_is_refused(path: Path, alpha: float) -> None:
    with pytest.raises(CalibrationError, match="must lie between 0 and 1"):
        learn(path, responses(50), alpha=alpha)


def test_nan_never_becomes_a_response() -> None:
    with pytest.raises(CalibrationError, match="uncertainty nan"):
        response(1, math.nan)


def test_a_score_that_was_changed_by_hand_is_said(path: Path) -> None:
    learn(path, responses(50))
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE responses SET u = 'certain' WHERE task = 'task7'")
    with pytest.raises(CalibrationError, match=r"uncertainty certain.*changed by hand"):
        learn(path, responses(60))


def test_what_is_no_store_of_ours_is_refused_and_left_alone(tmp_path: Path) -> None:
    text, foreign, newer = (tmp_path / name for name in ("text", "foreign", "newer"))
    text.write_text("not a database, and long enough to be looked at as one" * 10)
    with sqlite3.connect(foreign) as connection:
        connection.execute("CREATE TABLE recipes (name TEXT)")
    learn(newer, responses(50))
    with sqlite3.connect(newer) as connection:
        connection.execute("PRAGMA user_version = 99")
    for path, complaint in (
        (text, "cannot be used: file is not a database"),
        (foreign, "is a database of something else"),
        (newer, "schema 99, but this version reads 1. Learn the thresholds again: python -m calibration fit"),
        (tmp_path / "nowhere", "There is no store .* Make one"),
    ):
        before = path.read_bytes() if path.exists() else None
        with pytest.raises(CalibrationError, match=complaint), open_store(path) as store:
            store.snapshot()
        assert (path.read_bytes() if path.exists() else None) == before


def test_a_snapshot_survives_json(path: Path) -> None:
    snapshot = learn(path, [*responses(50), *responses(10, GROUP._replace(subtask="Manual"))][:50])
    assert from_json(to_json(snapshot), "here") == snapshot


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"schema": 2}, "here has schema 2, but this version reads 1"),
        ({"method": "guess"}, "method 'guess'"),
        ({"alpha": 1.5}, "alpha 1.5"),
        ({"label_source": "by-hand"}, "labels by 'by-hand'"),
        ({"surplus": 1}, "surplus"),
        ({"tau": math.nan}, "a threshold of Coding is nan"),
        ({"tau": math.inf}, "a threshold of Coding is inf"),
        ({"tau": -0.1}, "a threshold of Coding is -0.1"),
        ({"tau": "0.1"}, "here holds no usable thresholds"),
        ({"tau": 10**400}, "a threshold of Coding is 1000"),
        ({"created_at": math.nan}, "created_at nan"),
        ({"auroc": math.nan}, "auroc=nan"),
        ({"rank": math.nan}, "rank=nan"),
        ({"rates": [math.nan, 0.2]}, "rates=.nan, 0.2"),
        ({"rates": [0.1]}, "rates=.0.1"),
        ({"rates": ["0.1", "0.2"]}, "here holds no usable thresholds"),
        ({"n_correct": math.nan}, "here holds no usable thresholds"),
        ({"n_unknown": -1}, "n_unknown=-1"),
        ({"reason": None}, "reason=None"),
        ({"group": {**GROUP._asdict(), "model": 7}}, "model=7"),
    ],
)
def test_json_that_was_not_learnt_here_is_refused(path: Path, change: dict[str, object], complaint: str) -> None:
    record = json.loads(to_json(learn(path, responses(50))))
    target = record["thresholds"][0] if set(change) <= set(record["thresholds"][0]) else record
    target.update(change)
    with pytest.raises(CalibrationError, match=complaint):
        from_json(json.dumps(record), "here")


@pytest.mark.parametrize("text", ["", "[]", "{", "null", '{"schema": 1}', "\ud800", "[" * 100_000])
def test_any_other_file_is_refused(text: str) -> None:
    with pytest.raises(CalibrationError, match="here"):
        from_json(text.encode("utf-8", "surrogatepass"), "here")


def test_the_trigger_rate_stays_where_it_was_asked_for_round_after_round(path: Path) -> None:
    """Twelve rounds of 200 correct answers with u of an exponential distribution. Learnt from the answers
    that were handed on alone, the rate of triggers on correct answers goes from 10 % to 27 % and beyond."""
    chance = random.Random(6)
    rates = []
    tau = naive = 0.5
    handed_on: list[float] = []
    for turn in range(12):
        scores = [chance.expovariate(1 / 0.15) for _ in range(200)]
        acted = [
            response(1000 * turn + n, u, "censored" if u > tau else "correct") for n, u in enumerate(scores, 1)
        ]
        with pytest.raises(CalibrationError, match="would sink round by round"):
            learn(path, acted)
        observed = [replace(answer, outcome="correct") for answer in acted]
        tau = learn(path, observed).thresholds[0].tau
        rates.append(math.exp(-tau / 0.15))
        handed_on += [u for u in scores if u <= naive]
        naive = conformal(handed_on, 0.1).tau
    assert rates[-1] == pytest.approx(0.1, abs=0.02)
    assert sum(rates) / len(rates) == pytest.approx(0.1, abs=0.02)
    assert math.exp(-naive / 0.15) > 0.2


def test_a_store_that_another_is_just_making_is_waited_for(path: Path) -> None:
    learn(path, responses(50))
    with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as maker:
        maker.execute("PRAGMA journal_mode = DELETE")
        maker.execute("BEGIN IMMEDIATE")
        done = threading.Timer(0.2, maker.execute, ["COMMIT"])
        done.start()
        assert content(path) == (50, 1)
        done.join()
    with closing(sqlite3.connect(path)) as fresh:
        assert fresh.execute("PRAGMA journal_mode").fetchone() == ("wal",)


_FITS = """
import sys
from pathlib import Path
from calibration.labels import Group, Response
from calibration.store import open_store
name, path = sys.argv[1], Path(sys.argv[2])
group = Group("Coding", "m", "raw", "content-v1", "token-uncertainty")
for turn in range(5):
    names = [f"{name}{turn}/{n}" for n in range(50)]
    answers = [Response(run, 0, run, "1", group, n / 100, "correct") for n, run in enumerate(names)]
    with open_store(path, create=True) as store:
        store.learn(answers, "conformal", 0.1)
        store.snapshot()
"""


def test_several_processes_fit_and_read_at_once(path: Path) -> None:
    root = Path(__file__).parents[2]
    processes = [
        subprocess.Popen([sys.executable, "-c", _FITS, name, str(path)], cwd=root, stderr=subprocess.PIPE)
        for name in "abc"
    ]
    assert [process.communicate(timeout=60)[1] for process in processes] == [b""] * 3
    assert content(path) == (750, 15)
    with open_store(path) as store:
        counts = [snapshot.thresholds[0].n_correct for n in range(1, 16) if (snapshot := store.snapshot(n))]
    assert counts == [50 * number for number in range(1, 16)], "each fit saw all before it"
