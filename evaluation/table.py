"""A table as text: for a terminal, or in Markdown."""

from __future__ import annotations

from collections.abc import Sequence

Line = Sequence[str]


def render(
    head: Line, lines: Sequence[Line], closing: Sequence[Line] = (), *, text_columns: int = 1, markdown: bool
) -> str:
    """`head`, a rule, `lines`, and after another rule (in Markdown in bold) `closing`.

    The first `text_columns` are set to the left, the others to the right.
    """
    if markdown:
        rule = ["---" if column < text_columns else "---:" for column in range(len(head))]
        bold = [[f"**{cell}**" if cell else "" for cell in line] for line in closing]
        return "\n".join(f"| {' | '.join(line)} |" for line in [head, rule, *lines, *bold])
    widths = [max(map(len, column)) for column in zip(head, *lines, *closing, strict=True)]
    rule = ["-" * width for width in widths]
    shown = [head, rule, *lines, *([rule] if closing else []), *closing]
    return "\n".join("  ".join(_aligned(line, widths, text_columns)).rstrip() for line in shown)


def _aligned(line: Line, widths: Sequence[int], text_columns: int) -> list[str]:
    return [
        cell.ljust(width) if column < text_columns else cell.rjust(width)
        for column, (cell, width) in enumerate(zip(line, widths, strict=True))
    ]
