"""Phases that a user wrote in Python for ChatDev 1.x: classes in a `phases.py` beside the company's JSON.

Such a class says in `update_phase_env` what its prompt may name and in `update_chat_env` what becomes of the
conclusion; the conversation between is the chain's. Loading runs the file with the user's rights. A product
folder can be a company too, and what lies in it came from a model: there only the copy that the company itself
put there is loaded, under a name that no model may write.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from chatdev.company import Company
from chatdev.environment import Environment
from chatdev.reply import parse_reply, render_files
from chatdev.workspace import is_product

FILE, COPY = "phases.py", "PhaseConfig.py"
# What the original's env_dict calls the fields of the environment.
_FIELDS = {
    "task_prompt": "task",
    "task_description": "description",
    "modality": "modality",
    "ideas": "ideas",
    "language": "language",
    "review_comments": "comments",
    "error_summary": "error_summary",
    "test_reports": "test_reports",
}


class UserPhaseError(Exception):
    """A user's phase cannot be loaded or failed; the message says where and how."""


class Phase:
    """What users' phases derive from, with the attributes that they know from the original."""

    def __init__(
        self,
        assistant_role_name: str,
        user_role_name: str,
        phase_prompt: str,
        role_prompts: Mapping[str, str],
        phase_name: str,
        log_filepath: str,
        **others: Any,
    ) -> None:
        self.assistant_role_name, self.user_role_name = assistant_role_name, user_role_name
        self.phase_prompt, self.phase_name, self.log_filepath = phase_prompt, phase_name, log_filepath
        self.assistant_role_prompt = role_prompts.get(assistant_role_name, "")
        self.user_role_prompt = role_prompts.get(user_role_name, "")
        self.phase_env: dict[str, Any] = {}
        self.seminar_conclusion: str = ""

    def update_phase_env(self, chat_env: ChatEnv) -> None:
        """Put into `phase_env` what the prompt names."""

    def update_chat_env(self, chat_env: ChatEnv) -> ChatEnv:
        """Put what becomes of `seminar_conclusion` into `chat_env`."""
        return chat_env


class ChatEnv:
    """The environment as the original's phases know it; `changes` collects the replies that hold files."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self.env_dict: dict[str, Any] = {name: getattr(environment, own) for name, own in _FIELDS.items()}
        self.env_dict["directory"] = str(environment.workspace.root)
        self.changes: list[str] = []
        self.requirements, self.manual = environment.requirements, environment.manual

    @property
    def codes(self) -> SimpleNamespace:
        """The files by name, those of the replies so far among them, as its `codebooks`."""
        files = self._environment.workspace.files()
        for reply in self.changes:
            files |= parse_reply(reply, known_files=list(files), language=self._environment.language).files
        return SimpleNamespace(codebooks=files)

    def get_codes(self) -> str:
        return render_files(self.codes.codebooks)

    def update_codes(self, generated_content: str) -> None:
        self.changes.append(generated_content)

    def rewrite_codes(self, phase_info: str = "") -> None:
        """Files are written when the phase has ended, with or without this call."""

    def get_requirements(self) -> str:
        return self.requirements

    def _update_requirements(self, generated_content: str) -> None:
        self.requirements = generated_content

    def get_manuals(self) -> str:
        return self.manual

    def _update_manuals(self, generated_content: str) -> None:
        self.manual = generated_content

    _update_codes = update_codes
    rewrite_requirements = rewrite_manuals = rewrite_codes


def phases_file(folder: Path) -> Path | None:
    """The file of user's phases that belongs to the company in `folder`, if it has one."""
    if (folder / COPY).is_file():
        return folder / COPY
    return folder / FILE if not is_product(folder) and (folder / FILE).is_file() else None


def load_user_phases(company: Company) -> dict[str, Phase]:
    """One object for each phase of the company that its phases file has a class for. Raises UserPhaseError."""
    path = phases_file(company.folder)
    if path is None:
        return {}
    module = ModuleType(path.stem)
    module.__file__ = str(path)
    roles = {name: "\n".join(role.lines) for name, role in company.roles.items()}
    with _told(path, "it cannot be loaded"), _names_of_the_original():
        exec(compile(path.read_bytes(), str(path), "exec"), module.__dict__)
        classes = {name: value for name, value in vars(module).items() if _is_phase(value)}
        return {
            name: classes[name](
                assistant_role_name=prompt.assistant_role,
                user_role_name=prompt.user_role,
                phase_prompt=prompt.text(composed=False),
                role_prompts=roles,
                phase_name=name,
                model_type=None,
                log_filepath="",
            )
            for name, prompt in company.phases.items()
            if name in classes
        }


def before(phase: Phase, environment: Environment) -> dict[str, Any]:
    """What the prompt of a user's phase may name. Raises UserPhaseError."""
    with _told(type(phase).__name__, "update_phase_env failed"):
        phase.phase_env |= {"cycle_index": environment.cycle, "cycle_num": environment.cycles}
        phase.update_phase_env(ChatEnv(environment))
        return dict(phase.phase_env)


def after(phase: Phase, environment: Environment, conclusion: str) -> ChatEnv:
    """Let a user's phase conclude: texts are in `environment` then, files in what is returned.

    Later prompts may name what it put into its `phase_env` or under new names into `env_dict`. Raises
    UserPhaseError.
    """
    phase.seminar_conclusion = conclusion
    chat_env = ChatEnv(environment)
    with _told(type(phase).__name__, "update_chat_env failed"):
        phase.update_chat_env(chat_env)
        for name, value in chat_env.env_dict.items():
            if name in _FIELDS:
                setattr(environment, _FIELDS[name], str(value))
            else:
                environment.conclusions[name] = str(value)
        environment.conclusions |= {name: str(value) for name, value in phase.phase_env.items()}
    return chat_env


def _is_phase(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, Phase) and value is not Phase


@contextmanager
def _told(where: object, what: str) -> Iterator[None]:
    """Whatever a user's code raises becomes one sentence."""
    try:
        yield
    except (Exception, SystemExit) as error:
        raise UserPhaseError(f"{where}: {what}: {type(error).__name__}: {error}") from error


@contextmanager
def _names_of_the_original() -> Iterator[None]:
    """While it lasts, the modules that a user's phases import have the original's contents."""
    stand_ins: dict[str, dict[str, object]] = {
        "chatdev.phase": {"Phase": Phase},
        "chatdev.chat_env": {"ChatEnv": ChatEnv},
        "chatdev.utils": {"log_visualize": _shown},
        # The log has the numbers of a run at its end.
        "chatdev.statistics": {"get_info": lambda directory, log_filepath: ""},
    }
    replaced = {name: sys.modules.get(name) for name in stand_ins}
    for name, contents in stand_ins.items():
        sys.modules[name] = ModuleType(name)
        vars(sys.modules[name]).update(contents)
    try:
        yield
    finally:
        for name, module in replaced.items():
            if module is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module


def _shown(role: str, content: str | None = None) -> None:
    print(role if content is None else f"{role}: {content}", file=sys.stderr, flush=True)
