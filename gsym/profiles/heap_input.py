"""Profiles of jemalloc, gperftools and Go as text, and gperftools' of the CPU.

A heap profile is a line with its kind and rate, then for each stack the objects and
bytes in use, those ever allocated, and the addresses; then the mappings of the process,
as in /proc/PID/maps. Addresses are where calls return to.

    heap profile: 29: 4096 [40: 8192] @ heapprofile      heap_v2/524288
    29: 4096 [40: 8192] @ 0x401110 0x401220              @ 0x401110 0x401220
                                                           t*: 29: 4096 [40: 8192]

Where each object is sampled with a probability by its size, the numbers are what these
samples stand for: 1 / (1 - exp(-size / rate)) of each, as jeprof and pprof compute it.

Go's profiles of goroutines and threads have counts, those of waiting cycles and counts:

    goroutine profile: total 3     --- contention:
    3 @ 0x401110 0x401220          cycles/second=2299998677
                                   236247636 46 @ 0x401110 0x401220

A profile of the CPU has words of the machine: a head, samples with their stacks, and
the mappings as text.

Source: github.com/google/pprof, profile/legacy_profile.go; jemalloc, bin/jeprof.in.
"""

from __future__ import annotations

import os
import re
import struct
from contextlib import suppress
from functools import cache
from math import exp

from gsym.errors import FormatError
from gsym.garbage_collection import no_garbage_collection
from gsym.lazy import json, regex
from gsym.modules.maps import DELETED, read_maps
from gsym.profiles import model
from gsym.profiles.binaries import module_at
from gsym.profiles.input_bytes import lines_of, read_inflated, read_pieces
from gsym.profiles.json_input import text_of
from gsym.profiles.recognition import (
    GO_COUNTS,
    GO_HEAP,
    GO_WAITS,
    JEMALLOC_HEAP,
    word_layout,
)
from gsym.ranges import AddressRanges

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gsym.modules.maps import Mapping as Mapped
    from gsym.profiles.opening import ProfileOptions

_COUNTS = (
    r"(?P<objects>\d{1,19}): +(?P<bytes>\d{1,19}) "
    r"\[ *(?P<all_objects>\d{1,19}): +(?P<all_bytes>\d{1,19})\]"
)
_ADDRESS_LIST = r"@(?P<addresses>(?: 0x[0-9a-f]{1,16})*)\s*"
_STACK = regex(rf"\s*{_COUNTS} {_ADDRESS_LIST}", re.ASCII)
_ADDRESSES = regex(_ADDRESS_LIST, re.ASCII)
_THREAD = regex(
    rf"\s+t(?P<thread>\*|\d{{1,10}}): {_COUNTS}(?: (?P<name>.*))?", re.ASCII
)
# Go prints the functions of a stack below it, by the addresses of the calls.
_NAME = regex(
    r"#\t0x(?P<address>[0-9a-f]{1,16})\t(?P<name>.*)\+0x[0-9a-f]+\s+"
    r"(?P<path>\S.*):(?P<line>\d{1,9})$",
    re.ASCII,
)
_COUNTED = regex(rf"(?P<count>\d{{1,18}}) {_ADDRESS_LIST}", re.ASCII)
_WAITED = regex(
    rf"\s*(?P<cycles>\d{{1,18}}) +(?P<count>\d{{1,18}}) {_ADDRESS_LIST}", re.ASCII
)
_SETTING = regex(
    r"(?P<name>cycles/second|sampling period) *= *(?P<number>\d{1,18})", re.ASCII
)
_LABELS = "# labels: "
_VALUES = (
    model.ValueType("alloc_objects", "count"),
    model.ValueType("alloc_space", "bytes"),
    model.ValueType("inuse_objects", "count"),
    model.ValueType("inuse_space", "bytes"),
)
_WAITS = (
    model.ValueType("contentions", "count"),
    model.ValueType("delay", "nanoseconds"),
)
_CPU = model.ValueType("cpu", "nanoseconds")
_SECOND = 1_000_000_000
_MICROSECOND = 1000
_new = tuple.__new__  # a named tuple without the handling of its arguments


@no_garbage_collection()
def read_heap(path: str, options: ProfileOptions) -> model.Profile:
    """The profile in a text: of a heap, of goroutines, threads, or waiting."""
    lines = iter(lines_of(read_pieces(path, options.most_bytes)))
    head = next(lines, "")
    counts = GO_COUNTS.match(head)
    if counts is not None:
        kind = model.ValueType(counts["kind"], "count")
        reader: _Stacks = _Go((kind,), _COUNTED)
    elif GO_WAITS.match(head):
        reader = _Go(_WAITS, _WAITED)
    else:
        reader = _Heap(_rate(head))
    for line in lines:
        reader.add(line)
    reader.finish(os.stat(path).st_mtime)
    return reader.builder.profile


def _rate(head: str) -> int:
    """The bytes between two samples of a heap; 0 if all objects are counted."""
    go, jemalloc = GO_HEAP.match(head), JEMALLOC_HEAP.match(head)
    if jemalloc is not None:
        return int(jemalloc["rate"])
    if go is None:
        raise FormatError("not a heap profile")
    # Go writes twice the rate.
    return int(go["rate"] or 0) // (1 if go["kind"].endswith("_v2") else 2)


class _Stacks:
    """Takes the lines of a text of stacks."""

    def __init__(
        self, types: tuple[model.ValueType, ...], form: re.Pattern[str]
    ) -> None:
        self.builder = model.ProfileBuilder(types)
        self._form = form
        self._stack: tuple[int, ...] = ()
        self._locations: dict[str, int] = {}  # by their addresses as text
        self._maps: list[str] = []
        self._names: dict[int, list[model.Frame]] = {}
        self._is_in_maps = False

    def add(self, line: str) -> None:
        """Take a line after the first."""
        if not self._is_in_maps and self._take(line):
            return
        if line.strip() == "MAPPED_LIBRARIES:":
            self._is_in_maps = True
        elif self._is_in_maps:
            self._maps.append(line)
        elif found := self._form.fullmatch(line):
            self._begin(found["addresses"])
            self._sample(found, None)
        elif found := _NAME.match(line):
            frame = model.Frame(
                found["name"], path=found["path"], line=int(found["line"])
            )
            self._names.setdefault(int(found["address"], 16), []).append(frame)
        elif line.strip() and not line.startswith("#"):
            self.builder.profile.lose("lines that are not understood")

    def finish(self, recorded: float) -> None:
        """Find the names and mappings of addresses, which the text has after these."""
        addresses = (int(each, 16) for each in self._locations)
        # Names of one address come once for each stack that it is in.
        names = self._names
        callers = (
            (each, True, tuple(dict.fromkeys(names.get(each - 1, ()))))
            for each in addresses
        )
        _add_locations(self.builder, callers, self._maps, recorded)

    def _begin(self, addresses: str) -> None:
        numbers = addresses.split()
        if len(numbers) > model.MOST_FRAMES:
            raise FormatError(f"a stack has more than {model.MOST_FRAMES} frames")
        indexes = self._locations
        self._stack = tuple([indexes.setdefault(n, len(indexes)) for n in numbers])

    def _sample(self, found: re.Match[str], thread: int | None) -> None:
        stack = self.builder.stack(self._stack)
        self.builder.sample(stack, tuple(self._values(found)), thread=thread)

    def _values(self, found: re.Match[str]) -> Sequence[int]:
        """The values of the line of a stack."""
        raise NotImplementedError

    def _take(self, line: str) -> bool:
        """Take a line that only this kind of texts has; False if it is not known."""
        raise NotImplementedError


class _Heap(_Stacks):
    """Takes the lines of a heap profile.

    Args:
        rate: The bytes between two samples; 0 if all objects are counted.
    """

    def __init__(self, rate: int) -> None:
        super().__init__(_VALUES, _STACK)
        self._rate = rate
        self._whole: re.Match[str] | None = None  # of all threads, for a stack

        @cache
        def thread(number: str, name: str) -> int:
            return self.builder.thread(model.Thread(None, int(number), "", name))

        self._thread = thread

    def finish(self, recorded: float) -> None:
        self._end_stack()
        super().finish(recorded)

    def _begin(self, addresses: str) -> None:
        self._end_stack()
        super()._begin(addresses)

    def _take(self, line: str) -> bool:
        if found := _ADDRESSES.fullmatch(line):
            self._begin(found["addresses"])
        elif found := _THREAD.fullmatch(line):
            self._of_thread(found)
        return found is not None

    def _of_thread(self, found: re.Match[str]) -> None:
        """Numbers of one thread, or of all before them."""
        if not self._stack:
            return  # sums of the whole profile
        if found["thread"] == "*":
            self._whole = found
        else:
            self._whole = None
            self._sample(found, self._thread(found["thread"], found["name"] or ""))

    def _end_stack(self) -> None:
        if self._whole is not None:
            self._sample(self._whole, None)
        self._whole = None

    def _values(self, found: re.Match[str]) -> Sequence[int]:
        made: list[int] = []
        for pair in (("all_objects", "all_bytes"), ("objects", "bytes")):
            objects, size = map(int, found.group(*pair))
            if objects and size and self._rate > 1:
                # What sampled objects stand for, by their mean size.
                share = 1 - exp(-size / objects / self._rate)
                objects, size = int(objects / share), int(size / share)
            made += objects, size
        return made


class _Go(_Stacks):
    """Takes the lines of a profile of Go: of counts, or of waiting with its cycles."""

    def __init__(
        self, types: tuple[model.ValueType, ...], form: re.Pattern[str]
    ) -> None:
        super().__init__(types, form)
        self._settings = {"cycles/second": _SECOND, "sampling period": 1}

    def _take(self, line: str) -> bool:
        """Take a setting, or the labels of the goroutines of a stack."""
        samples = self.builder.profile.samples
        if found := _SETTING.match(line):
            self._settings[found["name"]] = int(found["number"]) or 1
            return True
        if not line.startswith(_LABELS) or not samples:
            return False
        with suppress(ValueError, AttributeError, RecursionError):
            labels = json.loads(line.removeprefix(_LABELS)).items()
            texts = ((key, text_of(value), "") for key, value in labels)
            samples[-1] = samples[-1]._replace(labels=tuple(texts))
        return True

    def _values(self, found: re.Match[str]) -> Sequence[int]:
        rate, period = self._settings.values()
        *cycles, count = (int(each) * period for each in found.groups()[:-1])
        return count, *(each * _SECOND // rate for each in cycles)


def _add_locations(
    builder: model.ProfileBuilder,
    found: Iterable[tuple[int, bool, tuple[model.Frame, ...]]],
    maps: Iterable[str],
    recorded: float,
) -> None:
    """Add locations in the mappings that lines of /proc/PID/maps tell of.

    *found* has their addresses, whether these are of callers, and names.
    """
    mappings = read_maps("\n".join(map(str.lstrip, maps)))
    code = [each for each in mappings if each.is_executable and each.path]
    ranges = AddressRanges((each.start, each.end, each) for each in code)
    indexes: dict[Mapped | None, int | None] = {None: None}
    locations = builder.profile.locations
    for address, is_return, frames in found:
        mapped = ranges.find(address - is_return)
        if mapped is not None and mapped not in indexes:
            path = mapped.path.removesuffix(DELETED)
            module = module_at(path, {}, recorded=recorded, inode=mapped.inode)
            mapping = model.Mapping(mapped.start, mapped.end, None, mapped.offset, path)
            made = mapping._replace(**module._asdict())
            indexes[mapped] = builder.mapping(made)
        fields = address, indexes[mapped], is_return, frames, "", False, ""
        locations.append(_new(model.Location, fields))


def read_cpu_words(path: str, options: ProfileOptions) -> model.Profile:
    """The profile of the CPU that gperftools writes."""
    data = read_inflated(path, options.most_bytes)
    layout = word_layout(data)
    if layout is None:
        raise FormatError("not a CPU profile of gperftools")
    size = struct.calcsize(layout)
    count = len(data) // size
    words = struct.unpack_from(f"{layout[0]}{count}{layout[1]}", data)
    builder = model.ProfileBuilder((model.SAMPLES, _CPU))
    indexes: dict[tuple[int, bool, tuple[model.Frame, ...]], int] = {}
    period = words[3] * _MICROSECOND
    at = 2 + words[1]
    while at + 2 < count:
        times, depth = words[at : at + 2]
        stack = words[at + 2 : at + 2 + depth]
        at += 2 + depth
        if stack == (0,) and not times:
            break
        if len(stack) < depth or depth > model.MOST_FRAMES:
            reason = f"a stack of {depth} addresses, where {len(stack)} are left"
            raise FormatError(reason, offset=(at - depth) * size)
        # Some unwinders repeat the first address as a call.
        if len(stack) > 1 and stack[0] == stack[1]:
            stack = stack[1:]
        locations = [
            indexes.setdefault((address, depth > 0, ()), len(indexes))
            for depth, address in enumerate(stack)
        ]
        builder.sample(builder.stack(locations), (times, times * period))
    else:
        builder.profile.lose("ends of a profile that was not finished")
    profile = builder.profile
    profile.period, profile.period_type = period, _CPU
    maps = data[at * size :].decode("utf-8", "replace").splitlines()
    _add_locations(builder, indexes, maps, os.stat(path).st_mtime)
    return profile
