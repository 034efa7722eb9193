"""Files named by build id, where debuggers look for them: `.build-id/ab/cdef`.

Source: GDB manual, "Debugging Information in Separate Files".
"""

from __future__ import annotations

import os


def build_id_path(folder: str, digits: str) -> str:
    """The path, without suffix, of the files of a build id of at least two bytes."""
    return os.path.join(folder, ".build-id", digits[:2], digits[2:])
