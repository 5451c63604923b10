"""Hand-made products to be scored."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

Make = Callable[..., Path]


@pytest.fixture
def product(tmp_path: Path) -> Make:
    """Makes a product folder `name` from files; the task lies in it as the original leaves it."""

    def make(files: dict[str, str | bytes], name: str = "product", task: str = "Print a number.") -> Path:
        folder = tmp_path / "warehouse" / name
        for path, content in {f"{name}.prompt": task, **files}.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(content if isinstance(content, bytes) else content.encode())
        return folder

    return make
