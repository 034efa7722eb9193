"""The binaries that addresses of a profile lie in."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import cache
from stat import S_ISREG

from gsym.containers import DEBUG_DIRECTORIES
from gsym.containers.fat import choose_slice, open_slice
from gsym.containers.headers import Segment, load_segments
from gsym.containers.mapped_file import map_file
from gsym.conversion.module_file import modules_in
from gsym.errors import GsymError
from gsym.modules.key import NO_KEY, ModuleKey, has_id, is_windows
from gsym.profiles.model import Mapping, module_key
from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping as Dictionary, Sequence
    from typing import Any

    from gsym.modules.file_match import FileMatch
    from gsym.modules.finder import Finder

    _Reading = Callable[[str, FileMatch], Any]


class Binaries:
    """The segments of the modules of mappings.

    A file is used only if it is of the module of the mapping.

    Args:
        finder: Finds the files of modules; by default those of this machine, at the
            paths of mappings and as installed debug files.
    """

    def __init__(self, finder: Finder | None = None) -> None:
        self._finder = finder
        self._first = cache(self._first_of)

    def segments(self, mapping: Mapping) -> tuple[Segment, ...]:
        """The segments of the module of a mapping; empty if it is not found."""
        found, _ = self._first(_segments, module_key(mapping)) or ((), "")
        return found

    def unsure(self, mapping: Mapping) -> str:
        """Reason why these may be of another build, or ""."""
        _, reason = self._first(_segments, module_key(mapping)) or ((), "")
        return reason

    def functions(self, mapping: Mapping) -> tuple[int, Sequence[int]]:
        """Base of the module of a mapping, and the starts of its functions.

        The starts are link-time addresses, ascending, by its unwind information.
        """
        return self._first(_functions, module_key(mapping)) or (0, ())

    def _first_of(self, read: _Reading, key: ModuleKey) -> Any:
        """The result for the first file of a module that has one; None without any."""
        tried = (read(*each) for each in self._files(key))
        return next(filter(None, tried), None)

    def _files(self, key: ModuleKey) -> Iterable[tuple[str, FileMatch]]:
        if not has_id(key):
            return ()
        if self._finder is None:
            # Most profiles need no segments.
            from gsym.modules.finder import find_in

            self._finder = find_in((), DEBUG_DIRECTORIES, at_paths=True)
        return self._finder.files(key, elsewhere=True)


def is_usable(path: str) -> bool:
    """Whether a path that a profile has is a file; those of devices may block."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return False
    return S_ISREG(status.st_mode) and status.st_size > 0


class PathModule(NamedTuple):
    """The module at a path, by `module_at`: attributes of a `Mapping`."""

    build_id: str = ""
    module: ModuleKey = NO_KEY
    unsure: str = ""


if TYPE_CHECKING:
    BuildIds = Dictionary[str, str | tuple[str, ...]]


def module_at(
    path: str, build_ids: BuildIds, *, recorded: float | None = None, inode: int = 0
) -> PathModule:
    """The module at a path, for a profile that does not tell it of each mapping.

    Args:
        path: Of a binary.
        build_ids: Of modules by path; a path may have several. Without any, that of the
            file that is there now is used.
        recorded: When the profile was written, in seconds since 1970, if known.
        inode: Of the file while the program ran; 0: not known.

    Returns:
        Nothing where there is no file, or it has no id.
    """
    known = build_ids.get(path, "")
    if isinstance(known, tuple):
        unsure = f"the profile has {len(known)} build ids for its path"
        return PathModule(known[-1], unsure=unsure if len(known) > 1 else "")
    if known or not is_usable(path):
        return PathModule(known)
    try:
        status = os.stat(path)
        first, *others = modules_in(path)
    except (GsymError, OSError, ValueError):
        return PathModule()
    key = first.identity
    if others or not (key.code_id or key.go_id):
        return PathModule()  # a debug id alone is of the first page of its code
    unsure = "the profile has no id of it: the file that is at its path now is used"
    if inode and inode != status.st_ino:
        unsure += ", which is another one than in the profile"
    elif recorded is not None and status.st_mtime > recorded:
        unsure += ", which is newer than the profile"
    if is_windows(key.os):
        return PathModule("", key, unsure)
    module = ModuleKey(debug_id=key.debug_id if key.code_id else "", go_id=key.go_id)
    return PathModule(key.code_id.lower(), module, unsure)


# Errors for a file that is no binary, or cannot be read: another one may have them.
_FAILURES = (GsymError, OSError, ValueError)


def _segments(path: str, match: FileMatch) -> tuple[tuple[Segment, ...], str] | None:
    """The segments of a file, and the reason why it may be of another build."""
    with suppress(*_FAILURES):
        data = choose_slice(map_file(path), path, match.architecture)
        found = load_segments(data, path)
        return (found, match.unsure) if found else None
    return None


def _functions(path: str, match: FileMatch) -> tuple[int, Sequence[int]] | None:
    """The base of a file, and the starts of its functions."""
    with suppress(*_FAILURES), open_slice(path, match.architecture) as binary:
        starts = binary.function_starts()
        return (binary.base_address or 0, starts) if starts else None
    return None
