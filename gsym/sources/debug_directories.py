"""Folders of installed debug files: by build id, and as a mirror of the file system.

/usr/lib/debug/.build-id/ab/cdef0123.debug
/usr/lib/debug/usr/bin/app.debug
"""

from __future__ import annotations

import os

__all__ = ["DEBUG_DIRECTORIES", "build_id_paths", "mirrored_paths"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

DEBUG_DIRECTORIES = ("/usr/lib/debug",)


def build_id_paths(build_id: bytes, directories: Sequence[str]) -> Iterator[str]:
    """Where the debug file of a build stands, in each of *directories*."""
    digits = build_id.hex()
    if len(build_id) > 1:
        for directory in directories:
            name = os.path.join(".build-id", digits[:2], f"{digits[2:]}.debug")
            yield os.path.join(directory, name)


def mirrored_paths(folder: str, name: str, directories: Sequence[str]) -> Iterator[str]:
    """Where *directories* hold the debug file *name* of a binary in *folder*.

    Args:
        folder: Absolute path.
        name: Of the debug file.
        directories: Of installed debug files.
    """
    below = folder.lstrip(os.sep)
    for directory in directories:
        yield os.path.join(directory, below, name)
