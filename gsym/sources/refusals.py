"""What to say of a file that is no input, and what to do instead."""

from __future__ import annotations

import os

from gsym.errors import FormatError, UnsupportedError

__all__ = ["refuse", "refuse_pdb_user"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

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
