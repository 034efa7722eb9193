"""The input of a conversion, opened once: a path, bytes or a binary file object."""

from __future__ import annotations

import os

from gsym.arguments import path_of, refusal
from gsym.containers.mapped_file import map_file
from gsym.containers.recognition import HEAD_SIZE, recognise
from gsym.errors import FormatError
from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from typing import BinaryIO, TypeAlias

    from typing_extensions import Buffer

    from gsym.containers.archive import Members

    Input: TypeAlias = "str | os.PathLike[str] | Buffer | BinaryIO | InputFile"

NO_NAME = "<input>"
# The machine in an ELF header.
_MACHINE_AT, _MIPS = 18, (b"\x08\0", b"\0\x08")


class InputFile(NamedTuple):
    """An opened input."""

    # its path as given, of a bundle that of the folder; "" for bytes and file objects,
    # which have none
    given: str
    # its name in messages and reports. Files that belong to it are searched for beside
    # it
    path: str
    data: memoryview  # its bytes
    kind: str  # as `recognise` names it
    # what was found in it once; None: nothing is kept
    kept: dict[str, Members] | None = None

    @property
    def members(self) -> Members:
        """The object files of an archive or a bundle."""
        from gsym.containers.archive import Members

        kept = {} if self.kept is None else self.kept
        if not kept:
            kept[""] = Members(self.data, self.path)
        return kept[""]


def member_label(path: str, member: str | None) -> str:
    """Name for a file in an archive, `libx.a(foo.o)`; *path* for no member."""
    return path if member is None else f"{path}({member})"


def open_input(given: Input, name: str | os.PathLike[str] | None = None) -> InputFile:
    """Open an input; one that is open stays as it is.

    Raises:
        TypeError: A file object is not binary.
        ValueError: A path was given a name.
    """
    if isinstance(given, InputFile):
        return given
    if not isinstance(given, (str, os.PathLike)):
        data = _bytes_of(given)
        filename = getattr(given, "name", None)  # of a pipe it is a number
        path = filename if isinstance(filename, str) else NO_NAME
        if name is not None:
            path = path_of("name", name)
        if not data:
            raise FormatError("the file is empty", path=path, offset=0)
        return input_of("", path, data)
    if name is not None:
        raise ValueError("name: only for bytes and file objects; a path is its name")
    path = member = path_of("input", given)
    try:
        data = map_file(path)
    except IsADirectoryError:
        from gsym.conversion.companions.macho import bundle_member

        member = bundle_member(path)
        data = map_file(member)
    return input_of(path, member, data)


def input_of(given: str, path: str, data: memoryview) -> InputFile:
    """The input with these bytes; of a kernel image they are those of its ELF file."""
    kind = recognise(bytes(data[:HEAD_SIZE]))
    is_mips = kind == "object" and bytes(data[_MACHINE_AT:][:2]) in _MIPS
    if kind == "kernel image" or is_mips:
        from gsym.containers.kernel_image import kernel_in, kernel_in_elf

        try:
            data = (kernel_in_elf(data) or data) if is_mips else kernel_in(data)
        except ValueError as error:
            raise FormatError(str(error), path=path, offset=0) from None
        kind = recognise(bytes(data[:HEAD_SIZE]))
    return InputFile(given, path, data, kind, {})


def _bytes_of(given: Buffer | BinaryIO) -> memoryview:
    read = getattr(given, "read", None)
    content: Buffer = given if read is None else read()  # type: ignore[assignment]
    if isinstance(content, str):
        raise TypeError("the file object is not binary: open it with mode 'rb'")
    try:
        return memoryview(content).cast("B")
    except TypeError:
        expected = "a path (str or os.PathLike), bytes or a binary file object"
        raise refusal("input", expected, given) from None
