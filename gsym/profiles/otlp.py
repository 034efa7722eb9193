"""Profiles of OpenTelemetry -> `Profile`; functions and lines added to a message.

The format is under development and changes without a version in its files. Supported
are the layouts with a table of stacks: that of version 1.10 of the protocol, and that
of 1.9, in which the fields of a sample have other numbers. `decode` distinguishes them
by the wire types of these fields; messages of both have the same attributes.

OpenTelemetry's eBPF profiler stores link-time addresses, those of callers as return
addresses minus 1, so all of them are exact; a mapping starts at the link-time address
of its first byte, too. A mapping at an address that only a loader uses is one in
memory.

A file has a `ProfilesData` message, or a request to export one, which is the same. What
collectors write has several: each after its size, as four bytes, the highest first; or
as JSON, one in a line.

Source: github.com/open-telemetry/opentelemetry-proto, profiles/v1development/
profiles.proto, common/v1/common.proto and resource/v1/resource.proto;
opentelemetry-ebpf-profiler, processmanager/manager.go and processinfo.go;
opentelemetry-collector-contrib, exporter/fileexporter.
"""

from __future__ import annotations

import base64
import binascii
import re
from functools import cache

from gsym.errors import FormatError, LimitError, UnsupportedError
from gsym.lazy import json
from gsym.modules.key import ModuleKey, has_id, read_go_id
from gsym.profiles import model, protobuf
from gsym.profiles.input_bytes import read_inflated
from gsym.profiles.json_input import Node, number_of
from gsym.profiles.recognition import SIZE_BYTES, message_kind, sized_message

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    from gsym.profiles.model import Profile
    from gsym.profiles.opening import ProfileOptions

    Attribute = tuple[str, str | int, str]

_PACKAGE = "opentelemetry.proto.profiles.v1development"
# Fields of a sample by the version of the protocol.
_SAMPLES = {
    "1.10": "attribute_indices 2 int32*, link_index 3 int32, values 4 int64*;",
    "1.9": "values 2 int64*, attribute_indices 3 int32*, link_index 4 int32;",
}
_NEWEST, _OLDER = _SAMPLES
# Fields that a sample of 1.9 has and one of 1.10 has not.
_ONLY_OLDER = {(3, protobuf.LENGTH_DELIMITED), (4, protobuf.VARINT)}
# Of a profile before 1.9, with indexes of locations where later ones have a time.
_BEFORE_STACKS = {(3, protobuf.LENGTH_DELIMITED)}
# Of `AnyValue` one field is present; lists, which are stored alike, show which.
_MESSAGES = """
ProfilesData: resource_profiles 1 ResourceProfiles*, dictionary 2 ProfilesDictionary;
ProfilesDictionary: mapping_table 1 Mapping*, location_table 2 Location*,
    function_table 3 Function*, link_table 4 Link*, string_table 5 bytes*,
    attribute_table 6 KeyValueAndUnit*, stack_table 7 Stack*;
ResourceProfiles: resource 1 Resource, scope_profiles 2 ScopeProfiles*;
Resource: attributes 1 KeyValue*;
ScopeProfiles: profiles 2 Profile*;
Profile: sample_type 1 ValueType, samples 2 Sample*, time_unix_nano 3 fixed64,
    duration_nano 4 uint64, period_type 5 ValueType, period 6 int64,
    original_payload 10 bytes;
ValueType: type_strindex 1 int32, unit_strindex 2 int32;
Mapping: memory_start 1 uint64, memory_limit 2 uint64, file_offset 3 uint64,
    filename_strindex 4 int32, attribute_indices 5 int32*;
Stack: location_indices 1 int32*;
Location: mapping_index 1 int32, address 2 uint64, lines 3 Line*,
    attribute_indices 4 int32*;
Line: function_index 1 int32, line 2 int64, column 3 int64;
Function: name_strindex 1 int32, system_name_strindex 2 int32,
    filename_strindex 3 int32, start_line 4 int64;
Link: trace_id 1 bytes, span_id 2 bytes;
KeyValueAndUnit: key_strindex 1 int32, value 2 AnyValue, unit_strindex 3 int32;
KeyValue: key 1 bytes, value 2 AnyValue, key_strindex 3 int32;
AnyValue: string_value 1 bytes*, bool_value 2 bool*, int_value 3 int64*,
    double_value 4 double*, array_value 5 bytes*, kvlist_value 6 bytes*,
    bytes_value 7 bytes*, string_value_strindex 8 int32*;
Sample: stack_index 1 int32, timestamps_unix_nano 5 fixed64*, """


def new_profiles(layout: str = _NEWEST) -> Any:
    """An empty `ProfilesData` message, of "1.10" or of "1.9".

    Raises:
        UnsupportedError: The runtime of protobuf is not installed.
    """
    return _types(layout)["ProfilesData"]()


def decode(data: bytes) -> Any:
    """The `ProfilesData` message of a file, or a request to export one.

    Raises:
        UnsupportedError: They are of a layout that is not read, or the runtime of
            protobuf is not installed.
    """
    message = protobuf.decode_message(_types(_NEWEST)["ProfilesData"], data)
    profiles = [
        profile
        for resource in message.resource_profiles
        for scope in resource.scope_profiles
        for profile in scope.profiles
    ]
    if not profiles:
        return message
    is_older = not message.HasField("dictionary") or any(
        _BEFORE_STACKS.intersection(protobuf.unknown_fields(each)) for each in profiles
    )
    if is_older:
        reason = "profiles of OpenTelemetry before version 1.9 are not read"
        raise UnsupportedError(reason)
    if any(_is_of_older_layout(each) for each in profiles):
        return protobuf.decode_message(_types(_OLDER)["ProfilesData"], data)
    return message


def _is_of_older_layout(profile: Any) -> bool:
    """Whether the first sample that differs is of 1.9."""
    for sample in profile.samples:
        if _ONLY_OLDER.intersection(protobuf.unknown_fields(sample)):
            return True
        if sample.values or sample.link_index:
            return False
        # A sample has values or times.
        if sample.attribute_indices and not sample.timestamps_unix_nano:
            return True
    return False


def _types(layout: str) -> dict[str, Any]:
    return protobuf.message_types(_PACKAGE, _MESSAGES + _SAMPLES[layout])


# In the order in which they are preferred: a symbol store knows the first one.
_BUILD_IDS = tuple(f"process.executable.build_id.{kind}" for kind in ("gnu", "htlhash"))
_GO_ID = "process.executable.build_id.go"
# No program but one that was linked there has its code below this in memory, so that
# such addresses are those of the link.
_LINKED_BELOW = 1 << 40


class Dictionary(protobuf.MessageTables):
    """Mappings, locations, stacks and attributes, added to a profile when asked for."""

    def __init__(self, message: Any, profile: Profile) -> None:
        super().__init__(message.string_table, profile)
        self._message = message
        # Indexes in the profile, by those in the message.
        self.location: Callable[[int], int] = cache(self._location)
        self.stack: Callable[[int], int] = cache(self._stack)
        # Key, value and unit; None for a value of a kind that labels have not.
        self.attribute: Callable[[int], Attribute | None] = cache(self._attribute)
        self._mappings: list[int | None] = []
        for index, mapping in enumerate(message.mapping_table):
            # The first one means no mapping.
            is_none = index == 0 and not mapping.ByteSize()
            self._mappings.append(None if is_none else len(profile.mappings))
            if not is_none:
                profile.mappings.append(self._mapping(mapping))

    def _stack(self, index: int) -> int:
        table = self._message.stack_table
        stack = self.at("stack", table, index) if index or table else None
        places = () if stack is None else stack.location_indices
        self.check_stack(places)
        self.profile.stacks.append(tuple(map(self.location, places)))
        return len(self.profile.stacks) - 1

    def _attribute(self, index: int) -> Attribute | None:
        found = self.at("attribute", self._message.attribute_table, index)
        key, unit = self.text(found.key_strindex), self.text(found.unit_strindex)
        value = self.value(found.value)
        return None if value is None else (key, value, unit)

    def value(self, message: Any) -> str | int | None:
        """The value of an `AnyValue` message; None for lists, and for no value."""
        for number in message.int_value:
            return int(number)
        for index in message.string_value_strindex:
            return self.text(index)
        for value in (*message.bool_value, *message.double_value):
            return str(value).lower()
        for text in message.string_value:
            return bytes(text).decode("utf-8", "replace")
        for data in message.bytes_value:
            return bytes(data).hex()
        return None

    def link(self, index: int) -> tuple[Attribute, ...]:
        """The labels for the span of a sample."""
        if index == 0:
            return ()
        found = self.at("link", self._message.link_table, index)
        ids = {"trace_id": found.trace_id, "span_id": found.span_id}
        return tuple((name, each.hex(), "") for name, each in ids.items())

    def _mapping(self, message: Any) -> model.Mapping:
        attributes = filter(None, map(self.attribute, message.attribute_indices))
        known = {key: str(value) for key, value, _ in attributes}
        found = next(filter(None, map(known.get, _BUILD_IDS)), "")
        build_id, module = model.read_module_id(found)
        go_id = read_go_id(known.get(_GO_ID, ""))
        start = message.memory_start
        return model.Mapping(
            start,
            message.memory_limit,
            start if start < _LINKED_BELOW else None,
            message.file_offset,
            self.text(message.filename_strindex),
            build_id,
            module=module._replace(go_id=go_id or module.go_id),
        )

    def _location(self, index: int) -> int:
        message = self.at("location", self._message.location_table, index)
        number, mapping = message.mapping_index, None
        if number or self._mappings:
            mapping = self.at("mapping", self._mappings, number)
        frames = tuple(map(self._frame, message.lines))
        self.profile.lose("attributes of locations", len(message.attribute_indices))
        made = model.Location(message.address, mapping, frames=frames)
        self.profile.locations.append(made)
        return len(self.profile.locations) - 1

    def _frame(self, line: Any) -> model.Frame:
        table = self._message.function_table
        found = self.at("function", table, line.function_index)
        texts = found.name_strindex, found.system_name_strindex, found.filename_strindex
        name, system_name, path = map(self.text, texts)
        return model.Frame(name, system_name, path, line.line)


# Attributes of the semantic conventions for the fields of a thread, and their types.
_THREAD_FIELDS = {
    "process.pid": ("process", int),
    "thread.id": ("thread", int),
    "process.executable.name": ("process_name", str),
    "thread.name": ("thread_name", str),
}
_MOST_TYPES = 32


def profile_of(messages: Iterable[Any]) -> Profile:
    """All profiles in `ProfilesData` messages, as one."""
    reader = _Reader()
    for message in messages:
        reader.open(message.dictionary)
        for resource in message.resource_profiles:
            attributes = reader.attributes_of(resource.resource)
            for scope in resource.scope_profiles:
                for profile in scope.profiles:
                    reader.take(profile, attributes)
    return reader.finish()


class _Reader:
    """Adds profiles to one profile."""

    _dictionary: Dictionary

    def __init__(self) -> None:
        self._builder = model.ProfileBuilder(())
        self._profile = self._builder.profile
        self._types: dict[model.ValueType, int] = {}

    def open(self, dictionary: Any) -> None:
        """Profiles with these tables follow.

        Raises:
            FormatError: The first text is not empty, or an index is out of range.
        """
        self._dictionary = Dictionary(dictionary, self._profile)

    def attributes_of(self, resource: Any) -> tuple[Attribute, ...]:
        """The attributes that all samples of a resource share."""
        tables = self._dictionary
        found: list[Attribute | None] = []
        for each in resource.attributes:
            value = tables.value(each.value)
            key = bytes(each.key).decode("utf-8", "replace")
            if each.key_strindex:
                key = tables.text(each.key_strindex)
            found.append(None if value is None else (key, value, ""))
        return tuple(self._known(found))

    def take(self, message: Any, shared: tuple[Attribute, ...]) -> None:
        """Add a profile: its samples and their common data."""
        profile = self._profile
        value_type = self._value_type(message.sample_type)
        column = self._types.setdefault(value_type, len(self._types))
        if column == _MOST_TYPES:
            reason = f"its samples have more than {_MOST_TYPES} types of values"
            raise FormatError(reason)
        starts = [time for time in (profile.start_time, message.time_unix_nano) if time]
        profile.start_time = min(starts, default=0)
        profile.duration = max(profile.duration, message.duration_nano)
        if message.period and profile.period_type is None:
            profile.period = message.period
            profile.period_type = self._value_type(message.period_type)
        if message.original_payload:
            self._builder.profile.lose("original payloads")
        known: dict[tuple[int, ...], tuple[int | None, tuple[Attribute, ...]]] = {}
        for sample in message.samples:
            key = tuple(sample.attribute_indices)
            if key not in known:
                attributes = self._known(map(self._dictionary.attribute, key))
                known[key] = self._split((*shared, *attributes))
            thread, labels = known[key]
            labels += self._dictionary.link(sample.link_index)
            stack = self._dictionary.stack(sample.stack_index)
            for value, time in self._points(sample):
                values = (*[0] * column, value)
                self._builder.sample(
                    stack, values, thread=thread, time=time, labels=labels
                )

    def finish(self) -> Profile:
        """The profile, with a value of each type in every sample."""
        profile, count = self._profile, len(self._types)
        profile.value_types = tuple(self._types)
        for index, sample in enumerate(profile.samples):
            missing = count - len(sample.values)
            if missing:
                values = (*sample.values, *[0] * missing)
                profile.samples[index] = sample._replace(values=values)
        return profile

    def _value_type(self, message: Any) -> model.ValueType:
        kind, unit = message.type_strindex, message.unit_strindex
        return self._dictionary.value_type(kind, unit)

    def _known(self, attributes: Iterable[Attribute | None]) -> Iterator[Attribute]:
        """Attributes whose values labels can have; others are counted."""
        for each in attributes:
            if each is None:
                self._builder.profile.lose("attributes that are lists")
            else:
                yield each

    def _split(
        self, attributes: tuple[Attribute, ...]
    ) -> tuple[int | None, tuple[Attribute, ...]]:
        """The thread of some attributes, and the other attributes."""
        fields: dict[str, Any] = {}
        labels = []
        for attribute in attributes:
            key, value, _ = attribute
            field, kind = _THREAD_FIELDS.get(key, ("", object))
            if field and isinstance(value, kind):
                fields[field] = value
            else:
                labels.append(attribute)
        thread = model.NO_THREAD._replace(**fields)
        is_known = thread != model.NO_THREAD
        return self._builder.thread(thread) if is_known else None, tuple(labels)

    def _points(self, sample: Any) -> Iterable[tuple[int, int | None]]:
        """Values and times of a sample that was seen more than once."""
        values, times = list(sample.values), list(sample.timestamps_unix_nano)
        if not times:
            return [(sum(values), None)]
        if len(values) == len(times):
            return zip(values, times, strict=True)
        if values in ([], [1]):  # the eBPF profiler once wrote a single 1
            return [(1, time) for time in times]
        self._builder.profile.lose("times without a value of their own", len(times))
        return [(sum(values), None)]


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
        return profile_of(_of_json(data))
    if not message_kind(data, is_whole=True) and sized_message(data) is not None:
        return profile_of(_of_sizes(data))
    return profile_of([decode(data)])


def _of_sizes(data: bytes) -> Iterator[Any]:
    """The messages that follow their sizes."""
    at = 0
    while at < len(data):
        size = int.from_bytes(data[at : at + SIZE_BYTES], "big")
        at += SIZE_BYTES
        if at + size > len(data):
            reason = (
                f"a message of {size} bytes, where {max(len(data) - at, 0)} are left"
            )
            raise FormatError(reason, offset=at - SIZE_BYTES)
        yield decode(data[at : at + size])
        at += size


def _of_json(data: bytes) -> Iterator[Any]:
    """The messages that are objects one after the other."""
    text = data.decode("utf-8-sig", "replace")
    decoder, at = json.JSONDecoder(), 0
    while at < len(text):
        try:
            made, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            place = getattr(error, "pos", at)
            raise FormatError("not JSON", offset=place) from None
        message = new_profiles()
        _fill(message, Node(made))
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


_COMPLETED_PACKAGE = "gsym.otlp"
# Only the tables of a message are decoded: its profiles remain as they are, so that
# samples of any layout, and fields of later versions of the protocol, survive. That
# needs a schema that knows no more fields than are written here: the runtime of
# protobuf keeps the bytes of the others. It merges several dictionaries as if their
# bytes were joined.
_COMPLETED_MESSAGES = """
ProfilesData: dictionary 2 bytes*;
EncodedTables: mapping_table 1 bytes*, location_table 2 bytes*, function_table 3 bytes*,
    link_table 4 bytes*, attribute_table 6 bytes*, stack_table 7 bytes*;
ProfilesDictionary: location_table 2 Location*, function_table 3 bytes*,
    string_table 5 bytes*;
Location: lines 3 Line*;
Line: function_index 1 int32, line 2 int64;
Function: name_strindex 1 int32, system_name_strindex 2 int32,
    filename_strindex 3 int32;
"""

_MAX_PATH = 4096  # bytes or characters


class OtlpCompletion:
    """A message whose locations without functions get theirs.

    Args:
        data: A request to export profiles, or a `ProfilesData` message.
        most: How many entries a table may have; an empty one takes 2 bytes of the
            message, but about 1 KiB of memory.

    Raises:
        LimitError: A table has too many entries.
        UnsupportedError: The runtime of protobuf is not installed.
    """

    def __init__(self, data: bytes, most: int) -> None:
        types = protobuf.message_types(_COMPLETED_PACKAGE, _COMPLETED_MESSAGES)
        # these locations and their mappings, for `symbolize`
        self.profile: Profile = model.Profile()
        self._data = data
        self._message = protobuf.decode_message(types["ProfilesData"], data)
        tables = b"".join(self._message.dictionary)
        encoded = protobuf.decode_message(types["EncodedTables"], tables)
        for table, entries in encoded.ListFields():
            if len(entries) > most:
                raise LimitError(f"its {table.name} has more than {most} entries")
        self._tables = protobuf.decode_message(types["ProfilesDictionary"], tables)
        # Without samples, whose layout does not matter.
        whole = _types(_NEWEST)["ProfilesDictionary"]
        known = Dictionary(protobuf.decode_message(whole, tables), self.profile)
        # The indexes in the message, in the order of the profile.
        self._indexes = []
        for index, location in enumerate(self._tables.location_table):
            if not location.lines:
                self._indexes.append(index)
                known.location(index)
        # Each module gets a key with the name in its path.
        self.profile.mappings[:] = [
            each if len(each.path) <= _MAX_PATH else each._replace(path="")
            for each in self.profile.mappings
        ]

    def modules(self) -> list[ModuleKey]:
        """The modules of the locations that have an id."""
        mappings = self.profile.mappings
        used = {each.mapping for each in self.profile.locations}
        places = (mappings[index] for index in used if index is not None)
        return sorted(filter(has_id, set(map(model.module_key, places))))

    def complete(self, path_map: Callable[[str], str] | None = None) -> bytes:
        """The message with the frames that the locations of `profile` have now."""
        pairs = zip(self._indexes, self.profile.locations, strict=True)
        found = [(index, each.frames) for index, each in pairs if each.frames]
        if not found:
            return self._data
        number = _function_numbers(self._tables, path_map)
        for index, frames in found:
            lines = self._tables.location_table[index].lines
            for *function, line in frames:
                lines.add(function_index=number(*function), line=line)
        self._message.dictionary[:] = [self._tables.SerializeToString()]
        return bytes(self._message.SerializeToString())


def _function_numbers(
    tables: Any, path_map: Callable[[str], str] | None
) -> Callable[[str, str, str], int]:
    """Finds the index of a function, which is added to the tables with its texts."""
    make = protobuf.message_types(_COMPLETED_PACKAGE, _COMPLETED_MESSAGES)["Function"]
    functions = tables.function_table
    text = protobuf.StringTable(tables.string_table).number
    if not functions:
        functions.append(b"")  # entry 0 means none

    @cache
    def number(name: str, system_name: str, path: str) -> int:
        function = make(name_strindex=text(name))
        function.system_name_strindex = text(system_name)
        function.filename_strindex = text(path_map(path) if path_map else path)
        functions.append(function.SerializeToString())
        return len(functions) - 1

    return number
