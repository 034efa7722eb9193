"""Recognize a file by its content; refuse the formats that are not read."""

from __future__ import annotations

from gsym.errors import ErrorsOf, FormatError, UnsupportedError
from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import NoReturn

    from typing_extensions import Buffer


class FileKind(NamedTuple):
    """A kind of file, the bytes at its start, and why it is refused, if so."""

    name: str
    magics: tuple[bytes, ...]
    refusal: str = ""


# Frames with contents, and skippable frames.
ZSTD_MAGICS = (
    b"\x28\xb5\x2f\xfd",
    *(bytes([number]) + b"\x2a\x4d\x18" for number in range(0x50, 0x60)),
)
# A level, and the first block or the end of a stream.
_BZIP2_MAGICS = tuple(
    b"BZh%d%s" % (level, block)
    for level in range(1, 10)
    for block in (b"1AY&SY", b"\x17\x72\x45\x38\x50\x90")
)
TRACE_MAGICS = (b"\x10\0\4\x46xT\x16\0", b"\0\x16Tx\x46\4\0\x10")
"""The first bytes of a Fuchsia trace, in either byte order; old traces lack them."""
MICRODUMP = b"-----BEGIN BREAKPAD MICRODUMP-----"
"""A line of a log that a microdump follows."""

# `gsym.conversion.inputs` has the kinds that are read.
_KINDS = (
    FileKind(
        "Debian package",
        (b"!<arch>\ndebian-binary",),
        "a Debian package: 'gsym store add' reads the programs in it",
    ),
    FileKind(
        "RPM package",
        (b"\xed\xab\xee\xdb",),
        "an RPM package: 'gsym store add' reads the programs in it",
    ),
    FileKind(
        "archive",
        (
            *(b"!<arch>\n", b"!<thin>\n"),
            *(b"__CLANG_OFFLOAD_BUNDLE__", b"CCOB", b"\x50\xed\x55\xba"),
            b"\0asm\x0d\0\1\0",  # a component of WebAssembly
        ),
    ),
    FileKind(
        "object",
        (
            b"\x7fELF",
            *(b"\xfe\xed\xfa\xce", b"\xce\xfa\xed\xfe"),  # Mach-O, 32 bits
            *(b"\xfe\xed\xfa\xcf", b"\xcf\xfa\xed\xfe"),  # Mach-O, 64 bits
            b"MZ",
            b"\x00asm",  # WebAssembly
        ),
    ),
    FileKind("fat", (b"\xca\xfe\xba\xbf",)),  # fat_arch_64
    FileKind("gsym", (b"GSYM", b"MYSG")),
    FileKind("pdb", (b"Microsoft C/C++ MSF 7.00\r\n\x1aDS",)),
    FileKind(
        "old PDB",
        (b"Microsoft C/C++ program database 2.00",),
        "a PDB file of before 2002: link the program again",
    ),
    FileKind(
        "portable pdb",
        (b"BSJB",),
        "a portable PDB file: .NET code has no addresses of its own; 'dotnet-stack "
        "symbolicate' reads it",
    ),
    FileKind(
        "R8 mapping",
        (b"# compiler: R8",),
        "a mapping of R8: 'retrace' reads it, with a stack trace of Java",
    ),
    FileKind(
        "minidump",
        (b"MDMP",),
        "a minidump: convert the binaries it names; gsym symbolicate prints its stacks",
    ),
    FileKind(
        "symbfile",
        (b"symbfile",),
        "a symbfile: 'gsym symbfile' reads it, with convert it makes a GSYM file",
    ),
    FileKind("Fuchsia trace", TRACE_MAGICS, "a Fuchsia trace: 'gsym trace' reads it"),
    FileKind("log with markup", (), "a log with markup: use 'gsym filter'"),
    FileKind("LLVM bitcode", (b"BC\xc0\xde",), "LLVM bitcode: compile it first"),
    FileKind("Java class", (), "a Java class: it contains no machine code"),
    FileKind(
        "cabinet", (b"MSCF",), "a cabinet file (.pd_): unpack it first, with cabextract"
    ),
    FileKind("gzip file", (b"\x1f\x8b",), "a gzip file: unpack it first"),
    FileKind("zstd file", ZSTD_MAGICS, "a zstd file: unpack it first"),
    FileKind("xz file", (b"\xfd7zXZ\x00",), "an xz file: unpack it first"),
    FileKind("lz4 file", (b"\x04\x22\x4d\x18",), "an lz4 file: unpack it first"),
    FileKind("bzip2 file", _BZIP2_MAGICS, "a bzip2 file: unpack it first"),
    FileKind("zip archive", (b"PK\x03\x04",), "a zip archive: unpack it first"),
    FileKind(
        "UTF-16 text",
        (b"\xff\xfe", b"\xfe\xff"),
        "text in UTF-16: a .sym file is UTF-8",
    ),
)

COMPRESSED = {
    *("gzip file", "zstd file", "xz file", "lz4 file", "bzip2 file"),
    *("cabinet", "kernel image"),
}
"""Kinds that hold one compressed file; `gsym.containers.compression` inflates them."""

PACKAGES = {"Debian package", "RPM package"}
"""Kinds whose files `gsym.store.archives` reads."""

# Machine, the first field of a COFF object file: i386, ARM, x86-64; ARM64, its ABI of
# x64 (ARM64EC), both (ARM64X).
_COFF_MACHINES = {
    *(b"\x4c\x01", b"\xc4\x01", b"\x64\x86"),
    *(b"\x64\xaa", b"\x41\xa6", b"\x4e\xa6"),
}
_OPTIONAL_SIZE_AT = 16  # only images have an optional header
_BIG_MAGIC = b"\0\0\xff\xff"  # of an object file with very many sections
_BIG_CLASS_AT = 12
_BIG_CLASS = bytes.fromhex("c7a1bad1eebaa94baf20faf66aa4dcb8")

# Forms of kernel images, which may be PE images, too, by a mark at a place: of x86; of
# ARM in both byte orders; bare ones of ARM64, RISC-V and LoongArch; compressed in a
# program of EFI; of s390, which starts with the channel program of its loader.
KERNEL_X86, KERNEL_ARM, KERNEL_BARE, KERNEL_ZBOOT, KERNEL_S390 = range(1, 6)
_KERNEL_MARKS = (
    (KERNEL_X86, 0x202, b"HdrS"),
    (KERNEL_ARM, 0x24, b"\x18\x28\x6f\x01"),
    (KERNEL_ARM, 0x24, b"\x01\x6f\x28\x18"),
    (KERNEL_BARE, 0x38, b"ARMd"),
    (KERNEL_BARE, 0x38, b"RSC\x05"),
    (KERNEL_BARE, 0x38, b"\xcd\x23\x82\x81"),
    (KERNEL_ZBOOT, 0, b"MZ\0\0zimg"),
    (KERNEL_S390, 8, b"\2\0\0\x18\x60\0\0\x50\2\0\0\x68\x60\0\0\x50"),
)

_FAT_MAGIC = b"\xca\xfe\xba\xbe"
_FEWEST_JAVA_VERSION = 43  # where a fat Mach-O file has the number of its slices
# Usually the first record; files cut out of others open with another.
_BREAKPAD_MODULE = b"MODULE "
_BREAKPAD_RECORDS = (
    _BREAKPAD_MODULE,
    *(b"INFO CODE_ID ", b"INLINE_ORIGIN ", b"FUNC ", b"PUBLIC "),
    *(b"STACK CFI ", b"STACK WIN "),
    *(b"FILE %d" % digit for digit in range(10)),
)
_NO_INPUT = (
    "neither a binary (ELF, Mach-O, PE) nor an archive of such, a PDB, a Breakpad .sym "
    "file or a GSYM file"
)
HEAD_SIZE = 4096
_LINE_SIZE = 64  # of a log, in which its first element begins
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def recognise_file(path: str) -> str:
    """The kind of the file at *path*, as `recognise` names it."""
    with ErrorsOf(path), open(path, "rb", buffering=0) as file:
        return recognise(file.read(HEAD_SIZE))


def recognise(head: bytes) -> str:
    """The kind of a file.

    Args:
        head: Its first bytes; 64 are enough, but for blank lines at the start and for
            kernel images.

    Returns:
        "object" (ELF, Mach-O, PE or WebAssembly), "fat" (Mach-O slices), "archive",
        "pdb", "breakpad" or "gsym"; the name of a kind that is not read; "" for an
        unknown one.
    """
    if kernel_form(head):
        return "kernel image"
    for kind in _KINDS:
        if head.startswith(kind.magics):
            return kind.name
    if head.startswith(_FAT_MAGIC):
        count = int.from_bytes(head[4:8], "big")
        return "fat" if count < _FEWEST_JAVA_VERSION else "Java class"
    # A COFF object file has no magic number.
    if head[_BIG_CLASS_AT:].startswith(_BIG_CLASS):
        is_coff = head.startswith(_BIG_MAGIC)
    else:
        is_coff = head[:2] in _COFF_MACHINES and head[_OPTIONAL_SIZE_AT:][:2] == b"\0\0"
    if is_coff:
        return "object"
    text = head.removeprefix(_BYTE_ORDER_MARK).lstrip(b"\r\n \t")
    if text.startswith(_BREAKPAD_RECORDS) or b"\n" + _BREAKPAD_MODULE in text:
        return "breakpad"
    return "log with markup" if b"{{{" in text[:_LINE_SIZE] else ""


def kernel_form(head: bytes) -> int:
    """The form of a kernel image that begins like this; 0 if it is none."""
    for form, at, mark in _KERNEL_MARKS:
        if head.startswith(mark, at):
            return form
    return 0


def inflater_of(head: Buffer) -> Callable[[Iterable[Buffer]], Iterator[bytes]] | None:
    """The inflater of a file that begins like this; None if it is not compressed."""
    kind = recognise(bytes(memoryview(head)[:HEAD_SIZE]))
    if kind not in COMPRESSED:
        return None
    from gsym.containers.compression import INFLATERS

    return INFLATERS[kind]


def check_read(kind: str, path: str | None) -> None:
    """Refuse a file of a *kind* that is known and not read.

    Raises:
        UnsupportedError: It is one; the text has advice.
    """
    for known in _KINDS:
        if known.name == kind and known.refusal:
            raise UnsupportedError(known.refusal, path=path)


def refuse(kind: str, path: str, reason: str = _NO_INPUT) -> NoReturn:
    """Refuse a file that is not an input.

    Args:
        kind: The result of `recognise`; "" for an unknown kind.
        path: Of the file.
        reason: What it is not, in words.

    Raises:
        UnsupportedError: It is of a known kind that is not read.
    """
    check_read(kind, path)
    raise FormatError(reason, path=path, offset=0)
