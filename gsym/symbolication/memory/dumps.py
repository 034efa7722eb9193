"""Files with the memory of a program that has ended."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gsym.symbolication.memory.module_files import FindFiles
    from gsym.symbolication.stacks.parts import PastedStack

_HEAD = 18  # bytes, up to the type of an ELF file


def is_dump(path: str) -> bool:
    """Whether a file is a core file or a minidump."""
    from gsym.symbolication.memory.elf_core import is_core
    from gsym.symbolication.memory.minidump import MAGIC

    if not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        head = file.read(_HEAD)
    return is_core(head) or head.startswith(MAGIC)


def read_dump(path: str, find: FindFiles) -> PastedStack:
    """The stacks in a core file or minidump.

    Args:
        path: The file.
        find: Where the file of a module may be.

    Raises:
        FormatError: It is damaged.
    """
    from gsym.containers.mapped_file import map_file
    from gsym.symbolication.memory.elf_core import read_core
    from gsym.symbolication.memory.minidump import MAGIC, read_minidump

    data = map_file(path)
    read = read_minidump if data[: len(MAGIC)] == MAGIC else read_core
    return read(data, path, find)
