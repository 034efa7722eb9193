"""What somebody who asks for a module knows of it."""

from __future__ import annotations

from gsym.module_identity import read_debug_id
from gsym.records import NamedTuple

__all__ = ["ModuleKey", "key_of_build_id", "key_of_debug_id"]


class ModuleKey(NamedTuple):
    """Names and ids of a module, as the asker has them; "" for what is not known.

    Either id is enough to find a module in a store. A remote source may need a
    name as well.

    Attributes:
        debug_file: Name of the file with debug information: `xul.pdb`,
            `libc.so.6`. No folder.
        debug_id: In Breakpad's form: GUID and age, all digits upper-case.
        code_file: Name of the binary: `xul.dll`. No folder.
        code_id: Upper-case: ELF build id or LC_UUID as hexadecimal digits; of a
            PE file time stamp and size of the image.
    """

    debug_file: str = ""
    debug_id: str = ""
    code_file: str = ""
    code_id: str = ""


def key_of_debug_id(debug_file: str, debug_id: str) -> ModuleKey:
    """The key of a module as symbolication requests and Breakpad's paths name it.

    Args:
        debug_file: Name of the file, without folder.
        debug_id: In any of the forms that `read_debug_id` takes.

    Raises:
        ValueError: *debug_id* is no debug id.
    """
    return ModuleKey(debug_file, read_debug_id(debug_id).upper())


def key_of_build_id(build_id: bytes) -> ModuleKey:
    """The key of a module as debuginfod names it, or as a log does by its markup.

    Raises:
        TypeError: *build_id* is not bytes.
    """
    if not isinstance(build_id, bytes):
        reason = f"build_id: expected bytes, not {build_id!r} (see bytes.fromhex)"
        raise TypeError(reason)
    return ModuleKey(code_id=build_id.hex().upper())
