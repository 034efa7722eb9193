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
from gsym.profiles.model import Frame, base_name, id_text

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from typing import Any

    from gsym.profiles.model import Location, Mapping, Profile, Sample, ValueType

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
    threads = [
        _thread(profile, libraries, thread, samples, value, interval)
        for thread, samples in profile.samples_by_thread().items()
    ]
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


def _thread(  # noqa: PLR0913, PLR0917 - all are what a thread is made of
    profile: Profile,
    libraries: _Libraries,
    index: int | None,
    samples: list[Sample],
    value: int,
    interval: float,
) -> dict[str, Any]:
    """A thread with tables of its own."""
    tables = _ThreadTables(profile, libraries)
    if all(sample.time is not None for sample in samples):
        times = [(sample.time or 0) / _MILLISECOND for sample in samples]
    else:
        times = [interval * number for number in range(len(samples))]
    stacks = [tables.stack(sample.stack) for sample in samples]
    weight_type, factor = weight_of(profile.value_types[value]) or ("samples", 1)
    thread = None if index is None else profile.threads[index]
    is_main = thread is None or thread.process == thread.thread
    return {
        "processType": "default",
        "processName": thread.process_name if thread else "",
        "processStartupTime": 0,
        "processShutdownTime": None,
        "registerTime": 0,
        "unregisterTime": None,
        "pausedRanges": [],
        "name": (thread.thread_name if thread else "") or "thread",
        "isMainThread": is_main,
        # The profiler has a text for both; those of a thread without numbers are its
        # names, which are no numbers for a reader.
        "pid": _id_text(thread and thread.process, thread and thread.process_name),
        "tid": _id_text(thread and thread.thread, thread and thread.thread_name),
        "samples": {
            "weightType": weight_type,
            "weight": [sample.values[value] * factor for sample in samples],
            "stack": stacks,
            "time": times,
            "length": len(samples),
        },
        "markers": {**{column: [] for column in _NO_MARKERS}, "length": 0},
        "stackTable": _table(tables.stacks),
        "frameTable": _table(tables.frames),
        "funcTable": _table(tables.functions),
        "resourceTable": _table(tables.resources),
        "nativeSymbols": _table(tables.symbols),
        "stringArray": list(tables.strings),
    }


def _id_text(number: int | None, name: str | None) -> str:
    return f"?{name or ''}" if number is None else str(number)


class _Libraries:
    """The modules of a profile, each once, whatever mappings it has."""

    def __init__(self, profile: Profile) -> None:
        self.entries: list[dict[str, Any]] = []  # as the file has them
        self._of_mapping: list[int] = []
        self._bases: list[int] = []
        indexes: dict[tuple[str, str, ModuleKey], int] = {}
        for mapping in profile.mappings:
            key = (mapping.build_id, mapping.path, mapping.module)
            base = _link_start(mapping) - mapping.file_offset
            if mapping.file_offset == mapping.start != 0:
                # It has addresses of the kernel: JavaScript has 53 bits of an address.
                base = _link_start(mapping)
            if key not in indexes:
                indexes[key] = len(self.entries)
                self.entries.append(_library(mapping))
                self._bases.append(base)
            index = indexes[key]
            self._bases[index] = min(self._bases[index], base)
            self._of_mapping.append(index)
        # The lowest address of each function that is not inlined, by the index of its
        # library and its name. It stands for the start of the function, by which the
        # Firefox Profiler finds the function that a call is inlined into.
        self.symbols: dict[tuple[int, str], int] = {}
        for location in profile.locations:
            library = self.of(location.mapping)
            address = self.relative(location, profile)
            if library is not None and location.frames and address >= 0:
                symbol = library, location.frames[-1].name
                self.symbols[symbol] = min(self.symbols.get(symbol, address), address)

    def of(self, mapping: int | None) -> int | None:
        """The index of the library of a mapping."""
        return None if mapping is None else self._of_mapping[mapping]

    def relative(self, location: Location, profile: Profile) -> int:
        """The address of a location from the base of its library; -1 without one.

        So is one that JavaScript would round, of a kernel whose base is not known.

        Where a call returns to, it is an address within the call.
        """
        if location.mapping is None:
            return -1
        mapping = profile.mappings[location.mapping]
        address = location.address - location.is_return - mapping.start
        base = self._bases[self._of_mapping[location.mapping]]
        found = (address + _link_start(mapping) - base) & UINT64_MAX
        return found if found <= _MOST_INTEGER else -1


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


class _ThreadTables:
    """Stacks, frames, functions and texts of a thread: {row: its index}."""

    def __init__(self, profile: Profile, libraries: _Libraries) -> None:
        self._profile = profile
        self._libraries = libraries
        self._found: dict[int, int | None] = {}
        self.strings: dict[str, int] = {}
        self.stacks = _Rows("prefix frame category subcategory")
        self.frames = _Rows(
            "address inlineDepth category subcategory func nativeSymbol innerWindowID"
            " implementation line column"
        )
        self.functions = _Rows(
            "name isJS relevantForJS resource fileName lineNumber columnNumber"
        )
        self.resources = _Rows("lib name host type")
        self.symbols = _Rows("libIndex address name functionSize")

    def stack(self, index: int) -> int | None:
        """The row of the innermost frame of a stack; None of an empty one."""
        if index not in self._found:
            node = None
            for number in reversed(self._profile.stacks[index]):
                location = self._profile.locations[number]
                node = self._calls(location, node)
            self._found[index] = node
        return self._found[index]

    def _calls(self, location: Location, node: int | None) -> int | None:
        """The rows of a location below a row, the innermost of them."""
        profile, libraries = self._profile, self._libraries
        address = libraries.relative(location, profile)
        library = libraries.of(location.mapping)
        category = _OTHER if library is None else _NATIVE
        # The profiler puts the name of the library before that of an address.
        frames = location.frames or (
            profile.unresolved(location)
            if library is None or address < 0
            else Frame(f"{address:#x}"),
        )
        symbol = None
        if library is not None and location.frames and address >= 0:
            symbol = self._symbol(library, frames[-1].name)
        for depth, frame in enumerate(reversed(frames)):
            row = (
                address,
                depth,
                category,
                0,
                self._function(frame, library),
                symbol,
                None,
                None,
                frame.line or None,
                None,
            )
            place = self.frames.index(row)
            node = self.stacks.index((node, place, category, 0))
        return node

    def _function(self, frame: Frame, library: int | None) -> int:
        name = self._string(frame.name)
        path = self._string(frame.path) if frame.path else None
        resource = -1 if library is None else self._resource(library)
        return self.functions.index((name, False, False, resource, path, None, None))

    def _symbol(self, library: int, name: str) -> int:
        start = self._libraries.symbols[library, name]
        return self.symbols.index((library, start, self._string(name), None))

    def _resource(self, library: int) -> int:
        name = self._string(self._libraries.entries[library]["name"])
        return self.resources.index((library, name, None, _LIBRARY))

    def _string(self, text: str) -> int:
        return self.strings.setdefault(text, len(self.strings))


class _Rows:
    """The rows of a table, equal ones once."""

    def __init__(self, columns: str) -> None:
        self.columns = columns.split()
        self.rows: dict[tuple[Any, ...], int] = {}

    def index(self, row: tuple[Any, ...]) -> int:
        """The index of a row."""
        return self.rows.setdefault(row, len(self.rows))


def _table(rows: _Rows) -> dict[str, Any]:
    """The rows as columns, as the format has all tables."""
    columns = zip(*rows.rows, strict=True) if rows.rows else [()] * len(rows.columns)
    table: dict[str, Any] = {
        name: list(column) for name, column in zip(rows.columns, columns, strict=True)
    }
    table["length"] = len(rows.rows)
    return table
