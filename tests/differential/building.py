"""The small programs, built once; a test is skipped where one cannot be built."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.differential.programs import FLAVOURS, Flavour, build

if TYPE_CHECKING:
    from pathlib import Path

flavours = pytest.mark.parametrize(
    "flavour", FLAVOURS, ids=[flavour.title for flavour in FLAVOURS]
)


def program(flavour: Flavour, folder: Path) -> Path:
    """The program in *folder*, built if it was not yet."""
    output = folder / flavour.title
    if not output.exists():
        try:
            build(flavour, output)
        except FileNotFoundError as error:
            pytest.skip(f"not installed: {error.filename}")
        except subprocess.CalledProcessError as error:
            pytest.skip(f"not built here: {error.stderr.strip()[:200]}")
    return output
