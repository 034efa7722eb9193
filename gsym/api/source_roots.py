"""Folders of source files that may be read, and nothing outside of them."""

from __future__ import annotations

import os
import stat

__all__ = ["SourceRoots"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


class SourceRoots:
    """Reads source files below certain folders.

    Args:
        roots: `DIR`: paths of debug information that are in it. `OLD=DIR`: those that
            open with OLD, which stands for DIR.
    """

    def __init__(self, roots: Iterable[str]) -> None:
        self._rules: list[tuple[str, str]] = []
        for root in roots:
            old, equals, folder = root.rpartition("=")
            self._rules.append((old if equals else "", os.path.realpath(folder)))

    def __bool__(self) -> bool:
        return bool(self._rules)

    def read(self, path: str, most: int) -> bytes | None:
        """The contents of a source file; None where it is in none of the folders.

        Symbolic links are followed, and count where they lead to.

        Args:
            path: As debug information has it.
            most: One byte more than these is read of it.

        Raises:
            OSError: It is in one, and cannot be read.
        """
        for candidate, root in self._candidates(path):
            real = os.path.realpath(candidate)
            if _is_inside(real, root) and os.path.exists(real):
                return _read(real, root, most)
        return None

    def _candidates(self, path: str) -> Iterable[tuple[str, str]]:
        if "\0" in path:
            return
        for old, root in self._rules:
            if not old:
                if os.path.isabs(path):
                    yield path, root
            elif path.startswith(old):
                rest = path[len(old) :].replace("\\", "/").lstrip("/")
                yield os.path.join(root, rest), root


def _is_inside(path: str, root: str) -> bool:
    return path.startswith(root.rstrip(os.sep) + os.sep)


def _read(path: str, root: str, most: int) -> bytes | None:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with open(os.open(path, flags), "rb") as file:
        descriptor = file.fileno()
        # A folder on the way may have become a link meanwhile.
        now = os.path.realpath(f"/proc/self/fd/{descriptor}")
        if now.startswith("/proc/"):
            now = path  # there is no such file system
        is_file = stat.S_ISREG(os.fstat(descriptor).st_mode)
        return file.read(most + 1) if is_file and _is_inside(now, root) else None
