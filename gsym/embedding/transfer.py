"""A GSYM file into a binary, and out again."""

from __future__ import annotations

import os
import stat

from gsym.arguments import path_of
from gsym.containers.mapped_file import map_file
from gsym.containers.object_file import ObjectFile
from gsym.containers.recognition import recognise, refuse
from gsym.conversion.companions.macho import bundle_member
from gsym.conversion.identity import compare_binary
from gsym.embedding.binary import Binary, shared_payload, stand_alone_payload
from gsym.embedding.elf import ElfBinary
from gsym.embedding.macho import MachoBinary
from gsym.errors import FormatError, UnsupportedError, UuidMismatchError
from gsym.reading.reader import Reader
from gsym.records import NamedTuple
from gsym.writing.atomic_file import AtomicFile, is_same_file
from gsym.writing.data_part import data_part_of
from gsym.writing.selection import ImageSource

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from gsym.modules.key import ModuleKey


class EmbeddingReport(NamedTuple):
    """The place of an embedded GSYM file, and all sizes in bytes.

    Attributes:
        gsym: Path of the file that was embedded.
        binary: Path of the binary.
        output: Path of the binary with the file in it.
        section: Its section: ".gsym" or "__GSYM,__gsym".
        gsym_size: Size of the stand-alone file.
        section_size: Of the section.
        string_table_size: Of the binary's string table, where it is shared.
        binary_size: Of the binary before.
        output_size: Of the output.
        index_dropped: Whether the file's index was left out: it has no place in a
            file of version 1 that shares strings.
        variables_dropped: Whether the file's variables were left out: they have no
            place in a file that shares strings.
        signature: "" where there is none; "ad hoc" where it is made anew as it
            was; "identity dropped" where it is made anew ad hoc and was not.
        unsure: Why the file may be of another build, in words; "" if it is not.
    """

    gsym: str
    binary: str
    output: str
    section: str
    gsym_size: int
    section_size: int
    string_table_size: int
    binary_size: int
    output_size: int
    index_dropped: bool
    variables_dropped: bool
    signature: str
    unsure: str = ""


_ELF_CLASSES = {1, 2}
_ELF_ORDERS = {1: "<", 2: ">"}
# By the first bytes: byte order, whether words have 64 bits.
_MACHO_MAGICS = {
    b"\xce\xfa\xed\xfe": ("<", False),
    b"\xcf\xfa\xed\xfe": ("<", True),
    b"\xfe\xed\xfa\xce": (">", False),
    b"\xfe\xed\xfa\xcf": (">", True),
}


def embed(
    gsym_path: str | os.PathLike[str],
    binary: str | os.PathLike[str],
    output: str | os.PathLike[str] | None = None,
    share_strings: bool = False,
) -> EmbeddingReport:
    """Put a GSYM file into a section of its binary, where `gsym.open` finds it.

    The section is `.gsym` of an ELF file, `__GSYM,__gsym` of a Mach-O file; one that
    is there is replaced. Code and data that are loaded stay as they are. The output
    is complete or absent, and has the permissions of the binary.

    Args:
        gsym_path: The GSYM file.
        binary: ELF or Mach-O file, or dSYM bundle; not a universal file.
        output: File to write; by default *binary* is replaced.
        share_strings: Leave out the strings that the symbols' string table of the
            binary has. What changes that table later, such as `strip`, makes the
            embedded file unusable: opening it fails then.

    Raises:
        FormatError: A file is damaged, or of another kind.
        LimitError: The output would exceed what its headers can say, or the string
            table is too far away for version 1.
        OSError: A file cannot be read or written.
        UnsupportedError: The binary has no place for a section, or no strings to
            share.
        UuidMismatchError: The GSYM file belongs to another binary.
        ValueError: *output* is the GSYM file.
    """
    source, name = path_of("gsym_path", gsym_path), path_of("binary", binary)
    name = bundle_member(name)
    target = name if output is None else path_of("output", output)
    if is_same_file(target, source):
        raise ValueError(f"{target}: the output would replace the GSYM file")
    data, file = map_file(name), map_file(source)
    container, image = container_of(data, name), ImageSource(file, source)
    module, unsure = _module_for(file, source, data, name)
    complete = stand_alone_payload(image, file, module)
    payload, table_size = complete, 0
    if share_strings:
        shared = container.shared_table()
        payload = shared_payload(image, shared, module, source)
        table_size = len(shared.table)
    # Without the bits that let a program run as its owner: that may be another now.
    mode = stat.S_IMODE(os.stat(name).st_mode) & 0o777
    with AtomicFile(target, mode=mode) as out:
        for piece in container.with_section(payload):
            out.write(piece)
    return EmbeddingReport(
        *(source, name, target, container.section),
        *(complete.size, payload.size, table_size),
        *(len(data), os.stat(target).st_size),
        share_strings and image.header.index_size != 0 and image.header.version == 1,
        share_strings and bool(data_part_of(file)),
        container.signature,
        unsure,
    )


def extract(
    binary: str | os.PathLike[str], output: str | os.PathLike[str] | None = None
) -> int:
    """Extract the GSYM file in a binary.

    It has the bytes of the file that was embedded, or, where that shares strings with
    the binary, says the same and has all strings itself. It appears whole or not at
    all.

    Args:
        binary: A binary that a GSYM file was embedded in.
        output: File to write; by default the path of *binary* with `.gsym` added.

    Returns:
        Its size in bytes.

    Raises:
        FormatError: The binary has no GSYM file, or a damaged one, or the strings
            that it shares have changed.
        OSError: A file cannot be read or written.
        ValueError: *output* is the binary.
    """
    given = path_of("binary", binary)
    name = bundle_member(given)
    target = given + ".gsym" if output is None else path_of("output", output)
    if is_same_file(target, name):
        raise ValueError(f"{target}: the output would replace the binary")
    data = map_file(name)
    image = ImageSource(data, name)
    if image.header.file_size == len(data):
        raise FormatError("a GSYM file, not a binary with one", path=name)
    with Reader(data, path=name) as reader:
        module = reader.module
    payload = stand_alone_payload(image, data, module)
    with AtomicFile(target) as out:
        for chunk in payload.chunks:
            out.write(chunk)
    return payload.size


def container_of(data: memoryview, path: str) -> ElfBinary | MachoBinary:
    """The binary *data*, of the file *path*, as one that a section can be added to."""
    head = bytes(data[:64])
    magic = head[:4]
    if magic == b"\x7fELF":
        kind, encoding = head[4:6].ljust(2, b"\0")
        if kind not in _ELF_CLASSES or encoding not in _ELF_ORDERS:
            raise FormatError("invalid ELF class or byte order", path=path, offset=4)
        return ElfBinary(Binary(data, path, _ELF_ORDERS[encoding]), kind)
    if magic in _MACHO_MAGICS:
        order, is_wide = _MACHO_MAGICS[magic]
        return MachoBinary(Binary(data, path, order), is_wide=is_wide)
    if recognise(head) != "fat":
        refuse(recognise(head), path, "neither an ELF nor a Mach-O file")
    raise UnsupportedError(
        "a universal file: extract one slice with lipo -thin, embed into that, and put "
        "the slices together with lipo -create",
        path=path,
    )


def _module_for(
    file: memoryview, source: str, data: memoryview, path: str
) -> tuple[ModuleKey | None, str]:
    """Module of a GSYM file, and the reason why that may not be the binary."""
    with Reader(file, path=source) as reader, ObjectFile(data, path) as binary:
        fit, module = compare_binary(binary, reader.module_like), reader.module
    if fit.is_refused:
        reason = f"it is of another build than {path}: {fit.reason}"
        raise UuidMismatchError(reason, path=source)
    return module, fit.reason
