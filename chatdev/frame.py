"""A frame of code for a command line: it takes the arguments apart, so that no program is lost over them.

One function a command, with `...` for its body: what the task says of the command, written there, a model would
copy. What a function returns is printed: some that are asked for output return it.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Sequence

from chatdev.command_line import LEAVING, Argument, Command, CommandLine, Option

_TAKEN = frozenset(
    ["command", "rest", "args", "state", "words", "line", "len", "load", "save", "json", "os", "sys"]
)  # mean something in the frame


def stubs(line: CommandLine) -> str:
    """Python code of a function for each command that `line` names, its body still `...`."""
    hinted = [f"{name}: {'dict' if name == 'state' else 'str'}" for name in _shared(line)]
    parts = [_STORE] if line.keeps_json else []
    parts += [_HELPERS[kind] for kind in sorted({option.takes_value for option in line.options})]
    for command in _commands(line):
        parameters = _distinct([*hinted, *map(_hinted, command.arguments), *map(_option_hinted, line.options)])
        parts.append(f"def {_function(command)}({', '.join(parameters)}):\n    ...\n")
    return _TOP + "\n\n".join(parts)


def frame(line: CommandLine) -> str:
    """The stubs, and the finished code under them that takes the arguments apart and calls them."""
    shared, values = _shared(line), [_variable(option.name.lstrip("-")) for option in line.options]
    body = [f"{name} = {_taken(option)}" for name, option in zip(values, line.options, strict=True)]
    if line.from_lines:
        dispatch = [*_dispatch(line, shared, values, "words"), *_PRINTED]
        body += _LINES[0] + [f"        {text}" for text in dispatch] + _LINES[1]
    elif line.commands:
        body += [*_dispatch(line, shared, values, "args"), *_PRINTED]
    else:
        body += [_called(_commands(line)[0], [], values, "args"), *_PRINTED]
    run = "def run(args):\n" + "".join(f"    {text}\n" for text in body)
    return "\n\n".join([stubs(line), run, _MAIN])


def argument_names(line: CommandLine) -> dict[str, tuple[str, ...]]:
    """By function, the parameters that hold arguments of the command line; those of options are left out."""
    functions = {}
    for command in _commands(line):
        hinted = _distinct([*_shared(line), *map(_hinted, command.arguments)])
        names = (parameter.partition(":")[0] for parameter in hinted)
        functions[_function(command)] = tuple(name for name in names if name != "state")
    return functions


def printing_functions(line: CommandLine) -> frozenset[str]:
    """The functions of the commands of which the task says that they print something."""
    return frozenset(_function(command) for command in _commands(line) if command.prints)


def _shared(line: CommandLine) -> list[str]:
    """The parameters that the functions of all commands have."""
    leading = [_variable(argument.name) for argument in line.leading] if line.commands else []
    return ["state", *leading] if line.from_lines else leading


def _commands(line: CommandLine) -> list[Command]:
    """The commands that have a function: all but those that leave a program which reads lines."""
    if not line.commands:
        return [Command("program", line.leading, "", is_all=True)]
    return [one for one in line.commands if not (line.from_lines and one.word in LEAVING)]


def _dispatch(line: CommandLine, shared: Sequence[str], values: Sequence[str], words: str) -> list[str]:
    leading = [] if line.from_lines else shared
    lines = [f"{', '.join([*leading, 'command', '*rest'])} = {words}"]
    for place, command in enumerate(line.commands):
        lines.append(f"{'elif' if place else 'if'} command == {command.word!r}:")
        leaves = line.from_lines and command.word in LEAVING
        lines.append("    break" if leaves else f"    {_called(command, shared, values, 'rest')}")
    return [*lines, "else:", '    raise ValueError(f"unknown command: {command}")']


def _called(command: Command, shared: Sequence[str], values: Sequence[str], words: str) -> str:
    """The call of a command's function with what `words` holds for it; its `result` is to be printed."""
    given = []
    for place, argument in enumerate(command.arguments):
        if argument.literal:
            given.append(f"' '.join({words}) == {argument.literal!r}")
        elif argument.many:
            given.append(f"{words}[{place}:]")
        elif argument.optional:
            given.append(f"{words}[{place}] if len({words}) > {place} else {argument.default}")
        else:
            given.append(f"{words}[{place}]")
    return f"result = {_function(command)}({', '.join([*shared, *given, *values])})"


def function_name(word: str) -> str:
    """The name of the function that does the command `word`."""
    return f"do_{word.replace('-', '_')}"


def _function(command: Command) -> str:
    return command.word if command.is_all else function_name(command.word)


def _taken(option: Option) -> str:
    return f"take_{'option' if option.takes_value else 'flag'}(args, {option.name!r})"


def _hinted(argument: Argument) -> str:
    """The parameter with its type: what comes from the command line is text, and code had better know."""
    name = _variable(argument.name)
    if argument.literal:
        return f"{name}: bool"
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


_PRINTED = ["if result is not None:", "    print(result)"]

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
