"""A Fuchsia trace -> a profile: of its samples or, without any, of its durations.

Each provider numbers the modules of each process on its own. Modules and mappings may
come after the samples in the file; if they overlap, the time of a sample decides which
one applies. The innermost address of a backtrace is exact; the others are return
addresses.

A duration is a function: its category stands for its module, and arguments `file` and
`line` for its place in the source.

Specification: Fuchsia trace format, "Profiler record".
"""

from __future__ import annotations

from functools import cache

from gsym.fxt.objects import PROCESS, THREAD, Objects
from gsym.fxt.records import Backtrace, Event, Mmap, Module, Record, begins_trace
from gsym.profiles import model
from gsym.profiles.durations import DurationStacks
from gsym.ranges import AddressRanges

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from gsym.fxt.reader import Trace
    from gsym.profiles.model import Profile
    from gsym.profiles.opening import ProfileOptions

    Reading = Callable[[tuple[str, ...]], Iterable[Record]]
    _Space = tuple[int | None, int]  # a provider and a process

# Of `gsym.fxt.decoder.KINDS`: the records that a profile is made of.
SAMPLE_KINDS = ("module", "mmap", "backtrace")
PROFILER_KINDS = ("trace_info", "kernel_object", *SAMPLE_KINDS)
DURATION_KINDS = (
    *("trace_info", "kernel_object"),
    *("duration_begin", "duration_end", "duration_complete"),
)

_HEX_DIGITS = frozenset(b"0123456789abcdefABCDEF")
_SMALLEST_TEXT_ID = 32  # digits of a build id that is written as text


def fxt_profile(read: Reading, *, takes_durations: bool = True) -> Profile:
    """The profile of a trace that can be read several times.

    Args:
        read: The records of some kinds, in the order of the trace.
        takes_durations: Whether a trace without samples has a profile of durations.
    """
    samples = read_fxt_samples(read(PROFILER_KINDS))
    if samples.samples or not takes_durations:
        return samples
    durations = read_fxt_durations(read(DURATION_KINDS))
    return durations if durations.samples else samples


def read_fxt_file(path: str, _options: ProfileOptions) -> Profile:
    """The profile of a trace file; damaged records are among the losses."""
    from gsym.fxt.reader import open_trace

    opened = []

    def read(kinds: tuple[str, ...]) -> Trace:
        opened.append(open_trace(path, kinds=kinds))
        return opened[-1]

    profile = fxt_profile(read)
    if opened[-1].problems:
        profile.losses["damaged records of the trace"] = len(opened[-1].problems)
    return profile


def read_fxt_samples(records: Iterable[Record]) -> Profile:
    """The profile of all backtraces of a trace; other records are ignored.

    Returns:
        Samples that count 1 each. Its losses have what could not be used: mappings of
            modules that are not named, modules with the number of another at that
            time, mappings that are later than samples in them.
    """
    return _profile_of(records, model.ProfileBuilder(), _Samples)


def read_fxt_durations(records: Iterable[Record]) -> Profile:
    """The profile of all durations of a trace; other records are ignored."""
    return _profile_of(records, model.ProfileBuilder((model.TIME,)), _Durations)


def _profile_of(
    records: Iterable[Record],
    builder: model.ProfileBuilder,
    kind: type[_Samples | _Durations],
) -> Profile:
    of_trace = kind(builder)
    for record in records:
        if begins_trace(record):  # its providers, processes and times are others
            of_trace.finish()
            of_trace = kind(builder)
        of_trace.add(record)
    of_trace.finish()
    return builder.profile


class _Samples:
    """The samples of one trace, which are added to a profile at its end."""

    def __init__(self, builder: model.ProfileBuilder) -> None:
        self._builder = builder
        self._loaded: dict[_Space, list[Module | Mmap]] = {}
        self._backtraces: list[Backtrace] = []
        self._objects = Objects()

    def add(self, record: Record) -> None:
        """Take a record that concerns samples; others are ignored."""
        if isinstance(record, Backtrace):
            self._backtraces.append(record)
        elif isinstance(record, (Module, Mmap)):
            space = record.provider, record.process
            self._loaded.setdefault(space, []).append(record)
        else:
            self._objects.add(record)

    def finish(self) -> None:
        """Put the samples into the profile, in the order of the file."""
        builder = self._builder
        stack_of = cache(self._stack)  # most come many times
        thread_of = cache(lambda *who: builder.thread(_thread(self._objects, *who)))
        mappings = self._mappings_of_frames()
        for backtrace, found in zip(self._backtraces, mappings, strict=True):
            who = backtrace.provider, backtrace.process, backtrace.thread
            stack = stack_of(backtrace.frames, found)
            builder.sample(stack, thread=thread_of(*who), time=backtrace.ns)

    def _stack(
        self, addresses: tuple[int, ...], mappings: tuple[int | None, ...]
    ) -> int:
        places = enumerate(zip(addresses, mappings, strict=True))
        location = self._builder.location
        return self._builder.stack(
            [location(*place, is_return=depth > 0) for depth, place in places]
        )

    def _mappings_of_frames(self) -> list[tuple[int | None, ...]]:
        """The index of the mapping of each frame of each backtrace."""
        spaces = {
            space: _AddressSpace(self._builder, sorted(loaded, key=_time))
            for space, loaded in self._loaded.items()
        }
        processes = {process for _, process in spaces}
        nothing = _AddressSpace(self._builder, [])
        found: list[tuple[int | None, ...]] = [()] * len(self._backtraces)
        in_order = sorted(enumerate(self._backtraces), key=lambda each: _time(each[1]))
        for number, each in in_order:
            space = spaces.get((each.provider, each.process))
            if space is None:  # as with tables, those before any provider serve all
                space = spaces.get((None, each.process))
            if space is None and each.process in processes:
                self._builder.profile.lose("samples in processes of other providers")
            find, time = (space or nothing).find, _time(each)
            found[number] = tuple([find(address, time) for address in each.frames])
        return found


def _thread(
    objects: Objects, provider: int | None, process: int, thread: int
) -> model.Thread:
    process_name = objects.name_of(process, provider, PROCESS)
    thread_name = objects.name_of(thread, provider, THREAD)
    return model.Thread(process, thread, process_name or "", thread_name or "")


class _AddressSpace:
    """The mappings of a process over time, as recorded by a provider."""

    def __init__(
        self, builder: model.ProfileBuilder, loaded: list[Module | Mmap]
    ) -> None:
        self._builder = builder
        # Time, first address, the one after the last, index of the mapping.
        self._mappings: list[tuple[int, int, int, int]] = []
        pairs = _modules_of_mmaps(builder, loaded)
        lowest: dict[Module, int] = {}
        for mmap, module in pairs:
            lowest[module] = min(lowest.get(module, mmap.vaddr), mmap.vaddr)
        for mmap, module in pairs:
            start, end = mmap.start_address, mmap.start_address + mmap.address_range
            # The trace has no offset in the file; this is correct for a file that is
            # laid out as it is loaded.
            offset = mmap.vaddr - lowest[module]
            build_id, known = model.read_module_id(_hex(module.build_id))
            made = model.Mapping(
                start, end, mmap.vaddr, offset, module.name, build_id, module=known
            )
            row = _time(mmap), start, end, builder.mapping(made)
            self._mappings.append(row)
        self._now: AddressRanges[int] = AddressRanges()
        self._begun = 0
        self._first: AddressRanges[int] = AddressRanges()
        for _, *mapping in reversed(self._mappings):
            self._first.add(*mapping)

    def find(self, address: int, ns: int) -> int | None:
        """The index of the mapping of an address at a time; times must not decrease.

        Some profilers give mappings the time at which they write them: an address that
        no mapping has covered yet is in the first mapping that covers it later.
        """
        while self._begun < len(self._mappings):
            begin, *mapping = self._mappings[self._begun]
            if begin > ns:
                break
            self._now.add(*mapping)
            self._begun += 1
        found = self._now.find(address)
        if found is not None:
            return found
        later = self._first.find(address)
        if later is not None:
            self._builder.profile.lose("mappings that are later than samples in them")
        return later


def _modules_of_mmaps(
    builder: model.ProfileBuilder, loaded: list[Module | Mmap]
) -> list[tuple[Mmap, Module]]:
    """The module of each mapping: the last of its number up to then, or the next."""
    modules: dict[int, Module] = {}
    times: dict[int, int] = {}  # of the last record with a number
    waiting: dict[int, list[int]] = {}
    found: list[tuple[Mmap, Module] | None] = []
    mmaps = [each for each in loaded if isinstance(each, Mmap)]
    for record in loaded:
        number = record.module_id
        known = modules.get(number)
        is_ambiguous = times.get(number) == _time(record)
        times[number] = _time(record)
        if isinstance(record, Mmap):
            if known is None:
                waiting.setdefault(number, []).append(len(found))
            found.append(None if known is None else (record, known))
        elif known is None:
            modules[number] = record
            for index in waiting.pop(number, ()):
                found[index] = (mmaps[index], record)
        elif (known.name, known.build_id) != (record.name, record.build_id):
            modules[number] = record
            if is_ambiguous:  # mappings of this time may mean either of the two
                builder.profile.lose("modules with the number of another at that time")
    for indexes in waiting.values():
        builder.profile.lose("mappings of a module that is not named", len(indexes))
    return [pair for pair in found if pair is not None]


def _time(record: Backtrace | Module | Mmap) -> int:
    return record.ns or 0


def _hex(build_id: bytes) -> str:
    """A build id as digits, which old writers store as text."""
    is_text = len(build_id) >= _SMALLEST_TEXT_ID and not len(build_id) % 2
    if is_text and _HEX_DIGITS.issuperset(build_id):
        return build_id.decode().lower()
    return build_id.hex()


class _Durations:
    """The durations of one trace, which are added to a profile at its end."""

    def __init__(self, builder: model.ProfileBuilder) -> None:
        self._builder = builder
        self._stacks = DurationStacks(builder)
        self._objects = Objects()
        self._function = cache(self._read_function)
        self._threads: dict[tuple[int | None, int, int], int] = {}

    def add(self, record: Record) -> None:
        """Take a record that concerns durations; others are ignored."""
        if not isinstance(record, Event):
            self._objects.add(record)
            return
        if not record.kind.startswith("duration"):
            return
        key = record.provider, record.process, record.thread
        thread = self._threads.get(key)
        if thread is None:
            thread = self._threads[key] = self._builder.thread(model.Thread(*key[1:]))
        time = record.ns or 0
        if record.kind == "duration_end":
            self._stacks.end(thread, time)
        elif record.kind == "duration_begin":
            self._stacks.begin(thread, time, self._location(record))
        else:
            end = record.end_ns or 0
            self._stacks.complete(thread, time, end, self._location(record))

    def finish(self) -> None:
        """Put the samples into the profile, and the names of threads."""
        self._stacks.finish()
        for provider, process, thread in self._threads:
            self._builder.thread(_thread(self._objects, provider, process, thread))

    def _location(self, event: Event) -> int:
        values = {name: value for name, _, value in event.args}
        path, line = values.get("file"), model.line_of(values.get("line"))
        path = path if isinstance(path, str) else ""
        return self._function(event.name, event.category, path, line)

    def _read_function(self, name: str, category: str, path: str, line: int) -> int:
        frame = model.Frame(name, path=path, line=line)
        return self._builder.function(frame, self._builder.module(category))
