"""Profiles of OpenTelemetry: the bytes of `ProfilesData` -> messages.

The format is under development and changes without a version in its files. Read are
the layouts with a table of stacks: that of version 1.10 of the protocol, and that of
1.9, in which the fields of a sample have other numbers. `decode` tells them apart by
the wire types of these fields; messages of both have the same attributes.

Source: github.com/open-telemetry/opentelemetry-proto, profiles/v1development/
profiles.proto, common/v1/common.proto and resource/v1/resource.proto.
"""

from __future__ import annotations

from functools import lru_cache

from gsym.errors import UnsupportedError
from gsym.trace.profiles.protobuf import (
    LENGTH_DELIMITED,
    VARINT,
    decode_message,
    message_types,
    unknown_fields,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_PACKAGE = "opentelemetry.proto.profiles.v1development"
_SAMPLES = {
    "1.10": (
        "stack_index 1 int32",
        "attribute_indices 2 int32*",
        "link_index 3 int32",
        "values 4 int64*",
        "timestamps_unix_nano 5 fixed64*",
    ),
    "1.9": (
        "stack_index 1 int32",
        "values 2 int64*",
        "attribute_indices 3 int32*",
        "link_index 4 int32",
        "timestamps_unix_nano 5 fixed64*",
    ),
}
_NEWEST, _OLDER = _SAMPLES
# Fields that a sample of 1.9 has and one of 1.10 has not.
_ONLY_OLDER = {(3, LENGTH_DELIMITED), (4, VARINT)}
# Of a profile before 1.9, with indexes of locations where later ones have a time.
_BEFORE_STACKS = {(3, LENGTH_DELIMITED)}
_MESSAGES = {
    "ProfilesData": (
        "resource_profiles 1 ResourceProfiles*",
        "dictionary 2 ProfilesDictionary",
    ),
    "ProfilesDictionary": (
        "mapping_table 1 Mapping*",
        "location_table 2 Location*",
        "function_table 3 Function*",
        "link_table 4 Link*",
        "string_table 5 bytes*",
        "attribute_table 6 KeyValueAndUnit*",
        "stack_table 7 Stack*",
    ),
    "ResourceProfiles": ("resource 1 Resource", "scope_profiles 2 ScopeProfiles*"),
    "Resource": ("attributes 1 KeyValue*",),
    "ScopeProfiles": ("profiles 2 Profile*",),
    "Profile": (
        "sample_type 1 ValueType",
        "samples 2 Sample*",
        "time_unix_nano 3 fixed64",
        "duration_nano 4 uint64",
        "period_type 5 ValueType",
        "period 6 int64",
        "original_payload 10 bytes",
    ),
    "ValueType": ("type_strindex 1 int32", "unit_strindex 2 int32"),
    "Mapping": (
        "memory_start 1 uint64",
        "memory_limit 2 uint64",
        "file_offset 3 uint64",
        "filename_strindex 4 int32",
        "attribute_indices 5 int32*",
    ),
    "Stack": ("location_indices 1 int32*",),
    "Location": (
        "mapping_index 1 int32",
        "address 2 uint64",
        "lines 3 Line*",
        "attribute_indices 4 int32*",
    ),
    "Line": ("function_index 1 int32", "line 2 int64", "column 3 int64"),
    "Function": (
        "name_strindex 1 int32",
        "system_name_strindex 2 int32",
        "filename_strindex 3 int32",
        "start_line 4 int64",
    ),
    "Link": ("trace_id 1 bytes", "span_id 2 bytes"),
    "KeyValueAndUnit": (
        "key_strindex 1 int32",
        "value 2 AnyValue",
        "unit_strindex 3 int32",
    ),
    "KeyValue": ("key 1 bytes", "value 2 AnyValue", "key_strindex 3 int32"),
    # One of these is there. As lists, which look the same in a file, they tell which.
    "AnyValue": (
        "string_value 1 bytes*",
        "bool_value 2 bool*",
        "int_value 3 int64*",
        "double_value 4 double*",
        "array_value 5 bytes*",
        "kvlist_value 6 bytes*",
        "bytes_value 7 bytes*",
        "string_value_strindex 8 int32*",
    ),
}


def new_profiles(layout: str = _NEWEST) -> Any:
    """An empty `ProfilesData` message, of "1.10" or of "1.9".

    Raises:
        UnsupportedError: The runtime of protobuf is not installed.
    """
    return _types(layout)["ProfilesData"]()


def decode(data: bytes, path: str | None = None) -> Any:
    """The `ProfilesData` message of a file, or a request to export one.

    Args:
        data: All of its bytes, no longer compressed.
        path: Where they come from, for errors.

    Raises:
        FormatError: They are no such message.
        UnsupportedError: They are of a layout that is not read, or the runtime of
            protobuf is not installed.
    """
    message = decode_message(_types(_NEWEST)["ProfilesData"], data, path)
    profiles = list(_profiles(message))
    if not profiles:
        return message
    is_older = not message.HasField("dictionary") or any(
        _BEFORE_STACKS.intersection(unknown_fields(each)) for each in profiles
    )
    if is_older:
        reason = "profiles of OpenTelemetry before version 1.9 are not read"
        raise UnsupportedError(reason, path=path)
    if any(_is_of_older_layout(each) for each in profiles):
        return decode_message(_types(_OLDER)["ProfilesData"], data, path)
    return message


def _profiles(message: Any) -> Iterator[Any]:
    for resource in message.resource_profiles:
        for scope in resource.scope_profiles:
            yield from scope.profiles


def _is_of_older_layout(profile: Any) -> bool:
    """Whether the first sample that tells is of 1.9."""
    for sample in profile.samples:
        if _ONLY_OLDER.intersection(unknown_fields(sample)):
            return True
        if sample.values or sample.link_index:
            return False
        # A sample has values or times.
        if sample.attribute_indices and not sample.timestamps_unix_nano:
            return True
    return False


@lru_cache(maxsize=len(_SAMPLES))
def _types(layout: str) -> dict[str, Any]:
    return message_types(_PACKAGE, {**_MESSAGES, "Sample": _SAMPLES[layout]})
