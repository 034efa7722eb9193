"""Debug maps: a Mach-O file without DWARF names the object files that hold it.

A linker for macOS copies no debug information. It notes the paths of the object files
and where it put each function, for a debugger, or for dsymutil to collect it all in a
dSYM bundle.
"""

from __future__ import annotations

import os

from gsym.containers.archive import list_members
from gsym.containers.mapped_file import map_one_of_many
from gsym.containers.object_file import ObjectFile
from gsym.engine.native import check, ffi, lib, new_error, to_str
from gsym.errors import FormatError, GsymError, MissingDebugInfoError
from gsym.records import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from gsym.containers.archive import Member


class LinkedObject(NamedTuple):
    """An object file and the number of its entry in the map."""

    entry: int
    file: ObjectFile


class _Entry(NamedTuple):
    number: int
    path: str
    mtime: int


_MOST_NAMED = 3  # of the files that are missing


class DebugMap:
    """The object files that a Mach-O file was linked from.

    Args:
        binary: The linked file.
        rules: (old, new) prefixes of their paths; the first that fits counts.

    Attributes:
        handle: The engine's `gsym_debug_map *`.
        objects: The object files that are there.
        paths: Those of the files and archives that were read.

    Raises:
        MissingDebugInfoError: It names object files, and none of them is there.
    """

    def __init__(
        self, binary: ObjectFile, rules: Sequence[tuple[str, str]] = ()
    ) -> None:
        self._binary = binary
        self.paths: list[str] = []
        self._read: set[tuple[tuple[int, int], str]] = set()
        self._archives: dict[tuple[int, int], tuple[memoryview, dict[str, Member]]] = {}
        self._missing: list[str] = []
        self._changed: list[str] = []
        made, error = ffi.new("gsym_debug_map **"), new_error()
        check(lib.gsym_debug_map_create(binary.handle, made, error), error, binary.path)
        self.handle: Any = ffi.gc(made[0], lib.gsym_debug_map_destroy)
        entries = [
            entry._replace(path=self._locate(entry.path, rules))
            for entry in self._entries()
        ]
        self.objects = tuple(self._open(entries))
        if self._missing and not self.objects:
            raise MissingDebugInfoError(
                f"its debug information is in {len(entries)} object files, and none of "
                f"them is there: {_some(self._missing)}; tell with "
                "--object-prefix-map where they are now, or run dsymutil there",
                path=binary.path,
            )

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences on objects that are missing, or are not what was linked."""
        found = []
        count = len(self._missing) + len(self.objects)
        if self._missing:
            are = "is" if len(self._missing) == 1 else "are"
            found.append(
                f"{len(self._missing)} of the {count} object files that hold its debug "
                f"information {are} missing: {_some(self._missing)}"
            )
        if self._changed:
            were = "file was" if len(self._changed) == 1 else "files were"
            found.append(
                f"{len(self._changed)} object {were} changed after it was linked: "
                f"{_some(self._changed)}"
            )
        return tuple(found)

    def _entries(self) -> Iterator[_Entry]:
        """The entries with functions, each path once."""
        entry: Any = ffi.new("gsym_debug_map_entry *")
        seen = set()
        for index in range(lib.gsym_debug_map_count(self.handle)):
            lib.gsym_debug_map_entry_at(self.handle, index, entry)
            path = to_str(ffi.buffer(entry.path, entry.path_size)[:])
            if entry.function_count and path not in seen:
                seen.add(path)
                yield _Entry(index, path, entry.mtime)

    def _locate(self, path: str, rules: Sequence[tuple[str, str]]) -> str:
        for old, new in rules:
            if path.startswith(old):
                path = new + path.removeprefix(old)
                break
        # A path may be relative to a folder that only the linker knew.
        return os.path.join(os.path.dirname(self._binary.path), path)

    def _open(self, entries: list[_Entry]) -> Iterator[LinkedObject]:
        for entry in entries:
            try:
                data, mtime = self._find(entry.path)
                file = ObjectFile(data, entry.path)
                reason = self._fault(file)
            except FileNotFoundError:
                reason = "not there"
            except OSError as error:
                reason = error.strerror or "cannot be read"
            except GsymError as error:
                reason = error.reason
            if reason:
                self._missing.append(f"{entry.path} ({reason})")
                continue
            if entry.mtime not in {0, mtime}:
                self._changed.append(entry.path)
            yield LinkedObject(entry.number, file)

    def _find(self, path: str) -> tuple[memoryview, int]:
        """The bytes of an object file and the second in which it was last changed."""
        archive, _, member = path.removesuffix(")").rpartition("(")
        if not archive or not path.endswith(")") or os.path.exists(path):
            _, mtime = self._identify(path, "")
            return self._load(path), mtime
        identity, _ = self._identify(archive, member)
        if identity not in self._archives:
            data = self._load(archive)
            members = {each.name: each for each in list_members(data, archive)}
            self._archives[identity] = data, members
        data, members = self._archives[identity]
        if member not in members:
            raise FormatError(f"not in {archive}", path=path)
        found = members[member]
        return data[found.offset :][: found.size], found.mtime

    def _identify(self, path: str, member: str) -> tuple[tuple[int, int], int]:
        """What tells a file from all others, and when it was last changed.

        Raises:
            FormatError: The *member* was read before, maybe by another path.
        """
        status = os.stat(path)
        identity = status.st_dev, status.st_ino
        if (identity, member) in self._read:
            raise FormatError("named twice", path=path)
        self._read.add((identity, member))
        return identity, int(status.st_mtime)

    def _load(self, path: str) -> memoryview:
        data = map_one_of_many(path)
        self.paths.append(path)
        return data

    def _fault(self, file: ObjectFile) -> str:
        if not file.is_macho or file.machine != self._binary.machine:
            return f"is for {file.architecture}"
        return ""


def _some(names: list[str]) -> str:
    more = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
