"""Recognize a file by its content; refuse the formats that are not read."""

from __future__ import annotations

import os

from gsym.errors import FormatError, UnsupportedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


_MAGICS = (
    (b"\x7fELF", "object"),
    (b"\xfe\xed\xfa\xce", "object"),  # Mach-O, 32 bits, big-endian
    (b"\xce\xfa\xed\xfe", "object"),
    (b"\xfe\xed\xfa\xcf", "object"),  # Mach-O, 64 bits, big-endian
    (b"\xcf\xfa\xed\xfe", "object"),
    (b"MZ", "object"),
    (b"\xca\xfe\xba\xbf", "fat"),  # fat_arch_64
    (b"!<arch>\n", "archive"),
    (b"!<thin>\n", "archive"),
    (b"GSYM", "gsym"),
    (b"MYSG", "gsym"),
    (b"Microsoft C/C++ MSF 7.00\r\n\x1aDS", "pdb"),
    (b"Microsoft C/C++ program database 2.00", "pdb"),
    (b"BSJB", "portable pdb"),
    (b"MDMP", "minidump"),
    (b"\x00asm", "WebAssembly module"),
    (b"BC\xc0\xde", "LLVM bitcode"),
    (b"\x1f\x8b", "gzip file"),
    (b"\x28\xb5\x2f\xfd", "zstd file"),
    (b"\xfd7zXZ\x00", "xz file"),
    (b"BZh", "bzip2 file"),
    (b"PK\x03\x04", "zip archive"),
    (b"\xff\xfe", "UTF-16 text"),
    (b"\xfe\xff", "UTF-16 text"),
)

# Machine, the first field of a COFF object file: i386, ARM, x86-64, ARM64.
_COFF_MACHINES = {b"\x4c\x01", b"\xc4\x01", b"\x64\x86", b"\x64\xaa"}
_OPTIONAL_SIZE_AT = 16  # only images have an optional header
_BIG_MAGIC = b"\0\0\xff\xff"  # of an object file with very many sections
_BIG_CLASS_AT = 12
_BIG_CLASS = bytes.fromhex("c7a1bad1eebaa94baf20faf66aa4dcb8")

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
_HEAD_SIZE = 4096
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def recognise_file(path: str) -> str:
    """The kind of the file at *path*, as `recognise` names it.

    Raises:
        OSError: It cannot be read.
    """
    with open(path, "rb", buffering=0) as file:
        return recognise(file.read(_HEAD_SIZE))


def recognise(head: bytes) -> str:
    """The kind of a file.

    Args:
        head: Its first bytes; 64 are enough, but for blank lines in front.

    Returns:
        "object" (ELF, Mach-O or PE), "fat" (Mach-O slices), "archive", "breakpad" or
        "gsym"; the name of a kind that is not read; "" for an unknown one.
    """
    for magic, kind in _MAGICS:
        if head.startswith(magic):
            return kind
    if head.startswith(_FAT_MAGIC):
        count = int.from_bytes(head[4:8], "big")
        return "fat" if count < _FEWEST_JAVA_VERSION else "Java class"
    if _is_coff(head):
        return "object"
    return "breakpad" if _is_breakpad(head) else ""


def _is_coff(head: bytes) -> bool:
    """Whether it starts as a COFF object file does, which has no magic number."""
    if head[_BIG_CLASS_AT:].startswith(_BIG_CLASS):
        return head.startswith(_BIG_MAGIC)
    return head[:2] in _COFF_MACHINES and head[_OPTIONAL_SIZE_AT:][:2] == b"\0\0"


def _is_breakpad(head: bytes) -> bool:
    text = head.removeprefix(_BYTE_ORDER_MARK).lstrip(b"\r\n \t")
    return text.startswith(_BREAKPAD_RECORDS) or b"\n" + _BREAKPAD_MODULE in text


_FROM_PDB = "make a .sym file of it with dump_syms, and convert that"
_UNPACK = "unpack it first"

# By the names that `recognise` gives to kinds that are not read.
_ADVICE = {
    "pdb": ("a PDB file", _FROM_PDB),
    "portable pdb": (
        "a portable PDB file",
        "it tells of .NET code, which has no addresses of its own",
    ),
    "minidump": ("a minidump", "convert the binaries it names, not the dump"),
    "WebAssembly module": (
        "a WebAssembly module",
        "its code has offsets and no addresses",
    ),
    "LLVM bitcode": ("LLVM bitcode", "compile it first"),
    "Java class": ("a Java class", "it holds no machine code"),
    "gzip file": ("a gzip file", _UNPACK),
    "zstd file": ("a zstd file", _UNPACK),
    "xz file": ("an xz file", _UNPACK),
    "bzip2 file": ("a bzip2 file", _UNPACK),
    "zip archive": ("a zip archive", _UNPACK),
    "UTF-16 text": ("text in UTF-16", "a .sym file is UTF-8"),
}


def refuse(kind: str, path: str) -> NoReturn:
    """Refuse a file that is no input.

    Args:
        kind: What `recognise` says of it; "" for an unknown kind.
        path: Of the file.

    Raises:
        UnsupportedError: It is of a known kind.
        FormatError: It is of none, or empty.
    """
    if kind in _ADVICE:
        raise UnsupportedError(": ".join(_ADVICE[kind]), path=path)
    if os.path.getsize(path) == 0:
        raise FormatError("the file is empty", path=path, offset=0)
    raise FormatError(
        "neither a binary (ELF, Mach-O, PE) nor an archive of such, a Breakpad .sym "
        "file or a GSYM file",
        path=path,
        offset=0,
    )


def refuse_pdb_user(pdb: bytes, path: str) -> NoReturn:
    """Refuse a PE file whose debug information is in another file.

    Raises:
        UnsupportedError: Always.
    """
    name = pdb.replace(b"\\", b"/").rpartition(b"/")[2].decode("utf-8", "replace")
    raise UnsupportedError(
        f"its debug information is in {name}: {_FROM_PDB}", path=path
    )
