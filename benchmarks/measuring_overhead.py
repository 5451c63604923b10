"""What measuring costs: generation with log-probs, alternatives and u, against the same generation without.

    python benchmarks/measuring_overhead.py transformers
    python benchmarks/measuring_overhead.py llama.cpp

Both ways take turns in one process, the first of each pair changing, so that whatever else the machine does
hits both alike. Printed is the median over the pairs of how much longer the measured one took, and its 95 %
interval (bootstrap). Both ways must write the same text. Times are wall time for llama.cpp, processor time for
transformers. Exit code 0 means that the whole interval is below the limit.

`transformers` takes a random model of Qwen2.5's vocabulary of 151,936, as wide as its 0.5B and four layers
deep. The cost of measuring depends on the vocabulary alone, so for every larger model its share is smaller.
`llama.cpp` takes the embedded model that --model names.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

# Started as a file, Python looks for modules beside it.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from arguments import at_least
from camel.messages import Message, Sampling
from camel.models.hugging_face import HuggingFaceModel
from camel.models.llama_cpp import SAMPLING_OPTIONS, LlamaCppModel
from camel.models.model import Model, ModelUnusable
from camel.models.open import open_model
from camel.models.openai_api import Endpoint, OpenAIModel
from chatdev.settings import DEFAULT_MODEL
from evaluation.bootstrap import estimate
from uq.scores import Unavailable
from uq.token_uncertainty import token_uncertainty

Clock = Callable[[], float]

LIMITS = {"llama.cpp": 0.01, "transformers": 0.03}
# transformers works on one thread here: its processor time is what it would take on a machine of its own.
CLOCKS: dict[str, Clock] = {"llama.cpp": time.perf_counter, "transformers": time.process_time}
QWEN = {
    "vocab_size": 151_936,
    "hidden_size": 896,
    "intermediate_size": 4864,
    "num_hidden_layers": 4,
    "num_attention_heads": 14,
    "num_key_value_heads": 2,
}
CHATML = (
    "{% for message in messages %}<|im_start|> {{ message['role'] }} {{ message['content'] }} <|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|> assistant{% endif %}"
)
# To the random model of `transformers` each number is one word.
PROMPT = [
    Message("system", "You write Python programs."),
    Message("user", "Write a program that prints the first 200 prime numbers: 2 3 5 7 11 13 17 19 23"),
]

Arm = Callable[[], str]
"""Generates once and returns the text."""


@dataclass(frozen=True)
class Overhead:
    """Shares of the unmeasured generation's time: the median over `pairs`, and where it lies with 95 %.
    `seconds` is the median time of the unmeasured generation."""

    share: float
    low: float
    high: float
    seconds: float
    pairs: int

    def verdict(self, limit: float) -> str:
        """Say whether the overhead is below `limit`, or that more pairs are needed to tell."""
        if self.high < limit:
            return "holds"
        return "is broken" if self.low >= limit else "is not settled; give more --pairs on a quieter machine"


def overhead(measured: Arm, plain: Arm, pairs: int, clock: Clock) -> Overhead:
    """Time both arms `pairs` times in turns, by `clock`, in seconds.

    Raises RuntimeError where they write different texts.
    """
    measured(), plain()  # the first calls fill the caches
    if measured() != plain():
        raise RuntimeError("The two ways wrote different texts, so their times cannot be compared.")
    times: list[tuple[float, float]] = []
    for number in range(pairs):
        if number % 2:
            base = _seconds(plain, clock)
            times.append((_seconds(measured, clock), base))
        else:
            times.append((_seconds(measured, clock), _seconds(plain, clock)))
    shares = [with_measuring / without - 1 for with_measuring, without in times]
    found = estimate(pairs, lambda drawn: median(shares[number] for number in drawn))
    assert found is not None
    return Overhead(found.value, found.low, found.high, median(without for _, without in times), pairs)


def _seconds(arm: Arm, clock: Clock) -> float:
    began = clock()
    arm()
    return clock() - began


def measuring(model: Model, sampling: Sampling) -> Arm:
    """The way of the chain: an answer with its evidence, and u of it."""

    def arm() -> str:
        answer = model.answer(PROMPT, sampling)[0]
        score = token_uncertainty(answer)
        if isinstance(score, Unavailable):
            raise RuntimeError(f"u could not be measured: {score.detail}")
        return answer.text

    return arm


@contextmanager
def llama_cpp_arms(name: str, sampling: Sampling) -> Iterator[tuple[Arm, Arm]]:
    """The same server and prompt cache, asked for log-probs and not asked for them. Raises ModelUnusable."""
    with closing(open_model(name)) as model:
        if not isinstance(model, LlamaCppModel):
            raise ModelUnusable(f"{name} is no embedded model", "Give one of the catalog, or a .gguf file.")
        silent = {**SAMPLING_OPTIONS, "logprobs": False, "top_logprobs": None}
        plain = OpenAIModel(model.name, Endpoint(model.url, options=silent, timeout=3600.0))
        with closing(plain):
            yield measuring(model, sampling), lambda: plain.answer(PROMPT, sampling)[0].text


@contextmanager
def transformers_arms(sampling: Sampling, shape: Mapping[str, int] = QWEN) -> Iterator[tuple[Arm, Arm]]:
    """A random model through our engine, and the same through transformers alone, on one thread."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig

    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        make_random_model(Path(folder), shape)
        tokenizer = AutoTokenizer.from_pretrained(folder)
        network = AutoModelForCausalLM.from_pretrained(folder)
        network.generation_config = GenerationConfig()
        chat = [{"role": message.role, "content": message.content} for message in PROMPT]
        end = tokenizer.eos_token_id

        def plain() -> str:
            asked = tokenizer.apply_chat_template(chat, add_generation_prompt=True, return_tensors="pt")
            sequences = network.generate(
                **asked,
                max_new_tokens=sampling.max_tokens,
                do_sample=False,
                eos_token_id=end,
                pad_token_id=end,
            )
            return str(tokenizer.decode(sequences[0, asked["input_ids"].shape[1] :], skip_special_tokens=True))

        with closing(HuggingFaceModel(folder)) as model:
            yield measuring(model, sampling), plain


def make_random_model(folder: Path, shape: Mapping[str, int]) -> None:
    """Save a Qwen2 of random weights, whose every token is a word of its own."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast, Qwen2Config

    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    words = [*special, *map(str, range(shape["vocab_size"] - len(special)))]
    tokenizer = Tokenizer(models.WordLevel({word: place for place, word in enumerate(words)}, special[0]))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.decoder = decoders.WordPiece(prefix="")
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token=special[2], pad_token=special[0], chat_template=CHATML
    ).save_pretrained(folder)
    torch.manual_seed(1)
    config = Qwen2Config(**shape, max_position_embeddings=4096, eos_token_id=2)
    AutoModelForCausalLM.from_config(config).save_pretrained(folder)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure one engine. Returns 0 where its limit holds, else 1."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("engine", choices=LIMITS)
    parser.add_argument("--model", default=DEFAULT_MODEL, help="for llama.cpp (default: %(default)s)")
    count = at_least(1)
    parser.add_argument("--pairs", type=count, default=100, help="generations of each kind (default: %(default)s)")
    parser.add_argument("--tokens", type=count, default=32, help="in each generation (default: %(default)s)")
    options = parser.parse_args(arguments)
    sampling = Sampling(temperature=0.0, max_tokens=options.tokens, seed=1)
    limit = LIMITS[options.engine]
    embedded = options.engine == "llama.cpp"
    try:
        with llama_cpp_arms(options.model, sampling) if embedded else transformers_arms(sampling) as arms:
            found = overhead(*arms, options.pairs, CLOCKS[options.engine])
    except ModelUnusable as error:
        parser.error(str(error))
    print(
        f"{options.engine}: measuring takes {found.share:.2%} (95 % interval {found.low:.2%} to {found.high:.2%}) "
        f"of {1000 * found.seconds / options.tokens:.1f} ms a token. The limit of {limit:.0%} "
        f"{found.verdict(limit)}. {found.pairs} pairs of {options.tokens} tokens; load {os.getloadavg()[0]:.1f} "
        f"on {os.cpu_count()} cores."
    )
    return 0 if found.high < limit else 1


if __name__ == "__main__":
    sys.exit(main())
