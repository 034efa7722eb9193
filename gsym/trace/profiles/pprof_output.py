"""`Profile` -> pprof.

Where a call returns to is written one lower, as all who write pprof do: those who read
it look an address up as it stands.

Source: github.com/google/pprof, proto/profile.proto.
"""

from __future__ import annotations

import re
import zlib
from collections import Counter

from gsym.errors import GsymError
from gsym.trace.profiles.pprof import new_profile
from gsym.trace.profiles.pprof_input import COMM, PID, THREAD_COMM, TID, TIMESTAMP
from gsym.trace.profiles.pprof_tables import FunctionTable, StringTable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from gsym.trace.profiles.model import Location, Mapping, Profile, Sample, ValueType

    Label = tuple[str, str | int, str]

_GZIP_WINDOW = 31  # of the zlib module: the largest one, with a header without a time
_SIGN = 1 << 63
# The kernel, code without a file, and libraries, as pprof itself recognizes them.
_NOT_A_PROGRAM = re.compile(r"\[|//|.*\.so(?:[._]\d+)*$|$")


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
        raise GsymError(f"pprof has no room for this: {error}") from error
    return compressed(message)


def compressed(message: Any) -> bytes:
    """A message as a gzip file, which does not say when it was made."""
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
        threads = [self._thread_labels(each) for each in profile.threads]
        for sample in samples:
            self._sample(message.sample.add(), sample, profile, threads)
        for index in _main_first(profile):
            mapping = profile.mappings[index]
            self._mapping(message.mapping.add(id=index + 1), mapping)
        for index, location in enumerate(profile.locations):
            self._location(message.location.add(id=index + 1), location)
        message.time_nanos = profile.start_time
        message.duration_nanos = profile.duration
        if profile.period_type is not None:
            self._value_type(message.period_type, profile.period_type)
        message.period = profile.period
        message.comment.extend(map(self._texts.number, profile.comments))

    def _value_type(self, message: Any, value_type: ValueType) -> None:
        message.SetInParent()
        message.type, message.unit = map(self._texts.number, value_type)

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

    @staticmethod
    def _thread_labels(thread: Any) -> list[Label]:
        labels: list[Label] = [(PID, _signed(thread.process), "")]
        if thread.thread:
            labels.append((TID, _signed(thread.thread), ""))
        names = (COMM, thread.process_name), (THREAD_COMM, thread.thread_name)
        return labels + [(key, name, "") for key, name in names if name]

    def _mapping(self, message: Any, mapping: Mapping) -> None:
        message.memory_start = mapping.start
        message.memory_limit = mapping.limit
        message.file_offset = mapping.file_offset
        message.filename = self._texts.number(mapping.path)
        message.build_id = self._texts.number(mapping.build_id)

    def _location(self, message: Any, location: Location) -> None:
        if location.mapping is not None:
            message.mapping_id = location.mapping + 1
        message.address = max(location.address - location.is_return, 0)
        self._functions.add_lines(message, location.frames)


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


def _signed(number: int) -> int:
    """A number of 64 bits, as pprof has those of labels."""
    return (number ^ _SIGN) - _SIGN if number < _SIGN << 1 else number


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
