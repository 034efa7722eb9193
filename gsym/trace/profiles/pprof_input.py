"""pprof -> `Profile`.

Locations are taken for exact addresses, also those of callers: pprof looks up an
address as it stands, so that those who write profiles leave return addresses one lower
(Go's runtime, perf_to_profile, and pprof itself for what gperftools writes).

Source: github.com/google/pprof, proto/profile.proto; its profile/legacy_profile.go and
internal/symbolizer; google/perf_data_converter, src/perf_data_converter.cc.
"""

from __future__ import annotations

from gsym.errors import FormatError
from gsym.trace.profiles.input_bytes import MOST_BYTES, read_inflated
from gsym.trace.profiles.model import (
    MOST_FRAMES,
    Frame,
    Location,
    Mapping,
    ProfileBuilder,
    Thread,
    ValueType,
)
from gsym.trace.profiles.pprof import decode

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Iterable
    from typing import Any

    from gsym.trace.profiles.model import Profile

    _Label = tuple[int, int, int, int]
    _Description = tuple[int | None, tuple[tuple[str, str | int, str], ...]]


_HEXADECIMAL = frozenset("0123456789abcdef")


class Places:
    """What the samples of a message point at, in the order of the message.

    Args:
        message: A `Profile` message of pprof.
        path: Where it comes from, for errors.

    Attributes:
        mappings: All of them; none knows its link-time address.
        locations: All of them, with the frames of their lines.
        losses: What could not be taken over, and how often.

    Raises:
        FormatError: An index leads nowhere, or an id is 0 or comes twice.
    """

    def __init__(self, message: Any, path: str | None) -> None:
        self._path = path
        self.losses: dict[str, int] = {}
        table: list[bytes] = list(message.string_table)
        texts = [text.decode("utf-8", "replace") for text in table]
        if texts and texts[0]:
            raise self._error("the first text of its string table is not empty")
        self._texts = texts or [""]
        mappings = self._numbered("mapping", message.mapping)
        functions = self._numbered("function", message.function)
        self._locations = self._numbered("location", message.location)
        self.mappings = [self._mapping(each) for each in message.mapping]
        names = [self._function(each) for each in message.function]
        self.locations = [
            self._location(each, mappings, functions, names)
            for each in message.location
        ]

    def text(self, index: int) -> str:
        """A text of the string table.

        Raises:
            FormatError: There is none of this index.
        """
        if not 0 <= index < len(self._texts):
            count = len(self._texts)
            raise self._error(f"there is no text {index} among the {count} it has")
        return self._texts[index]

    def numbers_of(self, text: str) -> frozenset[int]:
        """The indexes at which a text stands in the string table."""
        pairs = enumerate(self._texts)
        return frozenset(index for index, each in pairs if each == text)

    def value_type(self, message: Any) -> ValueType:
        """What a `ValueType` message says."""
        return ValueType(self.text(message.type), self.text(message.unit))

    def stack(self, sample: Any) -> tuple[int, ...]:
        """The indexes of the locations of a sample, innermost first.

        Raises:
            FormatError: It has a location that there is not, or more than can be.
        """
        if len(sample.location_id) > MOST_FRAMES:
            raise self._error(f"a stack has more than {MOST_FRAMES} locations")
        try:
            return tuple([self._locations[each] for each in sample.location_id])
        except KeyError as error:
            raise self._error(f"a sample has location {error}: there is none") from None

    def _numbered(self, kind: str, messages: Iterable[Any]) -> dict[int, int]:
        """Indexes of messages by their ids."""
        found: dict[int, int] = {}
        for index, message in enumerate(messages):
            if message.id == 0 or message.id in found:
                fault = "comes twice" if message.id else "is no id"
                raise self._error(f"{kind} {index} has id {message.id}, which {fault}")
            found[message.id] = index
        return found

    def _mapping(self, message: Any) -> Mapping:
        build_id = self.text(message.build_id).lower()
        if not _HEXADECIMAL.issuperset(build_id):
            self._lose("build ids that are no hexadecimal digits")
            build_id = ""
        return Mapping(
            message.memory_start,
            message.memory_limit,
            None,
            message.file_offset,
            self.text(message.filename),
            build_id,
        )

    def _function(self, message: Any) -> tuple[str, str, str]:
        if message.start_line:
            self._lose("lines at which functions start")
        texts = message.name, message.system_name, message.filename
        name, system_name, path = map(self.text, texts)
        return name, system_name, path

    def _location(
        self,
        message: Any,
        mappings: dict[int, int],
        functions: dict[int, int],
        names: list[tuple[str, str, str]],
    ) -> Location:
        mapping = self._index("mapping", mappings, message.mapping_id)
        frames = []
        for line in message.line:
            function = self._index("function", functions, line.function_id)
            texts = ("", "", "") if function is None else names[function]
            frames.append(Frame(*texts, line.line))
            if line.column:
                self._lose("columns of lines")
        return Location(message.address, mapping, frames=tuple(frames))

    def _index(self, kind: str, numbers: dict[int, int], number: int) -> int | None:
        """The index that an id stands for; None for no id."""
        if number == 0:
            return None
        if number not in numbers:
            raise self._error(f"a location has {kind} {number}: there is none")
        return numbers[number]

    def _lose(self, kind: str) -> None:
        self.losses[kind] = self.losses.get(kind, 0) + 1

    def _error(self, reason: str) -> FormatError:
        return FormatError(reason, path=self._path)


def return_locations(message: Any, places: Places) -> list[int]:
    """The indexes of locations that calls return to: those that no sample was at."""
    stacks = [places.stack(sample) for sample in message.sample]
    leaves = {stack[0] for stack in stacks if stack}
    return [index for index in range(len(places.locations)) if index not in leaves]


# Labels that say whose a sample is and when it was taken, as perf_to_profile has them.
PID, TID = "pid", "tid"
COMM, THREAD_COMM = "comm", "thread_comm"
TIMESTAMP = "timestamp_ns"

_UNSIGNED = (1 << 64) - 1
_MOST_KNOWN = 1 << 14  # sets of labels of which it is remembered what they say


def read_pprof(
    path: str | os.PathLike[str],
    *,
    return_addresses: bool = False,
    most_bytes: int = MOST_BYTES,
) -> Profile:
    """The profile in a file of pprof.

    Args:
        path: A file with a `Profile` message, compressed by gzip or not.
        return_addresses: The addresses of callers are where calls return to, against
            the custom of pprof.
        most_bytes: How large it may be, inflated.

    Raises:
        FormatError: It is damaged: no such message, an index that leads nowhere, an id
            that comes twice, a sample with more or fewer values than the profile has
            types, or larger than *most_bytes*.
        OSError: It cannot be read.
        UnsupportedError: The runtime of protobuf is not installed.
    """
    data, name = read_inflated(path, most_bytes)
    return profile_of(decode(data, name), name, return_addresses=return_addresses)


def profile_of(
    message: Any, path: str | None = None, *, return_addresses: bool = False
) -> Profile:
    """The profile that a `Profile` message holds.

    Raises:
        FormatError: As `read_pprof` says.
    """
    places = Places(message, path)
    reader = _SampleReader(message, places, path)
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
        profile.period_type = places.value_type(message.period_type)
    profile.comments.extend(map(places.text, message.comment))
    profile.losses.update(places.losses)
    for sample in message.sample:
        reader.take(sample)
    return profile


class _SampleReader:
    """Takes samples over, with those of their labels that the model has fields for."""

    def __init__(self, message: Any, places: Places, path: str | None) -> None:
        types = tuple(map(places.value_type, message.sample_type))
        if message.sample and not types:
            raise FormatError("it says not what its samples count", path=path)
        self.builder = ProfileBuilder(types)
        for kept in ("drop_frames", "keep_frames", "default_sample_type"):
            if getattr(message, kept):
                self.builder.lose(kept)
        self._types: tuple[ValueType, ...] = types
        self._time_keys = places.numbers_of(TIMESTAMP)
        self._known: dict[tuple[_Label, ...], _Description] = {}
        self._places = places
        self._path = path

    def take(self, sample: Any) -> None:
        """Take a sample in."""
        values = tuple(sample.value)
        if len(values) != len(self._types):
            reason = f"a sample has {len(values)} values, not {len(self._types)}"
            raise FormatError(reason, path=self._path)
        stack = self.builder.stack(self._places.stack(sample))
        time: int | None = None
        numbers: list[_Label] = []
        for label in sample.label:
            found = label.key, label.str, label.num, label.num_unit
            if time is None and self._is_time(found):
                time = label.num
            else:
                numbers.append(found)
        thread, labels = self._describe(tuple(numbers))
        self.builder.sample(stack, values, thread=thread, time=time, labels=labels)

    def _is_time(self, label: _Label) -> bool:
        key, text, _, unit = label
        return key in self._time_keys and not text and not unit

    def _describe(self, numbers: tuple[_Label, ...]) -> _Description:
        """The thread that labels tell, and the others among them."""
        found = self._known.get(numbers)
        if found is None:
            labels = [self._label(*each) for each in numbers]
            thread = self._thread(labels)
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            found = self._known[numbers] = thread, tuple(labels)
        return found

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
        process, thread = _pop(labels, PID, int), _pop(labels, TID, int)
        if process is None and thread is None:
            return None
        return self.builder.thread(
            Thread(
                (process or 0) & _UNSIGNED,
                (thread or 0) & _UNSIGNED,
                _pop(labels, COMM, str) or "",
                _pop(labels, THREAD_COMM, str) or "",
            )
        )


def _pop(labels: list[tuple[str, str | int, str]], key: str, kind: type) -> Any:
    """The value of the first label of a key, which is taken out; None without one."""
    for index, (name, value, unit) in enumerate(labels):
        if name == key and isinstance(value, kind) and not unit:
            del labels[index]
            return value
    return None
