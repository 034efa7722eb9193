"""Records of perf -> `Profile`: what its text and its files have in common."""

from __future__ import annotations

from array import array
from collections import Counter
from itertools import repeat

from gsym.engine.demangling import demangle
from gsym.profiles import model
from gsym.profiles.perf_places import ModulePlaces, PerfFacts, is_of_kernel
from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gsym.profiles.model import Profile

    Labels = tuple[tuple[str, str | int, str], ...]

_CLOCKS = frozenset({"cpu-clock", "task-clock"})  # they count nanoseconds
_new = tuple.__new__  # a named tuple without the handling of its arguments
_EVENT, _CPU = "event", "cpu"
_NAMELESS = "events"
_NO_THREAD = -1  # the last of a list


class PerfMapping(NamedTuple):
    """A part of a file that a process mapped."""

    process: int  # its number
    start: int  # the first address
    size: int  # in bytes
    file_offset: int  # of the first byte
    path: str  # of the file
    build_id: str = ""  # in hexadecimal digits; "" if perf does not know it
    inode: int = 0  # of the file; 0 if perf does not know it

    @property
    def end(self) -> int:
        """The address after the last."""
        return self.start + self.size


class PerfFork(NamedTuple):
    """A new thread; of a new process if the numbers of processes differ."""

    process: int
    parent: int
    thread: int
    parent_thread: int
    has_maps: bool


class PerfCommand(NamedTuple):
    """A thread has a name from now on."""

    process: int
    thread: int
    name: str


class PerfCount(NamedTuple):
    """Event, period and processor of a sample; None: not known."""

    event: str  # its name; "" if unknown
    period: int | None  # the number of events that it represents
    cpu: int | None  # the number of the processor


class PerfReader:
    """Makes a profile of records in the order of their times.

    Samples are kept as columns, since what their values mean is known at the end.
    """

    def __init__(self, facts: PerfFacts | None) -> None:
        self.builder: model.ProfileBuilder = model.ProfileBuilder()
        # finds modules in memory
        self.places: ModulePlaces = ModulePlaces(self.builder, facts)
        self.stacks: array[int] = array("i")  # of each sample, the index in the profile
        # of each sample, the index in the profile; -1: not known
        self.threads: array[int] = array("i")
        # of each sample, the index of its `PerfCount`
        self.counts: array[int] = array("I")
        # indexes of threads in the profile, until one gets another name
        self.known_threads: dict[object, int] = {}
        # Of threads.
        self._commands = {0: "swapper"}
        self.processes: dict[int, int] = {}  # of threads, as records told them

    def add(self, record: PerfMapping | PerfCommand | PerfFork) -> None:
        """Add what is true of memory and threads from now on."""
        if isinstance(record, PerfMapping):
            self.places.load(record)
            self.forget(None if is_of_kernel(record) else record.process)
        elif isinstance(record, PerfCommand):
            self._rename(record.thread, record.name)
            self.processes[record.thread] = record.process
        else:
            self.processes[record.thread] = record.process
            if record.parent_thread in self._commands:
                self._rename(record.thread, self._commands[record.parent_thread])
            if record.process != record.parent:
                parent = record.parent if record.has_maps else None
                self.places.begin(record.process, parent)
                self.forget(record.process)

    def forget(self, process: int | None) -> None:
        """The memory of a process changes; None: that of the kernel, and so of all."""
        raise NotImplementedError

    def thread(self, process: int | None, thread: int | None, command: str) -> int:
        """The index of a thread with the names that it and its process have now."""
        if thread is not None:
            # As perf names a thread whose name is unknown.
            command = command or self._commands.get(thread, f":{thread}")
            self._rename(thread, command)
        name = self._commands.get(process, "") if process is not None else ""
        found = model.Thread(process, thread, name, command)
        return self.builder.thread(found) if found != model.NO_THREAD else _NO_THREAD

    def location(
        self,
        place: tuple[int, int | None],
        frames: tuple[model.Frame, ...],
        *,
        is_exact: bool,
    ) -> int:
        """The index of the location at an address in a mapping.

        Its frames are symbols of perf, which those of a known module replace.
        """
        address, mapping = place
        mappings = self.builder.profile.mappings
        has_id = mapping is not None and bool(mappings[mapping].build_id)
        return self.builder.location(
            address,
            mapping,
            is_return=not is_exact,
            frames=frames,
            is_named_only=bool(frames) and has_id,
        )

    def _rename(self, thread: int, command: str) -> None:
        """A thread has a name from now on, which others may have in theirs."""
        if self._commands.get(thread) != command:
            self._commands[thread] = command
            self.known_threads.clear()

    def finish(
        self, kinds: Sequence[PerfCount], times: Sequence[int | None]
    ) -> Profile:
        """The profile: each event has a value of its own, which counts its periods.

        Args:
            kinds: What samples count, by the indexes of `counts`.
            times: Of the samples, in nanoseconds; None: not known.
        """
        profile = self.builder.profile
        self.places.finish()
        self._name_processes()
        values, labels = self._values(kinds)
        threads: list[int | None] = [*range(len(profile.threads)), None]
        rows = zip(
            self.stacks,
            map(threads.__getitem__, self.threads),
            times,
            map(values.__getitem__, self.counts),
            map(labels.__getitem__, self.counts),
            strict=True,
        )
        profile.samples.extend(map(_new, repeat(model.Sample), rows))
        return profile

    def _values(
        self, kinds: Sequence[PerfCount]
    ) -> tuple[list[tuple[int, ...]], list[Labels]]:
        """Set the types of values; return the values and the labels of each count."""
        profile = self.builder.profile
        samples: Counter[str] = Counter()
        for number, count in Counter(self.counts).items():
            samples[kinds[number].event] += count
        # The event with the most samples comes first, else that of the first sample.
        names = sorted(
            dict.fromkeys(kind.event for kind in kinds), key=lambda name: -samples[name]
        )
        events = [_plain(name) for name in names]
        if len(set(events)) < len(events):
            events = names
        known = {kind.event for kind in kinds if kind.period is not None}
        is_only = len(events) == 1
        types = []
        for name, event in zip(names, events, strict=True):
            unit = "nanoseconds" if event in _CLOCKS else "count"
            unit = unit if name in known else "samples"
            types.append(model.ValueType(event or _NAMELESS, unit))
        if is_only and not known:
            types = []
        profile.value_types = (model.SAMPLES, *types)
        if is_only and not events[0]:
            profile.default_value = 0  # nobody knows what the periods count
        profile.events = () if is_only else tuple(range(1, len(types) + 1))
        places = {name: place for place, name in enumerate(names, 1)}
        values, labels = [], []
        for event, period, cpu in kinds:
            numbers = [1] + [0] * len(types)
            if types:
                numbers[places[event]] = 1 if period is None else period
            values.append(tuple(numbers))
            pairs = ((_EVENT, "" if is_only else event), (_CPU, cpu))
            labels.append(
                tuple((key, each, "") for key, each in pairs if each not in {"", None})
            )
        return values, labels

    def _name_processes(self) -> None:
        """Name processes whose first thread has no sample, if all threads agree."""
        profile = self.builder.profile
        profile.name_processes()
        names: dict[int | None, set[str]] = {}
        for thread in profile.threads:
            is_known = thread.thread_name != f":{thread.thread}"
            name = thread.thread_name if is_known else ""
            names.setdefault(thread.process, set()).add(name)
        for index, thread in enumerate(profile.threads):
            found = names[thread.process]
            if not thread.process_name and len(found) == 1:
                profile.threads[index] = thread._replace(process_name=min(found))


def symbol_frame(symbol: str, path: str = "", line: int = 0) -> model.Frame:
    """The function with a symbol of perf, which may be demangled already."""
    readable = demangle(symbol)
    is_plain = readable != symbol or not any(each in symbol for each in " (<:")
    return model.Frame(readable, symbol if is_plain else "", path, line)


def _plain(event: str) -> str:
    """An event without its modifiers: `cycles:u` counts cycles."""
    name, _, modifiers = event.partition(":")
    return event if set(modifiers) - set("ukhGHIpPSDWe") else name
