"""How well each signal tells wrong code from right code, and what it costs: all signals from one run.

    python benchmarks/signals_humaneval.py humaneval_dev.jsonl --records signals.jsonl --plot signals.png

For each problem the model gives one answer at temperature 0, whose correctness the problem's tests decide in
the sandbox, and five samples at 0.8. Everything a model or the sandbox says is appended to the records file
at once and not asked for again. A signal that cannot be measured counts as most uncertain. Costs are those
beyond the answer itself: for token signals nothing, for the others the samples and the judge.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

# Started as a file, Python looks for modules beside it.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from arguments import at_least
from benchmarks.humaneval import NoProblems, Problem, problems
from benchmarks.signal_table import Cost, Signal, report, write_plot
from calibration.labels import Group, Response
from camel.messages import Answer, Token, Usage
from camel.models.model import Model, ModelUnusable
from camel.models.open import open_model
from camel.models.sampler import ModelSampler
from chatdev.executor import SandboxExecutor
from uq.clustering import Verdicts, leader_clusters
from uq.code_scoring import code_judge
from uq.code_text import code_in
from uq.embedding import Embedder, open_embedder
from uq.evidence import Sampler
from uq.example_calls import example_calls
from uq.execution import Call, Executor, Trials, run_candidates
from uq.functional_equivalence import (
    AGREEMENT,
    RATE,
    functional_agreement,
    functional_equivalence_rate,
    functional_scores,
)
from uq.inputs import function_trials
from uq.scores import Unavailable, to_json
from uq.semantic_density import semantic_density
from uq.token_selection import CONTENT
from uq.token_uncertainty import token_uncertainty

SAMPLES, TEMPERATURE, LONGEST, VERDICT_TOKENS = 5, 0.8, 1024, 8
Record = dict[str, Any]


@dataclass
class Records:
    """What is known so far, one JSON object a line: `task`, `kind` and what was found out."""

    path: Path
    known: dict[tuple[str, str], Record] = field(default_factory=dict)

    def __post_init__(self) -> None:
        text = self.path.read_text(encoding="utf-8") if self.path.exists() else ""
        whole = text[: text.rfind("\n") + 1]
        if whole != text:  # the last line was being written when the run was stopped
            self.path.write_text(whole, encoding="utf-8")
        for line in whole.splitlines():
            record = json.loads(line)
            self.known[record["task"], record["kind"]] = record

    def get(self, task: str, kind: str, find_out: Callable[[], Record]) -> Record:
        """Return the record, found out and written down where there is none; `seconds` is what that took."""
        if (task, kind) not in self.known:
            began = time.monotonic()
            found = find_out()
            record = {"task": task, "kind": kind, "seconds": round(time.monotonic() - began, 3), **found}
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(record, ensure_ascii=True, allow_nan=False) + "\n")
            self.known[task, kind] = record
        return self.known[task, kind]


@dataclass(frozen=True)
class Bench:
    """What problems are measured with."""

    model: Model
    executor: Executor
    embedder: Embedder
    records: Records

    def measure(self, problem: Problem) -> None:
        """Find out all that is not yet known about a problem."""
        get, task = self.records.get, problem.task_id
        drawing = ModelSampler(self.model, max_tokens=LONGEST, seed=1)
        first = get(task, "answer", lambda: _drawn(drawing.sample(problem.question, 1, 0.0)))
        more = get(task, "samples", lambda: _drawn(drawing.sample(problem.question, SAMPLES, TEMPERATURE)))
        texts = [answer["text"] for answer in (*first["answers"], *more["answers"])]
        if not texts:
            raise ValueError(f"{task}: the model gave no answer; its window is too small for the problem")
        get(task, "label", lambda: _label(problem, texts[0], self.executor))
        get(task, "execution", lambda: _execution(problem, texts, self.executor))
        get(task, "density", lambda: _density(texts, self.embedder))
        get(task, "judge", lambda: _judge(problem, texts, ModelSampler(self.model, max_tokens=VERDICT_TOKENS)))


def _drawn(answers: Sequence[Answer]) -> Record:
    kept = [
        {
            "text": answer.text,
            "finish_reason": answer.finish_reason,
            "logprob_kind": answer.logprob_kind,
            "model": answer.model,
            "tokens": [
                [token.text, max(token.logprob, -9999.0), len(token.alternatives)] for token in answer.tokens
            ],
        }
        for answer in answers
    ]
    usage = sum((answer.usage for answer in answers), Usage())
    return {"answers": kept, "calls": len(answers), **asdict(usage)}


def _label(problem: Problem, text: str, executor: Executor) -> Record:
    solved = problem.solved(text, executor)
    if isinstance(solved, Unavailable):
        raise OSError(f"the tests cannot be run: {solved.detail}")
    return {"solved": solved}


def _execution(problem: Problem, texts: Sequence[str], executor: Executor) -> Record:
    programs = [problem.program(text) for text in texts]
    trials = function_trials(problem.prompt, programs)
    if not isinstance(trials, Unavailable):
        trials = without_tests(trials, problem)
        judge = run_candidates({code: {trials.place: code} for code in programs}, trials, executor)
        if not isinstance(judge, Unavailable):
            verdicts = Verdicts(judge, both_orders=False, strict=True)
            clustering = leader_clusters(programs, verdicts, inputs=len(judge.counting))
            agreement = functional_agreement([judge.agreement(programs[0], program) for program in programs[1:]])
            scores = {**functional_scores(clustering), AGREEMENT: agreement}
            return {name: to_json(score) for name, score in scores.items()}
        trials = judge
    return {name: to_json(trials) for name in (RATE, AGREEMENT)}


def without_tests(trials: Trials, problem: Problem) -> Trials:
    """Return `trials` without the calls that the problem's tests make."""
    tested = set(example_calls(problem.test, "candidate"))
    kept = [call for call in trials.inputs if isinstance(call, Call) and call.arguments not in tested]
    given = sum(call in kept for call in trials.inputs[: trials.given])
    return Trials(tuple(kept), trials.function, given)


def _density(texts: Sequence[str], embedder: Embedder) -> Record:
    vectors = embedder.embed([code_in(text) for text in texts])
    score = vectors if isinstance(vectors, Unavailable) else semantic_density(vectors)
    return {"semantic-density": to_json(score)}


@dataclass
class _Counted:
    """A sampler whose answers are counted."""

    sampler: Sampler
    usage: Usage = Usage()
    calls: int = 0

    def sample(self, prompt: str, n: int, temperature: float) -> list[Answer]:
        answers = [answer for answer in self.sampler.sample(prompt, n, temperature) if isinstance(answer, Answer)]
        self.usage = sum((answer.usage for answer in answers), self.usage)
        self.calls += 1
        return answers


def _judge(problem: Problem, texts: Sequence[str], sampler: Sampler) -> Record:
    counted = _Counted(sampler)
    verdicts = Verdicts(code_judge(counted, problem.prompt))
    programs = [code_in(text) for text in texts]
    score = functional_equivalence_rate([verdicts.same(programs[0], other) for other in programs[1:]])
    return {RATE: to_json(score), "calls": counted.calls, **asdict(counted.usage)}


def signals(tasks: Sequence[str], records: Records) -> list[Signal]:
    """Return each signal's answers and mean cost, over the problems `tasks`, in one order."""
    tokens = {task: to_json(token_uncertainty(_answer(records.known[task, "answer"]))) for task in tasks}
    found = {
        task: {kind: records.known[task, kind] for kind in ("execution", "density", "judge")} for task in tasks
    }
    read: Mapping[str, tuple[Callable[[str], Any], tuple[str, ...]]] = {
        "token u": (lambda task: tokens[task].get("value"), ()),
        "worst-tenth surprise": (lambda task: tokens[task].get("worst_tenth"), ()),
        "mean surprise": (lambda task: tokens[task].get("mean_surprise"), ()),
        "semantic density": (
            lambda task: found[task]["density"]["semantic-density"].get("value"),
            ("samples", "density"),
        ),
        "equivalence, judged": (lambda task: found[task]["judge"][RATE].get("value"), ("samples", "judge")),
        "agreement, executed": (
            lambda task: found[task]["execution"][AGREEMENT].get("value"),
            ("samples", "execution"),
        ),
        "equivalence, executed": (
            lambda task: found[task]["execution"][RATE].get("value"),
            ("samples", "execution"),
        ),
    }
    return [_signal(name, value, kinds, tasks, records) for name, (value, kinds) in read.items()]


def _signal(
    name: str, value: Callable[[str], Any], kinds: Sequence[str], tasks: Sequence[str], records: Records
) -> Signal:
    values = [value(task) for task in tasks]
    group = Group("HumanEval", records.known[tasks[0], "answer"]["answers"][0]["model"], "raw", CONTENT, name)
    answers = tuple(
        Response(
            run=task,
            position=0,
            task=task,
            began="0",
            group=group,
            u=math.inf if u is None else float(u),
            outcome="correct" if records.known[task, "label"]["solved"] else "incorrect",
        )
        for task, u in zip(tasks, values, strict=True)
    )
    spent = [records.known[task, kind] for task in tasks for kind in kinds]
    cost = Cost(
        calls=sum(record.get("calls", 0) for record in spent) / len(tasks),
        tokens=sum(record.get("prompt_tokens", 0) + record.get("completion_tokens", 0) for record in spent)
        / len(tasks),
        seconds=sum(record["seconds"] for record in spent) / len(tasks),
    )
    return Signal(name, answers, values.count(None), cost)


def _answer(record: Record) -> Answer:
    kept = record["answers"][0]
    # Only whether a token had alternatives matters to the signals; which ones is not kept.
    tokens = tuple(Token(text, logprob, (("", 0.0),) * bool(more)) for text, logprob, more in kept["tokens"])
    return Answer(
        kept["text"],
        tokens,
        finish_reason=kept["finish_reason"],
        logprob_kind=kept["logprob_kind"],
        model=kept["model"],
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command. Returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="the problems, one JSON object a line")
    parser.add_argument("--records", type=Path, required=True, help="what was found out so far, and will be")
    parser.add_argument("--model", default="qwen2.5-coder-1.5b", help="as in run.py (default: %(default)s)")
    parser.add_argument("--base-url", help="as in run.py")
    parser.add_argument("--limit", type=at_least(1), help="only the first so many problems")
    parser.add_argument("--embedding", type=Path, metavar="DIR", help="the folder of a sentence model")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="write a PNG")
    options = parser.parse_args(arguments)
    try:
        chosen = problems(options.data)[: options.limit]
        model = open_model(options.model, base_url=options.base_url)
    except (NoProblems, ModelUnusable) as error:
        parser.error(str(error))
    try:
        bench = Bench(model, SandboxExecutor(), open_embedder(options.embedding), Records(options.records))
        for number, problem in enumerate(chosen, 1):
            print(f"{number}/{len(chosen)} {problem.task_id}", file=sys.stderr, flush=True)
            bench.measure(problem)
    finally:
        model.close()
    measured = signals([problem.task_id for problem in chosen], bench.records)
    print("\n".join(report(measured)))
    if options.plot:
        write_plot(measured, options.plot)
    return 0


if __name__ == "__main__":
    sys.exit(main())
