"""A pprof message with everything that a profile may have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gsym.profiles.pprof import new_profile
from tests.profiles.symbols import BUILD_ID

if TYPE_CHECKING:
    from typing import Any

START = 0x7F0000001000
"""Where the code of `symbols.Modules` was loaded; its file has it at 0x1000."""

TEXTS = (
    "",
    "samples",
    "count",
    "cpu",
    "nanoseconds",
    "/opt/module",
    BUILD_ID,
    "known",
    "/src/known.c",
    "request",
    "GET",
    "bytes",
    "drop.*",
    "a comment",
)


def message() -> Any:
    """Three samples at an address with a line and at three without."""
    made = new_profile()
    made.string_table.extend(text.encode() for text in TEXTS)
    number = TEXTS.index
    for kind, unit in (("samples", "count"), ("cpu", "nanoseconds")):
        made.sample_type.add(type=number(kind), unit=number(unit))
    made.mapping.add(
        id=7,
        memory_start=START,
        memory_limit=START + 0x1000,
        file_offset=0x1000,
        filename=number("/opt/module"),
        build_id=number(BUILD_ID),
    )
    made.function.add(
        id=3, name=number("known"), filename=number("/src/known.c"), start_line=4
    )
    known = made.location.add(id=5, mapping_id=7, address=START + 0x30)
    known.line.add(function_id=3, line=9, column=2)
    for place, offset in ((9, 0x14), (6, 0x1F), (8, 0x44)):
        made.location.add(id=place, mapping_id=7, address=START + offset)
    first = made.sample.add(location_id=[5, 6, 9], value=[1, 10])
    first.label.add(key=number("request"), str=number("GET"))
    second = made.sample.add(location_id=[9, 6], value=[2, 20])
    second.label.add(key=number("bytes"), num=-5, num_unit=number("bytes"))
    made.sample.add(location_id=[5, 6, 9], value=[3, 30])
    made.drop_frames = number("drop.*")
    made.time_nanos, made.duration_nanos = 1_700_000_000_000_000_000, 5_000
    made.period_type.type, made.period_type.unit = number("cpu"), number("nanoseconds")
    made.period = 10
    made.comment.append(number("a comment"))
    return made
