"""Messages of OpenTelemetry's profiles with everything that is read."""

from __future__ import annotations

from typing import Any

from gsym.profiles.otlp import new_profiles
from tests.profiles.symbols import BASE, BUILD_ID

FILE_ID = "00112233445566778899aabbccddeeff"
LOADED = 0x7F0000001000
TEXTS = (
    *("", "samples", "count", "cpu", "nanoseconds", "/opt/module", "/opt/other"),
    *("process.executable.build_id.gnu", "process.executable.build_id.htlhash"),
    *("thread.id", "thread.name", "pool", "request", "bytes", "main.py", "run"),
)
NUMBER = TEXTS.index


def message(layout: str = "1.10") -> Any:
    """What the eBPF profiler sends: a native stack, an interpreted one."""
    made = new_profiles(layout)
    tables = made.dictionary
    tables.string_table.extend(text.encode() for text in TEXTS)
    tables.attribute_table.add()
    add_attribute(tables, "process.executable.build_id.gnu", string_value=[BUILD_ID])
    add_attribute(tables, "process.executable.build_id.htlhash", string_value=[FILE_ID])
    add_attribute(tables, "thread.id", int_value=[8])
    add_attribute(tables, "thread.name", string_value_strindex=[NUMBER("pool")])
    add_attribute(tables, "request", "bytes", int_value=[0])
    tables.mapping_table.add()
    tables.mapping_table.add(
        memory_start=BASE + 0x1000,
        memory_limit=BASE + 0x2000,
        file_offset=0x1000,
        filename_strindex=NUMBER("/opt/module"),
        attribute_indices=[2, 1],
    )
    tables.mapping_table.add(
        memory_start=LOADED,
        memory_limit=LOADED + 0x1000,
        filename_strindex=NUMBER("/opt/other"),
        attribute_indices=[2],
    )
    tables.function_table.add()
    tables.function_table.add(
        name_strindex=NUMBER("run"), filename_strindex=NUMBER("main.py")
    )
    tables.link_table.add()
    tables.link_table.add(trace_id=b"\x01\x02", span_id=b"\x03")
    tables.location_table.add()
    tables.location_table.add(mapping_index=1, address=BASE + 0x1014)
    tables.location_table.add(mapping_index=2, address=LOADED + 0x10)
    tables.location_table.add(address=7).lines.add(function_index=1, line=7)
    tables.stack_table.add()
    tables.stack_table.add(location_indices=[1, 2])
    tables.stack_table.add(location_indices=[3, 1])
    resource = made.resource_profiles.add()
    for key, value in ((b"process.pid", 5), (b"host", 1)):
        resource.resource.attributes.add(key=key).value.int_value.append(value)
    profile = resource.scope_profiles.add().profiles.add(
        time_unix_nano=1_000_000, duration_nano=50, period=10
    )
    profile.sample_type.type_strindex = NUMBER("samples")
    profile.sample_type.unit_strindex = NUMBER("count")
    profile.period_type.type_strindex = NUMBER("cpu")
    profile.period_type.unit_strindex = NUMBER("nanoseconds")
    profile.samples.add(
        stack_index=1,
        values=[1, 2],
        attribute_indices=[3, 4, 5],
        timestamps_unix_nano=[1_000_010, 1_000_020],
    )
    profile.samples.add(stack_index=2, values=[7], attribute_indices=[3], link_index=1)
    return made


def add_attribute(tables: Any, key: str, unit: str = "", **value: list[Any]) -> None:
    made = tables.attribute_table.add(
        key_strindex=NUMBER(key), unit_strindex=NUMBER(unit)
    )
    for name, values in value.items():
        texts = [each.encode() if isinstance(each, str) else each for each in values]
        getattr(made.value, name).extend(texts)


def first_profile(made: Any) -> Any:
    return made.resource_profiles[0].scope_profiles[0].profiles[0]
