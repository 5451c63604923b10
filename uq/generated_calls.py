"""Inputs for a function that nobody wrote down: changed examples, or values of the types it declares.

Seeded: the same task gets the same inputs. Changed examples keep to what the examples show to be allowed: the
alphabet of strings, the sign of numbers, the length of tuples, and nothing empty where no example is empty.
"""

from __future__ import annotations

import ast
import math
import string
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from uq.example_calls import positional

_TRIES = 20
_SIZES = (0, 1, 2, 3, 5, 9)


def generated_calls(
    examples: Sequence[str], parameters: ast.arguments | None, count: int, seed: int = 1
) -> tuple[str, ...]:
    """Return up to `count` argument lists that are not in `examples`, the shortest first.

    `parameters` with their annotations are looked at where there is no example; a parameter of a type that
    nothing is known of gives none.
    """
    random = Random(seed)
    known = [values for values in map(positional, examples) if values]
    made: dict[str, None] = {}
    for number in range(count * _TRIES):
        if len(made) >= count:
            break
        values = _changed(known, random) if known else _of_types(parameters, random, number)
        if values is None:
            break
        text = ", ".join(map(repr, values))
        if text not in examples:
            made.setdefault(text)
    return tuple(sorted(made, key=len))


def _changed(known: Sequence[tuple[Any, ...]], random: Random) -> tuple[Any, ...]:
    """One example with one to three changes to its arguments."""
    values = list(random.choice(known))
    for _ in range(random.randint(1, 3)):
        place = random.randrange(len(values))
        column = [row[place] for row in known if place < len(row)]
        values[place] = _Changes(random, list(_leaves(column))).of(values[place], column)
    return tuple(values)


def _leaves(value: Any) -> Iterator[Any]:
    """The numbers and strings in a value."""
    if isinstance(value, (list, tuple, set)):
        for item in value:
            yield from _leaves(item)
    elif isinstance(value, dict):
        yield from _leaves([*value.keys(), *value.values()])
    else:
        yield value


@dataclass(frozen=True)
class _Changes:
    """Changes values so that they stay like the `leaves` of all examples of a parameter."""

    random: Random
    leaves: list[Any]

    def of(self, value: Any, column: Sequence[Any]) -> Any:
        """A value like `value`; `column` are those that stand for it in all examples."""
        may_be_empty = any(item in ([], (), {}, set(), "") for item in column)
        if isinstance(value, bool):
            return not value
        if isinstance(value, (int, float)):
            return self._number(value)
        if isinstance(value, str):
            return self._text(value) or ("" if may_be_empty else value)
        if isinstance(value, tuple) and value:
            return self._one_changed(value)
        if isinstance(value, (list, set)):
            items = self._items(list(value))
            return type(value)(items) if items or may_be_empty else value
        if isinstance(value, dict) and value:
            keys = list(value)
            return {
                key: self.of(value[key], list(value.values())) if self.random.random() < 0.5 else value[key]
                for key in keys
            }
        return value

    def _number(self, value: float) -> float:
        numbers = [leaf for leaf in self.leaves if isinstance(leaf, (int, float)) and not isinstance(leaf, bool)]
        least, most = min(numbers), max(numbers)
        if not math.isfinite(most - least):
            return value
        lowest = least if least in (0, 1) else (1 if least > 1 else 2 * least)
        near = [value + 1, value - 1, value + 2, value * 2, value // 2, self.random.choice(numbers)]
        wide = self.random.randint(int(lowest), max(int(lowest) + 5, int(2 * most) + 5))
        number = max(lowest, self.random.choice([*near, wide, wide]))
        whole = all(isinstance(leaf, int) for leaf in numbers)
        return int(number) if whole else round(float(number) + self.random.choice([0, 0.25, 0.5]), 4)

    def _text(self, value: str) -> str:
        alphabet = sorted({letter for leaf in self.leaves if isinstance(leaf, str) for letter in leaf}) or ["a"]
        cut = self.random.randint(0, len(value))
        other = self.random.choice([leaf for leaf in self.leaves if isinstance(leaf, str)])
        return self.random.choice(
            [
                value[:cut] + self.random.choice(alphabet) + value[cut:],
                value[:cut] + self.random.choice(alphabet) + value[cut + 1 :],
                value[:cut] + value[cut + 1 :],
                value[::-1],
                value[:cut] + other,
                value + value[:cut],
                "".join(self.random.sample(value, len(value))),
            ]
        )

    def _items(self, items: list[Any]) -> list[Any]:
        place = self.random.randint(0, len(items))
        ways = [items[::-1], self.random.sample(items, len(items)), items[:place] + items[place + 1 :]]
        if items:
            one = self.random.choice(items)
            ways += [
                [*items[:place], one, *items[place:]],
                [*items, self.of(one, items)],
                self._one_changed(items),
            ]
        return self.random.choice(ways)

    def _one_changed(self, items: Any) -> Any:
        place = self.random.randrange(len(items))
        return type(items)(
            self.of(item, list(items)) if number == place else item for number, item in enumerate(items)
        )


def _of_types(parameters: ast.arguments | None, random: Random, number: int) -> tuple[Any, ...] | None:
    """Values of the declared types, larger ones later; None where a type is not known."""
    names = parameters.posonlyargs + parameters.args if parameters else []
    size = _SIZES[min(number // 2, len(_SIZES) - 1)]
    try:
        values = [_of_type(name.annotation, random, size) for name in names]
    except _UnknownType:
        return None
    return tuple(values) or None


class _UnknownType(Exception):
    """Nothing is known of the values of an annotation."""


def _of_type(annotation: ast.expr | None, random: Random, size: int) -> Any:
    if isinstance(annotation, ast.Constant) and annotation.value is None:
        return None
    if isinstance(annotation, ast.BinOp):
        return _of_type(random.choice([annotation.left, annotation.right]), random, size)
    inner = annotation.slice if isinstance(annotation, ast.Subscript) else None
    named = annotation.value if isinstance(annotation, ast.Subscript) else annotation
    name = ast.unparse(named).rpartition(".")[2].lower() if named else ""
    if name in _SIMPLE:
        return _SIMPLE[name](random, size)
    parts = inner.elts if isinstance(inner, ast.Tuple) else [inner or ast.Name("int")]
    if name == "tuple" and len(parts) > 1 and not isinstance(parts[1], ast.Constant):
        return tuple(_of_type(part, random, size) for part in parts)
    if name in ("optional", "union"):
        one = random.choice(parts)
        return None if name == "optional" and random.random() < 0.2 else _of_type(one, random, size)
    if name in ("dict", "mapping"):
        key, value = parts if len(parts) == 2 else (ast.Name("str"), ast.Name("int"))
        return {_of_type(key, random, size): _of_type(value, random, size) for _ in range(size)}
    if name in ("list", "sequence", "iterable", "collection", "set", "tuple"):
        items = [_of_type(parts[0], random, max(1, size)) for _ in range(size)]
        return set(items) if name == "set" else tuple(items) if name == "tuple" else items
    raise _UnknownType(name)


_SIMPLE: dict[str, Any] = {
    "int": lambda random, size: random.randint(-size, size * size),
    "float": lambda random, size: round(random.uniform(-size, size * size), 2),
    "bool": lambda random, size: random.random() < 0.5,
    "str": lambda random, size: "".join(random.choices(string.ascii_lowercase[:4] + "A 1", k=size)),
    "any": lambda random, size: random.randint(-size, size * size),
    "none": lambda random, size: None,
}
