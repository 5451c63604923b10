"""How the task says the program is called, read from the notation people write it in.

`python main.py FILE COMMAND ...`, `add TEXT [PRIORITY]`, `sum BASE NUMBER ...`, `--level LEVEL`: words in
capitals stand for arguments, brackets for what may be left out, dots for more of the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

_SNIPPET = re.compile(r"`([^`\n]+)`")
_CALL = re.compile(r"^(?:python3?\s+)?main\.py\b\s*(.*)$")
_ARGUMENT = re.compile(r"^\[?\"?[A-Z][A-Z0-9_-]*\"?\]?$")
_COMMAND = re.compile(r"^[a-z][a-z-]*$")
_OPTION = re.compile(r"^--[a-z][a-z-]*$")
_SHOWN_AFTER = re.compile(
    r"(?:\bprint\w*|\blike|\bas|\bmarked|\bwith|\bwrit\w*|\bis|\bbecomes)\W*$", re.IGNORECASE
)
_READS_LINES = re.compile(r"standard input|\bstdin\b", re.IGNORECASE)
_KEEPS_JSON = re.compile(
    r"json(?=.*(?:\bkeeps\b|\bkept\b|created if missing|missing file means|\bsaves?\b|\blive in\b))"
    r"|(?:\bkeeps\b|\bkept\b|\blive in\b).*json",
    re.IGNORECASE | re.DOTALL,
)
_REST = "..."
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z`])")
_ON_ERRORS = re.compile(r"\berrors?\b|\binvalid\b|non-zero", re.IGNORECASE)
LEAVING = ("quit", "exit", "stop")
# "(normal if left out)", "(default 6)", "5 by default": said within a sentence or two of the notation.
_DEFAULT = re.compile(r"\((?:default:? )?`?([\w.]+)`?(?: (?:if|when) (?:left out|omitted|missing)| by default)?\)")


@dataclass(frozen=True)
class Argument:
    """A placeholder in capitals; `optional` may be left out, `many` stands for one or more.

    `default` is what an optional one is when it is left out, as Python code. `literal` is a word that is
    there or not, as in `list all`.
    """

    name: str
    optional: bool = False
    many: bool = False
    default: str = "''"
    literal: str = ""


@dataclass(frozen=True)
class Command:
    """A command word and its arguments. `notation` is how the task writes it.

    `is_all` stands for a program without commands. `says` are the task's sentences about the command.
    """

    word: str
    arguments: tuple[Argument, ...]
    notation: str
    is_all: bool = False
    says: str = ""

    @property
    def is_variant(self) -> bool:
        return any(argument.literal for argument in self.arguments)


@dataclass(frozen=True)
class Option:
    """`--name`, with a value where `takes_value`."""

    name: str
    takes_value: bool


@dataclass(frozen=True)
class CommandLine:
    """What comes first, then a command or only arguments; `from_lines` when standard input holds them.

    `keeps_json` means that data is kept in a JSON file, which is not there at first.
    """

    leading: tuple[Argument, ...]
    commands: tuple[Command, ...]
    options: tuple[Option, ...]
    reads_lines: bool
    keeps_json: bool = False

    @property
    def from_lines(self) -> bool:
        return self.reads_lines and not self.leading and bool(self.commands)

    def knows(self, arguments: Sequence[str]) -> bool:
        """Whether a call with these `arguments` names one of the commands, where there are commands."""
        words = {command.word for command in self.commands}
        return not words or self.from_lines or bool(words.intersection(arguments[len(self.leading) :][:1]))

    def usage(self) -> str:
        """One line for each way to call the program, or for each command it reads."""
        first = "" if self.from_lines else " ".join(["python main.py", *map(_notation, self.leading)]) + " "
        options = "".join(f" [{option.name}{' VALUE' * option.takes_value}]" for option in self.options)
        lines = [command.notation for command in self.commands] or [""]
        return "\n".join(f"{first}{line}{options}".strip() for line in lines)


def read_command_line(task: str) -> CommandLine | None:
    """The command line that `task` describes, or None where it describes none in this notation."""
    call: str | None = None
    default = "''"
    commands: dict[str, Command] = {}
    options: dict[str, Option] = {}
    takes_commands = False
    for snippet, before, after in _snippets(task):
        called = _CALL.match(snippet)
        if called and call is None:
            call, default = called[1], _default(after)
            words = call.split()
            takes_commands = not words or "COMMAND" in words or bool(_COMMAND.match(words[0]))
            if words and _COMMAND.match(words[0]):
                snippet, call = call, ""
        if _OPTION.match(snippet.split()[0]):
            name, *value = snippet.split()
            options[name] = Option(name, bool(value))
            continue
        command = _command(snippet, _default(after)) if takes_commands else None
        if command and not _SHOWN_AFTER.search(before):
            known = commands.get(command.word)
            if known is None:
                if not command.is_variant:
                    commands[command.word] = command
            elif command.notation not in known.notation.split(" / "):
                notation = f"{known.notation} / {command.notation}"
                longer = max(known, command, key=lambda one: len(one.arguments))
                commands[command.word] = replace(longer, notation=notation)
    if call is None:
        return None
    words = [word for word in call.split() if word != "COMMAND"]
    leading = _arguments(words, after_command=takes_commands, default=default)
    return CommandLine(
        leading,
        _with_sentences(task, commands),
        tuple(options.values()),
        bool(_READS_LINES.search(task)),
        bool(_KEEPS_JSON.search(task)),
    )


def _snippets(task: str) -> Iterator[tuple[str, str, str]]:
    """Each snippet with the text just before it and the text after it up to the next one."""
    matches = [match for match in _SNIPPET.finditer(task) if match[1].strip()]
    for place, match in enumerate(matches):
        end = matches[place + 1].start() if place + 1 < len(matches) else len(task)
        yield match[1].strip(), task[max(0, match.start() - 20) : match.start()], task[match.end() : end]


def _default(after: str) -> str:
    said = _DEFAULT.search(after)
    return repr(said[1] if said else "")


def _command(snippet: str, default: str) -> Command | None:
    word, *rest = snippet.split()
    if not _COMMAND.match(word) or not all(
        _ARGUMENT.match(item) or item == _REST or _COMMAND.match(item) for item in rest
    ):
        return None
    literal = [item for item in rest if _COMMAND.match(item)]
    if literal and len(literal) != len(rest):
        return None
    if literal:
        return Command(word, (Argument(f"with_{'_'.join(literal)}", literal=" ".join(literal)),), snippet)
    return Command(word, _arguments(rest, after_command=False, default=default), snippet)


def _with_sentences(task: str, commands: Mapping[str, Command]) -> tuple[Command, ...]:
    """The commands with what the task says of each: the sentences that name it, and those that follow."""
    said: dict[str, list[str]] = {word: [] for word in commands}
    current: list[str] = []
    for sentence in _SENTENCE.split(task):
        words = [snippet.removeprefix("python main.py ").split()[0] for snippet, _, _ in _snippets(sentence)]
        named = [word for word in dict.fromkeys(words) if word in commands]
        if named or _ON_ERRORS.search(sentence):
            current = named
        for word in current:
            said[word].append(sentence.strip())
    return tuple(replace(command, says=" ".join(said[word])) for word, command in commands.items())


def _arguments(words: Sequence[str], after_command: bool, default: str) -> tuple[Argument, ...]:
    found: list[Argument] = []
    for word in words:
        if word == _REST:
            if not after_command and found:
                found[-1] = replace(found[-1], many=True)
            continue
        name = word.strip('[]"')
        optional = word.startswith("[")
        argument = Argument(name, optional, default=default if optional else "''")
        if found and found[-1].name == name:
            found[-1] = Argument(name, many=True)
        else:
            found.append(argument)
    return tuple(found)


def _notation(argument: Argument) -> str:
    return f"[{argument.name}]" if argument.optional else argument.name
