"""A file mapped for the time of a conversion."""

from __future__ import annotations

import mmap
import os

from gsym.errors import FormatError

__all__ = ["map_file"]


def map_file(path: str) -> memoryview:
    """The bytes of a file, mapped for as long as a view of them lives.

    The file may be replaced by rename meanwhile, not rewritten.

    Raises:
        FormatError: It is empty.
        OSError: It cannot be opened or mapped.
    """
    with open(path, "rb", buffering=0) as file:
        if os.fstat(file.fileno()).st_size == 0:
            raise FormatError("the file is empty", path=path, offset=0)
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
