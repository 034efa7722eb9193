"""`perf script` of Linux -> `Profile`.

The innermost address of a stack is exact, and so is the first one of user space after
addresses of the kernel. The others are return addresses, or one lower, as perf prints
them when it unwinds with DWARF.

In stacks, perf since Linux 5.19 prints the offset in the file of the module instead of
the address in memory; in a line with an only address, and before that, the address. A
mapping in the text decides; without one, an address beyond the largest file is one in
memory.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections import Counter, defaultdict
from itertools import accumulate, groupby, zip_longest
from types import MappingProxyType

from gsym.cache import BoundedCache
from gsym.engine.demangling import demangle
from gsym.errors import FormatError
from gsym.garbage_collection import no_garbage_collection
from gsym.model import UINT64_MAX
from gsym.modules.key import elf_debug_id
from gsym.profiles.binaries import PathModule, module_at
from gsym.profiles.input_bytes import lines_of, read_pieces
from gsym.profiles.jit_code import ANONYMOUS, JitCode
from gsym.profiles.model import (
    NO_THREAD,
    SAMPLES,
    Frame,
    Mapping,
    ProfileBuilder,
    Sample,
    Thread,
    ValueType,
)
from gsym.profiles.perf_script import (
    PerfCommand,
    PerfFrame,
    PerfMapping,
    PerfSample,
    PerfStack,
    UnknownLines,
    parse_perf_script,
)
from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping as Dictionary, Sequence
    from typing import Any

    from gsym.profiles.binaries import BuildIds
    from gsym.profiles.bpf_programs import BpfPrograms
    from gsym.profiles.model import Profile
    from gsym.profiles.perf_script import PerfFork, PerfRecord
    from gsym.profiles.simpleperf import FileSymbols


_NONE: BuildIds = MappingProxyType({})
_NO_SYMBOLS: Dictionary[str, FileSymbols] = MappingProxyType({})
_KERNEL_START = 1 << 63
_KERNEL = "[kernel.kallsyms]"
_OF_KERNEL = -1  # the process of its mappings
_MOST_FILE_SIZE = 1 << 36
# Limit: Mappings of a process in a profile of perf
MOST_MAPPINGS = 1 << 16
"""Of a process; the default limit of Linux."""
# Limit: Mappings that processes in a profile of perf inherit and change
_MOST_COPIED = 1 << 24
_FILE_STARTS = ("/", "[")  # of a path, and of `[vdso]`
_PAGE = 4096
_HEXADECIMAL = frozenset("0123456789abcdef")
# Limit: Output of `perf buildid-list`
_MOST_LIST_BYTES = 64 << 20


def read_build_ids(path: str | os.PathLike[str]) -> dict[str, str | tuple[str, ...]]:
    """The build ids of modules by their paths, as `perf buildid-list` prints them.

    Returns:
        All of a path that has several.
    """
    found: dict[str, dict[str, None]] = {}
    name = os.fspath(path)
    with open(name, "rb") as file:
        data = file.read(_MOST_LIST_BYTES + 1)
    if len(data) > _MOST_LIST_BYTES:
        raise FormatError(f"more than {_MOST_LIST_BYTES} bytes", path=name)
    for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), 1):
        build_id, _, module = line.strip().partition(" ")
        if not build_id:
            continue
        if not module or not _HEXADECIMAL.issuperset(build_id.lower()):
            reason = f"line {number} is not a build id followed by a path"
            raise FormatError(reason, path=name)
        found.setdefault(module.strip(), {})[build_id.lower()] = None
    return {
        module: next(iter(ids)) if len(ids) == 1 else tuple(ids)
        for module, ids in found.items()
    }


class PerfFacts(NamedTuple):
    """Modules that a profile of perf names, apart from its records.

    Attributes:
        build_ids: Of modules by path; a path may have several. Those of modules without
            any are read from their files.
        kernels: Paths of those that are of the kernel and its modules.
        byteorder: Of the machine: "little" or "big"; "" if it is not known.
        recorded: When the file was written, in seconds since 1970; None: not known.
        finds_code: Whether names of code that processes made are looked for here.
        is_monotonic: Whether times are those of the clock that jitdumps have.
        symbols: Of files by path, which the recording has.
        programs: Of BPF, which the kernel compiled.
    """

    build_ids: BuildIds = _NONE
    kernels: Sequence[str] = ()
    byteorder: str = ""
    recorded: float | None = None
    finds_code: bool = False
    is_monotonic: bool = False
    symbols: Dictionary[str, FileSymbols] = _NO_SYMBOLS
    programs: BpfPrograms | None = None


class ModulePlaces:
    """Finds the mapping of a frame, and its address in that."""

    def __init__(self, builder: ProfileBuilder, facts: PerfFacts | None = None) -> None:
        self._builder = builder
        self._facts = facts or PerfFacts()
        # Of the kernel itself, in the order in which perf looks for it.
        kernels = (_KERNEL, *self._facts.kernels)
        self._kernels = [each for each in kernels if not _is_kernel_module(each)][:2]
        self._modules: dict[tuple[str, str, int], PathModule] = {}
        self._part_mappings: dict[tuple[PerfMapping, str], int] = {}
        self._sizes: dict[str, int] = {}
        self._loaded: dict[int, _Loaded] = {}
        self._kernel = _Loaded()
        self._shared: set[int] = set()
        self._copied = 0
        self._ends: dict[int, int] = {}
        self.jit: JitCode = JitCode(
            builder.profile, self._facts.recorded, is_timed=self._facts.is_monotonic
        )

    def load(self, mapping: PerfMapping) -> None:
        """A part of a file is in the memory of a process from now on."""
        if is_of_kernel(mapping):
            loaded = self._kernel
            if mapping.path.startswith(_KERNEL):
                # `[kernel.kallsyms]_text`: named after its first symbol.
                mapping = mapping._replace(path=_KERNEL)
        elif mapping.path.startswith(_FILE_STARTS):
            loaded = self._own(mapping.process)
            if self._facts.finds_code:
                self.jit.load(mapping.process, mapping.path)
        else:
            return
        if len(loaded) < MOST_MAPPINGS:
            loaded.add(mapping)
        else:
            self._builder.lose("mappings beyond those that a process can have")

    def begin(self, process: int, parent: int | None) -> None:
        """A new process has the mappings of its parent, or none.

        It keeps them if it runs another program: while that is loaded, samples still
        have addresses of the one before, and mappings hide those before them.
        """
        self._loaded.pop(process, None)
        self._shared.discard(process)
        if parent in self._loaded:
            self._loaded[process] = self._loaded[parent]
            self._shared.update((process, parent))

    def _own(self, process: int) -> _Loaded:
        """The mappings of a process, to be changed."""
        loaded = self._loaded.setdefault(process, _Loaded())
        if process in self._shared:
            self._shared.remove(process)
            self._copied += len(loaded)
            if self._copied <= _MOST_COPIED:
                loaded = loaded.copy()
            else:
                self._builder.lose("mappings that processes inherit")
                loaded = _Loaded()
            self._loaded[process] = loaded
        return loaded

    def find(self, frame: PerfFrame, process: int | None) -> tuple[int, int | None]:
        """The address of a frame, and the index of its mapping.

        A mapping whose file offset is unknown has no build id, so that nothing is
        looked up in it.
        """
        address, module = frame.address, frame.module
        if frame.module_offset is not None:
            place = frame.module_offset
            return place, self._whole_file(module, place, process)
        is_kernel = self.is_kernel(frame)
        part = self.part(address, process, is_kernel=is_kernel)
        if not module:
            return address, self.mapping_of(part, is_kernel=is_kernel)
        if is_kernel and part is not None and not _is_kernel_module(module):
            is_in_part = not _is_kernel_module(part.path)
            module = self._kernel_path(module)
        else:
            is_in_part = part is not None and part.path == module and not is_kernel
        if part is not None and is_in_part:
            return address, self._part_mapping(part, module)
        if is_kernel or address >= self._size(module):
            return address, self._builder.mapping(Mapping(0, 0, path=module))
        return address, self._whole_file(module, address, process)

    def part(
        self, address: int, process: int | None, *, is_kernel: bool
    ) -> PerfMapping | None:
        """Part of memory at an address of a process, or of the kernel."""
        loaded = self._kernel if is_kernel else self._parts_of(process)
        return None if loaded is None else loaded.find(address)

    def mapping_of(self, part: PerfMapping | None, *, is_kernel: bool) -> int | None:
        """The index of the mapping of addresses in a part of memory."""
        if part is None:
            return None
        if not is_kernel:
            return self._part_mapping(part, part.path)
        if _is_kernel_module(part.path):
            return self._builder.mapping(Mapping(0, 0, path=part.path))
        return self._part_mapping(part, self._kernel_path(part.path))

    def _part_mapping(self, part: PerfMapping, module: str) -> int:
        found = self._part_mappings.get((part, module))
        if found is None:
            start, size, offset = part[1:4]
            made = Mapping(start, start + size, None, offset, module)
            found = self._part_mappings[part, module] = self._builder.mapping(
                made._replace(**self._module(module, part)._asdict())
            )
        return found

    def made_function(
        self, part: PerfMapping | None, address: int, process: int | None
    ) -> tuple[int, Frame] | None:
        """The function that a process made in a part of its memory, and its mapping.

        None of what is in a file.
        """
        is_of_file = part is not None and not part.path.startswith(ANONYMOUS)
        if is_of_file or process not in self._loaded or not self._facts.finds_code:
            return None
        found = self.jit.find(process, address)
        if found is None:
            return None
        path, function = found
        mapping = Mapping(0, UINT64_MAX, 0, 0, path)
        return self._builder.mapping(mapping), function

    def program(self, address: int) -> tuple[int, Frame] | None:
        """The function of a BPF program at an address, and its mapping."""
        programs = self._facts.programs
        found = None if programs is None else programs.find(address)
        if found is None:
            return None
        mapping = Mapping(found.start, found.end, 0, 0, found.name)
        return self._builder.mapping(mapping), found.frame(address)

    def symbol(self, part: PerfMapping | None, address: int) -> str:
        """The symbol that a recording has at an address in a part of memory, or ""."""
        symbols = None if part is None else self._facts.symbols.get(part.path)
        if part is None or symbols is None:
            return ""
        return symbols.find(address, part.start, part.file_offset)

    @staticmethod
    def is_kernel(frame: PerfFrame) -> bool:
        """Whether a frame is in the kernel."""
        return bool(frame.is_kernel) or frame.address >= _KERNEL_START

    def _parts_of(self, process: int | None) -> _Loaded | None:
        return None if process is None else self._loaded.get(process)

    def finish(self) -> None:
        """Set the ends of mappings of complete files."""
        mappings = self._builder.profile.mappings
        for index, end in self._ends.items():
            limit = -(-end // _PAGE) * _PAGE
            mappings[index] = mappings[index]._replace(limit=limit)

    def _whole_file(self, module: str, offset: int, process: int | None) -> int:
        """The mapping in which addresses are offsets in the file."""
        loaded = self._parts_of(process)
        part = loaded.of(module) if loaded is not None else None
        found = self._module(module, part)._asdict()
        index = self._builder.mapping(Mapping(0, 0, None, 0, module)._replace(**found))
        self._ends[index] = max(self._ends.get(index, 0), offset + 1)
        return index

    def _kernel_path(self, module: str) -> str:
        """The path of the kernel that the profile has a build id of, if it has one."""
        names = (module, *self._kernels)
        return next(filter(self._facts.build_ids.__contains__, names), module)

    def _module(self, path: str, part: PerfMapping | None) -> PathModule:
        """Module at a path, in a part of memory if that is known.

        Two processes may have different files at one path.
        """
        build_id = part.build_id if part is not None else ""
        inode = part.inode if part is not None else 0
        key = path, build_id, inode
        found = self._modules.get(key)
        if found is None:
            found = self._modules[key] = self._find_module(*key)
        return found

    def _find_module(self, path: str, build_id: str, inode: int) -> PathModule:
        facts = self._facts
        if build_id:
            found = PathModule(build_id)
        elif os.path.isabs(path) or path in facts.build_ids:
            found = module_at(
                path, facts.build_ids, recorded=facts.recorded, inode=inode
            )
        else:
            found = PathModule()
        if facts.byteorder != "big" or not found.build_id:
            return found
        debug_id = elf_debug_id(bytes.fromhex(found.build_id), "big")
        return found._replace(module=found.module._replace(debug_id=debug_id))

    def _size(self, module: str) -> int:
        """The size of the file, or the maximum if it is unavailable."""
        found = self._sizes.get(module)
        if found is None:
            try:
                found = os.stat(module).st_size if os.path.isabs(module) else 0
            except (OSError, ValueError):
                found = 0
            found = self._sizes[module] = found or _MOST_FILE_SIZE
        return found


def is_of_kernel(mapping: PerfMapping) -> bool:
    """Whether a mapping is of the kernel, and so of all processes."""
    return (
        mapping.path.startswith(_KERNEL)
        or mapping.start >= _KERNEL_START
        or mapping.process == _OF_KERNEL
    )


class _Loaded:
    """The parts of files that a process has mapped; later ones replace others."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._parts: list[PerfMapping] = []
        self._of_path: dict[str, PerfMapping] = {}

    def __len__(self) -> int:
        return len(self._parts)

    def copy(self) -> _Loaded:
        made = _Loaded()
        made._starts, made._parts = self._starts.copy(), self._parts.copy()
        made._of_path = {part.path: part for part in self._parts}
        return made

    def add(self, part: PerfMapping) -> None:
        self._of_path[part.path] = part
        end = part.start + part.size
        first = bisect_right(self._starts, part.start)
        if first and _end(self._parts[first - 1]) > part.start:
            first -= 1
        last = first
        while last < len(self._parts) and self._starts[last] < end:
            last += 1
        rests = [part]
        for hidden in self._parts[first:last]:
            if hidden.start < part.start:
                rests.insert(0, hidden._replace(size=part.start - hidden.start))
            if _end(hidden) > end:
                offset = hidden.file_offset + end - hidden.start
                size = _end(hidden) - end
                rests.append(hidden._replace(start=end, size=size, file_offset=offset))
        self._parts[first:last] = rests
        self._starts[first:last] = [rest.start for rest in rests]

    def of(self, path: str) -> PerfMapping | None:
        """The part of a file that was loaded last."""
        return self._of_path.get(path)

    def find(self, address: int) -> PerfMapping | None:
        place = bisect_right(self._starts, address) - 1
        if place < 0 or address >= _end(self._parts[place]):
            return None
        return self._parts[place]


def _is_kernel_module(path: str) -> bool:
    """Whether a part of the kernel, as perf names it, is one of its modules.

    The kernel itself is `[kernel.kallsyms]` or the path of a file.
    """
    return ".ko" in path.rpartition("/")[2] or not (
        path == _KERNEL or path.startswith("/")
    )


def _end(part: PerfMapping) -> int:
    return part.start + part.size


# Limit: Output of `perf script`
MOST_TEXT_BYTES = 4 << 30
"""How much text there may be, inflated: it is read line by line."""

_CLOCKS = frozenset({"cpu-clock", "task-clock"})  # they count nanoseconds
_MOST_KNOWN = 1 << 14  # stacks of a process in the cache
_new = tuple.__new__  # a named tuple without the handling of its arguments
_EVENT, _CPU = "event", "cpu"
_NAMELESS = "events"


@no_garbage_collection()
def read_perf_script(
    path: str | os.PathLike[str],
    *,
    build_ids: BuildIds | None = None,
    keep_symbols: bool = True,
    fields: str = "",
    most_bytes: int = MOST_TEXT_BYTES,
) -> Profile:
    """The profile in a file that `perf script` wrote.

    Args:
        path: The file, compressed by gzip or not.
        build_ids: Of modules by path, from `read_build_ids`; those of other modules are
            read from their files.
        keep_symbols: Locations for which perf has a symbol have it as their frame,
            which `symbolize` replaces if it finds more. Otherwise they have no frames
            if the build id of their module is known.
        fields: Those that `perf script -F` printed, with commas between them; "": the
            lines of the text tell.
        most_bytes: How large it may be, inflated.

    Raises:
        ValueError: A field is not known.
    """
    name = os.fspath(path)
    lines = lines_of(read_pieces(name, most_bytes), name)
    try:
        return profile_of_lines(
            lines,
            build_ids=build_ids,
            keep_symbols=keep_symbols,
            fields=fields,
            recorded=os.stat(name).st_mtime,
        )
    except FormatError as error:
        raise FormatError(error.reason, path=name) from None


def profile_of_lines(
    lines: Iterable[str],
    *,
    build_ids: BuildIds | None = None,
    keep_symbols: bool = True,
    fields: str = "",
    recorded: float | None = None,
) -> Profile:
    """The profile of lines as `perf script` prints them."""
    facts = PerfFacts(build_ids or _NONE, recorded=recorded)
    reader = PerfReader(facts, keep_symbols=keep_symbols)
    unknown = UnknownLines()
    for record in parse_perf_script(lines, unknown, fields):
        reader.add(record)
    if not reader.builder.profile.samples:
        raise FormatError("no perf sample found")
    if unknown.count:
        kind = f"unrecognized lines, the first is line {unknown.first}"
        reader.builder.lose(kind, unknown.count)
    if unknown.others:
        reader.builder.lose("other fields of samples", unknown.others)
    return reader.finish()


class _Known:
    """Stacks and locations of a process, as long as what is in its memory stays.

    Attributes:
        made: The number of functions that the process has made.
        stacks: Indexes of stacks, by their frames.
        locations: Their indexes by their addresses; for those in the kernel or not, and
            for exact or return addresses.
    """

    __slots__ = ("locations", "made", "stacks")

    def __init__(self, made: int) -> None:
        self.made = made
        self.stacks: BoundedCache[object, int] = BoundedCache(_MOST_KNOWN)
        self.locations: defaultdict[tuple[bool, bool], dict[int, int]]
        self.locations = defaultdict(dict)


class PerfReader:
    """Makes a profile of records in the order of their times."""

    def __init__(self, facts: PerfFacts | None, *, keep_symbols: bool) -> None:
        self.builder: ProfileBuilder = ProfileBuilder()
        self._samples: list[Any] = self.builder.profile.samples
        self.places: ModulePlaces = ModulePlaces(self.builder, facts)
        # The events of samples, and whether their periods are known, by name.
        self._events: dict[str, int] = {}
        self._has_periods: defaultdict[int, bool] = defaultdict(bool)
        # Until the end, the values of a sample are its event and its period, and its
        # labels the processor.
        self._counts: dict[tuple[str, int | None], tuple[int, int | None]] = {}
        self._keep_symbols = keep_symbols
        self._known: dict[int | None, _Known] = {}
        # Of threads.
        self._commands = {0: "swapper"}
        self._processes: dict[int, int] = {}
        self._threads: dict[tuple[int | None, int | None, str], int | None] = {}

    def add(self, record: PerfRecord) -> None:
        """Add a sample, or what is true of memory and threads from now on."""
        if isinstance(record, PerfSample):
            self._take(record)
        elif isinstance(record, PerfMapping):
            self.places.load(record)
            if is_of_kernel(record):
                self._known.clear()
            else:
                self._known.pop(record.process, None)
        elif isinstance(record, PerfCommand):
            self._rename(record.thread, record.name)
            self._processes[record.thread] = record.process
        else:
            self._fork(record)

    def _fork(self, record: PerfFork) -> None:
        self._processes[record.thread] = record.process
        if record.parent_thread in self._commands:
            self._rename(record.thread, self._commands[record.parent_thread])
        if record.process != record.parent:
            parent = record.parent if record.has_maps else None
            self.places.begin(record.process, parent)
            self._known.pop(record.process, None)

    def _take(self, sample: PerfSample) -> None:
        command, process, thread, cpu, time, period, event, frames = sample
        if process == thread is not None:  # a text may have only one
            process = self._processes.get(thread, thread)
        # Most samples have the event and the count, and the thread, of another one.
        count = self._counts.get((event, period))
        if count is None:
            number = self._events.setdefault(event, len(self._events))
            self._has_periods[number] |= period is not None
            count = self._counts[event, period] = number, period
        jit = self.places.jit
        made = jit.advance(process, time) if jit.is_timed else 0
        known = self._known.get(process)
        if known is None or known.made != made:
            known = self._known[process] = _Known(made)
        stack = known.stacks.get(frames)
        if stack is None:
            locations = (
                self._locations_of_parts(frames, process, known)
                if isinstance(frames, PerfStack)
                else self._locations_of_lines(frames, process)
            )
            stack = known.stacks.keep(frames, self.builder.stack(locations))
        key = process, thread, command
        of = self._threads[key] if key in self._threads else self._thread(*key)
        self._samples.append(_new(Sample, (stack, of, time, count, cpu)))

    def _thread(
        self, process: int | None, thread: int | None, command: str
    ) -> int | None:
        """The thread of a sample, with the names that it and its process have then."""
        key = process, thread, command
        if thread is not None:
            # As perf names a thread whose name is unknown.
            command = command or self._commands.get(thread, f":{thread}")
            self._rename(thread, command)
        name = self._commands.get(process, "") if process is not None else ""
        found = Thread(process, thread, name, command)
        index = self.builder.thread(found) if found != NO_THREAD else None
        self._threads[key] = index
        return index

    def _rename(self, thread: int, command: str) -> None:
        """A thread has a name from now on, which others may have in theirs."""
        if self._commands.get(thread) != command:
            self._commands[thread] = command
            self._threads.clear()

    def finish(self) -> Profile:
        """The profile: each event has a value of its own, which counts its periods."""
        profile = self.builder.profile
        self.places.finish()
        self._name_processes()
        _undo_differences(profile.samples)
        # The event with the most samples comes first.
        counts = Counter(sample.values[0] for sample in profile.samples)
        order = sorted(range(len(self._events)), key=lambda at: -counts[at])
        names = list(self._events)
        events = [_plain(names[at]) for at in order]
        if len(set(events)) < len(events):
            events = [names[at] for at in order]
        is_only = len(events) == 1
        types = [
            ValueType(event or _NAMELESS, _unit(event) if known else "samples")
            for event, known in zip(
                events, map(self._has_periods.__getitem__, order), strict=True
            )
        ]
        if is_only and not self._has_periods[0]:
            types = []
        profile.value_types = (SAMPLES, *types)
        if is_only and not events[0]:
            profile.default_value = 0  # nobody knows what the periods count
        profile.events = () if is_only else tuple(range(1, len(types) + 1))
        made: dict[Any, Any] = {}  # values and labels
        for index, (stack, thread, time, count, cpu) in enumerate(self._samples):
            known = made.get((count, cpu))
            if known is None:
                event, period = count
                pairs = ((_EVENT, "" if is_only else names[event]), (_CPU, cpu))
                labels = (
                    (key, each, "") for key, each in pairs if each not in {"", None}
                )
                values = self._values(order.index(event), period, len(types))
                known = made[count, cpu] = values, tuple(labels)
            self._samples[index] = _new(Sample, (stack, thread, time, *known))
        return profile

    @staticmethod
    def _values(place: int, count: int | None, types: int) -> tuple[int, ...]:
        """The values of a sample: 1, and its count of the event in a place."""
        values = [1] + [0] * types
        if types:
            values[1 + place] = 1 if count is None else count
        return tuple(values)

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

    def _locations_of_parts(
        self, frames: PerfStack, process: int | None, known: _Known
    ) -> list[int]:
        stack: list[int] = []
        was_kernel = True
        for part in frames.parts:
            runs = [(part.is_kernel or False, part.addresses)]
            if not part.is_kernel and max(part.addresses) >= _KERNEL_START:
                groups = groupby(part.addresses, _KERNEL_START.__le__)
                runs = [(is_high, tuple(run)) for is_high, run in groups]
            for is_kernel, addresses in runs:
                # How many of them are no return addresses.
                exact = int(not stack or (was_kernel and not is_kernel))
                exact = len(addresses) if part.is_exact else exact
                was_kernel = is_kernel
                for is_exact in (True, False):
                    some = addresses[:exact] if is_exact else addresses[exact:]
                    kind = is_kernel, is_exact
                    stack += self._locations_of_kind(some, process, known, kind)
        return stack

    def _locations_of_kind(
        self,
        addresses: tuple[int, ...],
        process: int | None,
        known: _Known,
        kind: tuple[bool, bool],
    ) -> Iterable[int]:
        """The locations of addresses in the kernel or not, and exact or not."""
        indexes = known.locations[kind]
        for address in addresses:
            if address not in indexes:
                indexes[address] = self._location_at(address, process, kind)
        return map(indexes.__getitem__, addresses)

    def _location_at(
        self, address: int, process: int | None, kind: tuple[bool, bool]
    ) -> int:
        """The location of an address in memory."""
        is_kernel, is_exact = kind
        part = self.places.part(address, process, is_kernel=is_kernel)
        mapping = self.places.mapping_of(part, is_kernel=is_kernel)
        call = address - (not is_exact)
        symbol = self.places.symbol(part, call)
        frames = (Frame(*_names(symbol)),) if symbol else ()
        is_named_only = bool(frames) and self._has_build_id(mapping)
        if not frames:
            made = (
                self.places.program(call)
                if is_kernel
                else self.places.made_function(part, call, process)
            )
            if made is not None:
                mapping, function = made
                frames = (function,)
        return self.builder.location(
            address,
            mapping,
            is_return=not is_exact,
            frames=frames,
            is_named_only=is_named_only,
        )

    def _locations_of_lines(
        self, frames: tuple[PerfFrame, ...], process: int | None
    ) -> list[int]:
        stack: list[int] = []
        was_kernel = True
        for group in _locations(frames):
            frame = group[-1]
            is_kernel = self.places.is_kernel(frame)
            is_exact = not stack or (was_kernel and not is_kernel)
            was_kernel = is_kernel
            stack.append(self._location(group, process, is_exact=is_exact))
        return stack

    def _has_build_id(self, mapping: int | None) -> bool:
        mappings = self.builder.profile.mappings
        return mapping is not None and bool(mappings[mapping].build_id)

    def _location(
        self, group: list[PerfFrame], process: int | None, *, is_exact: bool
    ) -> int:
        *_, frame = group
        address, mapping = self.places.find(frame, process)
        is_kept = self._keep_symbols or not self._has_build_id(mapping)
        frames: tuple[Frame, ...] = ()
        if is_kept and all(line.symbol for line in group):
            frames = tuple(_frames(group))
        is_named_only = bool(frames) and self._has_build_id(mapping)
        return self.builder.location(
            address,
            mapping,
            is_return=not is_exact,
            frames=frames,
            is_named_only=is_named_only,
        )


def _locations(frames: tuple[PerfFrame, ...]) -> Iterator[list[PerfFrame]]:
    """The lines of each location: of a function and those that are inlined into it.

    A function that is inlined has the address of the next line; one that calls itself
    has as well. With some libraries, perf prints the innermost of them by the name of
    the function around all, and does not mark it.
    """
    group: list[PerfFrame] = []
    for frame, caller in zip_longest(frames, frames[1:]):
        group.append(frame)
        is_same = caller is not None and caller.address == frame.address
        if not is_same or not (
            frame.is_inlined or (len(group) == 1 and caller.is_inlined)
        ):
            yield group
            group = []


def _undo_differences(samples: list[Sample]) -> None:
    """Add up times that are differences to the sample before (`--deltatime`).

    They begin with 0, and do not increase as those of a recording.
    """
    times = [sample.time for sample in samples if sample.time is not None]
    if len(times) < len(samples) or times[0] or times == sorted(times):
        return
    for index, time in enumerate(accumulate(times)):
        samples[index] = samples[index]._replace(time=time)


def _unit(event: str) -> str:
    return "nanoseconds" if event in _CLOCKS else "count"


def _frames(group: list[PerfFrame]) -> Iterable[Frame]:
    previous = None
    for line in group:
        # A function with two names is printed twice, first as if it was inlined.
        if line.symbol != previous:
            yield Frame(*_names(line.symbol), line.path, line.line)
        previous = line.symbol


def _names(symbol: str) -> tuple[str, str]:
    """The demangled name, and the linkage name if perf prints it."""
    readable = demangle(symbol)
    is_plain = readable != symbol or not any(each in symbol for each in " (<:")
    return readable, symbol if is_plain else ""


def _plain(event: str) -> str:
    """An event without its modifiers: `cycles:u` counts cycles."""
    name, _, modifiers = event.partition(":")
    return event if set(modifiers) - set("ukhGHIpPSDWe") else name
