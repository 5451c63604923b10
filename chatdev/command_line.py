"""How the task says the program is called, read from the notation people write it in.

`python main.py FILE COMMAND ...`, `add TEXT [PRIORITY]`, `sum BASE NUMBER ...`, `--level LEVEL`: words in
capitals stand for arguments, brackets for what may be left out, dots for more of the same. From that comes
a frame of code which takes the arguments apart, so that no answer is lost over their order.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_SNIPPET = re.compile(r"`([^`\n]+)`")
_CALL = re.compile(r"^(?:python3?\s+)?main\.py\b\s*(.*)$")
_ARGUMENT = re.compile(r"^\[?\"?[A-Z][A-Z0-9_-]*\"?\]?$")
_COMMAND = re.compile(r"^[a-z][a-z-]*$")
_OPTION = re.compile(r"^--[a-z][a-z-]*$")
_SHOWN_AFTER = re.compile(
    r"(?:\bprint\w*|\blike|\bas|\bmarked|\bwith|\bwrit\w*|\bis|\bbecomes)\W*$", re.IGNORECASE
)
_READS_LINES = re.compile(r"standard input|\bstdin\b", re.IGNORECASE)
_REST = "..."


@dataclass(frozen=True)
class Argument:
    """A placeholder in capitals; `optional` may be left out, `many` stands for one or more."""

    name: str
    optional: bool = False
    many: bool = False


@dataclass(frozen=True)
class Command:
    """A command word and its arguments. `notation` is how the task writes it.

    `literal` marks a command such as `list all`: a way to call one that is known by its first word.
    """

    word: str
    arguments: tuple[Argument, ...]
    notation: str
    literal: bool = False


@dataclass(frozen=True)
class Option:
    """`--name`, with a value where `takes_value`."""

    name: str
    takes_value: bool


@dataclass(frozen=True)
class CommandLine:
    """What comes first, then a command or only arguments; `from_lines` when standard input holds them."""

    leading: tuple[Argument, ...]
    commands: tuple[Command, ...]
    options: tuple[Option, ...]
    reads_lines: bool

    @property
    def from_lines(self) -> bool:
        return self.reads_lines and not self.leading and bool(self.commands)

    def usage(self) -> str:
        """One line for each way to call the program, or for each command it reads."""
        first = "" if self.from_lines else " ".join(["python main.py", *map(_notation, self.leading)]) + " "
        options = "".join(f" [{option.name}{' VALUE' * option.takes_value}]" for option in self.options)
        lines = [command.notation for command in self.commands] or [""]
        return "\n".join(f"{first}{line}{options}".strip() for line in lines)


def read_command_line(task: str) -> CommandLine | None:
    """The command line that `task` describes, or None where it describes none in this notation."""
    call: str | None = None
    commands: dict[str, Command] = {}
    options: dict[str, Option] = {}
    takes_commands = False
    for snippet, before in _snippets(task):
        called = _CALL.match(snippet)
        if called and call is None:
            call = called[1]
            words = call.split()
            takes_commands = not words or "COMMAND" in words or bool(_COMMAND.match(words[0]))
            if words and _COMMAND.match(words[0]):
                snippet, call = call, ""
        if _OPTION.match(snippet.split()[0]):
            name, *value = snippet.split()
            options[name] = Option(name, bool(value))
        elif takes_commands and (command := _command(snippet)) and not _SHOWN_AFTER.search(before):
            known = commands.get(command.word)
            if known is None:
                if not command.literal:
                    commands[command.word] = command
            elif command.notation not in known.notation.split(" / "):
                notation = f"{known.notation} / {command.notation}"
                longer = max(known, command, key=lambda one: len(one.arguments))
                commands[command.word] = Command(command.word, longer.arguments, notation)
    if call is None:
        return None
    leading = _arguments([word for word in call.split() if word != "COMMAND"], after_command=takes_commands)
    return CommandLine(
        leading, tuple(commands.values()), tuple(options.values()), bool(_READS_LINES.search(task))
    )


def frame(line: CommandLine) -> str:
    """Python code that takes the arguments apart as `line` says, with `...` where the work is to be done."""
    body = [*_option_lines(line.options)]
    if line.from_lines:
        body += [
            "for line in sys.stdin:",
            "    words = line.split()",
            "    if not words:",
            "        continue",
        ]
        body += ["    try:"] + [f"        {text}" for text in _dispatch(line, "words")]
        body += [
            "    except (ValueError, KeyError, IndexError) as error:",
            '        print(f"error: {error}")',
        ]
    elif line.commands:
        body += _dispatch(line, "args")
    else:
        body += [*_unpacking(line.leading, "args", 0), "..."]
    indented = "\n".join(f"    {text}" for text in body)
    helpers = "\n\n".join(_HELPERS[kind] for kind in sorted({option.takes_value for option in line.options}))
    return _FRAME.format(helpers=f"\n\n{helpers}" if helpers else "", body=indented)


def _snippets(task: str) -> Iterator[tuple[str, str]]:
    for match in _SNIPPET.finditer(task):
        yield match[1].strip(), task[max(0, match.start() - 20) : match.start()]


def _command(snippet: str) -> Command | None:
    word, *rest = snippet.split()
    if not _COMMAND.match(word) or not all(
        _ARGUMENT.match(item) or item == _REST or _COMMAND.match(item) for item in rest
    ):
        return None
    literal = [item for item in rest if _COMMAND.match(item)]
    if literal and len(literal) != len(rest):
        return None
    arguments = tuple(Argument("option", True) for _ in literal) or _arguments(rest, after_command=False)
    return Command(word, arguments, snippet, bool(literal))


def _arguments(words: Sequence[str], after_command: bool) -> tuple[Argument, ...]:
    found: list[Argument] = []
    for word in words:
        if word == _REST:
            if not after_command and found:
                found[-1] = Argument(found[-1].name, found[-1].optional, many=True)
            continue
        name = word.strip('[]"')
        argument = Argument(name, optional=word.startswith("["))
        if found and found[-1].name == name:
            found[-1] = Argument(name, many=True)
        else:
            found.append(argument)
    return tuple(found)


def _notation(argument: Argument) -> str:
    return f"[{argument.name}]" if argument.optional else argument.name


def _dispatch(line: CommandLine, words: str) -> list[str]:
    names = [*(_variable(argument.name) for argument in line.leading), "command", "*rest"]
    lines = [f"{', '.join(names)} = {words}  # {'each line: ' * line.from_lines}{_first(line)}"]
    for place, command in enumerate(line.commands):
        lines.append(f"{'elif' if place else 'if'} command == {command.word!r}:  # {command.notation}")
        lines += [f"    {text}" for text in (*_unpacking(command.arguments, "rest", 0), "...")]
    return [*lines, "else:", '    raise ValueError(f"unknown command: {command}")']


def _first(line: CommandLine) -> str:
    return " ".join([*(argument.name for argument in line.leading), "COMMAND ..."])


def _unpacking(arguments: Sequence[Argument], words: str, start: int) -> Iterator[str]:
    for place, argument in enumerate(arguments, start):
        name = _variable(argument.name)
        if argument.many:
            yield f"{name}s = {words}[{place}:]"
        elif argument.optional:
            yield f"{name} = {words}[{place}] if len({words}) > {place} else None  # None: left out"
        else:
            yield f"{name} = {words}[{place}]"


def _option_lines(options: Sequence[Option]) -> Iterator[str]:
    for option in options:
        name = _variable(option.name.lstrip("-"))
        yield f"{name} = take_{'option' if option.takes_value else 'flag'}(args, {option.name!r})"


def _variable(placeholder: str) -> str:
    name = re.sub(r"\W", "_", placeholder.lower())
    return f"{name}_" if keyword.iskeyword(name) or name in ("file", "command", "rest", "args") else name


_HELPERS = {
    True: '''def take_option(args, name):
    """Remove `name VALUE` from args; return the value, or None where it is not there."""
    if name not in args:
        return None
    at = args.index(name)
    value = args[at + 1]
    del args[at : at + 2]
    return value
''',
    False: '''def take_flag(args, name):
    """Remove `name` from args; return whether it was there."""
    if name not in args:
        return False
    args.remove(name)
    return True
''',
}

_FRAME = """import sys{helpers}


def run(args):
{body}


if __name__ == "__main__":
    try:
        run(sys.argv[1:])
    except (ValueError, KeyError, IndexError, OSError) as error:
        print(f"error: {{error}}", file=sys.stderr)
        sys.exit(1)
"""
