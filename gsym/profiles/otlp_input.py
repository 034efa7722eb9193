"""Files with profiles of OpenTelemetry -> `Profile`.

A file has a `ProfilesData` message, or a request to export one, which is the same. What
collectors write has several: each after its size, as four bytes, the highest first; or
as JSON, one in a line.

Source: github.com/open-telemetry/opentelemetry-proto, docs/specification.md, "JSON
Protobuf Encoding"; opentelemetry-collector-contrib, exporter/fileexporter.
"""

from __future__ import annotations

import base64
import binascii
import json
import re

from gsym.errors import FormatError
from gsym.profiles.input_bytes import read_inflated
from gsym.profiles.json_input import Node, number_of
from gsym.profiles.otlp import decode, new_profiles, profile_of
from gsym.profiles.recognition import SIZE_BYTES, message_kind, sized_message

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from gsym.profiles.model import Profile
    from gsym.profiles.opening import ProfileOptions

_HEXADECIMAL = frozenset({"trace_id", "span_id"})  # the others of bytes are in base 64
_BASE_64 = frozenset({"bytes_value", "original_payload"})
_NESTED = frozenset({"array_value", "kvlist_value"})


def read_otlp(path: str, options: ProfileOptions) -> Profile:
    """All profiles in a file, as one.

    Returns:
        A profile whose value types are those of all. Times count from 1970 on.

    Raises:
        UnsupportedError: It is of a layout that is not read, or the runtime of protobuf
            is not installed.
    """
    data = read_inflated(path, options.most_bytes)
    if data.lstrip()[:1] == b"{":
        return profile_of(_of_json(data, path), path)
    if not message_kind(data, is_whole=True) and sized_message(data) is not None:
        return profile_of(_of_sizes(data, path), path)
    return profile_of([decode(data, path)], path)


def _of_sizes(data: bytes, path: str) -> Iterator[Any]:
    """The messages that follow their sizes."""
    at = 0
    while at < len(data):
        size = int.from_bytes(data[at : at + SIZE_BYTES], "big")
        at += SIZE_BYTES
        if at + size > len(data):
            reason = (
                f"a message of {size} bytes, where {max(len(data) - at, 0)} are left"
            )
            raise FormatError(reason, path=path, offset=at - SIZE_BYTES)
        yield decode(data[at : at + size], path)
        at += size


def _of_json(data: bytes, path: str) -> Iterator[Any]:
    """The messages that are objects one after the other."""
    text = data.decode("utf-8-sig", "replace")
    decoder, at = json.JSONDecoder(), 0
    while at < len(text):
        try:
            made, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            place = getattr(error, "pos", at)
            raise FormatError("not JSON", path=path, offset=place) from None
        message = new_profiles()
        _fill(message, Node(made, "", path))
        yield message
        at = end + len(text[end:]) - len(text[end:].lstrip())


def _fill(message: Any, node: Node) -> None:
    """Set the fields of a message by the members of an object, but unknown ones."""
    fields = message.DESCRIPTOR.fields_by_name
    for key in node.fields():
        name = re.sub(r"[A-Z]", lambda letter: f"_{letter[0].lower()}", key)
        field, value = fields.get(name), node.get(key)
        if field is None or value.value is None:
            continue
        has_many = hasattr(getattr(message, name), "extend")
        is_list = isinstance(value.value, list)
        if is_list and not has_many:
            raise value.error("a list, where one value was expected")
        for each in value.items() if is_list else (value,):
            if field.message_type is None:
                _set(message, field, each, has_many=has_many)
                continue
            inner = getattr(message, name)
            if has_many:
                inner = inner.add()
            inner.SetInParent()
            _fill(inner, each)


def _set(message: Any, field: Any, node: Node, *, has_many: bool) -> None:
    """Set a field that is not a message, or add to it."""
    try:
        value = _scalar(field, field.name, node)
        if has_many:
            getattr(message, field.name).append(value)
        else:
            setattr(message, field.name, value)
    except (TypeError, ValueError, binascii.Error):
        raise node.error(f"not a value of the field {field.name}") from None


def _scalar(field: Any, name: str, node: Node) -> Any:
    """The value of a field that is not a message."""
    value = node.value
    if field.type == field.TYPE_BYTES:
        if name in _NESTED:
            return b""
        if name in _HEXADECIMAL:
            return bytes.fromhex(value)
        return base64.b64decode(value) if name in _BASE_64 else node.text().encode()
    if field.type == field.TYPE_BOOL:
        return bool(value)
    number = number_of(value)
    if number is None:
        raise ValueError(name)
    return float(number) if field.type == field.TYPE_DOUBLE else int(value)
