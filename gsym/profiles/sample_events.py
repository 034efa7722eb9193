"""The samples of a profile as durations that nest, for `ChromeJson`.

Each function of a stack is a duration, from the first to the last consecutive sample
that has it at that depth. Instants with the stack in an argument would keep samples
apart, but do not show who calls whom.
"""

from __future__ import annotations

from itertools import accumulate, chain, count, pairwise
from statistics import median_low

from gsym.fxt.objects import PROCESS, THREAD
from gsym.fxt.records import Argument, Event, KernelObject, Record
from gsym.fxt.writer import argument_of
from gsym.model import UINT64_MAX
from gsym.profiles.model import NEGATIVE, TIME, Frame, Location, Profile, Thread

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    # Koids of a process and a thread, and their names.
    _Track = tuple[int, int, str, str]
    # Begin and end in nanoseconds, index of the stack.
    _Span = tuple[int, int, int]
    _Row = tuple[Frame, Location]

_CATEGORY = "sample"
_DEFAULT_PERIOD = 1_000_000
_UNIT = "nanoseconds"
_COUNTS = frozenset({"count", "samples", ""})
_NO_THREAD = Thread(1, 1, "", "")
# Perfetto keeps 32 bits of a koid, and programs number from below.
_FIRST_TRACK = (1 << 31) - 1


def sample_events(
    profile: Profile, value: int, records: Iterable[Record] = ()
) -> Iterator[Record]:
    """The records of a trace, and after them the samples of its profile as events.

    A thread with durations gets a second track for its samples, as measured and sampled
    durations do not nest.

    A sample lasts until the next one of its thread, but not much longer than the usual
    period. Samples without times follow each other and last as long as their *value*,
    one of the value types, says: in nanoseconds, a millisecond for each count, or a
    nanosecond for each other unit.
    """
    koids: set[int] = set()
    busy: set[int] = set()
    for record in records:
        if isinstance(record, KernelObject):
            koids.add(record.koid)
        elif isinstance(record, Event):
            koids.update((record.process, record.thread))
            if record.kind.startswith("duration"):
                busy.add(record.thread)
        yield record
    tracks = _tracks(profile, koids, busy)
    named = {process: name for process, _, name, _ in tracks.values() if name}
    for process, name in named.items():
        yield KernelObject(process, PROCESS, name)
    # The functions of each stack, the outermost first, with their locations.
    rows = []
    for stack in profile.stacks:
        locations = (profile.locations[at] for at in reversed(stack))
        pairs = ((profile.frames_at(each)[::-1], each) for each in locations)
        rows.append([(frame, each) for frames, each in pairs for frame in frames])
    for index, spans in _spans(profile, value).items():
        process, thread, _, name = tracks[index]
        if name:
            belongs = Argument("process", "koid", process)
            yield KernelObject(thread, THREAD, name, (belongs,))
        for begin, end, _, (frame, location) in _durations(spans, rows):
            # Damaged samples may have any times.
            start, until = min(begin, UINT64_MAX), min(end, UINT64_MAX)
            yield Event(
                *("duration_complete", start, process, thread),
                *(_CATEGORY, frame.name, _arguments(frame, location)),
                end_ticks=until,
                ns=start,
                end_ns=until,
            )


def _tracks(
    profile: Profile, koids: set[int], busy: set[int]
) -> dict[int | None, _Track]:
    """The track of the samples of each thread; *koids* are taken, *busy* have others.

    Samples without a thread, and numbers that are too wide, may collide with another
    thread.
    """
    threads = [*enumerate(profile.threads), (None, _NO_THREAD)]
    known = {each for _, thread in threads for each in thread[:2]} | koids
    free = (each for each in count(_FIRST_TRACK, -1) if each not in known)
    nameless: dict[str, int] = {}  # numbers of processes that have only a name
    taken: set[tuple[int, int]] = set()
    tracks: dict[int | None, _Track] = {}
    for index, thread in threads:
        process, name = thread.process, thread.thread_name
        if process is None:
            text = thread.process_name
            process = nameless[text] = nameless.get(text) or next(free)
        process &= UINT64_MAX
        koid = (next(free) if thread.thread is None else thread.thread) & UINT64_MAX
        if koid in busy or (process, koid) in taken:
            koid = next(free)
            who = "no thread" if index is None else name or thread.thread
            name = f"samples of {who}"
        taken.add((process, koid))
        tracks[index] = process, koid, thread.process_name, name
    return tracks


def _spans(profile: Profile, value: int) -> dict[int | None, list[_Span]]:
    """Begins and ends of the samples, by thread, in the order of time.

    None lasts into the next one. One that says how long it is ends after that, others
    at the next one, or after a period if that comes much later.
    """
    kind, unit = profile.value_types[value], 1
    stackless = sum(not profile.stacks[sample.stack] for sample in profile.samples)
    profile.lose("samples without functions", stackless)
    has_times = all(sample.time is not None for sample in profile.samples)
    has_lengths = TIME in profile.value_types or not has_times
    if not has_times:
        unit = _DEFAULT_PERIOD if kind.unit in _COUNTS else 1
        negative = sum(sample.values[value] < 0 for sample in profile.samples)
        profile.lose(NEGATIVE, negative)
    elif has_lengths:
        value, kind = profile.value_types.index(TIME), TIME
    threads = profile.samples_by_thread()
    times = {at: [each.time or 0 for each in own] for at, own in threads.items()}
    period = _period(profile, times.values())
    found = {}
    for thread, samples in threads.items():
        begins = times[thread]
        lengths, limits = [period] * len(samples), [2 * period] * len(samples)
        if has_lengths:
            numbers = (max(sample.values[value], 0) for sample in samples)
            limits = lengths = [number * unit // kind.scale for number in numbers]
        if not has_times:
            begins = list(accumulate(lengths, initial=0))[:-1]
        nexts = [*begins[1:], begins[-1] + limits[-1]]
        rows = zip(samples, begins, lengths, limits, nexts, strict=True)
        found[thread] = [
            (begin, then if then - begin < limit else begin + length, sample.stack)
            for sample, begin, length, limit, then in rows
        ]
    return found


def _period(profile: Profile, times: Iterable[list[int]]) -> int:
    """The usual time between two samples, in nanoseconds."""
    if profile.period and profile.period_type and profile.period_type.unit == _UNIT:
        return profile.period
    pairs = chain.from_iterable(map(pairwise, times))
    gaps = [after - before for before, after in pairs if after > before]
    return median_low(gaps) if gaps else _DEFAULT_PERIOD


def _durations(
    spans: list[_Span], rows: list[list[_Row]]
) -> list[tuple[int, int, int, _Row]]:
    """Begin, end, depth and function of each duration.

    They are in the order of their begins, enclosing ones first.
    """
    made: list[tuple[int, int, int, _Row]] = []
    going: list[tuple[int, _Row]] = []  # begin, function
    until = 0

    def end_below(depth: int) -> None:
        while len(going) > depth:
            begin, row = going.pop()
            made.append((begin, until, len(going), row))

    for begin, end, stack in spans:
        wanted = rows[stack]
        same = 0
        if begin == until:
            for (_, (known, _)), (frame, _) in zip(going, wanted, strict=False):
                # Of one function: its lines may differ.
                if (known.name, known.path) != (frame.name, frame.path):
                    break
                same += 1
        end_below(same)
        going += [(begin, row) for row in wanted[same:]]
        until = end
    end_below(0)
    made.sort(key=lambda each: (each[0], each[2]))
    return made


def _arguments(frame: Frame, location: Location) -> tuple[Argument, ...]:
    """The arguments for a function, none of which differs from call to call.

    speedscope takes events of one name with other arguments for other functions.
    """
    values: dict[str, str | bool] = {}
    if frame.path:
        values["file"] = frame.path
    if location.frames and frame is not location.frames[-1]:
        values["inlined"] = True
    if location.reason:
        values["reason"] = location.reason
    return tuple(argument_of(name, value) for name, value in values.items())
