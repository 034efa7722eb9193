"""Profiles of the Firefox Profiler: its processed format -> `Profile`, and back.

What the Firefox Profiler saves, what samply records, and what `gsym trace convert`
writes, in version 48. Tables are those of the thread or, since version 55 of the
format, shared.

Source: the Firefox Profiler's `docs-developer/processed-profile-format.md`, its
`CHANGELOG-formats.md` and the types in `src/types/profile.js` of that version, which
newer ones upgrade as they load it.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from itertools import accumulate, pairwise
from statistics import median

from gsym.errors import UnsupportedError
from gsym.lazy import regex
from gsym.model import UINT64_MAX, base_name
from gsym.modules.key import (
    GUID_DIGITS,
    ModuleKey,
    build_id_digits,
    elf_debug_id,
    has_id,
    is_absent,
    is_apple,
    is_windows,
    read_debug_id,
)
from gsym.profiles import model
from gsym.profiles.json_input import Node, number_of, read_node, scaled, text_of
from gsym.reports.stacks.browser_profile import HAS_ADDRESS, IS_INLINED

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from typing import Any

    from gsym.profiles.opening import ProfileOptions

    # The node that the calls of a location are below, and the rows of its frames.
    _Calls = tuple[int, tuple[int, ...]]

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


def weight_of(value_type: model.ValueType) -> tuple[str, float] | None:
    """The weight type of values, and the factor for them.

    Returns:
        None for values without a unit in the profiler, such as cycles.
    """
    if value_type.unit in _MILLISECONDS:
        return "tracing-ms", _MILLISECONDS[value_type.unit]
    if value_type.unit == "bytes":
        return "bytes", 1
    return ("samples", 1) if value_type.type in _SAMPLES else None


def default_value(profile: model.Profile) -> int:
    """The index of the value type that the profiler shows best.

    It is that of samples, else the last with a unit in the profiler, else the last.
    """
    units = [weight_of(each) for each in profile.value_types]
    if ("samples", 1) in units:
        return units.index(("samples", 1))
    known = [number for number, unit in enumerate(units) if unit is not None]
    return known[-1] if known else len(units) - 1


def firefox_profile(
    profile: model.Profile, value: int = 0, product: str = "profile"
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
        thread = model.NO_THREAD if index is None else profile.threads[index]
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


def _interval(profile: model.Profile) -> float:
    """Milliseconds between samples: the period of the profile, else the median."""
    period = profile.period_type
    if period is not None and period.unit in _MILLISECONDS and profile.period > 0:
        return profile.period * _MILLISECONDS[period.unit]
    gaps = []
    for samples in profile.samples_by_thread().values():
        times = sorted(each.time for each in samples if each.time is not None)
        gaps += [after - before for before, after in pairwise(times)]
    return median(gaps) / _MILLISECOND or 1.0 if gaps else 1.0


def _thread(
    thread: model.Thread, samples: dict[str, Any], tables: _Tables
) -> dict[str, Any]:
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

    def __init__(self, profile: model.Profile) -> None:
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

    def place(self, location: model.Location) -> tuple[int | None, int]:
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


def _link_start(mapping: model.Mapping) -> int:
    return mapping.file_offset if mapping.link_start is None else mapping.link_start


def _library(mapping: model.Mapping) -> dict[str, Any]:
    module, path = mapping.module, mapping.path
    name = base_name(path) or model.id_text(mapping) or "unknown"
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

    def __init__(self, profile: model.Profile, libraries: _Libraries) -> None:
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

    def _calls(self, location: model.Location, node: int | None) -> int | None:
        """The rows of a location below a row, the innermost of them."""
        library, address = self._libraries.place(location)
        category = _OTHER if library is None else _NATIVE
        frames = self._profile.frames_at(location)
        symbol = None
        if library is not None and address >= 0:
            # The profiler puts the name of the library before that of an address.
            frames = location.frames or (model.Frame(f"{address:#x}"),)
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

    def _function(self, frame: model.Frame, library: int | None) -> int:
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


_WEIGHTS = {
    "": (model.SAMPLES, 1),
    "samples": (model.SAMPLES, 1),
    "tracing-ms": (model.TIME, _MILLISECOND),
    "bytes": (model.SPACE, 1),
}
_UNRESOLVED = regex(r"(?:[^!]*!)?0x[0-9a-f]{1,16}")
_MOST_INLINED = 256
# What says the operating system, and the words by which it does.
_SYSTEM_FIELDS = ("oscpu", "toolkit", "platform")
_SYSTEMS = {
    "windows": "windows",
    **dict.fromkeys(("mac", "cocoa"), "mac"),
    **dict.fromkeys(("linux", "gtk", "android"), "Linux"),
}
_HAS_SOURCE = 8  # a flag of functions since version 75
_TEXTS = "stringArray"
# The tables that stacks are made of, with the columns that are read.
_COLUMNS_READ = {
    "stackTable": "prefix prefixOffset frame",
    "frameTable": "address inlineDepth flags func lib line",
    "funcTable": "name fileName source flags resource",
    "resourceTable": "lib",
    "sources": "filename",
}


def read_firefox(path: str, options: ProfileOptions) -> model.Profile:
    """The profile in a file of the Firefox Profiler, of all its threads.

    Raises:
        UnsupportedError: It is as Firefox itself writes it, not processed.
    """
    whole = read_node(path, options.most_bytes)
    meta = whole.get("meta")
    if meta.get("preprocessedProfileVersion").value is None:
        reason = (
            "a profile as Firefox itself writes it: open it at profiler.firefox.com, "
            "and save it there"
        )
        raise UnsupportedError(reason)
    threads = list(whole.get("threads").items())
    kinds = [each.get("samples").get("weightType").one_of(_WEIGHTS) for each in threads]
    types = tuple(dict.fromkeys(kind for kind, _ in kinds)) or (model.SAMPLES,)
    builder = model.ProfileBuilder(types)
    builder.profile.start_time = scaled(meta.get("startTime").value, _MILLISECOND) or 0
    said = " ".join(meta.get(name).text() for name in _SYSTEM_FIELDS).lower()
    # The operating system, as Breakpad writes it.
    system = next((system for word, system in _SYSTEMS.items() if word in said), "")
    mappings = [_mapping(each, system) for each in whole.get("libs").items()]
    tree = model.StackTree(builder)
    known: dict[tuple[str, ...], list[int]] = {}  # nodes, by the places of tables
    for thread, value in zip(threads, kinds, strict=True):
        tables = _tables(thread, whole.get("shared"))
        places = tuple(each.place for each in tables.values())
        if places not in known:
            known[places] = _Stacks(tables, mappings, builder).nodes(tree)
        _add_samples(thread, known[places], tree, builder, value)
    return builder.profile


def _tables(thread: Node, shared: Node) -> dict[str, Node]:
    """The tables of a thread by their names, its own ones or shared ones."""
    found = {name: thread.get(name) for name in (_TEXTS, *_COLUMNS_READ)}
    if shared.value is not None:
        missing = [name for name, table in found.items() if table.value is None]
        found |= {name: shared.get(name) for name in missing}
    return found


def _mapping(library: Node, system: str) -> model.Mapping:
    """The mapping of a library, whose ids are those of its operating system."""
    name, code_id = library.get("name").text(), library.get("codeId").text()
    path = library.get("path").text() or name
    debug_id, build_id = "", ""
    with suppress(ValueError):
        debug_id = read_debug_id(library.get("breakpadId").text()).upper()
    if is_absent(debug_id[:GUID_DIGITS]):
        debug_id = ""
    if "\\" in path:
        system = "windows"
    if not is_windows(system):
        build_id = build_id_digits(code_id)
        code_id = ""
    if is_apple(system) and not build_id:
        build_id = debug_id[:GUID_DIGITS].lower()
    module = ModuleKey(
        debug_file=base_name(library.get("debugName").text()),
        debug_id=debug_id,
        code_file=base_name(name),
        code_id=code_id,
        os=system,
        architecture=library.get("arch").text(),
    )
    return model.Mapping(
        0, UINT64_MAX, 0, 0, path, build_id, is_relative=True, module=module
    )


def _digits(value: Any) -> int | None:
    """The number of a process or thread, which may be a text; None for others."""
    number = number_of(value)
    return int(number) if number is not None and number >= 0 else None


def _add_samples(
    thread: Node,
    nodes: list[int],
    tree: model.StackTree,
    builder: model.ProfileBuilder,
    value: tuple[model.ValueType, int],
) -> None:
    """Add all samples of a thread, of one type of values and a factor for them."""
    samples = thread.get("samples")
    stacks, weights = samples.get("stack"), samples.get("weight").list()
    times = _times(samples)
    numbers = _digits(thread.get("pid").value), _digits(thread.get("tid").value)
    names = thread.get("processName").text(), thread.get("name").text()
    index = builder.thread(model.Thread(*numbers, *names))
    types = builder.profile.value_types
    for number, row in enumerate(stacks.list()):
        weight = weights[number] if number < len(weights) else 1
        values = [0] * len(types)
        values[types.index(value[0])] = scaled(weight, value[1]) or 0
        if row is not None and (type(row) is not int or not 0 <= row < len(nodes)):
            raise stacks.error(f"no stack {row!r:.20}")
        time = times[number] if number < len(times) else None
        stack = tree.stack(model.ROOT if row is None else nodes[row])
        builder.sample(stack, tuple(values), thread=index, time=time)


def _times(samples: Node) -> list[int | None]:
    """The times in nanoseconds; none if one is unknown."""
    times = [scaled(each, _MILLISECOND) for each in samples.get("time").list()]
    if not times:
        deltas = samples.get("timeDeltas").list()
        times = [*accumulate(scaled(each, _MILLISECOND) or 0 for each in deltas)]
    return [] if None in times else times


class _Table:
    """Columns of a table, as lists; a column that is missing is empty."""

    def __init__(self, node: Node, names: str) -> None:
        self.node = node
        self.columns: dict[str, list[Any]] = {
            name: [] if node.value is None else node.get(name).list()
            for name in names.split()
        }

    def item(self, name: str, row: Any) -> Any:
        """A value; None if the row has none."""
        column = self.columns[name]
        is_row = type(row) is int and 0 <= row < len(column)
        return column[row] if is_row else None

    def has(self, row: Any, flag: int) -> bool:
        """Whether a row has a value: its flag is set, or the table has no flags."""
        flags = self.item("flags", row)
        return type(flags) is not int or bool(flags & flag)


class _Stacks:
    """The tables that stacks are made of; several threads may share them."""

    def __init__(
        self,
        tables: dict[str, Node],
        mappings: list[model.Mapping],
        builder: model.ProfileBuilder,
    ) -> None:
        self._texts = tables[_TEXTS].list()
        self._mappings = mappings
        self._builder = builder
        self._location = cache(self._location_of)
        tables["stackTable"].fields()  # raises if the table is missing
        self._stacks, self._frames, self._functions, self._resources, self._sources = (
            _Table(tables[name], names) for name, names in _COLUMNS_READ.items()
        )

    def nodes(self, tree: model.StackTree) -> list[int]:
        """The node of each row of the table of stacks; callers precede them."""
        table, stacks = self._stacks.node, self._stacks.columns
        # Since version 66 callers are distances.
        prefixes = stacks["prefix"] or [
            row - distance if type(distance) is int and distance else None
            for row, distance in enumerate(stacks["prefixOffset"])
        ]
        nodes: list[int] = []
        groups: list[_Calls] = []
        rows = zip(prefixes, stacks["frame"], strict=False)
        for row, (prefix, frame) in enumerate(rows):
            if type(frame) is not int:
                raise table.get("frame").error(f"row {row} has no frame")
            calls: _Calls = model.ROOT, (frame,)
            if prefix is not None and prefix != -1:
                if type(prefix) is not int or not 0 <= prefix < row:
                    reason = f"row {row} is called by {prefix!r:.20}"
                    raise table.get("prefix").error(reason)
                calls = nodes[prefix], (frame,)
                above, frames = groups[prefix]
                if len(frames) < _MOST_INLINED and self._is_inlined(frame, frames[-1]):
                    calls = above, (*frames, frame)
            groups.append(calls)
            nodes.append(tree.child(calls[0], self._location(calls[1])))
        return nodes

    def _is_inlined(self, frame: int, caller: int) -> bool:
        """Whether a call was inlined into that of another frame."""
        table = self._frames
        depth = table.item("inlineDepth", frame)
        if depth is None and table.columns["flags"]:
            depth = int(table.has(frame, IS_INLINED))
        address = table.item("address", frame)
        return (
            type(depth) is int
            and depth > 0
            and type(address) is int
            and address >= 0
            and address == table.item("address", caller)
            and self._library(frame) is not None
            and self._library(frame) == self._library(caller)
        )

    def _library(self, frame: int) -> int | None:
        if not self._frames.has(frame, HAS_ADDRESS):
            return None
        function = self._frames.item("func", frame)
        resource = self._functions.item("resource", function)
        found = self._frames.item("lib", frame)
        if found is None:
            found = self._resources.item("lib", resource)
        is_known = type(found) is int and 0 <= found < len(self._mappings)
        return found if is_known else None

    def _location_of(self, frames: tuple[int, ...]) -> int:
        """The location of frames, the outermost first."""
        functions = tuple(self._function(frame) for frame in reversed(frames))
        address = self._frames.item("address", frames[0])
        library = self._library(frames[0])
        mapping = None
        if library is not None:
            mapping = self._builder.mapping(self._mappings[library])
        if mapping is None or type(address) is not int or address < 0:
            return self._builder.function(functions[0], mapping)
        address &= UINT64_MAX
        profile = self._builder.profile
        if all(_UNRESOLVED.fullmatch(function.name) for function in functions):
            return self._builder.location(address, mapping)
        is_named_only = has_id(model.module_key(profile.mappings[mapping]))
        made = model.Location(address, mapping, frames=functions)
        profile.locations.append(made._replace(is_named_only=is_named_only))
        return len(profile.locations) - 1

    def _function(self, frame: int) -> model.Frame:
        function = self._frames.item("func", frame)
        if function is None:
            raise self._frames.node.error(f"no frame {frame!r:.20}")
        name = self._text(self._functions.item("name", function))
        path = self._functions.item("fileName", function)
        if path is None and self._functions.has(function, _HAS_SOURCE):
            source = self._functions.item("source", function)
            path = self._sources.item("filename", source)
        line = model.line_of(self._frames.item("line", frame))
        return model.Frame(name, path=self._text(path), line=line)

    def _text(self, index: Any) -> str:
        is_text = type(index) is int and 0 <= index < len(self._texts)
        return text_of(self._texts[index]) if is_text else ""
