"""Folders that nobody may list; root may list all real ones."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pytest


def make_closed_folder(folder: Path, patch: pytest.MonkeyPatch) -> None:
    """Make a folder, and let the calls that list it fail."""
    folder.mkdir(parents=True)

    def refusing(call: Callable[[object], object]) -> Callable[[object], object]:
        def refuse(path: object) -> object:
            if str(path).startswith(str(folder)):
                raise PermissionError(errno.EACCES, "Permission denied", path)
            return call(path)

        return refuse

    for name in ("scandir", "listdir"):
        patch.setattr(os, name, refusing(getattr(os, name)))
