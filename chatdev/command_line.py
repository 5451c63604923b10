"""How the task says the program is called, read from the notation people write it in.

`python main.py FILE COMMAND ...`, `add TEXT [PRIORITY]`, `sum BASE NUMBER ...`, `--level LEVEL`: words in
capitals stand for arguments, brackets for what may be left out, dots for more of the same. From that comes
a frame of code which takes the arguments apart, so that no answer is lost over their order.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator, Sequence
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
_LEAVING = ("quit", "exit", "stop")
_TAKEN = frozenset(
    ["command", "rest", "args", "state", "words", "line", "len", "load", "save", "json", "os", "sys"]
)  # mean something in the frame
# "(normal if left out)", "(default 6)", "5 by default": said within a sentence or two of the notation.
_DEFAULT = re.compile(r"\((?:default:? )?`?([\w.]+)`?(?: (?:if|when) (?:left out|omitted|missing)| by default)?\)")


@dataclass(frozen=True)
class Argument:
    """A placeholder in capitals; `optional` may be left out, `many` stands for one or more.

    `default` is what an optional one is when it is left out, as Python code.
    """

    name: str
    optional: bool = False
    many: bool = False
    default: str = "''"


@dataclass(frozen=True)
class Command:
    """A command word and its arguments. `notation` is how the task writes it.

    `literal` marks a command such as `list all`: a way to call one that is known by its first word;
    `is_all` stands for a program without commands.
    """

    word: str
    arguments: tuple[Argument, ...]
    notation: str
    literal: bool = False
    is_all: bool = False


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
                if not command.literal:
                    commands[command.word] = command
            elif command.notation not in known.notation.split(" / "):
                notation = f"{known.notation} / {command.notation}"
                longer = max(known, command, key=lambda one: len(one.arguments))
                commands[command.word] = Command(command.word, longer.arguments, notation)
    if call is None:
        return None
    words = [word for word in call.split() if word != "COMMAND"]
    leading = _arguments(words, after_command=takes_commands, default=default)
    return CommandLine(
        leading,
        tuple(commands.values()),
        tuple(options.values()),
        bool(_READS_LINES.search(task)),
        bool(_KEEPS_JSON.search(task)),
    )


def frame(line: CommandLine) -> str:
    """Python code that takes the arguments apart as `line` says: a function a command, its body still `...`."""
    shared = [_variable(argument.name) for argument in line.leading] if line.commands else []
    shared = ["state", *shared] if line.from_lines else shared
    hinted = [f"{name}: {'dict' if name == 'state' else 'str'}" for name in shared]
    values = [_variable(option.name.lstrip("-")) for option in line.options]
    commands = line.commands or (Command("program", line.leading, "", is_all=True),)
    parts = [_STORE] if line.keeps_json else []
    parts += [_HELPERS[kind] for kind in sorted({option.takes_value for option in line.options})]
    for command in commands:
        if line.from_lines and command.word in _LEAVING:
            continue
        parameters = _distinct([*hinted, *map(_hinted, command.arguments), *map(_option_hinted, line.options)])
        notation = f"  # {command.notation}" if command.notation else ""
        parts.append(f"def {_function(command)}({', '.join(parameters)}):{notation}\n    ...\n")
    body = [f"{name} = {_taken(option)}" for name, option in zip(values, line.options, strict=True)]
    if line.from_lines:
        body += _LINES[0] + [f"        {text}" for text in _dispatch(line, shared, values, "words")] + _LINES[1]
    elif line.commands:
        body += _dispatch(line, shared, values, "args")
    else:
        body.append(_called(commands[0], [], values, "args"))
    parts.append("def run(args):\n" + "".join(f"    {text}\n" for text in body))
    return _TOP + "\n\n".join([*parts, _MAIN])


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
    arguments = tuple(Argument("option", True) for _ in literal) or _arguments(
        rest, after_command=False, default=default
    )
    return Command(word, arguments, snippet, bool(literal))


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


def _dispatch(line: CommandLine, shared: Sequence[str], values: Sequence[str], words: str) -> list[str]:
    leading = [] if line.from_lines else shared
    lines = [f"{', '.join([*leading, 'command', '*rest'])} = {words}"]
    for place, command in enumerate(line.commands):
        lines.append(f"{'elif' if place else 'if'} command == {command.word!r}:")
        leaves = line.from_lines and command.word in _LEAVING
        lines.append("    break" if leaves else f"    {_called(command, shared, values, 'rest')}")
    return [*lines, "else:", '    raise ValueError(f"unknown command: {command}")']


def _called(command: Command, shared: Sequence[str], values: Sequence[str], words: str) -> str:
    """The call of a command's function with what `words` holds for it."""
    given = []
    for place, argument in enumerate(command.arguments):
        if argument.many:
            given.append(f"{words}[{place}:]")
        elif argument.optional:
            given.append(f"{words}[{place}] if len({words}) > {place} else {argument.default}")
        else:
            given.append(f"{words}[{place}]")
    return f"{_function(command)}({', '.join([*shared, *given, *values])})"


def _function(command: Command) -> str:
    return command.word if command.is_all else f"do_{command.word.replace('-', '_')}"


def _taken(option: Option) -> str:
    return f"take_{'option' if option.takes_value else 'flag'}(args, {option.name!r})"


def _hinted(argument: Argument) -> str:
    """The parameter with its type: what comes from the command line is text, and code had better know."""
    name = _variable(argument.name)
    return f"{name}s: list[str]" if argument.many else f"{name}: str"


def _option_hinted(option: Option) -> str:
    return f"{_variable(option.name.lstrip('-'))}: {'str | None' if option.takes_value else 'bool'}"


def _distinct(parameters: Sequence[str]) -> list[str]:
    """The parameters, of equal names all but the first with a number: a function has no parameter twice."""
    names = [parameter.partition(":")[0] for parameter in parameters]
    return [
        parameter.replace(name, f"{name}{names[:place].count(name) + 1}", 1)
        if name in names[:place]
        else parameter
        for place, (name, parameter) in enumerate(zip(names, parameters, strict=True))
    ]


def _variable(placeholder: str) -> str:
    name = re.sub(r"\W", "_", placeholder.lower())
    return f"{name}_" if keyword.iskeyword(name) or name in _TAKEN else name


_LINES = (
    [
        "state = {}  # kept from line to line",
        "for line in sys.stdin:",
        "    words = line.split()",
        "    if not words:",
        "        continue",
        "    try:",
    ],
    ["    except (ValueError, KeyError, IndexError) as error:", '        print(f"error: {error}")'],
)

_STORE = '''def load(path, empty):
    """What the JSON file holds, or `empty` where there is no such file yet."""
    if not os.path.exists(path):
        return empty
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def save(path, data):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(data, file)
'''

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

_TOP = """import json
import os
import sys


"""

_MAIN = """if __name__ == "__main__":
    try:
        run(sys.argv[1:])
    except (ValueError, KeyError, IndexError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)
"""
