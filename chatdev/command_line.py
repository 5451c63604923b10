"""How the task says the program is called, read from the notation people write it in.

`python main.py FILE COMMAND ...`, `add TEXT [PRIORITY]`, `sum BASE NUMBER ...`, `--level LEVEL`: words in
capitals stand for arguments, brackets for what may be left out, dots for more of the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise

SNIPPET = re.compile(r"`([^`\n]+)`")
_CALL = re.compile(r"^(?:python3?\s+main\.py(?!\S)|main\.py(?=\s))\s*(.*)$")
_ARGUMENT = re.compile(r"^\[?\"?[A-Z][A-Z0-9_-]*\"?\]?$")
_COMMAND = re.compile(r"^[a-z][a-z-]*$")
_OPTION = re.compile(r"^--[a-z][a-z-]*$")
# `--level` or `-l`, also where no option is described; `-3/4` and Morse code are none.
_DASHED = re.compile(r"(?<![\w-])(--[a-z][\w-]*|-[a-zA-Z](?![\w-]))")
_PLACEHOLDER = re.compile(r"[\[\]<>{}|]|\b[A-Z]{2}")
_SHOWN_AFTER = re.compile(
    r"\b(?:print\w*|like|as|marked|with|writ\w*|is|becomes|shows?|says?|displays?|outputs?|returns?|gives?"
    r"|titled|named|called|either|keys?|fields?|columns?|modules?|status|us(?:es?|ing))[^\w,;]*$",
    re.IGNORECASE,
)
_DOES = re.compile(
    r"\s+(?!(?:and|or|if|when|instead|for|in|on|at|to|is|are|was|means?|as|then|after|before|until|unless|with)\b)[a-z]+"
)
_SAID_TO_BE = re.compile(r"\bcommands?\b[^.`]*$", re.IGNORECASE)
_JOINED = re.compile(r"\s*(?:,|/)?\s*(?:and|or)?\s*")
_READS_LINES = re.compile(r"standard input|\bstdin\b", re.IGNORECASE)
_KEPT = re.compile(r"\bkeeps\b|\bkept\b|\blive in\b", re.IGNORECASE)
_KEPT_THERE = re.compile(rf"{_KEPT.pattern}|created if missing|missing file means|\bsaves?\b", re.IGNORECASE)
_NEEDS_FILE = re.compile(r"\b(?:missing|no such) file\b[^.]{0,300}\b(?:error|message)\b", re.IGNORECASE)
_REST = "..."
_GAP = re.compile(r"(?<=[.!?])\s+(?=[A-Z`])")
_PRINTS = re.compile(r"\bprints\b(?! (?:nothing|no)\b)")
LEAVING = ("quit", "exit", "stop")
# "(normal if left out)", "(default 6)", "(5 by default)": said within a sentence or two of the notation.
_DEFAULT = re.compile(
    r"\((?:default:? `?([\w.]+)`?|`?([\w.]+)`? (?:(?:if|when) (?:left out|omitted|missing)|by default))\)"
)


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

    `is_all` stands for a program without commands; `prints` means that the task says so of it.
    """

    word: str
    arguments: tuple[Argument, ...]
    notation: str
    is_all: bool = False
    prints: bool = False

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

    `keeps_json` means that data is kept in a JSON file, which is not there at first, `needs_file` that to name a
    file which is not there is an error.
    """

    leading: tuple[Argument, ...]
    commands: tuple[Command, ...]
    options: tuple[Option, ...]
    from_lines: bool = False
    keeps_json: bool = False
    needs_file: bool = False

    @property
    def typed(self) -> frozenset[str]:
        """The commands that are typed into the program while it runs, but for those that end it."""
        words = {command.word for command in self.commands} if self.from_lines else set()
        return frozenset(words.difference(LEAVING))

    @property
    def needs_arguments(self) -> bool:
        return not self.from_lines and (bool(self.commands) or any(not one.optional for one in self.leading))

    def knows(self, arguments: Sequence[str]) -> bool:
        """Whether a call with these `arguments` is one that the notation allows."""
        words = self._without_options(arguments)
        if self.from_lines or not self.commands:
            return _allow(self.leading, words)
        place = len(self.leading)
        leading, called, rest = words[:place], words[place : place + 1], words[place + 1 :]
        taken = [command.arguments for command in self.commands if [command.word] == called]
        return _allow(self.leading, leading) and any(_allow(each, rest) for each in taken)

    def _without_options(self, arguments: Sequence[str]) -> list[str]:
        takes_value = {option.name: option.takes_value for option in self.options}
        words, rest = [], iter(arguments)
        for word in rest:
            if word not in takes_value:
                words.append(word)
            elif takes_value[word]:
                next(rest, None)
        return words

    def usage(self) -> str:
        """One line for each way to call the program, or for each command it reads."""
        first = "" if self.from_lines else " ".join(["python main.py", *map(_notation, self.leading)]) + " "
        options = "".join(f" [{option.name}{' VALUE' * option.takes_value}]" for option in self.options)
        lines = [command.notation for command in self.commands] or [""]
        return "\n".join(f"{first}{line}{options}".strip() for line in lines)


def sentences(task: str) -> list[str]:
    """The sentences of `task`. None ends within a snippet: after one, the marks that follow are even in number."""
    found, begun, counted, left = list[str](), 0, 0, task.count("`")
    for gap in _GAP.finditer(task):
        left -= task.count("`", counted, gap.end())
        counted = gap.end()
        if left % 2 == 0:
            found.append(task[begun : gap.start()])
            begun = gap.end()
    return [*found, task[begun:]]


@cache
def read_command_line(task: str) -> CommandLine | None:
    """The command line that `task` describes, or None where it is not understood to the last word.

    Code for a command line that is not the one asked for cannot be right: rather none than a wrong one.
    """
    snippets = list(_snippets(task))
    calls = {
        found[1]: _default(after) for snippet, _, after in reversed(snippets) if (found := _CALL.match(snippet))
    }
    by_word = any("COMMAND" in call.split() or _command(call) for call in calls)
    from_lines = set(calls) == {""} and bool(_READS_LINES.search(task))
    commands = _commands(snippets) if by_word or from_lines else {}
    leadings = {_leading(call, default, by_word) for call, default in calls.items() if _is_notation(call)}
    leading = max(leadings, key=len, default=())
    options = {
        name: Option(name, bool(value))
        for name, *value in (snippet.split() for snippet, _, _ in snippets)
        if _OPTION.match(name)
    }
    if (
        commands is None
        or not (commands or (leading and not by_word))
        or not leadings <= {(), leading}
        or not all(_is_example(call, len(leading), commands) for call in calls if not _is_notation(call))
        or not all(map(_in_order, [command.arguments for command in commands.values()]))
        or not _in_order((*leading, *[Argument("COMMAND")] * by_word))
        or not options.keys() >= set(_DASHED.findall(task))
    ):
        return None
    printing = _printing(task, commands)
    return CommandLine(
        leading,
        tuple(replace(command, prints=word in printing) for word, command in commands.items()),
        tuple(options.values()),
        from_lines,
        _keeps_json(task),
        bool(_NEEDS_FILE.search(task)),
    )


def _keeps_json(task: str) -> bool:
    """Whether the task says of data that it is kept, and of JSON that it is in it, the one before the other."""
    said = task.lower()
    first, last = said.find("json"), said.rfind("json")
    return first >= 0 and bool(_KEPT_THERE.search(said, first) or _KEPT.search(said, 0, last))


def without_program(snippet: str) -> str:
    """What stands after `python main.py` in a snippet, and any other snippet as it is."""
    called = _CALL.match(snippet)
    return called[1] if called else snippet


def _commands(snippets: Sequence[tuple[str, str, str]]) -> dict[str, Command] | None:
    """The commands among the snippets by word; None where a lone word may be one or may be output."""
    commands: dict[str, Command] = {}
    unclear: set[str] = set()
    for (snippet, _, after), is_command in zip(snippets, _are_commands(snippets), strict=True):
        command = _command(without_program(snippet), _default(after))
        if command is None or is_command is False:
            continue
        known = commands.get(command.word)
        if is_command is None:
            unclear.add(command.word)
        elif known is None:
            if not command.is_variant:
                commands[command.word] = command
        elif command.notation not in known.notation.split(" / "):
            longer = max(known, command, key=lambda one: len(one.arguments))
            commands[command.word] = replace(longer, notation=f"{known.notation} / {command.notation}")
    return None if unclear - commands.keys() else commands


def _are_commands(snippets: Sequence[tuple[str, str, str]]) -> list[bool | None]:
    """For each snippet whether it is a command, None where nothing tells: of `a` and `b`, one tells of both."""
    told = [_is_command(*snippet) for snippet in snippets]
    places = range(1, len(told))
    joined = [False, *(bool(_JOINED.fullmatch(after)) for _, _, after in snippets)]
    for place in places:
        if told[place] is None and joined[place]:
            told[place] = told[place - 1]
    for place in reversed(places):
        if told[place - 1] is None and joined[place]:
            told[place - 1] = told[place]
    return told


def _is_command(snippet: str, before: str, after: str) -> bool | None:
    if _CALL.match(snippet):
        return True
    if _SHOWN_AFTER.search(before) or not _command(snippet):
        return False
    if " " in snippet or snippet in LEAVING:
        return True
    return True if _DOES.match(after) or _SAID_TO_BE.search(before) else None


def _allow(arguments: Sequence[Argument], words: Sequence[str]) -> bool:
    """Whether `words` are as many as `arguments` stand for."""
    least = sum(not argument.optional and not argument.literal for argument in arguments)
    most = sum(max(1, len(argument.literal.split())) for argument in arguments)
    return least <= len(words) and (len(words) <= most or any(argument.many for argument in arguments))


def _is_notation(call: str) -> bool:
    """Whether a call stands for others: it has nothing but placeholders."""
    return all(_ARGUMENT.match(word) or word == _REST for word in call.split())


def _leading(call: str, default: str, by_word: bool) -> tuple[Argument, ...]:
    words = [word for word in call.split() if word != "COMMAND"]
    return _arguments(words, after_command=by_word, default=default)


def _is_example(call: str, leading: int, commands: Mapping[str, Command]) -> bool:
    """Whether a call is one that the notation allows: of a known command, or with values for all words."""
    return (
        set(call.split()[leading : leading + 1]) <= commands.keys() if commands else not _PLACEHOLDER.search(call)
    )


def _in_order(arguments: Sequence[Argument]) -> bool:
    """Whether the place of each argument is certain: none follows one that may be left out or be many."""
    return all(not one.many and one.optional <= following.optional for one, following in pairwise(arguments))


def _snippets(task: str) -> Iterator[tuple[str, str, str]]:
    """Each snippet with the text just before it and the text after it up to the next one."""
    matches = [match for match in SNIPPET.finditer(task) if match[1].strip()]
    for place, match in enumerate(matches):
        end = matches[place + 1].start() if place + 1 < len(matches) else len(task)
        yield match[1].strip(), task[max(0, match.start() - 20) : match.start()], task[match.end() : end]


def _default(after: str) -> str:
    said = _DEFAULT.search(after)
    return repr(said[1] or said[2] if said else "")


def _command(snippet: str, default: str = "''") -> Command | None:
    word, *rest = snippet.split() or [""]
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


def _printing(task: str, commands: Mapping[str, Command]) -> set[str]:
    """The commands of which a sentence of the task says, and of no other, that they print something."""
    printing: set[str] = set()
    for sentence in sentences(task):
        words = [snippet.removeprefix("python main.py ").split()[0] for snippet, _, _ in _snippets(sentence)]
        named = [word for word in dict.fromkeys(words) if word in commands]
        if named and _PRINTS.search(sentence):
            directly = re.compile(rf"`(?:python main\.py )?{re.escape(named[0])}\b[^`]*` prints\b")
            printing.update(named[:1] if len(named) == 1 or directly.search(sentence) else ())
    return printing


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
