"""Types of protobuf messages, stated as tables of fields, made when they are used."""

from __future__ import annotations

from gsym.errors import FormatError, UnsupportedError
from gsym.formats.protobuf_wire import each_field

__all__ = ["decode_message", "message_types", "unknown_fields"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    # Names of messages, and a line for each of their fields: name, number and type,
    # which is a scalar of protobuf or another message; `*` makes it repeated.
    Messages = Mapping[str, tuple[str, ...]]

_MOST_TRIED = 1 << 20
_SCALARS = frozenset(
    {"bool", "bytes", "double", "fixed64", "int32", "int64", "string", "uint64"}
)


def message_types(package: str, messages: Messages) -> dict[str, Any]:
    """The classes of messages, by their names.

    Args:
        package: What the names belong to; no two tables share one.
        messages: What is in them, with the syntax "proto3".

    Raises:
        UnsupportedError: The runtime of protobuf is not installed.
    """
    try:
        from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    except ImportError as error:
        reason = "profiles of this format need protobuf: pip install 'gsym[proto]'"
        raise UnsupportedError(reason) from error
    file: Any = descriptor_pb2.FileDescriptorProto(
        name=f"{package}.proto", package=package, syntax="proto3"
    )
    kinds: Any = descriptor_pb2.FieldDescriptorProto
    for name, lines in messages.items():
        message = file.message_type.add(name=name)
        for line in lines:
            field, number, kind = line.split()
            element = kind.rstrip("*")
            many = kinds.LABEL_OPTIONAL if kind == element else kinds.LABEL_REPEATED
            made = message.field.add(name=field, number=int(number), label=many)
            if element in _SCALARS:
                made.type = kinds.Type.Value(f"TYPE_{element.upper()}")
            else:
                made.type = kinds.TYPE_MESSAGE
                made.type_name = f".{package}.{element}"
    # A pool of our own: the program round us may have its own notion of these names.
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {
        name: message_factory.GetMessageClass(
            pool.FindMessageTypeByName(f"{package}.{name}")
        )
        for name in messages
    }


def decode_message(kind: Any, data: bytes, path: str | None) -> Any:
    """A message of a class that `message_types` made.

    Args:
        kind: The class.
        data: All of its bytes.
        path: Where they come from, for errors.

    Raises:
        FormatError: They are no such message; the offset is that of the field at
            fault, among the fields of the message itself.
    """
    from google.protobuf.message import DecodeError

    try:
        return kind.FromString(data)
    except DecodeError:
        offset = _fault(kind, data, path)
    reason = f"no {kind.DESCRIPTOR.name} message: a field is damaged"
    raise FormatError(reason, path=path, offset=offset)


def unknown_fields(message: Any) -> list[tuple[int, int]]:
    """Numbers and wire types of the fields that the table of a message has not."""
    from google.protobuf.unknown_fields import UnknownFieldSet

    fields: Any = UnknownFieldSet(message)
    return [(each.field_number, each.wire_type) for each in fields]


def _fault(kind: Any, data: bytes, path: str | None) -> int | None:
    """The offset of the first field that the runtime does not take; None: far behind.

    Raises:
        FormatError: The message breaks off in front of it.
    """
    try:
        for number, field in enumerate(each_field(data)):
            if number == _MOST_TRIED:
                return None
            if not _is_taken(kind, data[field.start : field.end]):
                return field.start
    except FormatError as error:
        raise FormatError(error.reason, path=path, offset=error.offset) from None
    return 0


def _is_taken(kind: Any, data: bytes) -> bool:
    from google.protobuf.message import DecodeError

    try:
        kind.FromString(data)
    except DecodeError:
        return False
    return True
