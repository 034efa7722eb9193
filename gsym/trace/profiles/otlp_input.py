"""Profiles of OpenTelemetry -> `Profile`.

OpenTelemetry's eBPF profiler gives link-time addresses, with those of callers one lower
than where calls return to, so that all are exact here; a mapping starts at the
link-time address of its first byte, too. A mapping at an address where only a loader
puts code is one in memory.

Source: docs of `gsym.trace.profiles.otlp`; opentelemetry-ebpf-profiler,
processmanager/manager.go and processinfo.go.
"""

from __future__ import annotations

from gsym.errors import FormatError
from gsym.trace.profiles.building import ProfileBuilder
from gsym.trace.profiles.input_bytes import MOST_BYTES, read_inflated
from gsym.trace.profiles.model import Thread
from gsym.trace.profiles.otlp import decode
from gsym.trace.profiles.otlp_places import Dictionary

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator
    from typing import Any

    from gsym.trace.profiles.model import Profile, ValueType
    from gsym.trace.profiles.otlp_places import Attribute

# Attributes of the semantic conventions that say whose sample it is.
_PROCESS, _THREAD = "process.pid", "thread.id"
_PROCESS_NAME, _THREAD_NAME = "process.executable.name", "thread.name"
_MOST_TYPES = 32


def read_otlp(path: str | os.PathLike[str], *, most_bytes: int = MOST_BYTES) -> Profile:
    """All profiles in a file with a `ProfilesData` message, as one.

    Args:
        path: The file, compressed by gzip or zstd, or not. A request to export profiles
            is the same message.
        most_bytes: How large it may be, inflated.

    Returns:
        A profile whose value types are those of all. Times count from 1970 on.

    Raises:
        FormatError: It is damaged: no such message, an index that leads nowhere, more
            types of values than there can be, or larger than *most_bytes*.
        OSError: It cannot be read.
        UnsupportedError: It is of a layout that is not read, or the runtime of protobuf
            is not installed.
    """
    data, name = read_inflated(path, most_bytes)
    return profile_of(decode(data, name), name)


def profile_of(message: Any, path: str | None = None) -> Profile:
    """Likewise, of a message.

    Raises:
        FormatError: An index leads nowhere, or there are too many types of values.
    """
    reader = _Reader(message, path)
    for resource in message.resource_profiles:
        attributes = reader.attributes_of(resource.resource)
        for scope in resource.scope_profiles:
            for profile in scope.profiles:
                reader.take(profile, attributes)
    return reader.finish()


class _Reader:
    """Takes one profile after the other in."""

    def __init__(self, message: Any, path: str | None) -> None:
        self._builder = ProfileBuilder(())
        self._profile = self._builder.profile
        self._dictionary = Dictionary(message.dictionary, self._profile, path)
        self._path = path
        self._types: dict[ValueType, int] = {}
        self._columns: list[int] = []  # the type of each sample

    def attributes_of(self, resource: Any) -> tuple[Attribute, ...]:
        """The attributes that all samples of a resource share."""
        found: list[Attribute] = []
        for each in resource.attributes:
            value = self._dictionary.value(each.value)
            key = bytes(each.key).decode("utf-8", "replace")
            if each.key_strindex:
                key = self._dictionary.text(each.key_strindex)
            if value is None:
                self._builder.lose("attributes that are lists")
            else:
                found.append((key, value, ""))
        return tuple(found)

    def take(self, message: Any, shared: tuple[Attribute, ...]) -> None:
        """Take the samples of a profile in, and what it says of all of them."""
        profile = self._profile
        value_type = self._dictionary.value_type(message.sample_type)
        column = self._types.setdefault(value_type, len(self._types))
        if column == _MOST_TYPES:
            reason = f"its samples have more than {_MOST_TYPES} types of values"
            raise FormatError(reason, path=self._path)
        starts = [time for time in (profile.start_time, message.time_unix_nano) if time]
        profile.start_time = min(starts, default=0)
        profile.duration = max(profile.duration, message.duration_nano)
        if message.period and profile.period_type is None:
            profile.period = message.period
            profile.period_type = self._dictionary.value_type(message.period_type)
        if message.original_payload:
            self._builder.lose("original payloads")
        known: dict[tuple[int, ...], tuple[int | None, tuple[Attribute, ...]]] = {}
        for sample in message.samples:
            key = tuple(sample.attribute_indices)
            if key not in known:
                known[key] = self._split((*shared, *self._attributes(key)))
            thread, labels = known[key]
            labels += self._dictionary.link(sample.link_index)
            stack = self._dictionary.stack(sample.stack_index)
            for value, time in self._points(sample):
                self._builder.sample(
                    stack, (value,), thread=thread, time=time, labels=labels
                )
                self._columns.append(column)

    def finish(self) -> Profile:
        """The profile, with a value of each type in every sample."""
        profile, count = self._profile, len(self._types)
        profile.value_types = tuple(self._types)
        if count > 1:
            pairs = zip(profile.samples, self._columns, strict=True)
            for index, (sample, column) in enumerate(pairs):
                values = [0] * count
                (values[column],) = sample.values
                profile.samples[index] = sample._replace(values=tuple(values))
        return profile

    def _attributes(self, indexes: Iterable[int]) -> Iterator[Attribute]:
        for index in indexes:
            found = self._dictionary.attribute(index)
            if found is None:
                self._builder.lose("attributes that are lists")
            else:
                yield found

    def _split(
        self, attributes: tuple[Attribute, ...]
    ) -> tuple[int | None, tuple[Attribute, ...]]:
        """The thread that attributes name, and those that say something else."""
        numbers: dict[str, int] = {}
        names: dict[str, str] = {}
        labels = []
        for attribute in attributes:
            key, value, _ = attribute
            if key in {_PROCESS, _THREAD} and isinstance(value, int):
                numbers[key] = value
            elif key in {_PROCESS_NAME, _THREAD_NAME} and isinstance(value, str):
                names[key] = value
            else:
                labels.append(attribute)
        if not numbers:
            labels += [(key, name, "") for key, name in names.items()]
            return None, tuple(labels)
        thread = Thread(
            numbers.get(_PROCESS, 0),
            numbers.get(_THREAD, 0),
            names.get(_PROCESS_NAME, ""),
            names.get(_THREAD_NAME, ""),
        )
        return self._builder.thread(thread), tuple(labels)

    def _points(self, sample: Any) -> Iterable[tuple[int, int | None]]:
        """Values and times of a sample that was seen more than once."""
        values, times = list(sample.values), list(sample.timestamps_unix_nano)
        if not times:
            return [(sum(values), None)]
        if len(values) == len(times):
            return zip(values, times, strict=True)
        if values in ([], [1]):  # the eBPF profiler once wrote a single 1
            return [(1, time) for time in times]
        self._builder.lose("times without a value of their own", len(times))
        return [(sum(values), None)]
