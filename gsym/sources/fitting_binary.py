"""The binary that a GSYM file was made from, told by its UUID."""

from __future__ import annotations

from gsym.errors import FormatError, UuidMismatchError
from gsym.sources.dsym import bundle_member
from gsym.sources.fat import choose_slice, list_slices
from gsym.sources.mapped_file import map_file
from gsym.sources.object_file import ObjectFile
from gsym.sources.recognition import recognise

__all__ = ["check_uuid", "open_fitting", "read_fitting"]

_HEAD_SIZE = 64
_GUID_SIZE = 16  # also the bytes of a build id that a debug id has


def read_fitting(path: str, uuid: bytes | None) -> tuple[memoryview, str]:
    """The bytes of a binary, of a fat file those of one slice, and its path.

    Args:
        path: An ELF, Mach-O or PE file, or a dSYM bundle.
        uuid: Of a fat file, it chooses the slice.

    Raises:
        ArchitectureError: It is a fat file, of which *uuid* chooses no slice.
        FormatError: The file is no ELF, Mach-O or PE file, or its headers are
            damaged.
        OSError: It cannot be opened or mapped.
    """
    file = bundle_member(path)
    data = map_file(file)
    kind = recognise(bytes(data[:_HEAD_SIZE]))
    if kind not in {"object", "fat"}:
        raise FormatError("this is no binary", path=file, offset=0)
    return (_fitting_slice(data, file, uuid) if kind == "fat" else data), file


def check_uuid(found: bytes, wanted: bytes | None, path: str) -> None:
    """Refuse a binary that is another one than a GSYM file was made from.

    Args:
        found: That of the binary.
        wanted: That of the GSYM file; none: any binary will do.
        path: The binary, for errors.

    Raises:
        UuidMismatchError: It is another binary.
    """
    if not wanted or found == wanted:
        return
    if len(wanted) != _GUID_SIZE or not found.startswith(wanted):
        raise UuidMismatchError(
            f"its UUID is {found.hex() or 'missing'}, not {wanted.hex()}", path=path
        )


def open_fitting(path: str, uuid: bytes | None) -> ObjectFile:
    """The binary at *path*, of a fat file the slice, that has a UUID.

    Raises:
        ArchitectureError: It is a fat file, of which *uuid* chooses no slice.
        FormatError: The file is no ELF, Mach-O or PE file, or its headers are
            damaged.
        OSError: It cannot be opened or mapped.
        UnsupportedError: It is of a kind that is not read.
        UuidMismatchError: It is another binary.
    """
    binary = ObjectFile(*read_fitting(path, uuid))
    check_uuid(binary.uuid, uuid, binary.path)
    return binary


def _fitting_slice(data: memoryview, path: str, uuid: bytes | None) -> memoryview:
    for each in list_slices(data, path) if uuid else ():
        part = data[each.offset :][: each.size]
        with ObjectFile(part, path) as binary:
            if binary.uuid == uuid:
                return part
    return choose_slice(data, path, None)
