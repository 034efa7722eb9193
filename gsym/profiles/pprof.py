"""pprof -> `Profile`.

Unknown fields are kept with a message and written again. Texts are bytes: profilers
write any, and a strict UTF-8 reader would refuse the file.

Locations are taken for exact addresses, also those of callers: pprof looks up an
address unchanged, so that writers of profiles store return addresses one lower
(Go's runtime, perf_to_profile, and pprof itself for what gperftools writes).

Source: github.com/google/pprof, proto/profile.proto; its profile/legacy_profile.go and
internal/symbolizer; google/perf_data_converter, src/perf_data_converter.cc.
"""

from __future__ import annotations

from gsym.cache import BoundedCache
from gsym.model import UINT64_MAX
from gsym.profiles import model
from gsym.profiles.input_bytes import read_inflated
from gsym.profiles.protobuf import MessageTables, decode_message, message_types

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from gsym.profiles.model import Profile
    from gsym.profiles.opening import ProfileOptions

    _Label = tuple[int, int, int, int]
    _Description = tuple[int | None, tuple[tuple[str, str | int, str], ...]]

_PACKAGE = "perftools.profiles"
_MESSAGES = """
Profile: sample_type 1 ValueType*, sample 2 Sample*, mapping 3 Mapping*,
    location 4 Location*, function 5 Function*, string_table 6 bytes*,
    drop_frames 7 int64, keep_frames 8 int64, time_nanos 9 int64,
    duration_nanos 10 int64, period_type 11 ValueType, period 12 int64,
    comment 13 int64*, default_sample_type 14 int64;
ValueType: type 1 int64, unit 2 int64;
Sample: location_id 1 uint64*, value 2 int64*, label 3 Label*;
Label: key 1 int64, str 2 int64, num 3 int64, num_unit 4 int64;
Mapping: id 1 uint64, memory_start 2 uint64, memory_limit 3 uint64,
    file_offset 4 uint64, filename 5 int64, build_id 6 int64, has_functions 7 bool,
    has_filenames 8 bool, has_line_numbers 9 bool, has_inline_frames 10 bool;
Location: id 1 uint64, mapping_id 2 uint64, address 3 uint64, line 4 Line*,
    is_folded 5 bool;
Line: function_id 1 uint64, line 2 int64, column 3 int64;
Function: id 1 uint64, name 2 int64, system_name 3 int64, filename 4 int64,
    start_line 5 int64;
"""


def new_profile() -> Any:
    """An empty `Profile` message.

    Raises:
        UnsupportedError: The runtime of protobuf is not installed.
    """
    return message_types(_PACKAGE, _MESSAGES)["Profile"]()


def decode(data: bytes, path: str | None = None) -> Any:
    """The `Profile` message of an inflated file.

    Raises:
        UnsupportedError: The runtime of protobuf is not installed.
    """
    return decode_message(message_types(_PACKAGE, _MESSAGES)["Profile"], data, path)


class Places(MessageTables):
    """The tables that samples of a message refer to, in the order of the message."""

    def __init__(self, message: Any, path: str | None) -> None:
        super().__init__(message.string_table, {}, path)
        mappings = self._numbered("mapping", message.mapping)
        functions = self._numbered("function", message.function)
        self._locations = self._numbered("location", message.location)
        # all of them, without link-time addresses
        self.mappings: list[model.Mapping] = [
            self._mapping(each) for each in message.mapping
        ]
        names = [self._function(each) for each in message.function]
        # all of them, with the frames of their lines
        self.locations: list[model.Location] = [
            self._location(each, mappings, functions, names)
            for each in message.location
        ]

    def stack(self, sample: Any) -> tuple[int, ...]:
        """The indexes of the locations of a sample, innermost first."""
        self.check_stack(sample.location_id)
        try:
            return tuple([self._locations[each] for each in sample.location_id])
        except KeyError as error:
            raise self.error(f"a sample has unknown location {error}") from None

    def _numbered(self, kind: str, messages: Iterable[Any]) -> dict[int, int]:
        """Indexes of messages by their ids."""
        found: dict[int, int] = {}
        for index, message in enumerate(messages):
            if message.id == 0 or message.id in found:
                why = "is not unique" if message.id else "is not valid"
                raise self.error(f"{kind} {index} has id {message.id}, which {why}")
            found[message.id] = index
        return found

    def _mapping(self, message: Any) -> model.Mapping:
        text = self.text(message.build_id)
        build_id, module = model.read_module_id(text)
        if text and not (build_id or any(module)):
            self.lose("build ids of no known form")
        start, end, offset = (
            *(message.memory_start, message.memory_limit, message.file_offset),
        )
        path = self.text(message.filename)
        return model.Mapping(start, end, None, offset, path, build_id, module=module)

    def _function(self, message: Any) -> tuple[str, str, str]:
        if message.start_line:
            self.lose("lines at which functions start")
        name, path = self.text(message.name), self.text(message.filename)
        return name, self.text(message.system_name), path

    def _location(
        self,
        message: Any,
        mappings: dict[int, int],
        functions: dict[int, int],
        names: list[tuple[str, str, str]],
    ) -> model.Location:
        mapping = self._index("mapping", mappings, message.mapping_id)
        frames = []
        for line in message.line:
            function = self._index("function", functions, line.function_id)
            texts = ("", "", "") if function is None else names[function]
            frames.append(model.Frame(*texts, line.line))
            if line.column:
                self.lose("columns of lines")
        if message.is_folded:
            self.lose("marks of locations that several functions share")
        return model.Location(message.address, mapping, frames=tuple(frames))

    def _index(self, kind: str, numbers: dict[int, int], number: int) -> int | None:
        """The index of an id; None for id 0."""
        if number and number not in numbers:
            raise self.error(f"a location has unknown {kind} {number}")
        return numbers[number] if number else None


def return_locations(message: Any, places: Places) -> list[int]:
    """The indexes of locations that calls return to: those that no sample was at."""
    stacks = [places.stack(sample) for sample in message.sample]
    leaves = {stack[0] for stack in stacks if stack}
    return [index for index in range(len(places.locations)) if index not in leaves]


# Labels for process, thread and time of a sample, as in perf_to_profile.
PID, TID = "pid", "tid"
COMM, THREAD_COMM = "comm", "thread_comm"
TIMESTAMP = "timestamp_ns"

_MOST_KNOWN = 1 << 14  # sets of labels in the cache


def read_pprof(path: str, options: ProfileOptions) -> Profile:
    """The profile in a file of pprof, which has a `Profile` message.

    Raises:
        UnsupportedError: The runtime of protobuf is not installed.
    """
    message = decode(read_inflated(path, options.most_bytes), path)
    return profile_of(message, path, return_addresses=options.return_addresses)


def profile_of(
    message: Any, path: str | None = None, *, return_addresses: bool = False
) -> Profile:
    """The profile that a `Profile` message holds."""
    places = Places(message, path)
    reader = _SampleReader(message, places)
    profile = reader.builder.profile
    profile.mappings.extend(places.mappings)
    profile.locations.extend(places.locations)
    if return_addresses:
        for index in return_locations(message, places):
            location = profile.locations[index]
            profile.locations[index] = location._replace(is_return=True)
    profile.start_time = message.time_nanos
    profile.duration = message.duration_nanos
    profile.period = message.period
    if message.HasField("period_type"):
        period_type = message.period_type
        profile.period_type = places.value_type(period_type.type, period_type.unit)
    profile.comments.extend(map(places.text, message.comment))
    profile.losses.update(places.losses)
    for sample in message.sample:
        reader.take(sample)
    return profile


class _SampleReader:
    """Converts samples, with labels for which the model has fields."""

    def __init__(self, message: Any, places: Places) -> None:
        types = tuple(
            [places.value_type(each.type, each.unit) for each in message.sample_type]
        )
        if message.sample and not types:
            raise places.error("the profile declares no sample type")
        self.builder = model.ProfileBuilder(types)
        default = places.text(message.default_sample_type)
        names = [each.type for each in types]
        if default in names:
            self.builder.profile.default_value = names.index(default)
        for kept in ("drop_frames", "keep_frames"):
            if getattr(message, kept):
                self.builder.lose(kept)
        self._types: tuple[model.ValueType, ...] = types
        numbered = enumerate(places.texts)
        self._time_keys = {index for index, text in numbered if text == TIMESTAMP}
        self._known: BoundedCache[tuple[_Label, ...], _Description] = BoundedCache(
            _MOST_KNOWN
        )
        self._places = places

    def take(self, sample: Any) -> None:
        """Add a sample."""
        values = tuple(sample.value)
        if len(values) != len(self._types):
            reason = f"a sample has {len(values)} values, not {len(self._types)}"
            raise self._places.error(reason)
        stack = self.builder.stack(self._places.stack(sample))
        time: int | None = None
        numbers: list[_Label] = []
        for label in sample.label:
            found = label.key, label.str, label.num, label.num_unit
            is_time = label.key in self._time_keys and not (label.str or label.num_unit)
            if time is None and is_time:
                time = label.num
            else:
                numbers.append(found)
        key = tuple(numbers)
        known = self._known.get(key)
        if known is None:
            described = [self._label(*each) for each in numbers]
            known = self._known.keep(key, (self._thread(described), tuple(described)))
        thread, labels = known
        self.builder.sample(stack, values, thread=thread, time=time, labels=labels)

    def _label(
        self, key: int, text: int, number: int, unit: int
    ) -> tuple[str, str | int, str]:
        read = self._places.text
        if not text:
            return read(key), number, read(unit)
        if number:
            self.builder.lose("numbers of labels that have a text")
        return read(key), read(text), ""

    def _thread(self, labels: list[tuple[str, str | int, str]]) -> int | None:
        process, own = _pop(labels, PID, int), _pop(labels, TID, int)
        thread = model.Thread(
            None if process is None else process & UINT64_MAX,
            None if own is None else own & UINT64_MAX,
            _pop(labels, COMM, str) or "",
            _pop(labels, THREAD_COMM, str) or "",
        )
        return self.builder.thread(thread) if thread != model.NO_THREAD else None


def _pop(labels: list[tuple[str, str | int, str]], key: str, kind: type) -> Any:
    """The value of the first label of a key, which is taken out; None without one."""
    for index, (name, value, unit) in enumerate(labels):
        if name == key and isinstance(value, kind) and not unit:
            del labels[index]
            return value
    return None
