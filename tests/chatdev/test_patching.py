"""Parts of a program put into the whole: nothing else changes, and a program of its own is left as it is."""

from __future__ import annotations

from typing import Any

import pytest

from chatdev.missing_imports import with_missing_imports
from chatdev.patching import emptied, framed, patched

GUARD = 'if __name__ == "__main__":\n    run()\n'


def namespace(source: str) -> dict[str, Any]:
    """What is defined after the import of `source`, which must not start anything."""
    names: dict[str, Any] = {"__name__": "product"}
    exec(compile(source, "main.py", "exec"), names)
    return names


def test_a_function_is_replaced_and_the_rest_stays_as_it_is() -> None:
    old = f"# top\nX = 1\n\n\ndef a():\n    return 1\n\n\n# about run\ndef run(): ...\n\n\n{GUARD}# end\n"
    assert patched(old, "# new\ndef a():\n    return 2\n") == old.replace("return 1", "return 2")


@pytest.mark.parametrize(
    "top",
    [
        "from __future__ import annotations\n",
        '"""A program."""\nfrom __future__ import annotations\n',
        "#!/usr/bin/env python3\n# coding: utf-8\n",
        '"""A program."""\n',
    ],
)
def test_new_imports_come_where_imports_may_stand(top: str) -> None:
    part = "from __future__ import annotations\nimport re\n\ndef run():\n    return re.escape('.')\n"
    part = part if "annotations" in top else part.partition("\n")[2]
    whole = patched(f"{top}import sys\n\ndef run(): ...\n\n{GUARD}", part)
    assert whole.startswith(top)
    assert namespace(whole)["run"]() == r"\."


def test_what_is_new_may_use_what_it_follows() -> None:
    old = f"def a(): ...\n\ndef run(): ...\n\n{GUARD}"
    new = "LIMIT = 3\n\ndef a():\n    return LIMIT\n\nTABLE = {'a': a}\n\ndef run():\n    return TABLE['a']()\n"
    assert namespace(patched(old, new))["run"]() == 3


def test_definitions_that_share_a_name_all_stay() -> None:
    register = "@f.register\ndef _(x: int):\n    return {0}\n\n@f.register\ndef _(x: str):\n    return {0}\n"
    single = "from functools import singledispatch\n\n@singledispatch\ndef f(x):\n    return 0\n\n"
    whole = patched(f"{single}{register.format(1)}\ndef run(): ...\n\n{GUARD}", register.format(2))
    f = namespace(whole)["f"]
    assert (f(1), f("a"), f(1.5)) == (2, 2, 0)


@pytest.mark.parametrize("odd", ["\u2028", "\x0c", "\x85", "\x1c"])
def test_only_a_newline_ends_a_line(odd: str) -> None:
    old = f"def a():\n    return 'x{odd}y'\n\ndef b(): ...\n\n{GUARD}"
    whole = namespace(patched(old, f"def b():\n    return 'z{odd}'\n"))
    assert (whole["a"](), whole["b"]()) == (f"x{odd}y", f"z{odd}")
    source, added = with_missing_imports(f'"""a{odd}b"""\nX = sys.argv\n')
    assert added == ("sys",)
    assert namespace(source)["__doc__"] == f"a{odd}b"


@pytest.mark.parametrize(
    "start",
    [
        "def main():\n    print(load())\n\nmain()\n",
        "import sys\n\ndef main():\n    print(load())\n\nsys.exit(main())\n",
        "import sys\n\nif sys.argv[1:] == ['add']:\n    load()\n",
        "while True:\n    line = input()\n",
        f"def run():\n    load()\n\n{GUARD}",
    ],
)
def test_a_program_that_starts_by_itself_is_no_part(start: str) -> None:
    old = f"def load(): ...\n\ndef do_add(): ...\n\ndef run(): ...\n\n{GUARD}"
    new = f"def load():\n    return 1\n\n{start}"
    assert patched(old, new) == new


@pytest.mark.parametrize("example", ["print(do_add(1))", "run(['add', '1'])", '"""That is all."""'])
def test_an_example_under_a_part_makes_it_no_program(example: str) -> None:
    whole = patched(
        f"def do_add(x): ...\n\ndef run(args): ...\n\n{GUARD}", f"def do_add(x):\n    return x\n\n{example}\n"
    )
    assert example not in whole
    assert namespace(whole)["do_add"](5) == 5


def test_a_program_that_calls_its_functions_otherwise_than_the_frame_is_left_alone() -> None:
    frame = f"def do_add(file, text):\n    ...\n\ndef run(args):\n    do_add(*args)\n\n{GUARD}"
    own = f"def do_add({{0}}): ...\n\ndef main():\n    do_add(1)\n\n{GUARD.replace('run', 'main')}"
    assert framed(frame, own.format("text")) == own.format("text")
    assert "do_add(*args)" in framed(frame, own.format("file, text"))


def test_forgotten_imports_are_added_after_docstring_and_future() -> None:
    source = '#!/usr/bin/python\n"""Doc."""\nfrom __future__ import annotations; X = 1\nprint(sys.argv, os.name)\n'
    fixed, added = with_missing_imports(source)
    assert added == ("os", "sys")
    compile(fixed, "main.py", "exec")
    assert fixed.replace("import os\nimport sys\n", "") == source


@pytest.mark.parametrize(
    "source",
    [
        "def f(time):\n    return time.x\n",
        "class A:\n    def __init__(self):\n        this.x = 1\n",
        "antigravity.fly()\n",
        "match [1]:\n    case [string, *code]:\n        string.x, code.y\n",
        "try:\n    import json\nexcept ImportError:\n    json = None\njson.x\n",
    ],
)
def test_what_is_no_forgotten_import_is_left_alone(source: str) -> None:
    assert with_missing_imports(source) == (source, ())


def test_a_program_without_functions_is_a_program() -> None:
    assert patched(f"def program(a, b):\n    ...\n\ndef run(args): ...\n\n{GUARD}", "print(6)\n") == "print(6)\n"


def test_a_method_without_its_class_finds_it_again() -> None:
    old = f"class A:\n    def x(self): ...\n\n    def y(self):\n        return 1\n\ndef run(): ...\n\n{GUARD}"
    whole = patched(old, "def x(self):\n    return self.y() + 1\n\nprint(A().x())\n")
    assert namespace(whole)["A"]().x() == 2
    assert "print" not in whole


def test_a_stub_is_shown_without_the_remark_that_excuses_it() -> None:
    source = """class Game:
    def move(self, step):
        # Placeholder for the logic
        # of moving
        pass

    def score(self):
        \"\"\"The points.\"\"\"

    def start(self):
        \"\"\"Begin.\"\"\"
        pass

    def done(self):
        return True  # kept


def short(): pass
"""
    assert (
        emptied(source)
        == """class Game:
    def move(self, step):
        ...

    def score(self):
        \"\"\"The points.\"\"\"
        ...

    def start(self):
        \"\"\"Begin.\"\"\"
        ...

    def done(self):
        return True  # kept


def short(): pass
"""
    )


@pytest.mark.parametrize("source", ["def broken(:\n", "print(1)\n"])
def test_what_has_no_stub_is_shown_as_it_is(source: str) -> None:
    assert emptied(source) == source
