"""Protobuf messages of profiles: wire format, messages by schema, their tables.

The classes are made of short tables, not generated: a generated module needs protoc to
build, registers its names in the pool of the whole process, and rejects texts that are
not UTF-8.
"""

from __future__ import annotations

from functools import cache

from gsym.errors import FormatError, UnsupportedError
from gsym.leb128 import read_leb
from gsym.profiles.model import MOST_FRAMES, Profile, ValueType, read_unit
from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any


class Field(NamedTuple):
    """A field: its number and wire type, and where it is in the message."""

    number: int  # from 1 on
    wire_type: int  # how its value is written
    start: int  # where its key starts
    content: int  # where its value starts, after the length if it has one
    end: int  # after its value


VARINT = 0
_FIXED64 = 1
LENGTH_DELIMITED = 2
"""The wire type of texts, messages and packed numbers."""
_FIXED32 = 5
PPROF_TYPES = {
    **dict.fromkeys((1, 2, 3, 4, 5, 6, 11), (LENGTH_DELIMITED,)),
    **dict.fromkeys((7, 8, 9, 10, 12, 14, 15), (VARINT,)),
    13: (VARINT, LENGTH_DELIMITED),
}
"""The wire types of the fields of pprof, which has those of OTLP among them."""
_MOST_NUMBER = (1 << 29) - 1


def each_field(data: bytes) -> Iterator[Field]:
    """The fields of a message, one after the other; groups are not known.

    Raises:
        FormatError: One is damaged or reaches past the end; the offset is its start.
    """
    at = 0
    while at < len(data):
        start = at
        key, at = varint(data, at, start)
        number, wire_type = key >> 3, key & 7
        if not 0 < number <= _MOST_NUMBER:
            raise FormatError(f"invalid protobuf field number {number}", offset=start)
        content = at
        if wire_type == VARINT:
            _, at = varint(data, at, start)
        elif wire_type == LENGTH_DELIMITED:
            size, content = varint(data, at, start)
            at = content + size
        elif wire_type in {_FIXED64, _FIXED32}:
            at += 8 if wire_type == _FIXED64 else 4
        else:
            reason = f"protobuf field {number} has wire type {wire_type}"
            raise FormatError(reason, offset=start)
        if at > len(data):
            reason = f"protobuf field {number} reaches past the end"
            raise FormatError(reason, offset=start)
        yield Field(number, wire_type, start, content, at)


def varint(data: bytes, at: int, start: int) -> tuple[int, int]:
    """A number at *at*, and where it ends."""
    value, end = read_leb(data, at)
    if not end:
        raise FormatError("a number of a protobuf field is truncated", offset=start)
    return value, end


_MOST_TRIED = 1 << 20
_SCALARS = frozenset(
    {"bool", "bytes", "double", "fixed64", "int32", "int64", "string", "uint64"}
)


@cache
def message_types(package: str, messages: str) -> dict[str, Any]:
    """The classes of messages, by their names.

    Args:
        package: What the names belong to; no two tables share one.
        messages: What is in them, with the syntax "proto3": `NAME: FIELD NUMBER KIND,
            ...;`, with a star after the kind of a field that is a list.

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
    for each in messages.split(";")[:-1]:
        name, _, fields = each.partition(":")
        message = file.message_type.add(name=name.strip())
        for line in fields.split(","):
            field, number, kind = line.split()
            element = kind.rstrip("*")
            many = kinds.LABEL_OPTIONAL if kind == element else kinds.LABEL_REPEATED
            made = message.field.add(name=field, number=int(number), label=many)
            if element in _SCALARS:
                made.type = kinds.Type.Value(f"TYPE_{element.upper()}")
            else:
                made.type = kinds.TYPE_MESSAGE
                made.type_name = f".{package}.{element}"
    # A pool of our own: the program may define the same names.
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {
        each.name: message_factory.GetMessageClass(
            pool.FindMessageTypeByName(f"{package}.{each.name}")
        )
        for each in file.message_type
    }


def decode_message(kind: Any, data: bytes) -> Any:
    """A message of a class that `message_types` made.

    Raises:
        FormatError: They are not such a message; the offset is that of the damaged
            field, among the fields of the message itself.
    """
    from google.protobuf.message import DecodeError

    try:
        return kind.FromString(data)
    except DecodeError:
        offset = _fault(kind, data)
    reason = f"not a {kind.DESCRIPTOR.name} message: a field is damaged"
    raise FormatError(reason, offset=offset)


def unknown_fields(message: Any) -> list[tuple[int, int]]:
    """Numbers and wire types of the fields that are not in the schema of a message."""
    from google.protobuf.unknown_fields import UnknownFieldSet

    fields: Any = UnknownFieldSet(message)
    return [(each.field_number, each.wire_type) for each in fields]


def _fault(kind: Any, data: bytes) -> int | None:
    """The offset of the first field that the runtime rejects; None: too far away."""
    from google.protobuf.message import DecodeError

    start = 0
    try:
        for number, field in enumerate(each_field(data)):
            if number == _MOST_TRIED:
                return None
            start = field.start
            kind.FromString(data[start : field.end])
    except DecodeError:
        return start
    return 0


class StringTable:
    """The texts of a message, which may have some already; the empty one comes first.

    Args:
        texts: A field of the message.
    """

    def __init__(self, texts: Any) -> None:
        self._table = texts
        if not texts:
            texts.append(b"")
        self._numbers: dict[bytes, int] = {}
        for number, text in enumerate(texts):
            self._numbers.setdefault(text, number)

    def number(self, text: str) -> int:
        """The index of a text, which is added if it is new."""
        encoded = text.encode("utf-8", "replace")
        found = self._numbers.get(encoded)
        if found is None:
            found = self._numbers[encoded] = len(self._table)
            self._table.append(encoded)
        return found


class MessageTables:
    """The tables of the message of a profile, whose indexes are checked."""

    def __init__(self, texts: Iterable[bytes], profile: Profile) -> None:
        self.profile = profile  # receives what the tables have
        self.texts: list[str] = [text.decode("utf-8", "replace") for text in texts] or [
            ""
        ]
        if self.texts[0]:
            raise FormatError("the first text of the string table is not empty")

    def text(self, index: int) -> str:
        """A text of the string table."""
        return str(self.at("text", self.texts, index))

    def value_type(self, kind: int, unit: int) -> ValueType:
        """A type of values by the indexes of its texts."""
        return read_unit(self.text(kind), self.text(unit))

    def at(self, kind: str, table: Any, index: int) -> Any:
        """An entry of a table."""
        if not 0 <= index < len(table):
            reason = f"{kind} index {index} out of range (table has {len(table)})"
            raise FormatError(reason)
        return table[index]

    def check_stack(self, locations: Sequence[int]) -> None:
        """Check the size of a stack."""
        if len(locations) > MOST_FRAMES:
            raise FormatError(f"a stack has more than {MOST_FRAMES} locations")
