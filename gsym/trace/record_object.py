"""Records of Fuchsia traces as objects of JSON.

An object has the fields of its record by their names (`gsym.trace.fxt.records`), and
`record` in front, which tells what it is. What JSON cannot hold as it is stands so that
nothing is lost:

- whole numbers have all their digits, up to 20;
- numbers that are not finite are the texts `NaN`, `Infinity` and `-Infinity`;
- bytes are base64, build ids hexadecimal digits;
- text that is not UTF-8 has U+FFFD for what is wrong, and beside it, as `name_base64`
  beside `name`, all its bytes.
"""

from __future__ import annotations

import math
import re
from base64 import b64encode

from gsym.trace.fxt.records import Argument, LargeBlob, Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gsym.trace.fxt.records import Record

# What a kind of record lacks, its objects lack, too.
_OPTIONAL = frozenset({"id", "end_ticks", "end_ns"})
_OF_METADATA = frozenset({"ticks", "ns", "process", "thread", "args"})
# Times in nanoseconds stand behind those that they are made from.
_TIMES = {"ticks": "ns", "end_ticks": "end_ns"}


def record_object(record: Record) -> dict[str, Any]:
    """What stands for a record."""
    made: dict[str, Any] = {
        "record": snake_case(type(record).__name__),
        "provider": record.provider,
    }
    has_metadata = not isinstance(record, LargeBlob) or record.ticks is not None
    left_out = _OPTIONAL if has_metadata else _OPTIONAL | _OF_METADATA
    value: Any
    for field, value in zip(record._fields, record, strict=True):
        if field in _TIMES.values() or (field in left_out and value in {None, ()}):
            continue
        if field == "args":
            made["args"] = [_argument(each) for each in value]
        elif isinstance(value, (bytes, memoryview)):
            is_id = isinstance(record, Module)
            made[field] = value.hex() if is_id else _base64(value)
        elif isinstance(value, str):
            put_text(made, field, value)
        else:
            made[field] = value
            if field in _TIMES:
                made[_TIMES[field]] = getattr(record, _TIMES[field])
    return made


def _argument(argument: Argument) -> dict[str, Any]:
    made: dict[str, Any] = {}
    value = argument.value
    put_text(made, "name", argument.name)
    made["type"] = argument.type
    if isinstance(value, str):
        put_text(made, "value", value)
    elif isinstance(value, bytes):
        made["value"] = _base64(value)
    elif isinstance(value, float) and not math.isfinite(value):
        made["value"] = "NaN" if math.isnan(value) else _infinity(value)
    else:
        made["value"] = value
    return made


def _infinity(value: float) -> str:
    return "Infinity" if value > 0 else "-Infinity"


def put_text(made: dict[str, Any], field: str, text: str) -> None:
    """Put a text into an object; its bytes as well, where it is not UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raw = text.encode("utf-8", "surrogateescape")
        made[field] = raw.decode("utf-8", "replace")
        made[f"{field}_base64"] = _base64(raw)
    else:
        made[field] = text


def _base64(data: bytes | memoryview) -> str:
    return b64encode(data).decode()


def snake_case(name: str) -> str:
    """The name of a type as the specification would spell it in a program."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()
