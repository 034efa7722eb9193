"""A profile as the Firefox Profiler reads it: its processed format, version 48.

Source: the Firefox Profiler's `docs-developer/processed-profile-format.md`, its
`CHANGELOG-formats.md` and the types in `src/types/profile.js` of that version, which
newer ones upgrade as they load it.
"""

from __future__ import annotations

from itertools import pairwise
from statistics import median

from gsym.model import UINT64_MAX
from gsym.modules.key import ModuleKey, elf_debug_id
from gsym.profiles.model import NO_THREAD, Frame, base_name, id_text

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from typing import Any

    from gsym.profiles.model import Location, Mapping, Profile, Thread, ValueType

_PROCESSED_VERSION = 48
_GECKO_VERSION = 29
_MOST_INTEGER = (1 << 53) - 1  # that JavaScript has
_LIBRARY = 1  # kind of a resource
_MILLISECOND = 1_000_000  # nanoseconds
# Milliseconds in a unit of time of pprof.
_MILLISECONDS = {
    "nanoseconds": 1e-6,
    "microseconds": 1e-3,
    "milliseconds": 1.0,
    "seconds": 1e3,
}
_SAMPLES = frozenset({"samples", "sample"})  # types of values that count these
_CATEGORIES = [
    {"name": "Other", "color": "grey", "subcategories": ["Other"]},
    {"name": "Native", "color": "blue", "subcategories": ["Other"]},
]
_OTHER, _NATIVE = 0, 1
# What no profile of another program has.
_NO_MARKERS = ("data", "name", "startTime", "endTime", "phase", "category")
# The columns of the tables of a thread.
_COLUMNS = {
    "stackTable": "prefix frame category subcategory",
    "frameTable": "address inlineDepth category subcategory func nativeSymbol"
    " innerWindowID implementation line column",
    "funcTable": "name isJS relevantForJS resource fileName lineNumber columnNumber",
    "resourceTable": "lib name host type",
    "nativeSymbols": "libIndex address name functionSize",
}


def weight_of(value_type: ValueType) -> tuple[str, float] | None:
    """The weight type of values, and the factor for them.

    Returns:
        None for values without a unit in the profiler, such as cycles.
    """
    if value_type.unit in _MILLISECONDS:
        return "tracing-ms", _MILLISECONDS[value_type.unit]
    if value_type.unit == "bytes":
        return "bytes", 1
    return ("samples", 1) if value_type.type in _SAMPLES else None


def default_value(profile: Profile) -> int:
    """The index of the value type that the profiler shows best.

    It is that of samples, else the last with a unit in the profiler, else the last.
    """
    units = [weight_of(each) for each in profile.value_types]
    if ("samples", 1) in units:
        return units.index(("samples", 1))
    known = [number for number, unit in enumerate(units) if unit is not None]
    return known[-1] if known else len(units) - 1


def firefox_profile(
    profile: Profile, value: int = 0, product: str = "profile"
) -> dict[str, Any]:
    """The file, ready for JSON.

    Args:
        profile: Its samples are in the order of their times. Where one has no time,
            all are a period apart, or a millisecond if that is not a time.
        value: Which of its value types is the weight, counted from 0. Values without
            a unit in the profiler are called samples.
        product: The name of the recorded program.
    """
    libraries = _Libraries(profile)
    interval = _interval(profile)
    weight_type, factor = weight_of(profile.value_types[value]) or ("samples", 1)
    threads = []
    for index, samples in profile.samples_by_thread().items():
        times = [interval * number for number in range(len(samples))]
        if all(sample.time is not None for sample in samples):
            times = [(sample.time or 0) / _MILLISECOND for sample in samples]
        tables = _Tables(profile, libraries)
        columns = {
            "weightType": weight_type,
            "weight": [sample.values[value] * factor for sample in samples],
            "stack": [tables.stack(sample.stack) for sample in samples],
            "time": times,
            "length": len(samples),
        }
        thread = NO_THREAD if index is None else profile.threads[index]
        threads.append(_thread(thread, columns, tables))
    return {
        "meta": {
            "version": _GECKO_VERSION,
            "preprocessedProfileVersion": _PROCESSED_VERSION,
            "interval": interval,
            "startTime": profile.start_time / _MILLISECOND,
            "processType": 0,
            "product": product,
            "stackwalk": 1,
            "debug": False,
            # Otherwise the profiler asks its server for symbols.
            "symbolicated": not any(
                each.mapping is not None and not each.frames
                for each in profile.locations
            ),
            "extensions": {"id": [], "name": [], "baseURL": [], "length": 0},
            "categories": _CATEGORIES,
            "markerSchema": [],
            "sampleUnits": {"time": "ms", "eventDelay": "ms", "threadCPUDelta": "ns"},
            "usesOnlyOneStackType": True,
            "doesNotUseFrameImplementation": True,
            "sourceCodeIsNotOnSearchfox": True,
        },
        "libs": libraries.entries,
        "pages": [],
        "threads": threads,
    }


def _interval(profile: Profile) -> float:
    """Milliseconds between samples: the period of the profile, else the median."""
    period = profile.period_type
    if period is not None and period.unit in _MILLISECONDS and profile.period > 0:
        return profile.period * _MILLISECONDS[period.unit]
    times: dict[int | None, list[int]] = {}
    for sample in profile.samples:
        if sample.time is not None:
            times.setdefault(sample.thread, []).append(sample.time)
    gaps = [
        after - before
        for each in times.values()
        for before, after in pairwise(sorted(each))
    ]
    return median(gaps) / _MILLISECOND or 1.0 if gaps else 1.0


def _thread(thread: Thread, samples: dict[str, Any], tables: _Tables) -> dict[str, Any]:
    """A thread with tables of its own."""
    return {
        "processType": "default",
        "processName": thread.process_name,
        "processStartupTime": 0,
        "processShutdownTime": None,
        "registerTime": 0,
        "unregisterTime": None,
        "pausedRanges": [],
        "name": thread.thread_name or "thread",
        "isMainThread": thread.process == thread.thread,
        # The profiler has a text for both; those of a thread without numbers are its
        # names, which are no numbers for a reader.
        "pid": _id_text(thread.process, thread.process_name),
        "tid": _id_text(thread.thread, thread.thread_name),
        "samples": samples,
        "markers": {**{column: [] for column in _NO_MARKERS}, "length": 0},
        **tables.as_columns(),
        "stringArray": list(tables.strings),
    }


def _id_text(number: int | None, name: str) -> str:
    return f"?{name}" if number is None else str(number)


class _Libraries:
    """The modules of a profile, each once, whatever mappings it has."""

    def __init__(self, profile: Profile) -> None:
        self.entries: list[dict[str, Any]] = []  # as the file has them
        self._mappings = profile.mappings
        # by the index of a mapping
        self.of_mapping: dict[int | None, int | None] = {None: None}
        self._bases: list[int] = []
        indexes: dict[tuple[str, str, ModuleKey], int] = {}
        for number, mapping in enumerate(profile.mappings):
            key = (mapping.build_id, mapping.path, mapping.module)
            base = _link_start(mapping) - mapping.file_offset
            if mapping.file_offset == mapping.start != 0:
                # It has addresses of the kernel: JavaScript has 53 bits of an address.
                base = _link_start(mapping)
            index = self.of_mapping[number] = indexes.setdefault(key, len(indexes))
            if index == len(self.entries):
                self.entries.append(_library(mapping))
                self._bases.append(base)
            self._bases[index] = min(self._bases[index], base)
        # The lowest address of each function that is not inlined, by the index of its
        # library and its name. It stands for the start of the function, by which the
        # Firefox Profiler finds the function that a call is inlined into.
        self.symbols: dict[tuple[int, str], int] = {}
        for location in profile.locations:
            library, address = self.place(location)
            if library is not None and location.frames and address >= 0:
                symbol = library, location.frames[-1].name
                self.symbols[symbol] = min(self.symbols.get(symbol, address), address)

    def place(self, location: Location) -> tuple[int | None, int]:
        """The library of a location, and its address from the base of that.

        The address is -1 without a library, and where JavaScript would round it, as in
        a kernel whose base is not known. Where a call returns to, it is within the
        call.
        """
        library = self.of_mapping[location.mapping]
        if location.mapping is None or library is None:
            return None, -1
        mapping = self._mappings[location.mapping]
        address = location.address - location.is_return - mapping.start
        found = (address + _link_start(mapping) - self._bases[library]) & UINT64_MAX
        return library, found if found <= _MOST_INTEGER else -1


def _link_start(mapping: Mapping) -> int:
    return mapping.file_offset if mapping.link_start is None else mapping.link_start


def _library(mapping: Mapping) -> dict[str, Any]:
    module, path = mapping.module, mapping.path
    name = base_name(path) or id_text(mapping) or "unknown"
    debug_file = module.debug_file or name
    debug_id = module.debug_id
    if mapping.build_id and not debug_id:  # that of most machines
        debug_id = elf_debug_id(bytes.fromhex(mapping.build_id), "little")
    return {
        "arch": module.architecture,
        "name": name,
        "path": path,
        "debugName": debug_file,
        "debugPath": path.removesuffix(name) + debug_file,
        "breakpadId": debug_id,
        "codeId": mapping.build_id or module.code_id or None,
    }


class _Tables:
    """The tables of a thread, each row once, and its texts."""

    def __init__(self, profile: Profile, libraries: _Libraries) -> None:
        self._profile = profile
        self._libraries = libraries
        self._found: dict[int, int | None] = {}
        self._rows: dict[str, dict[tuple[Any, ...], int]] = {
            table: {} for table in _COLUMNS
        }
        self.strings: dict[str, int] = {}

    def as_columns(self) -> dict[str, dict[str, Any]]:
        """The rows as columns, as the format has all tables."""
        made: dict[str, dict[str, Any]] = {}
        for table, rows in self._rows.items():
            names = _COLUMNS[table].split()
            columns = zip(*rows, strict=True) if rows else [()] * len(names)
            made[table] = dict(zip(names, map(list, columns), strict=True))
            made[table]["length"] = len(rows)
        return made

    def _index(self, table: str, *row: Any) -> int:
        """The index of a row."""
        rows = self._rows[table]
        return rows.setdefault(row, len(rows))

    def stack(self, index: int) -> int | None:
        """The row of the innermost frame of a stack; None of an empty one."""
        if index not in self._found:
            node = None
            for number in reversed(self._profile.stacks[index]):
                node = self._calls(self._profile.locations[number], node)
            self._found[index] = node
        return self._found[index]

    def _calls(self, location: Location, node: int | None) -> int | None:
        """The rows of a location below a row, the innermost of them."""
        library, address = self._libraries.place(location)
        category = _OTHER if library is None else _NATIVE
        frames = self._profile.frames_at(location)
        symbol = None
        if library is not None and address >= 0:
            # The profiler puts the name of the library before that of an address.
            frames = location.frames or (Frame(f"{address:#x}"),)
            if location.frames:
                name = frames[-1].name
                start, text = self._libraries.symbols[library, name], self._string(name)
                symbol = self._index("nativeSymbols", library, start, text, None)
        for depth, frame in enumerate(reversed(frames)):
            function, line = self._function(frame, library), frame.line or None
            row = address, depth, category, 0, function, symbol, None, None, line, None
            place = self._index("frameTable", *row)
            node = self._index("stackTable", node, place, category, 0)
        return node

    def _function(self, frame: Frame, library: int | None) -> int:
        name = self._string(frame.name)
        path = self._string(frame.path) if frame.path else None
        resource = -1
        if library is not None:
            text = self._string(self._libraries.entries[library]["name"])
            resource = self._index("resourceTable", library, text, None, _LIBRARY)
        row = name, False, False, resource, path, None, None
        return self._index("funcTable", *row)

    def _string(self, text: str) -> int:
        return self.strings.setdefault(text, len(self.strings))
