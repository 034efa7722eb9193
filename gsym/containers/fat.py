"""Fat Mach-O files: one slice for each architecture."""

from __future__ import annotations

from gsym.containers.architectures import macho_architecture
from gsym.containers.mapped_file import map_file
from gsym.containers.object_file import ObjectFile
from gsym.containers.recognition import recognise
from gsym.errors import ArchitectureError, FormatError
from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Sequence


class Slice(NamedTuple):
    """The part of a file for one architecture.

    *machine* is its cputype, for ELF its e_machine; *offset* and *size* are
    those of its bytes in the file.
    """

    architecture: str
    machine: int
    offset: int
    size: int


_HEADER_SIZE = 8  # magic number and count
_ENTRIES = {0xCAFEBABE: (20, 4), 0xCAFEBABF: (32, 8)}  # size; of offset and size
_HEAD_SIZE = 64


def list_slices(data: memoryview, path: str) -> tuple[Slice, ...]:
    """The slices of a fat file in order; another object file is one slice."""
    if _is_fat(data):
        return _read_slices(data, path)
    with ObjectFile(data, path) as whole:
        return (Slice(whole.architecture, whole.machine, 0, len(data)),)


def matching_slices(
    slices: tuple[Slice, ...], wanted: Sequence[str], path: str
) -> tuple[Slice, ...]:
    """The slices that *wanted* names, by architecture or number of machine; else all.

    Raises:
        ArchitectureError: It names none of them.
    """
    if not wanted:
        return slices
    numbers = {number for number in map(_number, wanted) if number is not None}
    found = tuple(
        each
        for each in slices
        if each.architecture in wanted or each.machine in numbers
    )
    if not found:
        raise ArchitectureError(
            f"is for {_names(slices)}, not for {' or '.join(wanted)}", path=path
        )
    return found


def choose_slice(data: memoryview, path: str, architecture: str | None) -> memoryview:
    """The bytes of the one slice that is for *architecture*.

    Args:
        data: The bytes of an object file, fat or not.
        path: The file, for errors.
        architecture: Name or machine number; None: any, if there is one only.

    Raises:
        ArchitectureError: It has none, or more than one; the text lists them.
    """
    if architecture is None and not _is_fat(data):
        return data
    wanted = () if architecture is None else (architecture,)
    found = matching_slices(list_slices(data, path), wanted, path)
    if len(found) > 1:
        raise ArchitectureError(
            f"contains code for {_names(found)}: choose one architecture", path=path
        )
    return data[found[0].offset :][: found[0].size]


def open_slice(path: str, architecture: str | None = None) -> ObjectFile:
    """The object file at *path*; of a fat one, the slice as of `choose_slice`.

    Raises:
        GsymError: The file has no such slice, or cannot be read.
    """
    return ObjectFile(choose_slice(map_file(path), path, architecture), path)


def slice_if_fat(data: memoryview, path: str, architecture: str) -> memoryview:
    """The bytes for *architecture* of a fat file; of another file all.

    Raises:
        ArchitectureError: It is fat and not for *architecture*.
    """
    return choose_slice(data, path, architecture) if _is_fat(data) else data


def _is_fat(data: memoryview) -> bool:
    return recognise(bytes(data[:_HEAD_SIZE])) == "fat"


def _read_slices(data: memoryview, path: str) -> tuple[Slice, ...]:
    if len(data) < _HEADER_SIZE:
        raise FormatError("the header of a fat file is cut off", path=path, offset=0)
    entry_size, width = _ENTRIES[_number_at(data, 0, 4)]
    count = _number_at(data, 4, 4)
    if count == 0 or count > (len(data) - _HEADER_SIZE) // entry_size:
        raise FormatError(
            f"a fat file is too small for its {count} slices", path=path, offset=4
        )
    slices: dict[str, Slice] = {}
    for index in range(count):
        place = _HEADER_SIZE + index * entry_size
        cpu_type, cpu_subtype = (
            _number_at(data, place, 4),
            _number_at(data, place + 4, 4),
        )
        offset = _number_at(data, place + 8, width)
        size = _number_at(data, place + 8 + width, width)
        name = macho_architecture(cpu_type, cpu_subtype)
        if size > len(data) or offset > len(data) - size:
            reason = f"the slice for {name} reaches past the end of the file"
            raise FormatError(reason, path=path, offset=place)
        if name in slices:
            raise FormatError(f"two slices for {name}", path=path, offset=place)
        slices[name] = Slice(name, cpu_type, offset, size)
    found = tuple(slices.values())
    end = 0
    for each in sorted(found, key=lambda each: each.offset):
        if each.offset < end:
            reason = f"the slice for {each.architecture} overlaps another"
            raise FormatError(reason, path=path, offset=each.offset)
        end = each.offset + each.size
    return found


def _number_at(data: memoryview, place: int, width: int) -> int:
    return int.from_bytes(data[place : place + width], "big")


def _number(text: str) -> int | None:
    try:
        return int(text, 0)
    except ValueError:
        return None


def _names(slices: Sequence[Slice]) -> str:
    return ", ".join(each.architecture for each in slices)
