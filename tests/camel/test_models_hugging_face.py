"""The transformers engine on models made on the spot: random weights, and a tokenizer trained here."""

from __future__ import annotations

import gc
import json
import shutil
import subprocess
import sys
import threading
import weakref
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="the transformers engine needs torch, which is not installed")
pytest.importorskip("transformers", reason="the transformers engine needs transformers, which is not installed")

from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers  # noqa: E402
from transformers import (  # noqa: E402
    AutoModelForCausalLM,
    Gemma2Config,
    GenerationConfig,
    PreTrainedTokenizerFast,
    Qwen2Config,
)

from camel.messages import Answer, Message, Role, Sampling  # noqa: E402
from camel.models.catalog import catalog  # noqa: E402
from camel.models.fetch import fetch  # noqa: E402
from camel.models.hugging_face import HuggingFaceModel  # noqa: E402
from camel.models.logprob_tap import LogprobTap  # noqa: E402
from camel.models.model import ContextOverflow, Model, ModelUnusable  # noqa: E402
from camel.models.open import open_model  # noqa: E402
from uq.token_uncertainty import mean_probability_surprise  # noqa: E402

WINDOW = 128
TEXT = "The programmer writes a program; the tester says: héllo, naïve café, that is 42 errors. " * 3
HI = [Message("system", "Be brief."), Message("user", "Hi, programmer")]
CHATML = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
GEMMA = (
    "{{ bos_token }}{% if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}"
    "{% endif %}{% for message in messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('Conversation roles must alternate user/assistant') }}{% endif %}<start_of_turn>"
    "{{ 'model' if message['role'] == 'assistant' else message['role'] }}\n{{ message['content'] }}<end_of_turn>\n"
    "{% endfor %}{% if add_generation_prompt %}<start_of_turn>model\n{% endif %}"
)
# What a checkpoint would do to its own distribution if it were let.
DEFAULTS = {
    "do_sample": True,
    "repetition_penalty": 1.5,
    "top_k": 2,
    "top_p": 0.3,
    "temperature": 0.1,
    "suppress_tokens": [40, 41],
}


def qwen_tokenizer() -> PreTrainedTokenizerFast:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    tokenizer.train_from_iterator(
        [TEXT],
        trainers.BpeTrainer(
            vocab_size=320, initial_alphabet=alphabet, special_tokens=special, show_progress=False
        ),
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token="<|im_end|>", pad_token="<|endoftext|>", chat_template=CHATML
    )


def gemma_tokenizer() -> PreTrainedTokenizerFast:
    """Like SentencePiece: a space is part of the word, unknown characters are bytes."""
    special = ["<pad>", "<eos>", "<bos>", "<unk>", "<start_of_turn>", "<end_of_turn>"]
    trained = Tokenizer(models.BPE(unk_token="<unk>"))
    trained.normalizer = normalizers.Replace(" ", "▁")
    trained.train_from_iterator(
        [TEXT + "\n"], trainers.BpeTrainer(vocab_size=150, special_tokens=special, show_progress=False)
    )
    model = json.loads(trained.to_str())["model"]
    octets = {f"<0x{octet:02X}>": len(model["vocab"]) + octet for octet in range(256)}
    merges = [tuple(pair) for pair in model["merges"]]
    tokenizer = Tokenizer(
        models.BPE({**model["vocab"], **octets}, merges, byte_fallback=True, fuse_unk=True, unk_token="<unk>")
    )
    tokenizer.normalizer = normalizers.Replace(" ", "▁")
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    tokenizer.add_special_tokens([AddedToken(token, special=True) for token in special])
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<bos>", eos_token="<eos>", pad_token="<pad>", chat_template=GEMMA
    )


def save(folder: Path, tokenizer: PreTrainedTokenizerFast, config: Any, ends: list[int]) -> Path:
    torch.manual_seed(1)
    AutoModelForCausalLM.from_config(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    (folder / "generation_config.json").write_text(json.dumps({"eos_token_id": ends, **DEFAULTS}))
    return folder


SIZES: dict[str, Any] = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": WINDOW,
    # Large weights: probabilities that are far from even.
    "initializer_range": 0.4,
}


@dataclass(frozen=True)
class Folders:
    qwen: Path
    gemma: Path
    # Many tokens end an answer: those of a batch end at different places.
    hasty: Path
    # Weights are quantized in blocks of 64.
    wide: Path


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Folders:
    torch.set_num_threads(1)
    root = tmp_path_factory.mktemp("models")
    tokenizer, other = qwen_tokenizer(), gemma_tokenizer()
    qwen = Qwen2Config(vocab_size=len(tokenizer), **SIZES)
    wide = Qwen2Config(vocab_size=len(tokenizer), **{**SIZES, "hidden_size": 64, "intermediate_size": 64})
    gemma = Gemma2Config(vocab_size=len(other), head_dim=8, sliding_window=64, **SIZES)
    return Folders(
        save(root / "tiny-qwen", tokenizer, qwen, [tokenizer.eos_token_id]),
        save(root / "tiny-gemma", other, gemma, [other.eos_token_id]),
        save(root / "hasty", tokenizer, qwen, list(range(0, len(tokenizer), 8))),
        save(root / "wide", tokenizer, wide, [tokenizer.eos_token_id]),
    )


@pytest.fixture(scope="module")
def qwen(folders: Folders) -> Model:
    return open_model(f"hf:{folders.qwen}")


@pytest.fixture(scope="module")
def gemma(folders: Folders) -> Model:
    return open_model(f"hf:{folders.gemma}")


GREEDY: dict[str, Any] = {"do_sample": False}
SHARP: dict[str, Any] = {"do_sample": True, "temperature": 0.3, "top_p": 0.8, "top_k": 0}
WILD: dict[str, Any] = {"do_sample": True, "temperature": 1.7, "top_p": 1.0, "top_k": 0}


def generate(model: Any, prompt: Any, ends: list[int], tap: Any, **options: Any) -> Any:
    torch.manual_seed(5)
    return model.generate(
        prompt,
        attention_mask=torch.ones_like(prompt),
        logits_processor=tap,
        eos_token_id=ends,
        pad_token_id=0,
        max_new_tokens=20,
        return_dict_in_generate=True,
        output_logits=True,
        **options,
    )


@pytest.mark.parametrize("options", [GREEDY, SHARP, WILD])
@pytest.mark.parametrize("architecture", ["qwen", "gemma"])
def test_tap_equals_output_logits(folders: Folders, architecture: str, options: dict[str, Any]) -> None:
    """In a batch of six whose rows end at different places, the likeliest tokens among them."""
    model = AutoModelForCausalLM.from_pretrained(getattr(folders, architecture))
    model.generation_config = GenerationConfig()
    ends = list(range(0, model.config.vocab_size, 3))
    prompts = torch.randint(3, 150, (6, 7), generator=torch.Generator().manual_seed(4))
    tap = LogprobTap(prompt_length=7, k=5)
    made = generate(model, prompts, ends, [tap], **options)
    rows = tap.records(made.sequences, ends)
    expected = torch.stack(made.logits, dim=1).log_softmax(dim=-1)
    assert len({len(row) for row in rows}) > 1, "no row is padded: the test shows nothing"
    for i, row in enumerate(rows):
        drawn = made.sequences[i, 7:].tolist()
        assert [record.id for record in row] == drawn[: len(row)]
        assert set(drawn[len(row) :]) <= {0} and not set(drawn[: len(row) - 1]) & set(ends)
        for step, record in enumerate(row):
            assert record.logprob == pytest.approx(expected[i, step, record.id].item(), abs=1e-4)
            best = expected[i, step].topk(5)
            assert [other for other, _ in record.alternatives] == best.indices.tolist()
            assert [value for _, value in record.alternatives] == pytest.approx(best.values.tolist(), abs=1e-4)


def test_tap_keeps_nothing_of_the_size_of_the_vocabulary() -> None:
    vocabulary, sequences, steps, k = 20_000, 2, 50, 5
    tap = LogprobTap(prompt_length=1, k=k)
    drawn = torch.zeros(sequences, 1, dtype=torch.long)
    for _ in range(steps):
        tap(drawn, torch.randn(sequences, vocabulary))
        drawn = torch.cat([drawn, torch.randint(0, vocabulary, (sequences, 1))], dim=1)
    numbers = held_numbers(tap)
    # One row is held until its token is known.
    assert numbers <= sequences * (vocabulary + steps * (2 * k + 1))
    records = tap.records(drawn, ends=[])
    assert held_numbers(tap) == sequences * steps * (2 * k + 1)
    # Some devices go one step on before they see that all have ended.
    tap(torch.cat([drawn, drawn[:, :1]], dim=1), torch.randn(sequences, vocabulary))
    assert tap.records(drawn, ends=[]) == records


def held_numbers(tap: LogprobTap) -> int:
    """How many numbers lie in the storages of all tensors that `tap` holds, however deep."""
    storages, seen, open_ends = {}, set(), [vars(tap)]
    while open_ends:
        thing: Any = open_ends.pop()
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        if isinstance(thing, torch.Tensor):
            storages[thing.data_ptr()] = thing.untyped_storage().nbytes() // thing.element_size()
        elif isinstance(thing, dict | list | tuple):
            open_ends += gc.get_referents(thing)
    return sum(storages.values())


@pytest.mark.parametrize("sampling", [Sampling(0.0), Sampling(0.3, 0.8, n=3), Sampling(1.7, n=3)])
def test_answers_carry_raw_evidence(folders: Folders, qwen: Model, sampling: Sampling) -> None:
    """Against transformers' own logits in a generation that none of the checkpoint's defaults disturbs."""
    answers = qwen.answer(HI, replace(sampling, max_tokens=20, seed=5))
    tokenizer = PreTrainedTokenizerFast.from_pretrained(folders.qwen)
    chat = [{"role": message.role, "content": message.content} for message in HI]
    prompt = tokenizer.apply_chat_template(chat, add_generation_prompt=True, return_tensors="pt")["input_ids"]
    model = AutoModelForCausalLM.from_pretrained(folders.qwen)
    model.generation_config = GenerationConfig()
    drawing = {"temperature": sampling.temperature, "top_p": sampling.top_p}
    options = {**WILD, **drawing} if sampling.temperature else GREEDY
    ends = [tokenizer.eos_token_id]
    made = generate(model, prompt.repeat(sampling.n, 1), ends, None, **options)
    logprobs = torch.stack(made.logits, dim=1).log_softmax(dim=-1)
    for i, answer in enumerate(answers):
        ids = made.sequences[i, prompt.shape[1] :].tolist()[: len(answer.tokens)]
        assert answer.text == tokenizer.decode(ids, skip_special_tokens=True)
        expected = [logprobs[i, step, token].item() for step, token in enumerate(ids)]
        assert [token.logprob for token in answer.tokens] == pytest.approx(expected, abs=1e-4)
        assert answer.logprob_kind == "raw" and answer.model == "tiny-qwen"
        assert all(len(token.alternatives) == 5 for token in answer.tokens)
    assert answers[0].usage.prompt_tokens == prompt.shape[1]
    assert answers[0].usage.completion_tokens == sum(len(answer.tokens) for answer in answers)
    assert answers[0].seconds > 0
    assert all(answer.usage.total_tokens == 0 == answer.seconds for answer in answers[1:])


def test_log_probs_do_not_depend_on_temperature(qwen: Model) -> None:
    tops = []
    for temperature in (0.0, 0.1, 1.0, 3.0):
        answer = qwen.answer(HI, Sampling(temperature, max_tokens=1, seed=1))[0]
        tops.append([logprob for _, logprob in answer.tokens[0].alternatives])
    assert all(top == pytest.approx(tops[0], abs=1e-5) for top in tops)


@pytest.mark.parametrize("engine", ["qwen", "gemma"])
def test_tokens_join_to_the_text(engine: str, request: pytest.FixtureRequest) -> None:
    """Characters of two and more bytes are spread over tokens; random models emit halves of them as well."""
    model: Model = request.getfixturevalue(engine)
    for answer in model.answer(HI, Sampling(1.0, max_tokens=40, n=8, seed=2)):
        assert "".join(token.text for token in answer.tokens) == answer.text != ""


def test_answer_ends_with_an_end_token(folders: Folders) -> None:
    answers = open_model(f"hf:{folders.hasty}").answer(HI, Sampling(1.5, max_tokens=6, n=12, seed=1))
    reasons = {answer.finish_reason for answer in answers}
    assert reasons == {"stop", "length"}
    for answer in answers:
        cut = answer.finish_reason == "length"
        assert len(answer.tokens) == 6 if cut else answer.tokens[-1].text == ""
        assert "<|" not in answer.text


def test_end_of_turn_of_the_template_ends_an_answer(gemma: Any) -> None:
    """The checkpoint names only `<eos>`; a model that wants to end its turn is heard all the same."""
    end_of_turn = gemma_tokenizer().convert_tokens_to_ids("<end_of_turn>")

    def eager(layer: Any, inputs: Any, logits: Any) -> Any:
        logits[..., end_of_turn] = 1000.0
        return logits

    hook = gemma._model.lm_head.register_forward_hook(eager)
    answer = gemma.answer(HI, Sampling(1.0, max_tokens=5, seed=1))[0]
    hook.remove()
    assert (answer.text, answer.finish_reason, len(answer.tokens)) == ("", "stop", 1)


def test_seed_decides_the_draw(qwen: Model) -> None:
    def texts(seed: int | None) -> list[str]:
        return [answer.text for answer in qwen.answer(HI, Sampling(1.0, max_tokens=12, seed=seed, n=3))]

    assert texts(7) == texts(7) and len(set(texts(7))) == 3
    assert texts(7) != texts(8)
    assert texts(None) != texts(None)


def test_system_text_goes_to_the_user_where_there_is_no_system_role(gemma: Model) -> None:
    def heard(*messages: tuple[Role, str]) -> tuple[str, float]:
        answer = gemma.answer([Message(*message) for message in messages], Sampling(0.0, max_tokens=8))[0]
        return answer.text, answer.tokens[0].logprob

    assert heard(("system", "Be brief."), ("user", "Hi")) == heard(("user", "Be brief.\n\nHi"))
    assert heard(("system", "S"), ("assistant", "A"), ("user", "U")) == heard(
        ("user", "S"), ("assistant", "A"), ("user", "U")
    )


def test_conversation_no_template_takes_is_one_sentence(gemma: Model) -> None:
    with pytest.raises(ModelUnusable, match="tiny-gemma refuses the conversation.*must alternate"):
        gemma.answer([Message("assistant", "I begin.")], Sampling(max_tokens=1))


def test_control_tokens_in_a_message_stay_text(qwen: Model) -> None:
    def prompt_tokens(text: str) -> int:
        return qwen.answer([Message("user", text)], Sampling(0.0, max_tokens=1))[0].usage.prompt_tokens

    assert prompt_tokens("<|im_end|>") - prompt_tokens("") > 3


def test_window_bounds_prompt_and_answer(qwen: Model) -> None:
    assert qwen.window == WINDOW
    answer = qwen.answer(HI, Sampling(1.0, max_tokens=1000, seed=3))[0]
    assert answer.usage.total_tokens <= WINDOW
    assert answer.finish_reason == "length" and answer.usage.total_tokens == WINDOW
    with pytest.raises(ContextOverflow) as caught:
        qwen.answer([Message("user", "programmer " * WINDOW)], Sampling(max_tokens=1))
    assert caught.value.window == WINDOW


def test_closing_once_or_twice_frees_the_memory(folders: Folders) -> None:
    model = HuggingFaceModel(str(folders.qwen))
    weights = weakref.ref(next(model._model.parameters()))
    model.close()
    model.close()
    gc.collect()
    assert weights() is None


def test_what_is_no_chat_model_is_one_sentence(folders: Folders, tmp_path: Path) -> None:
    broken, mute, unknown = tmp_path / "broken", tmp_path / "mute", tmp_path / "unknown"
    for folder in (broken, mute, unknown):
        shutil.copytree(folders.qwen, folder)
    weights = broken / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])
    (mute / "chat_template.jinja").unlink()
    (unknown / "config.json").write_text('{"model_type": "nonsense"}')
    empty = tmp_path / "empty"
    empty.mkdir()
    for folder in (broken, mute, unknown, empty):
        with pytest.raises(ModelUnusable, match=f"cannot load .*{folder.name} as a chat model") as caught:
            open_model(f"hf:{folder}")
        assert "\n" not in str(caught.value)
    with pytest.raises(ModelUnusable, match="no file .*none.gguf"):
        open_model(f"hf:{tmp_path / 'none.gguf'}")


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A hub where one model is gated, one is lost on the way, and no other exists."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if "lost" in self.path:
                self.close_connection = True
                return
            gated = "gated" in self.path
            self.send_response(403 if gated else 401)
            self.send_header("X-Error-Code", "GatedRepo" if gated else "RepoNotFound")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", f"http://127.0.0.1:{server.server_port}")
    yield
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize(
    ("reference", "sentence"),
    [
        ("company/gated", "accepted its licence.*HF_TOKEN"),
        ("company/missing", "no model of that name on the hub.*--model"),
        ("company/lost", "cannot be fetched .*disconnected.*Connect to the network"),
        ("/no/such/folder", "no folder /no/such/folder"),
    ],
)
def test_model_the_hub_does_not_give(hub: None, reference: str, sentence: str) -> None:
    with pytest.raises(ModelUnusable, match=sentence):
        open_model(f"hf:{reference}")


def test_no_network_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(ModelUnusable, match="not on this machine and cannot be fetched.*hf:FOLDER"):
        open_model("hf:company/unfetched")


def test_quantized_weights_answer_and_are_another_model(folders: Folders) -> None:
    pytest.importorskip("bitsandbytes", reason="quantizing needs bitsandbytes, which is not installed")
    model = open_model(f"hf:{folders.wide}", quantize=True)
    assert model.name == "wide (4 bits)"
    coarse, fine = (
        engine.answer(HI, Sampling(0.0, max_tokens=1))[0].tokens[0].logprob
        for engine in (model, open_model(f"hf:{folders.wide}"))
    )
    assert coarse != fine and coarse == pytest.approx(fine, abs=2.0)


def test_missing_packages_are_named(folders: Folders, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "bitsandbytes", None)
    with pytest.raises(ModelUnusable, match="bitsandbytes.*--quantize"):
        open_model(f"hf:{folders.qwen}", quantize=True)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ModelUnusable, match="pip install -r requirements-hf.txt"):
        open_model(f"hf:{folders.qwen}")


def test_torch_is_imported_only_when_needed() -> None:
    program = "import sys, camel.models.open; raise SystemExit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], env={"PYTHONPATH": ":".join(sys.path)}).returncode == 0


@pytest.mark.model
@pytest.mark.timeout(900)
def test_agrees_with_llama_cpp() -> None:
    """One GGUF file, two engines: u of the text that llama.cpp writes agrees within 0.02 nats, each token
    within 0.5.

    The weights are the same; llama.cpp also rounds the activations to 8 bits. transformers reads the text in
    one pass instead of writing it, which takes seconds where float32 on a CPU would take minutes.
    """
    path = fetch(catalog().models["qwen2.5-coder-0.5b"])
    messages = [Message("system", "You are a programmer."), Message("user", "Write a prime test in Python.")]
    with closing(open_model(str(path))) as engine:
        theirs = engine.answer(messages, Sampling(0.0, max_tokens=60))[0]
    with closing(HuggingFaceModel(str(path))) as model:
        first = model.answer(messages, Sampling(0.0, max_tokens=1))[0]
        ours = logprobs_of(theirs, messages, model)
    assert first.usage.prompt_tokens == theirs.usage.prompt_tokens
    assert dict(first.tokens[0].alternatives)[theirs.tokens[0].text] == pytest.approx(ours[0], abs=1e-3)
    their_logprobs = [token.logprob for token in theirs.tokens]
    u, their_u = mean_probability_surprise(ours), mean_probability_surprise(their_logprobs)
    largest = max(abs(a - b) for a, b in zip(ours, their_logprobs, strict=True))
    print(f"{len(ours)} tokens, u = {u:.4f} and {their_u:.4f}, largest difference of a token {largest:.4f}")
    assert len(ours) >= 20 and u == pytest.approx(their_u, abs=0.02)
    assert largest < 0.5


def logprobs_of(answer: Answer, messages: list[Message], model: HuggingFaceModel) -> list[float]:
    """What `model` gives for each token of another engine's `answer` to `messages`."""
    texts = [token.text for token in answer.tokens]
    answered = model._tokenizer("".join(texts), add_special_tokens=False, return_tensors="pt")["input_ids"]
    assert [model._word(token) for token in answered[0].tolist()] == texts
    prompt = model._prompt(messages)
    with torch.inference_mode():
        logits = model._model(torch.cat([prompt, answered], dim=1)).logits[0, prompt.shape[1] - 1 : -1]
    rows = logits.float().log_softmax(dim=-1)
    return [float(p) for p in rows.gather(1, answered[0].unsqueeze(1))[:, 0]]
