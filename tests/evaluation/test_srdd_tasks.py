"""Which tasks are taken, what they are called, and lists that cannot be used."""

from __future__ import annotations

import http.server
import json
import re
import threading
from collections import Counter
from pathlib import Path

import pytest

from evaluation.behaviour import load_suite
from evaluation.srdd import EvaluationError
from evaluation.srdd.__main__ import main
from evaluation.srdd.fetch import fetch
from evaluation.srdd.tasks import BEHAVIOUR, OWN, Selection, read_tasks, select

HEAD = "Name,Description,Category\n"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "SRDD Dev.csv"
    rows = [f"Game+{n % 3}: x,Play {n}.,{'Board' if n % 2 else 'Data'}\n" for n in range(12)]
    path.write_text("\ufeff" + HEAD + "".join(rows), encoding="utf-8")
    return path


def test_the_ten_tasks_shipped_are_of_ten_categories() -> None:
    tasks = read_tasks(str(OWN))
    assert len(tasks) == len({task.category for task in tasks}) == 10
    assert tasks[0].id == "tasks-0001-leap_lister"
    assert all(20 < len(task.text.split()) < 139 for task in tasks)


def test_ids_never_collide_though_names_repeat(table: Path) -> None:
    tasks = read_tasks(str(table))
    assert len({task.name for task in tasks}) == 3
    assert len({task.id for task in tasks}) == 12
    assert tasks[4].id == "srdd_dev-0005-game_1_x"


def test_the_shipped_suite_is_a_list_of_tasks_too() -> None:
    assert [task.text for task in read_tasks(BEHAVIOUR)] == [task.task for task in load_suite()]


def test_selection_keeps_the_order_and_repeats_with_its_seed(table: Path) -> None:
    tasks = read_tasks(str(table))
    drawn = select(tasks, Selection(per_category=2, seed=3))
    assert Counter(task.category for task in drawn) == {"Board": 2, "Data": 2}
    assert drawn == sorted(drawn, key=lambda task: task.id) == select(tasks, Selection(per_category=2, seed=3))
    assert any(select(tasks, Selection(per_category=2, seed=seed)) != drawn for seed in range(4, 9))
    assert [task.id[9:13] for task in select(tasks, Selection(["Board"], limit=2))] == ["0002", "0004"]
    with pytest.raises(EvaluationError, match="there are Board, Data"):
        select(tasks, Selection(["Cooking"]))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Name,Task,Category\na,b,c\n", "has no column Description; wanted are Name,Description,Category"),
        ("", "has no column Name"),
        (HEAD, r"tasks\.csv holds no task"),
        (HEAD + "a,Do it.,c\nb, ,c\n", r"task 2 \(b\): the description is empty"),
        (HEAD + "a,Do it.,c\nb,Do\0 it.,c\n", r"task 2: it holds the character '\\x00'|line contains NUL"),
    ],
)
def test_a_list_that_cannot_be_used_is_told(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "tasks.csv"
    path.write_text(text)
    with pytest.raises(EvaluationError, match=message):
        read_tasks(str(path))
    with pytest.raises(EvaluationError, match="cannot be read"):
        read_tasks(str(tmp_path / "missing.csv"))


def test_half_a_character_in_a_suite_is_told(tmp_path: Path) -> None:
    path = tmp_path / "suite.json"
    checks = [{"title": "it runs", "steps": [{}]}]
    path.write_text(json.dumps([{"name": "half", "task": "Print \ud83d.", "checks": checks}]))
    with pytest.raises(EvaluationError, match=r"suite\.json, task 1: it holds the character '.ud83d'"):
        read_tasks(str(path))


def test_the_data_set_is_fetched_only_under_its_licence(
    tmp_path: Path, table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "data" / "srdd.csv"
    assert main(["fetch", str(file), "--url", table.as_uri()]) == 2
    assert "CC BY-NC 4.0" in capsys.readouterr().out
    assert not file.exists()
    assert main(["fetch", str(file), "--url", table.as_uri(), "--accept"]) == 0
    assert file.read_bytes() == table.read_bytes()


def test_a_data_set_that_is_none_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    page, file, empty = tmp_path / "page.html", tmp_path / "srdd.csv", tmp_path / "empty.csv"
    page.write_text("<html>")
    file.write_text("old")
    empty.write_text(HEAD)
    for path in (page, tmp_path / "missing", empty):
        with pytest.raises(EvaluationError, match=f"^{re.escape(path.as_uri())} "):
            fetch(path.as_uri(), file)
    assert file.read_text() == "old"
    assert not list(tmp_path.glob("*.part"))


def test_where_the_data_set_cannot_go_is_told_by_its_name(
    tmp_path: Path, table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["fetch", "--accept", "--url", table.as_uri()]
    assert main([*command, str(tmp_path)]) == 2
    assert f"{tmp_path} is a folder; name a file in it." in capsys.readouterr().err
    assert main([*command, str(table / "srdd.csv")]) == 2
    assert f"{table} cannot be used (File exists); name another place." in capsys.readouterr().err


def test_half_a_data_set_is_none(tmp_path: Path) -> None:
    class Breaking(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", "1000")
            self.end_headers()
            self.wfile.write(f"{HEAD}One,Print a one.,Data\n".encode())

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Breaking) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with pytest.raises(EvaluationError, match="only 48 of 1000 bytes came"):
            fetch(f"http://127.0.0.1:{server.server_port}/", tmp_path / "srdd.csv")
        server.shutdown()
    with pytest.raises(EvaluationError, match="cannot be had"):
        fetch("http://127.0.0.1:9/no web address", tmp_path / "srdd.csv")
    assert not list(tmp_path.iterdir())
