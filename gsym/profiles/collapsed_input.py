"""Collapsed stacks -> `Profile`: `main;work;leaf 12`, one stack a line, from the root.

What flamegraph.pl, inferno, py-spy, async-profiler and `gsym trace convert` write.
"""

from __future__ import annotations

import os

from gsym.errors import FormatError
from gsym.profiles.input_bytes import lines_of, read_pieces
from gsym.profiles.model import MOST_FRAMES, ProfileBuilder, placed_frame
from gsym.profiles.recognition import COLLAPSED_STACK, COMMENT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gsym.profiles.model import Profile


def read_collapsed(
    path: str | os.PathLike[str], *, most_bytes: int | None = None
) -> Profile:
    """The profile in a file of collapsed stacks; parts of a value are rounded.

    Args:
        path: The file, compressed by gzip or zstd, or not.
        most_bytes: Maximum size, inflated; None: see `MOST_BYTES`.

    Raises:
        FormatError: A line is not a stack with a value, compressed data is damaged, or
            inflates to more than *most_bytes*.
        OSError: It cannot be read.
    """
    name = os.fspath(path)
    builder = ProfileBuilder()
    functions: dict[str, int] = {}
    for number, line in enumerate(lines_of(read_pieces(name, most_bytes), name), 1):
        text = line.strip()
        if not text or text.startswith(COMMENT):
            continue
        found = COLLAPSED_STACK.fullmatch(text)
        if found is None:
            reason = f"line {number} is not a stack with a value: {text[:80]!r}"
            raise FormatError(reason, path=name)
        frames = found["frames"].split(";")
        if len(frames) > MOST_FRAMES:
            reason = f"line {number} has more than {MOST_FRAMES} frames"
            raise FormatError(reason, path=name)
        stack = []
        for frame in reversed(frames):
            index = functions.get(frame)
            if index is None:
                index = functions[frame] = builder.function(placed_frame(frame))
            stack.append(index)
        if found["rest"]:
            builder.lose("fractions of values")
        value = round(float(found["value"] + (found["rest"] or "")))
        builder.sample(
            builder.stack(stack), (value if found["rest"] else int(found["value"]),)
        )
    return builder.profile
