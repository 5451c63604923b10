"""`python -m uq` on what other frameworks save."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from uq.__main__ import main


def completion(*tokens: tuple[str, float | None], text: str | None = None, **more: Any) -> dict[str, Any]:
    """A chat completion as the official client dumps it; the second token has an alternative."""
    records: list[dict[str, Any]] = [{"token": word, "logprob": p, "top_logprobs": []} for word, p in tokens]
    if len(records) > 1:
        records[1]["top_logprobs"] = [{"token": " dog", "logprob": -1.2}]
    content = "".join(word for word, _ in tokens) if text is None else text
    choice = {"message": {"content": content}, "finish_reason": "stop", "logprobs": {"content": records}}
    return {"model": "m", "choices": [choice | more]}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "answers.json"


def printed(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().out.splitlines()


def test_a_saved_completion_is_scored_with_its_doubtful_places(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    half = math.log(0.25)
    file.write_text(json.dumps(completion(("A", math.log(0.5)), (" cat", half), (" sits", 0.0), (".", 0.0))))
    assert main([str(file), "--threshold", "0.3"]) == 1
    first, *rest = printed(capsys)
    # -log((0.5 + 0.25 + 1 + 1) / 4)
    assert first == f"{file}: trigger: 0.3747 > 0.3 (--threshold)"
    assert rest[0] == "  u 0.3747 nats over 4 tokens (content-v1, unknown log-probs)"
    assert rest[1] == "  smallest p 0.25; mean surprise 0.5199, of the worst tenth 1.3863 nats"
    assert rest[2:] == ["  p 0.25  `cat` (or `dog`?) in `A cat sits.`"]
    assert main([str(file)]) == 0
    assert printed(capsys)[0].endswith(": proceed: 0.3747 <= 0.5 (--threshold)")


def test_lists_of_log_probs_one_on_each_line(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text("[-0.5]\n\n[0.0, -Infinity]\n[-0.1, null]\n[-9999, -0.1]\n[0.2]\n")
    assert main([str(file)]) == 1
    lines = printed(capsys)
    assert [line.removeprefix(f"{file}:") for line in lines if line.startswith(str(file))] == [
        "1: proceed: 0.5 <= 0.5 (--threshold)",
        "3: trigger: 0.6931 > 0.5 (--threshold)",
        "4: unavailable: nan: A log-prob is not a number.",
        "5: trigger: 0.7931 > 0.5 (--threshold)",
        "6: unavailable: invalid: A log-prob is 0.2; none can be above 0.",
    ]
    assert "  tokens of probability 0: 1" in lines
    assert "  p 0.00  `#2`" in lines
    assert "  tokens with a floor value: 1" in lines


def test_one_list_and_a_list_of_lists(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text("[-0.1, -0.2]")
    assert main([str(file), "--spans", "0"]) == 0
    assert len(printed(capsys)) == 3
    file.write_text("[[-0.1],\n [-0.2]]")
    assert main([str(file)]) == 0
    assert [line for line in printed(capsys) if line.startswith(str(file))] == [
        f"{file} no. 1: proceed: 0.1 <= 0.5 (--threshold)",
        f"{file} no. 2: proceed: 0.2 <= 0.5 (--threshold)",
    ]


def test_each_choice_is_an_answer_and_json_is_one_object_a_line(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    both = completion(("Yes", -0.1), ("\ud83d", -0.2))
    both["choices"] += completion(("No", -2.0), finish_reason="length")["choices"]
    file.write_text(json.dumps(both))
    assert main([str(file), "--json", "--log-probs", "raw", "--selection", "decision-v1"]) == 1
    first, second = map(json.loads, printed(capsys))
    assert (first["answer"], first["action"]) == (f"{file} choice 1", "proceed")
    assert first["measurement"]["value"] == pytest.approx(0.1)
    assert (first["measurement"]["logprob_kind"], first["measurement"]["model"]) == ("raw", "m")
    assert (second["action"], second["measurement"]["truncated"]) == ("trigger", True)
    assert [span["text"] for span in second["doubtful"]] == ["No"]


def test_json_stays_json_where_a_number_is_infinite(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text("[-Infinity]")
    assert main([str(file), "--json"]) == 1
    assert json.loads(printed(capsys)[0])["measurement"]["value"] == "inf"


@pytest.mark.parametrize("logprobs", [None, {"content": None}, {"content": []}])
def test_a_server_that_gave_none_is_unavailable(
    file: Path, capsys: pytest.CaptureFixture[str], logprobs: dict[str, Any] | None
) -> None:
    file.write_text(json.dumps(completion(text="Hello", logprobs=logprobs)))
    assert main([str(file)]) == 1
    assert printed(capsys) == [
        f"{file}: unavailable: no_logprobs: The engine gave no log-probs; ask it for them, or use one that can."
    ]


def test_every_file_is_read_that_a_json_writer_leaves(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [json.dumps(completion((word, -0.2)), ensure_ascii=False) for word in ("a\u2028b", "a\x85b", "a")]
    file.write_bytes("\r\n".join(lines).encode("utf-8-sig"))
    assert main([str(file), "--spans", "0"]) == 0
    assert [line for line in printed(capsys) if line.startswith(str(file))] == [
        f"{file}:{number}: proceed: 0.2 <= 0.5 (--threshold)" for number in (1, 2, 3)
    ]


def test_processed_log_probs_are_refused(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text("[-0.1]")
    assert main([str(file), "--log-probs", "processed"]) == 1
    assert "unavailable: processed" in printed(capsys)[0]


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"\xff\xfe", "is not text in UTF-8"),
        (b"", "holds no answer"),
        (b"no json", "answers.json is not JSON"),
        (b"[-0.1]\n{", "answers.json:2 is not JSON"),
        (b"[-0.1]\n7", "answers.json:2 is neither a chat completion nor a list of log-probs"),
        (b'{"choices": [{}]}', "neither a chat completion"),
        (b'{"choices": []}', "holds no answer"),
        (b'{"error": {}}', "neither a chat completion"),
        (b'[-0.1, "x"]', "neither a chat completion"),
        (b"[true]", "neither a chat completion"),
        (b"[1%s]" % (b"0" * 400), "neither a chat completion"),
        (b"[" * 100_000, "is nested too deeply"),
        (b'{"choices": [{"message": {}, "logprobs": {"content": [{"token": "a"}]}}]}', "'logprob'"),
    ],
)
def test_anything_else_is_one_sentence(
    file: Path, capsys: pytest.CaptureFixture[str], content: bytes, complaint: str
) -> None:
    file.write_bytes(content)
    assert main([str(file)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("uq: ") and captured.err.count("\n") == 1
    assert complaint in captured.err


def test_a_missing_file_and_a_senseless_threshold(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(file)]) == 2
    assert "No such file" in capsys.readouterr().err
    for threshold in ("-1", "nan", "inf", "much"):
        with pytest.raises(SystemExit) as ended:
            main([str(file), f"--threshold={threshold}"])
        assert ended.value.code == 2
        assert f"--threshold: invalid number value: '{threshold}'" in capsys.readouterr().err
    for spans in ("-1", "1.5"):
        with pytest.raises(SystemExit):
            main([str(file), f"--spans={spans}"])
        assert f"--spans: invalid number value: '{spans}'" in capsys.readouterr().err


def test_it_needs_nothing_but_python(file: Path) -> None:
    file.write_text("[-0.7]")
    root = Path(__file__).parents[2]
    ended = subprocess.run(
        [sys.executable, "-I", "-S", "-c", "import sys; sys.path.insert(0, sys.argv.pop(1)); "
         "import runpy; runpy.run_module('uq', run_name='__main__')", str(root), str(file)],
        capture_output=True, text=True,
    )  # fmt: skip
    assert (ended.returncode, ended.stderr) == (1, "")
    assert "trigger: 0.7 > 0.5" in ended.stdout
