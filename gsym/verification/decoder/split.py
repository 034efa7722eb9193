"""Files of split units: .dwo files, and packages (.dwp) of versions 2 and 5.

Each unit of a package is decoded as if its parts of the sections were a file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gsym.errors import FormatError
from gsym.verification.decoder.units import DECODING_ERRORS, Unit, Units

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gsym.verification.decoder.file import DebugSections

_SUFFIX = ".dwo"
_OLD, _NEW = 2, 5  # versions of an index
_HEADER_SIZE = 16
# Which parts of a unit the columns of an index name.
_COLUMNS = {
    _OLD: {
        1: "debug_info",
        2: "debug_types",
        3: "debug_abbrev",
        6: "debug_str_offsets",
    },
    _NEW: {
        1: "debug_info",
        3: "debug_abbrev",
        5: "debug_loclists",
        6: "debug_str_offsets",
        8: "debug_rnglists",
    },
}


class _Part(NamedTuple):
    """Part of a section."""

    name: str
    start: int
    size: int


class SplitUnits:
    """The split units of a binary."""

    def __init__(self, main: Units) -> None:
        self._main = main
        self._files: dict[int, SplitFile] = {}  # by offset of the skeleton
        self._names: dict[int, tuple[str, str]] = {}
        self._ids: dict[int, int] = {}  # offset of the skeleton -> its number
        self._first: dict[int, int] = {}  # the other way round
        for offset in main.offsets:
            try:
                number, name = main.split_id(offset), main.open(offset).split_name
            except DECODING_ERRORS:
                continue  # the unit is reported when it is decoded
            if number is not None and name is not None:
                self._names[offset] = name
                self._ids[offset] = number
                self._first.setdefault(number, offset)

    def __bool__(self) -> bool:
        return bool(self._names)

    def complete(self, read: Callable[[], DebugSections]) -> bool:
        """Take the units of a file; whether there were any that were missing."""
        file = SplitFile(read, self._main)
        found = {
            offset: file
            for number, offset in self._first.items()
            if number in file and offset not in self._files
        }
        self._files.update(found)
        return bool(found)

    def incomplete(self) -> Iterator[tuple[str, str]]:
        """Name and folder of the file of each skeleton without a split unit."""
        for offset, name in self._names.items():
            if offset not in self._files:
                yield name

    def is_missing(self, offset: int) -> bool:
        """Whether a unit is a skeleton without a split unit."""
        return offset in self._names and offset not in self._files

    def open(self, offset: int) -> Unit:
        """The unit at *offset* in the binary, for a skeleton the unit behind it."""
        unit = self._main.open(offset)
        if offset not in self._files:
            return unit
        return self._files[offset].open(self._ids[offset], unit)


class SplitFile:
    """The split units of a file."""

    def __init__(self, read: Callable[[], DebugSections], main: Units) -> None:
        self._read = read
        self._main = main
        sections = read()
        self._rows = _read_index(sections, "debug_cu_index")
        self._types = _read_index(sections, "debug_tu_index")
        # A package is read for each of its units, a .dwo file for one as a rule.
        self._package = sections if self._rows or self._types else None
        self._places = dict.fromkeys(self._rows, 0)
        if self._package is None:
            units = self._units(sections)
            self._places = {
                number: offset
                for offset in units.offsets
                if (number := units.split_id(offset)) is not None
            }

    def __contains__(self, number: int) -> bool:
        return number in self._places

    def open(self, number: int, skeleton: Unit) -> Unit:
        """The unit that completes a skeleton.

        Raises:
            FormatError: The package has another unit in its place.
        """
        if self._package is None:
            sections = self._read()
        else:
            sections = _cut(self._package, self._rows[number])
        units, offset = self._units(sections), self._places[number]
        units.skeleton = skeleton
        if offset not in units.offsets or units.split_id(offset) != number:
            raise FormatError("the package has another unit in place of it")
        return units.open(offset, skeleton)

    def _units(self, sections: DebugSections) -> Units:
        # Ranges of old versions, and all addresses, stand in the binary itself.
        contents = self._main.sections.contents
        shared = {
            name: contents.get(name, b"") for name in ("debug_addr", "debug_ranges")
        }
        return Units(
            self._main.file,
            self._main.path_map,
            sections.replace(**shared),
            types=self._type_unit,
        )

    def _type_unit(self, signature: int) -> Units | None:
        if self._package is None or signature not in self._types:
            return None
        return self._units(_cut(self._package, self._types[signature]))


def _cut(sections: DebugSections, parts: list[_Part]) -> DebugSections:
    return sections.replace(**{part.name: sections.part(*part) for part in parts})


def _read_index(sections: DebugSections, name: str) -> dict[int, list[_Part]]:
    """The parts of each unit in an index of a package, by its signature."""

    def word(at: int, size: int = 4) -> int:
        return sections.word(name, at, size)

    # Later versions have two bytes for it, and two of padding.
    version = _OLD if word(0) == _OLD else word(0, 2)
    column_count, row_count, slot_count = (word(at) for at in (4, 8, 12))
    size = len(sections.contents.get(name, b""))
    if version not in _COLUMNS or _HEADER_SIZE + 12 * slot_count > size:
        return {}
    numbers = _HEADER_SIZE + 8 * slot_count
    columns = numbers + 4 * slot_count
    offsets = columns + 4 * column_count
    sizes = offsets + 4 * column_count * row_count
    if sizes + 4 * column_count * row_count > size:
        return {}
    kinds = [_COLUMNS[version].get(word(columns + 4 * i)) for i in range(column_count)]
    found: dict[int, list[_Part]] = {}
    for slot in range(slot_count):
        row = word(numbers + 4 * slot)
        if not 0 < row <= row_count:
            continue
        cell = 4 * column_count * (row - 1)
        found[word(_HEADER_SIZE + 8 * slot, 8)] = [
            _Part(kind, word(offsets + cell + 4 * i), word(sizes + cell + 4 * i))
            for i, kind in enumerate(kinds)
            if kind is not None
        ]
    return found
