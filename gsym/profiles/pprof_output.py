"""`Profile` -> pprof.

Return addresses are written minus 1, as by all writers of pprof: readers look up
addresses unchanged.

Source: github.com/google/pprof, proto/profile.proto.
"""

from __future__ import annotations

import zlib
from collections import Counter

from gsym.errors import GsymError
from gsym.patterns import regex
from gsym.profiles import pprof
from gsym.profiles.model import Profile, id_text

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from gsym.profiles.binaries import Binaries
    from gsym.profiles.model import Frame, Location, Sample, Thread, ValueType
    from gsym.profiles.symbolizing import Opening

    Label = tuple[str, str | int, str]


class StringTable:
    """The string table of a message, which may have texts already.

    Args:
        message: A `Profile` message of pprof; it gets the empty text, which comes first
            in all of them.
    """

    def __init__(self, message: Any) -> None:
        self._table = message.string_table
        if not self._table:
            self._table.append(b"")
        self._numbers: dict[bytes, int] = {}
        for number, text in enumerate(self._table):
            self._numbers.setdefault(text, number)

    def number(self, text: str) -> int:
        """The index of a text, which is added if it is new."""
        encoded = text.encode("utf-8", "replace")
        found = self._numbers.get(encoded)
        if found is None:
            found = self._numbers[encoded] = len(self._table)
            self._table.append(encoded)
        return found


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
        mapping = self._mapping(location.mapping_id) if frames else None
        if mapping is not None:
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
            name, system_name, path = key
            self._message.function.add(
                id=found, name=name, system_name=system_name, filename=path
            )
        return found

    def _mapping(self, number: int) -> Any:
        if self._mappings is None:
            self._mappings = {each.id: each for each in self._message.mapping}
        return self._mappings.get(number)


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
    message = pprof.new_profile()
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
        self._texts = StringTable(message)
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
            self._labels(message, ((pprof.TIMESTAMP, sample.time, ""),))
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
    keys = pprof.PID, pprof.TID, pprof.COMM, pprof.THREAD_COMM
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
    programs = [
        index
        for index in indexes
        if not _NOT_A_PROGRAM.match(profile.mappings[index].path)
    ]
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
    path: str | None = None,
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
        path: Where the bytes come from, for errors.

    Returns:
        The new file, compressed by gzip, and its mappings and locations, which say why
        one has no frames.

    Raises:
        UnsupportedError: The runtime of protobuf is not installed.
    """
    from gsym.profiles.symbolizing import assume_ids, symbolize

    message = pprof.decode(data, path)
    places = pprof.Places(message, path)
    profile = Profile()
    profile.mappings, profile.locations = places.mappings, places.locations
    if return_addresses:
        for index in pprof.return_locations(message, places):
            returned = places.locations[index]._replace(is_return=True)
            places.locations[index] = returned
    assume_ids(profile, None)
    symbolize(profile, modules, binaries)
    functions = FunctionTable(message, StringTable(message))
    for location, known in zip(message.location, profile.locations, strict=True):
        if known.frames and not location.line:
            functions.add_lines(location, known.frames)
            location.is_folded = False
    return compressed(message), profile
