"""Models in the format of the Hugging Face hub, run in this process by transformers.

Torch and transformers are imported when a model is opened, not before.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from camel.messages import Answer, Message, Sampling, Token, Usage
from camel.models.model import ContextOverflow, ModelUnusable

if TYPE_CHECKING:
    from camel.models.logprob_tap import TokenRecord

_Chat = list[dict[str, str]]


class HuggingFaceModel:
    """A causal language model with a chat template.

    `reference` is a repository (`OWNER/NAME`), the folder of a model, or a `.gguf` file, whose weights are
    unpacked. It runs in bfloat16 on GPUs where there are any, else in float32 on the CPU. `quantize` holds
    the weights in 4 bits. Each token comes with its `top_logprobs` likeliest alternatives.

    Log-probs are raw: see LogprobTap. The checkpoint's own sampling defaults (penalties, top_k and the like)
    are dropped, so that `Sampling` means what it says. The end-of-turn token is among an answer's tokens,
    with an empty text.

    Raises ModelUnusable when the model cannot be had, loaded, or talked to.
    """

    def __init__(self, reference: str, *, quantize: bool = False, top_logprobs: int = 5) -> None:
        try:
            import torch
            import transformers
        except ImportError as error:
            remedy = "Run pip install -r requirements-hf.txt."
            raise ModelUnusable(f"hf: models cannot be run ({error})", remedy) from error
        name, folder, options = _located(reference)
        if quantize:
            options["quantization_config"] = _four_bits()
        # Quantized weights are another model to whoever compares uncertainties.
        self.name = f"{name} (4 bits)" if quantize else name
        precision = torch.bfloat16 if torch.cuda.is_available() else torch.float32
        try:
            self._tokenizer: Any = transformers.AutoTokenizer.from_pretrained(folder, **options)
            self._model: Any = transformers.AutoModelForCausalLM.from_pretrained(
                folder, dtype=precision, device_map="auto", **options
            )
            self._ends = self._end_tokens()
        # What a checkpoint lacks or breaks can show as any kind of error.
        except Exception as error:
            reason = f"transformers cannot load {reference} as a chat model ({_first_line(error)})"
            remedy = "Its files may be incomplete, unknown to this version, or too big for the memory."
            raise ModelUnusable(reason, remedy) from error
        self._model.generation_config = transformers.GenerationConfig()
        limits = self._model.config.get_text_config()
        self.window: int = getattr(limits, "max_position_embeddings", None) or self._tokenizer.model_max_length
        self._top_logprobs = top_logprobs
        self._word = cache(lambda token: self._tokenizer.decode([token]))

    def answer(self, messages: Sequence[Message], sampling: Sampling) -> list[Answer]:
        """Return `sampling.n` answers, drawn as one batch; see Model.answer. The first one carries its cost."""
        import torch

        from camel.models.logprob_tap import LogprobTap

        started = time.monotonic()
        prompt = self._prompt(messages)
        length = prompt.shape[1]
        room = self.window - length
        if room < 1:
            raise ContextOverflow(f"The prompt has {length} tokens, the window {self.window}.", self.window)
        torch.manual_seed(secrets.randbits(63) if sampling.seed is None else sampling.seed)
        drawing: dict[str, Any] = {"do_sample": sampling.temperature > 0}
        if sampling.temperature > 0:
            # Left alone, transformers would cut off all but 50 tokens.
            drawing |= {"temperature": float(sampling.temperature), "top_p": float(sampling.top_p), "top_k": 0}
        batch = prompt.repeat(sampling.n, 1)
        tap = LogprobTap(length, self._top_logprobs)
        try:
            sequences = self._model.generate(
                batch,
                attention_mask=torch.ones_like(batch),
                logits_processor=[tap],
                max_new_tokens=max(1, min(sampling.max_tokens or room, room)),
                eos_token_id=self._ends,
                pad_token_id=self._ends[0],
                **drawing,
            )
        except torch.OutOfMemoryError as error:
            reason = f"The memory does not hold {self.name} and {sampling.n} conversations of {length} tokens"
            raise ModelUnusable(reason, "Use a smaller model.") from error
        answers = [self._read(records) for records in tap.records(sequences, self._ends)]
        usage = Usage(length, sum(len(answer.tokens) for answer in answers))
        answers[0] = replace(answers[0], usage=usage, seconds=time.monotonic() - started)
        return answers

    def close(self) -> None:
        """Free the model's memory."""
        self._model = None

    def _prompt(self, messages: Sequence[Message]) -> Any:
        """Return the ids of the conversation as one row on the model's device."""
        from jinja2 import TemplateError

        chat = [{"role": message.role, "content": message.content} for message in messages]
        # Gemma has no system role, and its conversations begin with the user.
        for form in (chat, _folded(chat)):
            try:
                return self._ids(form, add_generation_prompt=True).to(self._model.device)
            except TemplateError as error:
                refusal = error
        reason = f"The chat template of {self.name} refuses the conversation ({refusal})"
        raise ModelUnusable(reason, "Use another model.") from refusal

    def _ids(self, chat: _Chat, **options: Any) -> Any:
        # Control tokens that somebody wrote into a message stay text.
        options |= {"return_tensors": "pt", "sanitize_control_tokens": True}
        return self._tokenizer.apply_chat_template(chat, **options)["input_ids"]

    def _end_tokens(self) -> list[int]:
        """Return the ids that end an answer: those configured, and what ends a turn in the template."""
        configured = self._model.generation_config.eos_token_id
        turn = self._ids([{"role": "user", "content": "1"}, {"role": "assistant", "content": "1"}])[0].tolist()
        special = {token for token, added in self._tokenizer.added_tokens_decoder.items() if added.special}
        ends = {*(configured if isinstance(configured, list) else [configured]), self._tokenizer.eos_token_id}
        ends.add(next((token for token in reversed(turn) if token in special), None))
        if ends == {None}:
            raise ValueError("no token ends a turn")
        return sorted(ends - {None})

    def _read(self, records: Sequence[TokenRecord]) -> Answer:
        ended = records[-1].id in self._ends
        ids = [record.id for record in records]
        texts = [*self._texts(ids[:-1]), ""] if ended else self._texts(ids)
        tokens = []
        for text, record in zip(texts, records, strict=True):
            # The emitted token goes by one text, whatever it would be on its own.
            words = [text if other == record.id else self._word(other) for other, _ in record.alternatives]
            alternatives = zip(words, (logprob for _, logprob in record.alternatives), strict=True)
            tokens.append(Token(text, record.logprob, tuple(alternatives)))
        return Answer(
            text="".join(texts),
            tokens=tuple(tokens),
            finish_reason="stop" if ended else "length",
            logprob_kind="raw",
            model=self.name,
        )

    def _texts(self, ids: Sequence[int]) -> list[str]:
        """Return what each token adds to the text.

        A token's text depends on the one before it, and a character may be spread over several tokens: it
        belongs to the one that completes it.
        """
        decode = partial(self._tokenizer.decode, skip_special_tokens=True, clean_up_tokenization_spaces=False)
        texts = [""] * len(ids)
        start = done = 0
        for end in range(1, len(ids) + 1):
            text = decode(ids[start:end])
            if not text.endswith("\N{REPLACEMENT CHARACTER}") or end == len(ids):
                texts[end - 1] = text[len(decode(ids[start:done])) :]
                start, done = done, end
        return texts


def _folded(chat: _Chat) -> _Chat:
    """Return `chat` with the system as the user and speakers that alternate: neighbours become one message."""
    folded: _Chat = []
    for message in chat:
        role = "user" if message["role"] == "system" else message["role"]
        if folded and folded[-1]["role"] == role:
            folded[-1]["content"] += f"\n\n{message['content']}"
        else:
            folded.append({"role": role, "content": message["content"]})
    return folded


def _located(reference: str) -> tuple[str, Path, dict[str, Any]]:
    """Return the model's name, its folder, fetched where it is missing, and how transformers is to read it."""
    options: dict[str, Any] = {"trust_remote_code": False}
    path = Path(reference).expanduser()
    if path.is_dir():
        return path.resolve().name, path, options
    if path.suffix != ".gguf":
        return reference, _fetched(reference), options
    if not path.is_file():
        raise ModelUnusable(f"There is no file {path}", "Correct the path in --model.")
    return path.stem, path.parent, options | {"gguf_file": path.name}


def _fetched(repository: str) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import GatedRepoError, HFValidationError, HTTPError, RepositoryNotFoundError

    # Folders hold other formats; `consolidated` files hold the same weights once more.
    wanted, unwanted = ["*.json", "*.safetensors", "*.model", "*.txt", "*.jinja"], ["*/*", "consolidated*"]
    try:
        return Path(snapshot_download(repository, allow_patterns=wanted, ignore_patterns=unwanted))
    except GatedRepoError as error:
        reason = f"{repository} is only for those who have accepted its licence"
        raise ModelUnusable(reason, "Accept it on the model's page and set HF_TOKEN.") from error
    except (RepositoryNotFoundError, HFValidationError) as error:
        reason = f"There is no folder {repository}, and no model of that name on the hub"
        raise ModelUnusable(reason, "Correct the name in --model, or set HF_TOKEN where it is private.") from error
    # A connection that is lost on the way is an HTTPError and no OSError.
    except (OSError, HTTPError) as error:
        reason = f"{repository} is not on this machine and cannot be fetched ({_first_line(error)})"
        raise ModelUnusable(reason, "Connect to the network and run again, or give --model hf:FOLDER.") from error


def _four_bits() -> Any:
    if find_spec("bitsandbytes") is None:
        remedy = "Run pip install -r requirements-hf.txt, or leave --quantize out."
        raise ModelUnusable("Quantizing on loading needs bitsandbytes, which is not installed", remedy)
    import torch
    from transformers import BitsAndBytesConfig

    return BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=torch.bfloat16)


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
