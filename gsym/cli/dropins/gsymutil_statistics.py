"""The statistics of a GSYM file, as printed by `llvm-gsymutil --statistics`.

As in LLVM, unknown sections and InfoTypes count as padding; `gsym stats` lists them.
"""

from __future__ import annotations

from gsym.lazy import json

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from gsym.reading.statistics import Statistics

_VALUE_WIDTH = 14
# Label, field of `_parts` and name in JSON. Parts of the records of functions are
# indented, those of merged functions in these once more.
_PARTS = (
    ("Header:", "header", "header"),
    ("Global data dir:", "directory", "global_data_directory"),
    ("UUID section:", "uuid_section", "uuid_section"),
    ("Address table:", "address_table", "address_table"),
    ("Addr info offsets:", "address_info_offsets", "addr_info_offsets"),
    ("File table:", "file_table", "file_table"),
    ("String table:", "string_table", "string_table"),
    ("Function info data:", "function_info", "function_info_data"),
    ("  Size and name:", "size_and_name", "size_and_name"),
    ("  Line table info:", "line_table", "line_table_info"),
    ("  Inline info:", "inline_info", "inline_info"),
    ("  Call site info:", "call_sites", "call_site_info"),
    ("  End of list:", "end_of_list", "end_of_list"),
    ("  Padding:", "padding", "padding"),
    ("  Merged func info:", "merged_functions", "merged_func_info"),
    (
        "    InfoType/InfoLength/Count/FnSize: ",
        "envelope",
        "infotype_infolength_count_and_fnsize",
    ),
    ("    Size and name:", "size_and_name", "size_and_name"),
    ("    Line table info:", "line_table", "line_table_info"),
    ("    Inline info:", "inline_info", "inline_info"),
    ("    Call site info:", "call_sites", "call_site_info"),
    ("    Merged func info:", "merged_functions", "merged_func_info"),
    ("    End of list:", "end_of_list", "end_of_list"),
    ("Padding:", "padding", "padding"),
)


def as_text(statistics: Statistics, path: str) -> str:
    """The table for people."""
    lines = [
        f'GSYM statistics for "{path}":',
        f"{'  UUID:':<23}{_uuid(statistics.uuid)}",
        _value("Number of addresses:", statistics.num_addresses),
        _value("File size:", statistics.file_size) + " bytes",
    ]
    for label, _, _, size in _parts(statistics):
        percent = 100.0 * size / statistics.file_size
        lines.append(f"{_value(label, size)} bytes ({percent:5.2f}%)")
    return "\n".join(lines) + "\n"


def as_json(statistics: Statistics, path: str, *, pretty: bool) -> str:
    """A JSON object, on one line unless *pretty*."""
    sizes: tuple[dict[str, Any], ...] = {"file_size": statistics.file_size}, {}, {}
    for _, depth, name, size in _parts(statistics):
        sizes[depth][name] = size
    whole, records, merged = sizes
    records["merged_func_info_type_sizes"] = merged
    found = {
        "path": path,
        "uuid": _uuid(statistics.uuid),
        "num_addresses": statistics.num_addresses,
        "byte-sizes": {**whole, "function_info_type_sizes": records},
    }
    indent, separators = (2, (",", ": ")) if pretty else (None, (",", ":"))
    text = json.dumps(
        found, ensure_ascii=False, indent=indent, separators=separators, sort_keys=True
    )
    return text + "\n"


def _parts(statistics: Statistics) -> Iterator[tuple[str, int, str, int]]:
    """Label, depth, name in JSON and bytes of each of `_PARTS`."""
    padding = statistics.padding + sum(size for _, size in statistics.unknown_sections)
    of_records = statistics.function_info_padding + statistics.own.unknown
    sizes: tuple[dict[str, Any], ...] = (
        statistics._asdict() | {"padding": padding},
        statistics.own._asdict() | {"padding": of_records},
        statistics.merged._asdict() | {"envelope": statistics.merged_envelope},
    )
    for label, field, name in _PARTS:
        depth = (len(label) - len(label.lstrip())) // 2
        yield label, depth, name, sizes[depth][field]


def _value(label: str, value: int) -> str:
    return f"{f'  {label}':<23}{value:>{_VALUE_WIDTH},}"


def _uuid(uuid: bytes) -> str:
    """Format in upper case, with dashes if it has the 16 bytes of a UUID."""
    digits = uuid.hex().upper()
    if len(uuid) != 16:  # noqa: PLR2004 - that of RFC 9562
        return digits
    fields = ((0, 8), (8, 12), (12, 16), (16, 20), (20, 32))
    return "-".join(digits[start:end] for start, end in fields)
