"""Layout of each kind of record, for reading and for writing.

A layout lists the fields of a record in the order of its body:

    field              a word
    field@first:count  a number of some bits of the header
    field@first/how    what the header refers to or gives the size of, as one of:

        name, text   a string; names are likely to come again
        thread       a process and a thread
        args         arguments
        utf8, bytes  data whose size is in the header
        words        as many words as the header says
        optional     a number with a value for None
"""

from __future__ import annotations

from gsym.engine.native import lib
from gsym.fxt import records as fxt
from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


class Part(NamedTuple):
    """A field: its name, bits of the header (none for words), and how it is stored."""

    field: str
    first: int
    bits: int
    how: str


class Layout(NamedTuple):
    """A kind of record."""

    kind: str  # its name
    record: Any  # the class of its records
    type: int  # in the header
    subtype: int  # constant bits of the header
    parts: tuple[Part, ...]  # its fields, in the order of the body
    is_timed: bool  # whether it begins with a time


def process_field(thread_field: str) -> str:
    """The field of the process beside that of a thread."""
    return thread_field.replace("thread", "process")


def _parts(text: str) -> Iterator[Part]:
    for each in text.split():
        place, _, how = each.partition("/")
        field, _, header = place.partition("@")
        first, _, bits = header.partition(":")
        how = how or ("bits" if bits else "word")
        yield Part(field, int(first or 0), int(bits or 0), how)


def _layout(kind: str, type_name: str, subtype: int, fields: str) -> Layout:
    name = kind.removesuffix("_with_metadata")
    record = getattr(fxt, name.title().replace("_", ""))
    number = getattr(lib, f"GSYM_FXT_TYPE_{type_name}") if type_name else 0
    parts = tuple(_parts(fields))
    is_timed = any(part.field == "ticks" for part in parts)
    return Layout(kind, record, number, subtype, parts, is_timed)


# In the order of the engine's numbers, which follow those of events. Of large and
# unknown records only the fields are listed.
LAYOUTS = (
    _layout("provider_info", "METADATA", 1 << 16, "provider@20:32 name@52:8/utf8"),
    _layout("provider_section", "METADATA", 2 << 16, "provider@20:32"),
    _layout("provider_event", "METADATA", 3 << 16, "provider@20:32 event@52:4"),
    _layout("trace_info", "METADATA", 4 << 16, "type@20:4 value@24:40"),
    _layout("initialization", "INITIALIZATION", 0, "ticks_per_second"),
    _layout("string", "STRING", 0, "string_index@16:15 value@32:15/utf8"),
    _layout("thread", "THREAD", 0, "thread_index@16:8 process thread"),
    _layout("blob", "BLOB", 0, "type@48:8 name@16/name data@32:15/bytes"),
    _layout(
        *("userspace_object", "USERSPACE_OBJECT", 0),
        "pointer process name@24/text args@40/args",
    ),
    _layout(
        "kernel_object", "KERNEL_OBJECT", 0, "koid type@16:8 name@24/text args@40/args"
    ),
    _layout(
        *("legacy_context_switch", "SCHEDULING", 0),
        "cpu@16:8 outgoing_thread_state@24:4 ticks outgoing_thread@28/thread"
        " incoming_thread@36/thread outgoing_priority@44:8 incoming_priority@52:8",
    ),
    _layout(
        *("context_switch", "SCHEDULING", 1 << 60),
        "cpu@20:16 outgoing_thread_state@36:4 ticks outgoing_thread incoming_thread"
        " args@16/args",
    ),
    _layout(
        "thread_wakeup", "SCHEDULING", 2 << 60, "cpu@20:16 ticks thread args@16/args"
    ),
    _layout("log", "LOG", 0, "ticks thread@32/thread message@16:15/utf8"),
    _layout(
        *("module", "PROFILER", 0),
        "ticks thread@20/thread module_id@28:16 name@44:8/utf8 build_id@52:8/bytes",
    ),
    _layout(
        *("mmap", "PROFILER", 1 << 16),
        "ticks thread@20/thread module_id@28:16 flags@44:3 start_address address_range"
        " vaddr",
    ),
    _layout(
        "backtrace", "PROFILER", 2 << 16, "ticks thread@20/thread frames@28:8/words"
    ),
    _layout(
        *("large_blob_with_metadata", "LARGE", 0),
        "category/name name/name ticks thread/thread args/args data/bytes",
    ),
    _layout("large_blob", "LARGE", 1 << 40, "category/name name/name data/bytes"),
    _layout("unknown", "", 0, "type subtype/optional data/bytes"),
)
KINDS = (*fxt.EVENT_KINDS, *(layout.kind for layout in LAYOUTS))
"""The kinds of records by the engine's numbers; the first ones are those of events."""
