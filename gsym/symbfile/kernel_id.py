"""The FileID of a Linux kernel, of a module of it, and of their debug files."""

from __future__ import annotations

from gsym.errors import GsymError
from gsym.file_id import FileId
from gsym.sources.mapped_file import map_file
from gsym.sources.object_file import ObjectFile

__all__ = ["kernel_id"]


def kernel_id(path: str, *, debug_file: bool = False) -> FileId:
    """That of a kernel or of a module, which is made of its build id.

    Args:
        path: An ELF file that is loaded, or its debug file.
        debug_file: The FileID of its debug file is asked for.

    Raises:
        FormatError: It is no binary, or damaged.
        GsymError: It has no build id.
        OSError: It cannot be read.
    """
    with ObjectFile(map_file(path), path) as binary:
        build_id = binary.uuid if binary.is_elf else b""
    if not build_id:
        raise GsymError("it has no build id to make a FileID of", path=path)
    return FileId.of_kernel(build_id, debug_file=debug_file)
