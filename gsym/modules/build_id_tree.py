"""Files named by build id, where debuggers look for them: `.build-id/ab/cdef`.

Source: GDB manual, "Debugging Information in Separate Files".
"""

from __future__ import annotations

import os
from contextlib import suppress

from gsym.modules.key import build_id_digits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_CUT_DIGITS = 40  # of a build id that perf and FXT may have cut


def build_id_path(folder: str, digits: str) -> str:
    """The path, without suffix, of the files of a build id of at least two bytes.

    Args:
        folder: It has `.build-id`.
        digits: The build id in hexadecimal, in lower case.
    """
    return os.path.join(folder, ".build-id", digits[:2], digits[2:])


def build_id_paths(folder: str, code_id: str) -> Iterator[str]:
    """Paths, without suffix, of the files of a build id that may be cut.

    Args:
        folder: It has `.build-id`.
        code_id: The build id in hexadecimal. One of 20 bytes may be the beginning of a
            longer one, whose paths follow.
    """
    digits = build_id_digits(code_id)
    if not digits[2:]:
        return
    path = build_id_path(folder, digits)
    yield path
    if len(digits) == _CUT_DIGITS:
        place, rest = os.path.split(path)
        with suppress(OSError):
            stems = {each.partition(".")[0] for each in os.listdir(place)} - {rest}
            longer = sorted(each for each in stems if each.startswith(rest))
            yield from (os.path.join(place, each) for each in longer)
