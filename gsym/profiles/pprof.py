"""pprof -> `Profile`, and back.

Unknown fields are kept with a message and written again. Texts are bytes: profilers
write any, and a strict UTF-8 reader would refuse the file.

Locations are taken for exact addresses, also those of callers: pprof looks up an
address unchanged, so that writers of profiles store return addresses one lower
(Go's runtime, perf_to_profile, and pprof itself for what gperftools writes), as is done
here.

Source: github.com/google/pprof, proto/profile.proto; its profile/legacy_profile.go and
internal/symbolizer; google/perf_data_converter, src/perf_data_converter.cc.
"""

from __future__ import annotations

import zlib
from collections import Counter

from gsym.cache import BoundedCache
from gsym.errors import FormatError, GsymError
from gsym.lazy import regex
from gsym.model import UINT64_MAX
from gsym.profiles import model
from gsym.profiles.input_bytes import read_inflated
from gsym.profiles.model import Profile, id_text
from gsym.profiles.protobuf import (
    MessageTables,
    StringTable,
    decode_message,
    message_types,
)

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from gsym.profiles.binaries import Binaries
    from gsym.profiles.model import Frame, Location, Profile, Sample, Thread, ValueType
    from gsym.profiles.opening import ProfileOptions
    from gsym.profiles.symbolizing import Opening

    _Label = tuple[int, int, int, int]
    _Description = tuple[int | None, tuple[tuple[str, str | int, str], ...]]
    Label = tuple[str, str | int, str]

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


def decode(data: bytes) -> Any:
    """The `Profile` message of an inflated file.

    Raises:
        UnsupportedError: The runtime of protobuf is not installed.
    """
    return decode_message(message_types(_PACKAGE, _MESSAGES)["Profile"], data)


class Places(MessageTables):
    """The tables that samples of a message refer to, in the order of the message."""

    def __init__(self, message: Any, profile: Profile) -> None:
        super().__init__(message.string_table, profile)
        mappings = self._numbered("mapping", message.mapping)
        functions = self._numbered("function", message.function)
        self._locations = self._numbered("location", message.location)
        # all of them, without link-time addresses
        profile.mappings = [self._mapping(each) for each in message.mapping]
        names = [self._function(each) for each in message.function]
        # all of them, with the frames of their lines
        profile.locations = [
            self._location(each, mappings, functions, names)
            for each in message.location
        ]

    def stack(self, sample: Any) -> tuple[int, ...]:
        """The indexes of the locations of a sample, innermost first."""
        self.check_stack(sample.location_id)
        try:
            return tuple([self._locations[each] for each in sample.location_id])
        except KeyError as error:
            raise FormatError(f"a sample has unknown location {error}") from None

    def _numbered(self, kind: str, messages: Iterable[Any]) -> dict[int, int]:
        """Indexes of messages by their ids."""
        found: dict[int, int] = {}
        for index, message in enumerate(messages):
            if message.id == 0 or message.id in found:
                why = "is not unique" if message.id else "is not valid"
                raise FormatError(f"{kind} {index} has id {message.id}, which {why}")
            found[message.id] = index
        return found

    def _mapping(self, message: Any) -> model.Mapping:
        text = self.text(message.build_id)
        build_id, module = model.read_module_id(text)
        if text and not (build_id or any(module)):
            self.profile.lose("build ids of no known form")
        place = message.memory_start, message.memory_limit, None, message.file_offset
        path = self.text(message.filename)
        return model.Mapping(*place, path, build_id, module=module)

    def _function(self, message: Any) -> tuple[str, str, str]:
        if message.start_line:
            self.profile.lose("lines at which functions start")
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
                self.profile.lose("columns of lines")
        if message.is_folded:
            self.profile.lose("marks of locations that several functions share")
        return model.Location(message.address, mapping, frames=tuple(frames))

    def _index(self, kind: str, numbers: dict[int, int], number: int) -> int | None:
        """The index of an id; None for id 0."""
        if number and number not in numbers:
            raise FormatError(f"a location has unknown {kind} {number}")
        return numbers[number] if number else None


def mark_returns(message: Any, places: Places) -> None:
    """Mark the locations that calls return to: those that no sample was at."""
    stacks = [places.stack(sample) for sample in message.sample]
    leaves = {stack[0] for stack in stacks if stack}
    locations = places.profile.locations
    for index, location in enumerate(locations):
        if index not in leaves:
            locations[index] = location._replace(is_return=True)


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
    message = decode(read_inflated(path, options.most_bytes))
    return profile_of(message, return_addresses=options.return_addresses)


def profile_of(message: Any, *, return_addresses: bool = False) -> Profile:
    """The profile that a `Profile` message holds."""
    builder = model.ProfileBuilder()
    profile = builder.profile
    for kept in ("drop_frames", "keep_frames"):
        if getattr(message, kept):
            builder.profile.lose(kept)
    places = Places(message, profile)
    reader = _SampleReader(message, places, builder)
    if return_addresses:
        mark_returns(message, places)
    profile.start_time = message.time_nanos
    profile.duration = message.duration_nanos
    profile.period = message.period
    if message.HasField("period_type"):
        period_type = message.period_type
        profile.period_type = places.value_type(period_type.type, period_type.unit)
    profile.comments.extend(map(places.text, message.comment))
    for sample in message.sample:
        reader.take(sample)
    return profile


class _SampleReader:
    """Converts samples, with labels for which the model has fields."""

    def __init__(
        self, message: Any, places: Places, builder: model.ProfileBuilder
    ) -> None:
        types = tuple(
            [places.value_type(each.type, each.unit) for each in message.sample_type]
        )
        if message.sample and not types:
            raise FormatError("the profile declares no sample type")
        self._builder = builder
        default = places.text(message.default_sample_type)
        names = [each.type for each in types]
        if default in names:
            builder.profile.default_value = names.index(default)
        self._types = builder.profile.value_types = types
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
            raise FormatError(reason)
        stack = self._builder.stack(self._places.stack(sample))
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
        self._builder.sample(stack, values, thread=thread, time=time, labels=labels)

    def _label(
        self, key: int, text: int, number: int, unit: int
    ) -> tuple[str, str | int, str]:
        read = self._places.text
        if not text:
            return read(key), number, read(unit)
        if number:
            self._builder.profile.lose("numbers of labels that have a text")
        return read(key), read(text), ""

    def _thread(self, labels: list[tuple[str, str | int, str]]) -> int | None:
        process, thread_id = _pop(labels, PID, int), _pop(labels, TID, int)
        numbers = (
            None if each is None else each & UINT64_MAX for each in (process, thread_id)
        )
        names = _pop(labels, COMM, str) or "", _pop(labels, THREAD_COMM, str) or ""
        thread = model.Thread._make((*numbers, *names))
        return self._builder.thread(thread) if thread != model.NO_THREAD else None


def _pop(labels: list[tuple[str, str | int, str]], key: str, kind: type) -> Any:
    """The value of the first label of a key, which is taken out; None without one."""
    for index, (name, value, unit) in enumerate(labels):
        if name == key and isinstance(value, kind) and not unit:
            del labels[index]
            return value
    return None


class FunctionTable:
    """The functions of a message, which may have some already."""

    def __init__(self, message: Any, texts: StringTable) -> None:
        self._message = message
        self._texts = texts
        self._ids: dict[tuple[int, int, int], int] = {}
        self._last_id = 0
        for function in message.function:
            self._last_id = max(self._last_id, function.id)
            if function.start_line == 0:
                key = function.name, function.system_name, function.filename
                self._ids.setdefault(key, function.id)
        self._mappings: dict[int, Any] | None = None

    def add_lines(self, location: Any, frames: Sequence[Frame]) -> None:
        """Add lines to a location, and set the flags of its mapping."""
        for frame in frames:
            location.line.add(function_id=self._id(frame), line=frame.line)
        if self._mappings is None:
            self._mappings = {each.id: each for each in self._message.mapping}
        mapping = self._mappings.get(location.mapping_id)
        if frames and mapping is not None:
            mapping.has_functions |= any(frame.name for frame in frames)
            mapping.has_filenames |= any(frame.path for frame in frames)
            mapping.has_line_numbers |= any(frame.line for frame in frames)
            mapping.has_inline_frames |= len(frames) > 1

    def _id(self, frame: Frame) -> int:
        """The id of the function of a frame; where it starts is not known."""
        number = self._texts.number
        key = number(frame.name), number(frame.system_name), number(frame.path)
        found = self._ids.get(key)
        if found is None:
            found = self._ids[key] = self._last_id = self._last_id + 1
            made = self._message.function.add(id=found)
            made.name, made.system_name, made.filename = key
        return found


_GZIP_WINDOW = 31  # of the zlib module: the largest one, with a header without a time
_SIGN = 1 << 63
# The kernel, code without a file, and libraries, as pprof itself recognizes them.
_NOT_A_PROGRAM = regex(r"\[|//|.*\.so(?:[._]\d+)*$|$")


def pprof_file(profile: Profile, *, merge: bool = True) -> bytes:
    """A profile as a file of pprof, compressed by gzip; same profile, same bytes.

    Args:
        profile: What to write. What its losses count is not in the file.
        merge: Samples of one stack, thread and labels become one: their values are
            added, their times are left out.

    Raises:
        GsymError: A number is too large for the format.
        UnsupportedError: The runtime of protobuf is not installed.
    """
    message = new_profile()
    try:
        _Writer(message).write(profile, merge=merge)
    except ValueError as error:
        raise GsymError(f"a value does not fit in a pprof file: {error}") from error
    return compressed(message)


def compressed(message: Any) -> bytes:
    """A message as a gzip file without a time stamp."""
    compressor = zlib.compressobj(wbits=_GZIP_WINDOW)
    data = message.SerializeToString(deterministic=True)
    return compressor.compress(data) + compressor.flush()


class _Writer:
    """Fills an empty `Profile` message."""

    def __init__(self, message: Any) -> None:
        self._message = message
        self._texts = StringTable(message.string_table)
        self._functions = FunctionTable(message, self._texts)

    def write(self, profile: Profile, *, merge: bool) -> None:
        """Write all parts of a profile."""
        message = self._message
        for value_type in profile.value_types:
            self._value_type(message.sample_type.add(), value_type)
        samples = _merged(profile.samples) if merge else profile.samples
        threads = list(map(_thread_labels, profile.threads))
        for sample in samples:
            self._sample(message.sample.add(), sample, profile, threads)
        for index in _main_first(profile):
            mapping = profile.mappings[index]
            message.mapping.add(
                id=index + 1,
                memory_start=mapping.start,
                memory_limit=mapping.limit,
                file_offset=mapping.file_offset,
                filename=self._texts.number(mapping.path),
                build_id=self._texts.number(id_text(mapping)),
            )
        for index, location in enumerate(profile.locations):
            self._location(message.location.add(id=index + 1), location)
        message.time_nanos = profile.start_time
        message.duration_nanos = profile.duration
        if profile.period_type is not None:
            self._value_type(message.period_type, profile.period_type)
        message.period = profile.period
        if profile.default_value is not None:
            name = profile.value_types[profile.default_value].type
            message.default_sample_type = self._texts.number(name)
        message.comment.extend(map(self._texts.number, profile.comments))

    def _value_type(self, message: Any, value_type: ValueType) -> None:
        message.SetInParent()
        message.type = self._texts.number(value_type.type)
        message.unit = self._texts.number(value_type.unit_text())

    def _sample(
        self, message: Any, sample: Sample, profile: Profile, threads: list[list[Label]]
    ) -> None:
        message.location_id.extend([at + 1 for at in profile.stacks[sample.stack]])
        message.value.extend(sample.values)
        if sample.thread is not None:
            self._labels(message, threads[sample.thread])
        if sample.time is not None:
            self._labels(message, ((TIMESTAMP, sample.time, ""),))
        self._labels(message, sample.labels)

    def _labels(self, message: Any, labels: Iterable[Label]) -> None:
        number = self._texts.number
        for key, value, unit in labels:
            if isinstance(value, str):
                message.label.add(key=number(key), str=number(value))
            else:
                message.label.add(key=number(key), num=value, num_unit=number(unit))

    def _location(self, message: Any, location: Location) -> None:
        if location.mapping is not None:
            message.mapping_id = location.mapping + 1
        message.address = max(location.address - location.is_return, 0)
        self._functions.add_lines(message, location.frames)


def _thread_labels(thread: Thread) -> list[Label]:
    """Labels for what is known of a thread; its numbers have 64 bits with a sign."""
    keys = PID, TID, COMM, THREAD_COMM
    return [
        (key, (each ^ _SIGN) - _SIGN if isinstance(each, int) else each, "")
        for key, each in zip(keys, thread, strict=True)
        if each is not None and each != ""
    ]


def _main_first(profile: Profile) -> list[int]:
    """The indexes of the mappings, that of the program first, as pprof expects.

    The program is the first mapping if that can be one, else the one in most samples.
    """
    indexes = list(range(len(profile.mappings)))
    if not indexes or not _NOT_A_PROGRAM.match(profile.mappings[0].path):
        return indexes
    counts: Counter[int | None] = Counter()
    for stack, samples in Counter(each.stack for each in profile.samples).items():
        mappings = (profile.locations[at].mapping for at in profile.stacks[stack])
        counts.update(dict.fromkeys(mappings, samples))
    paths = [each.path for each in profile.mappings]
    programs = [index for index in indexes if not _NOT_A_PROGRAM.match(paths[index])]
    if programs:
        main = max(programs, key=lambda index: counts[index])
        indexes.remove(main)
        indexes.insert(0, main)
    return indexes


def _merged(samples: list[Sample]) -> Iterable[Sample]:
    """Samples that differ in values and times at most, as one each."""
    first: dict[Any, Sample] = {}
    sums: dict[Any, tuple[int, ...]] = {}
    for sample in samples:
        key = sample.stack, sample.thread, sample.labels
        if key in sums:
            pairs = zip(sums[key], sample.values, strict=True)
            sums[key] = tuple([have + more for have, more in pairs])
        else:
            first[key], sums[key] = sample, sample.values
    for key, sample in first.items():
        yield sample._replace(values=sums[key], time=None)


def symbolize_pprof(
    data: bytes,
    modules: Opening,
    binaries: Binaries | None = None,
    *,
    return_addresses: bool = False,
) -> tuple[bytes, Profile]:
    """A pprof file with symbols; everything else is unchanged.

    Locations with lines keep them; the others get theirs, and their mappings the flags
    for that. Functions and texts are added after the existing ones. Samples, labels,
    comments and unknown fields are not touched.

    Args:
        data: The bytes of the file, no longer compressed.
        modules: Finds modules by the build ids of the mappings.
        binaries: As `symbolize` takes them.
        return_addresses: The addresses of callers are where calls return to, against
            the custom of pprof. A location that some sample was at stays exact.

    Returns:
        The new file, compressed by gzip, and its mappings and locations, which say why
        one has no frames.

    Raises:
        UnsupportedError: The runtime of protobuf is not installed.
    """
    from gsym.profiles.symbolizing import assume_ids, symbolize

    message = decode(data)
    profile = model.Profile()
    places = Places(message, profile)
    profile.losses.clear()  # all stays in the message
    if return_addresses:
        mark_returns(message, places)
    assume_ids(profile, None)
    symbolize(profile, modules, binaries)
    functions = FunctionTable(message, StringTable(message.string_table))
    for location, known in zip(message.location, profile.locations, strict=True):
        if known.frames and not location.line:
            functions.add_lines(location, known.frames)
            location.is_folded = False
    return compressed(message), profile
