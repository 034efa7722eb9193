"""The statistics of a GSYM file, as printed by `llvm-gsymutil --statistics`.

As in LLVM, unknown sections and InfoTypes count as padding; `gsym stats` lists them.
"""

from __future__ import annotations

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from gsym.reading.statistics import InfoBytes, Statistics

_VALUE_WIDTH = 14


def as_text(statistics: Statistics, path: str) -> str:
    """The table for people."""
    own, merged = statistics.own, statistics.merged
    parts = (
        ("  Header:", statistics.header),
        ("  Global data dir:", statistics.directory),
        ("  UUID section:", statistics.uuid_section),
        ("  Address table:", statistics.address_table),
        ("  Addr info offsets:", statistics.address_info_offsets),
        ("  File table:", statistics.file_table),
        ("  String table:", statistics.string_table),
        ("  Function info data:", statistics.function_info),
        ("    Size and name:", own.size_and_name),
        ("    Line table info:", own.line_table),
        ("    Inline info:", own.inline_info),
        ("    Call site info:", own.call_sites),
        ("    End of list:", own.end_of_list),
        ("    Padding:", _record_padding(statistics)),
        ("    Merged func info:", own.merged_functions),
        ("      InfoType/InfoLength/Count/FnSize: ", statistics.merged_envelope),
        ("      Size and name:", merged.size_and_name),
        ("      Line table info:", merged.line_table),
        ("      Inline info:", merged.inline_info),
        ("      Call site info:", merged.call_sites),
        ("      Merged func info:", merged.merged_functions),
        ("      End of list:", merged.end_of_list),
        ("  Padding:", _padding(statistics)),
    )
    lines = [
        f'GSYM statistics for "{path}":',
        f"{'  UUID:':<23}{_uuid(statistics.uuid)}",
        _value("  Number of addresses:", statistics.num_addresses),
        _value("  File size:", statistics.file_size) + " bytes",
    ]
    for label, size in parts:
        percent = 100.0 * size / statistics.file_size
        lines.append(f"{_value(label, size)} bytes ({percent:5.2f}%)")
    return "\n".join(lines) + "\n"


def as_json(statistics: Statistics, path: str, *, pretty: bool) -> str:
    """A JSON object, on one line unless *pretty*."""
    import json

    merged = _info_types(statistics.merged)
    merged["infotype_infolength_count_and_fnsize"] = statistics.merged_envelope
    own = {
        **_info_types(statistics.own),
        "padding": _record_padding(statistics),
        "merged_func_info_type_sizes": merged,
    }
    sizes = {
        "file_size": statistics.file_size,
        "header": statistics.header,
        "global_data_directory": statistics.directory,
        "uuid_section": statistics.uuid_section,
        "address_table": statistics.address_table,
        "addr_info_offsets": statistics.address_info_offsets,
        "file_table": statistics.file_table,
        "string_table": statistics.string_table,
        "function_info_data": statistics.function_info,
        "function_info_type_sizes": own,
        "padding": _padding(statistics),
    }
    found = {
        "path": path,
        "uuid": _uuid(statistics.uuid),
        "num_addresses": statistics.num_addresses,
        "byte-sizes": sizes,
    }
    indent, separators = (2, (",", ": ")) if pretty else (None, (",", ":"))
    text = json.dumps(
        found, ensure_ascii=False, indent=indent, separators=separators, sort_keys=True
    )
    return text + "\n"


def _value(label: str, value: int) -> str:
    return f"{label:<23}{value:>{_VALUE_WIDTH},}"


def _info_types(sizes: InfoBytes) -> dict[str, object]:
    return {
        "size_and_name": sizes.size_and_name,
        "line_table_info": sizes.line_table,
        "inline_info": sizes.inline_info,
        "merged_func_info": sizes.merged_functions,
        "call_site_info": sizes.call_sites,
        "end_of_list": sizes.end_of_list,
    }


def _record_padding(statistics: Statistics) -> int:
    return statistics.function_info_padding + statistics.own.unknown


def _padding(statistics: Statistics) -> int:
    return statistics.padding + sum(size for _, size in statistics.unknown_sections)


def _uuid(uuid: bytes) -> str:
    """Format in upper case, with dashes if it has the 16 bytes of a UUID."""
    digits = uuid.hex().upper()
    if len(uuid) != 16:  # noqa: PLR2004 - that of RFC 9562
        return digits
    fields = ((0, 8), (8, 12), (12, 16), (16, 20), (20, 32))
    return "-".join(digits[start:end] for start, end in fields)
