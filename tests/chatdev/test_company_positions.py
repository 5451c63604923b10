"""The JSON reader that knows lines: it agrees with the standard library on all but positions."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatdev.positions import Malformed, parse_json

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(-1e9, 1e9, width=32) | TEXT
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner), max_leaves=12)


@given(VALUES, st.sampled_from([None, 0, 2]), st.booleans())
def test_what_was_written_is_read(value: Any, indent: int | None, ascii_only: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    assert parse_json(text.encode("utf-8")).value == value


@given(VALUES, st.data())
def test_what_the_standard_library_refuses_is_refused_and_nothing_else(value: Any, data: st.DataObject) -> None:
    text = json.dumps(value, indent=1, ensure_ascii=False)
    place = data.draw(st.integers(0, len(text)))
    text = (
        text[:place]
        + data.draw(st.sampled_from(["", ",", "]", "}", '"', ":", "0", "x", "\\"]))
        + text[place + 1 :]
    )
    try:
        wanted = json.loads(text)
    except ValueError:
        with pytest.raises(Malformed):
            parse_json(text.encode("utf-8"))
    else:
        assert parse_json(text.encode("utf-8")).value == wanted


def test_every_key_and_item_knows_its_line() -> None:
    document = parse_json(b'\xef\xbb\xbf{\n "a": [\n  1,\r\n  {"b": {}}\n ],\n\n "c d":\n  2 }\n')
    assert document.lines == {"a": 2, "a[0]": 3, "a[1]": 4, "a[1].b": 4, "c d": 7}
    assert document.line("a[1].missing") == 4
    assert document.line("missing") == 1


def test_a_key_that_stands_twice_is_told_with_the_line_of_the_last() -> None:
    document = parse_json(b'{"a": 1,\n "b": {"x": 1, "x": 2},\n "a": 3}')
    assert document.value == {"a": 3, "b": {"x": 2}}
    assert document.repeated == ("b.x", "a")
    assert document.line("a") == 3


@pytest.mark.parametrize(
    ("text", "line", "key", "message"),
    [
        (b"", 1, "", "column 1: expecting value"),
        (b'{"a": 1}\n}', 2, "a", "column 1: text after the end"),
        (b'{"a": 1,\n "b": 2,\n}', 2, "b", "column 8: a comma before '}'"),
        (b'{"a": [1, 2,\n]}', 1, "a[1]", "column 12: a comma before ']'"),
        (b'{"a": 1\n "b": 2}', 2, "a", "column 2: expected ',' or '}'"),
        (b'{"a": 1,\n b: 2}', 2, "a", "column 2: expected a key in double quotes"),
        (b'{"a" 1}', 1, "", "expected ':' after the key"),
        (b'{"a":\n "one\n two"}', 2, "a", "invalid control character"),
        (b'{"a":\n "one}', 2, "a", "unterminated string"),
        (b'{"a": 1,\n "b": tru}', 2, "b", "expecting value"),
        (b'{"a":\n NaN}', 2, "a", "not a number JSON can hold"),
        (b'{"a":\n 1e999}', 2, "a", "not a number JSON can hold"),
        (b'{"a":\n ' + b"9" * 5000 + b"}", 2, "a", "not a number JSON can hold"),
        (b'{"a":\n "\\ud83d"}', 2, "a", "half a surrogate pair"),
        (b'{\n "\\ud83d": 1}', 2, "", "half a surrogate pair"),
        (b'{"a":\n "caf\xe9"}', 2, "", "not UTF-8: byte 0xe9"),
        (b'\xef\xbb\xbf{"a":\n "caf\xe9"}', 2, "", "not UTF-8: byte 0xe9"),
        ('{"a": 1}'.encode("utf-16"), 1, "", "not UTF-8: byte 0xff"),
        (b'{"a":\n' + b"[" * 100_000, 2, "", "nested too deeply"),
    ],
)
def test_malformed_text_is_told_with_line_column_and_the_last_key(
    text: bytes, line: int, key: str, message: str
) -> None:
    with pytest.raises(Malformed) as caught:
        parse_json(text)
    assert (caught.value.line, caught.value.key) == (line, key)
    assert message in str(caught.value)
