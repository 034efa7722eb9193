"""Files with the debug information of a Mach-O file: dSYM bundles and object files.

A linker for macOS copies no debug information. Its output has a debug map: the paths of
the object files and the location of each function, for a debugger, or for dsymutil,
which collects it all in a dSYM bundle.
"""

from __future__ import annotations

import os
from collections import deque
from struct import Struct

from gsym.containers.archive import Member, list_members
from gsym.containers.mapped_file import map_one_of_many
from gsym.containers.object_file import ObjectFile
from gsym.containers.recognition import recognise_file
from gsym.conversion.companions.search import (
    CompanionSearch,
    SearchNote,
    other_build,
    problem_of,
)
from gsym.conversion.debug_info import DebugInfo
from gsym.conversion.identity import key_of_binary
from gsym.engine.native import check, ffi, lib, new_error, new_object, to_str
from gsym.errors import FormatError, GsymError, listed
from gsym.model import UINT64_END, rewritten
from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from gsym.conversion.options import ConvertOptions


_BUNDLE = ".dSYM"
_MEMBERS = os.path.join("Contents", "Resources", "DWARF")
# Of Mach-O files, by whether addresses have 64 bits: the header's size, and n_strx,
# n_type and n_value of a symbol.
_HEADER_SIZES = {False: 28, True: 32}
_ENTRY = {False: "IB3xI", True: "IB3xQ"}
_COMMAND_COUNT_AT, _LEAST_COMMAND, _SYMTAB = 16, 8, 2
_STAB_OR_KIND, _IN_SECTION = 0xEE, 0xE  # bits of n_type
_COMPARED_NAME = 1024  # bytes


def bundle_member(path: str) -> str:
    """The Mach-O file of a bundle; *path* itself where it is not a folder.

    Raises:
        FormatError: A folder contains none, or several; the text names them.
    """
    if not os.path.isdir(path):
        return path
    folder = os.path.join(path, _MEMBERS)
    try:
        names = sorted(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError) as error:
        reason = f"a folder, and no dSYM bundle: it has no {_MEMBERS}"
        raise FormatError(reason, path=path) from error
    except PermissionError as error:
        raise PermissionError(error.errno, error.strerror, path) from None
    paths = filter(os.path.isfile, (os.path.join(folder, name) for name in names))
    found = [each for each in paths if recognise_file(each) in {"object", "fat"}]
    if len(found) == 1:
        return found[0]
    if found:
        files = ", ".join(map(os.path.basename, found))
        reason = f"a dSYM bundle of several files, convert one: {files}"
        raise FormatError(reason, path=folder)
    tried = f" (tried {', '.join(names)})" if names else ""
    raise FormatError(f"a dSYM bundle without a Mach-O file{tried}", path=folder)


def is_bundle(path: str) -> bool:
    """Whether a folder is a dSYM bundle that contains one file."""
    if not path.rstrip(os.sep).endswith(_BUNDLE):
        return False
    try:
        return bundle_member(path) != path
    except (GsymError, OSError):
        return False


def bundle_paths(binary: str, directories: Sequence[str]) -> Iterator[str]:
    """Paths at which the debug information of a binary may be.

    Bundles are named for the binary, or for a folder with an extension (`.app`,
    `.framework`) that it is in. They stand beside that or in one of *directories*,
    such as `dSYMs` of an Xcode archive, or are themselves one of these. For a bundle
    that does not exist the path of one file is yielded as well.
    """
    name = os.path.basename(binary)
    bundles, path = [], binary
    while os.path.basename(path):
        if path == binary or os.path.splitext(path)[1]:
            bundles.append(path + _BUNDLE)
        path = os.path.dirname(path)
    names = [os.path.basename(bundle) for bundle in bundles]
    for directory in directories:
        is_bundle = os.path.isdir(os.path.join(directory, _MEMBERS))
        bundles += (
            [directory] if is_bundle else [os.path.join(directory, n) for n in names]
        )
    for bundle in bundles:
        folder = os.path.join(bundle, _MEMBERS)
        try:
            members = sorted(os.listdir(folder))
        except OSError:
            members = [name]
        for member in members:
            yield os.path.join(folder, member)


def find_macho_debug_info(binary: ObjectFile, options: ConvertOptions) -> DebugInfo:
    """The files to read for *binary*, which has no DWARF of its own."""
    search = CompanionSearch(binary)

    def mismatch(candidate: ObjectFile) -> str:
        if binary.uuid or candidate.uuid:
            reason = other_build(candidate, key_of_binary(binary))
        else:
            reason = _contradiction(candidate, binary)
        if reason:
            return reason
        return "" if candidate.has_dwarf else "has no debug information"

    paths = bundle_paths(binary.path, options.debug_file_directories)
    for bundle in search.open_all(paths, mismatch):
        unsure = "may be of another build: neither it nor the binary has a UUID"
        note = SearchNote(f"{bundle.path} {unsure}", is_unsure=True)
        notes = () if binary.uuid else (note,)
        return DebugInfo(bundle, None, (binary, bundle), (bundle.path,), notes)
    tried = search.describe()
    debug_map = DebugMap(binary, options.object_prefix_map)
    if not debug_map.objects:
        missing = f"no debug information: {debug_map.missing or tried}"
        if debug_map.missing:
            missing += f"; no dSYM bundle: {tried}"
        wanted = [each.source for each in search.tried] + debug_map.wanted[:_WANTED]
        note = SearchNote(missing, wanted)
        return DebugInfo(binary, None, (binary,), (), (), missing=note)
    companions = tuple(debug_map.paths)
    return DebugInfo(binary, None, (binary,), companions, debug_map.notes, debug_map)


def _contradiction(candidate: ObjectFile, binary: ObjectFile) -> str:
    """Evidence that a file is of another build, where no UUID tells."""
    sizes = {name: end - start for name, start, end in binary.code_sections()}
    for name, start, end in candidate.code_sections():
        if sizes.get(name, end - start) != end - start:
            return f"its {name} has {end - start} bytes, not {sizes[name]}"
    expected = _function_names(binary)
    for address, names in _function_names(candidate).items():
        if address in expected and names.isdisjoint(expected[address]):
            return f"has another function at {address:#x}"
    return ""


def _function_names(file: ObjectFile) -> dict[int, set[int]]:
    """Hashes of the names in the symbol table of a Mach-O file, by their addresses.

    Of a name its first kilobyte counts; entries that are cut off are left out.
    """
    order, data = ">" if file.big_endian else "<", file.data
    command, entry = Struct(order + "2I4I"), Struct(order + _ENTRY[file.is_64])
    (count,) = Struct(order + "I").unpack_from(data, _COMMAND_COUNT_AT)
    at, found = _HEADER_SIZES[file.is_64], dict[int, set[int]]()
    for _ in range(count):
        if at + command.size > len(data):
            break
        kind, size, table, entries, strings, strings_size = command.unpack_from(
            data, at
        )
        at += max(size, _LEAST_COMMAND)
        if kind != _SYMTAB:
            continue
        texts = bytes(data[strings : strings + strings_size])
        symbols = data[table : table + entries * entry.size]
        whole = len(symbols) // entry.size * entry.size
        for name, sort, address in entry.iter_unpack(symbols[:whole]):
            if sort & _STAB_OR_KIND == _IN_SECTION:
                text = texts[name : name + _COMPARED_NAME].partition(b"\0")[0]
                found.setdefault(address, set()).add(hash(text))
        break
    return found


class LinkedObject(NamedTuple):
    """An object file and the number of its entry in the map."""

    entry: int
    file: ObjectFile


class _Entry(NamedTuple):
    number: int
    path: str
    mtime: int


class _Archive(NamedTuple):
    """*members* has those of each name, in their order, that no entry has got yet."""

    data: memoryview
    members: dict[str, deque[Member]]


_WANTED = 16  # files of which a note has the paths
_MAX_LISTED = 3  # of the files that are missing
# What comparing archive members of one name may cost, in bytes: that much, and for each
# byte of the archives. A member costs its size; to look at its time, that of a pointer.
# Limit: Archive members of one name in a debug map
_COMPARED, _COMPARED_TIMES = 64 << 20, 8
_LOOK, _LEAST = 8, 1024
_UNREADABLE = UINT64_END  # more functions than any file lacks


class DebugMap:
    """The object files that a Mach-O file was linked from.

    Of *rules*, (old, new) prefixes of their paths, the first that fits counts.
    """

    def __init__(
        self, binary: ObjectFile, rules: Sequence[tuple[str, str]] = ()
    ) -> None:
        self._binary = binary
        self.paths: list[str] = []  # those of the files and archives that were read
        self._read: set[tuple[int, int]] = set()
        self._archives: dict[tuple[int, int], _Archive] = {}
        self._left_to_compare = _COMPARED
        self._missing: list[str] = []
        self.wanted: list[str] = []  # paths of the files that are missing
        self._changed: list[str] = []
        self._assumed: list[str] = []
        # the engine's `gsym_debug_map *`
        self.handle: Any = new_object(
            *("debug_map", lib.gsym_debug_map_create, lib.gsym_debug_map_destroy),
            binary.handle,
            path=binary.path,
        )
        # A path may be relative to a folder that only the linker knew.
        folder = os.path.dirname(binary.path)
        entries = [
            entry._replace(path=os.path.join(folder, rewritten(entry.path, rules)))
            for entry in self._entries()
        ]
        # the object files that are there
        self.objects: tuple[LinkedObject, ...] = tuple(self._open(entries))
        # why none of the object files that it names is used; "" if one is
        self.missing: str = ""
        if self._missing and not self.objects:
            self.missing = (
                f"it is in {len(entries)} object files, and none of them is there: "
                f"{listed(self._missing, _MAX_LISTED)}; give their location with "
                "--object-prefix-map, or run dsymutil where they are"
            )

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences on objects that are missing, or are not what was linked."""
        found: list[str] = []
        count = len(self._missing) + len(self.objects)
        if self._missing:
            of = f"of the {count} object files that hold its debug information"
            text = _counted(self._missing, f"{of} is missing", f"{of} are missing")
            found.append(SearchNote(text, self.wanted[:_WANTED]))
        if self._changed:
            after = "changed after it was linked"
            singular, plural = f"object file was {after}", f"object files were {after}"
            found.append(_counted(self._changed, singular, plural))
        if self._assumed:
            of = "of the archive members that share a name"
            by = "assigned by their order alone"
            found.append(_counted(self._assumed, f"{of} was {by}", f"{of} were {by}"))
        return tuple(found)

    def _entries(self) -> Iterator[_Entry]:
        """The entries with functions."""
        entry: Any = ffi.new("gsym_debug_map_entry *")
        for index in range(lib.gsym_debug_map_count(self.handle)):
            lib.gsym_debug_map_entry_at(self.handle, index, entry)
            if entry.function_count:
                path = to_str(ffi.buffer(entry.path, entry.path_size)[:])
                yield _Entry(index, path, entry.mtime)

    def _open(self, entries: list[_Entry]) -> Iterator[LinkedObject]:
        for entry in entries:
            try:
                data, mtime = self._find(entry)
                file = ObjectFile(data, entry.path)
                reason = ""
                if not file.is_macho or file.machine != self._binary.machine:
                    reason = f"is for {file.architecture}"
            except (OSError, GsymError) as error:
                reason = problem_of(error)
            if reason:
                self._missing.append(f"{entry.path}: {reason}")
                self.wanted.append(entry.path.partition("(")[0])
                continue
            if entry.mtime not in {0, mtime}:
                self._changed.append(entry.path)
            yield LinkedObject(entry.number, file)

    def _find(self, entry: _Entry) -> tuple[memoryview, int]:
        """The bytes of an object file and the second in which it was last changed."""
        path = entry.path
        archive, _, member = path.removesuffix(")").rpartition("(")
        if not archive or not path.endswith(")") or os.path.exists(path):
            status = os.stat(path)
            identity = status.st_dev, status.st_ino
            if identity in self._read:
                raise FormatError("named twice", path=path)
            self._read.add(identity)
            return self._load(path), int(status.st_mtime)
        data, members = self._open_archive(archive)
        if member not in members:
            raise FormatError(f"not in {archive}", path=path)
        if not members[member]:
            raise FormatError("named twice", path=path)
        found = self._choose(entry, data, members[member])
        members[member].remove(found)
        return data[found.offset :][: found.size], found.mtime

    def _open_archive(self, path: str) -> _Archive:
        status = os.stat(path)
        identity = status.st_dev, status.st_ino
        if identity not in self._archives:
            data = self._load(path)
            self._left_to_compare += len(data) * _COMPARED_TIMES
            members: dict[str, deque[Member]] = {}
            for each in list_members(data, path):
                members.setdefault(each.name, deque()).append(each)
            self._archives[identity] = _Archive(data, members)
        return self._archives[identity]

    def _choose(
        self, entry: _Entry, data: memoryview, members: deque[Member]
    ) -> Member:
        """The member of *entry* among those of its name.

        The time tells them apart, else the functions: most tools write archives
        whose members have no time.
        """
        if len(members) == 1:
            return members[0]
        if not self._may_compare(len(members) * _LOOK, entry):
            return members[0]
        mtime = entry.mtime  # 0: the linker does not say
        fitting = [each for each in members if each.mtime == mtime] if mtime else []
        fitting = fitting or list(members)
        if len(fitting) == 1:
            return fitting[0]
        counts: list[int] = []
        for member in fitting:
            if not self._may_compare(max(member.size, _LEAST), entry):
                break
            try:
                # Number of functions of *entry* that a member does not have
                missing, error = ffi.new("uint64_t *"), new_error()
                file = ObjectFile(data[member.offset :][: member.size], entry.path)
                compare = lib.gsym_debug_map_compare
                status = compare(self.handle, entry.number, file.handle, missing, error)
                check(status, error, entry.path)
                counts.append(int(missing[0]))
            except GsymError:  # bitcode, or of another machine
                counts.append(_UNREADABLE)
            if counts[-1] == 0:
                break
        return fitting[counts.index(min(counts))] if counts else fitting[0]

    def _may_compare(self, cost: int, entry: _Entry) -> bool:
        self._left_to_compare -= cost
        if self._left_to_compare < 0:
            self._assumed.append(entry.path)
        return self._left_to_compare >= 0

    def _load(self, path: str) -> memoryview:
        data = map_one_of_many(path)
        self.paths.append(path)
        return data


def _counted(paths: list[str], singular: str, plural: str) -> str:
    """The number of paths, what is to say of one or of several, and the first ones."""
    text = singular if len(paths) == 1 else plural
    return f"{len(paths)} {text}: {listed(paths, _MAX_LISTED)}"
