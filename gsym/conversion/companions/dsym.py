"""dSYM bundles, and the binary that a debug file belongs to."""

from __future__ import annotations

import os

from gsym.containers.fat import choose_slice, list_slices
from gsym.containers.mapped_file import map_file
from gsym.containers.object_file import ObjectFile
from gsym.containers.recognition import recognise
from gsym.errors import FormatError, UuidMismatchError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


_MEMBERS = os.path.join("Contents", "Resources", "DWARF")
_HEAD_SIZE = 64


def bundle_member(path: str) -> str:
    """The Mach-O file of a bundle; *path* itself where it is no folder.

    Raises:
        FormatError: A folder holds none, or several; the text names them.
        OSError: A file cannot be read.
    """
    if not os.path.isdir(path):
        return path
    folder = os.path.join(path, _MEMBERS)
    try:
        names = sorted(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError) as error:
        reason = f"a folder, and no dSYM bundle: it has no {_MEMBERS}"
        raise FormatError(reason, path=path) from error
    found = [name for name in names if _is_macho(os.path.join(folder, name))]
    if len(found) == 1:
        return os.path.join(folder, found[0])
    if found:
        reason = f"a dSYM bundle of several files, convert one: {', '.join(found)}"
        raise FormatError(reason, path=folder)
    tried = f" (tried {', '.join(names)})" if names else ""
    raise FormatError(f"a dSYM bundle without a Mach-O file{tried}", path=folder)


def bundles_beside(binary: str) -> Iterator[str]:
    """Paths at which the debug information of a binary may be.

    Bundles stand beside the binary, or beside the folder with an extension (`.app`,
    `.framework`) that it is in. Of a bundle that is not there the path of one file
    is given all the same.
    """
    path, name = binary, os.path.basename(binary)
    while os.path.basename(path):
        if path == binary or os.path.splitext(path)[1]:
            folder = os.path.join(path + ".dSYM", _MEMBERS)
            try:
                members = sorted(os.listdir(folder))
            except OSError:
                members = [name]
            for member in members:
                yield os.path.join(folder, member)
        path = os.path.dirname(path)


def _is_macho(path: str) -> bool:
    if not os.path.isfile(path):
        return False
    with open(path, "rb", buffering=0) as file:
        return recognise(file.read(_HEAD_SIZE)) in {"object", "fat"}


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
