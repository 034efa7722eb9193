"""The Firefox Profiler's processed format -> `Profile`.

What the Firefox Profiler saves, what samply records, and what `gsym trace convert`
writes. Tables are those of the thread or, since version 55 of the format, shared.

Source: as for `gsym.profiles.firefox`.
"""

from __future__ import annotations

from contextlib import suppress
from itertools import accumulate

from gsym.errors import UnsupportedError
from gsym.model import UINT64_MAX
from gsym.modules.key import (
    ModuleKey,
    build_id_digits,
    has_id,
    is_absent,
    is_apple,
    is_windows,
    read_debug_id,
)
from gsym.patterns import regex
from gsym.profiles import model
from gsym.profiles.json_input import Node, number_of, read_node, scaled, text_of
from gsym.profiles.model import ROOT, StackTree
from gsym.reports.stacks.browser_profile import HAS_ADDRESS, IS_INLINED

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from typing import Any

    from gsym.profiles.model import Profile
    from gsym.profiles.opening import ProfileOptions

    # The node that the calls of a location are below, and the rows of its frames.
    _Calls = tuple[int, tuple[int, ...]]

_MILLISECOND = 1_000_000  # nanoseconds
_WEIGHTS = {
    "": (model.SAMPLES, 1),
    "samples": (model.SAMPLES, 1),
    "tracing-ms": (model.TIME, _MILLISECOND),
    "bytes": (model.SPACE, 1),
}
_UNRESOLVED = regex(r"(?:[^!]*!)?0x[0-9a-f]{1,16}")
_MOST_INLINED = 256
_GUID_DIGITS = 32
# What says the operating system, and the words by which it does.
_SYSTEM_FIELDS = ("oscpu", "toolkit", "platform")
_SYSTEMS = {
    "windows": "windows",
    **dict.fromkeys(("mac", "cocoa"), "mac"),
    **dict.fromkeys(("linux", "gtk", "android"), "Linux"),
}
_HAS_SOURCE = 8  # a flag of functions since version 75


def read_firefox(path: str, options: ProfileOptions) -> Profile:
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
        raise UnsupportedError(reason, path=path)
    threads = list(whole.get("threads").items())
    kinds = [_weight_kind(thread) for thread in threads]
    types = tuple(dict.fromkeys(kind for kind, _ in kinds)) or (model.SAMPLES,)
    builder = model.ProfileBuilder(types)
    builder.profile.start_time = scaled(meta.get("startTime").value, _MILLISECOND) or 0
    said = " ".join(meta.get(name).text() for name in _SYSTEM_FIELDS).lower()
    # The operating system, as Breakpad writes it.
    system = next((system for word, system in _SYSTEMS.items() if word in said), "")
    mappings = [_mapping(each, system) for each in whole.get("libs").items()]
    tree = StackTree(builder)
    for thread, (kind, factor) in zip(threads, kinds, strict=True):
        tables = _Tables(thread, whole.get("shared"), mappings, builder, tree)
        numbers = _digits(thread.get("pid").value), _digits(thread.get("tid").value)
        names = thread.get("processName").text(), thread.get("name").text()
        own = model.Thread(*numbers, *names)
        tables.add_samples(own, types.index(kind), factor)
    return builder.profile


def _weight_kind(thread: Node) -> tuple[model.ValueType, int]:
    kind = thread.get("samples").get("weightType")
    found = _WEIGHTS.get(kind.text())
    if found is None:
        raise kind.error(f"none of {', '.join(filter(None, _WEIGHTS))}")
    return found


def _mapping(library: Node, system: str) -> model.Mapping:
    """The mapping of a library, whose ids are those of its operating system."""
    name, code_id = library.get("name").text(), library.get("codeId").text()
    path = library.get("path").text() or name
    debug_id, build_id = "", ""
    with suppress(ValueError):
        debug_id = read_debug_id(library.get("breakpadId").text()).upper()
    if is_absent(debug_id[:_GUID_DIGITS]):
        debug_id = ""
    if "\\" in path:
        system = "windows"
    if not is_windows(system):
        build_id = build_id_digits(code_id)
        code_id = ""
    if is_apple(system) and not build_id:
        build_id = debug_id[:_GUID_DIGITS].lower()
    module = ModuleKey(
        debug_file=model.base_name(library.get("debugName").text()),
        debug_id=debug_id,
        code_file=model.base_name(name),
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


class _Tables:
    """The tables of a thread: what its stacks are made of."""

    def __init__(
        self,
        thread: Node,
        shared: Node,
        mappings: list[model.Mapping],
        builder: model.ProfileBuilder,
        tree: StackTree,
    ) -> None:
        self._own = thread
        self._shared = shared
        self._mappings = mappings
        self._builder = builder
        self._tree = tree
        self._texts = self._table("stringArray").list()
        self._stacks = self._table("stackTable")
        self._frames = self._table("frameTable")
        self._functions = self._table("funcTable")
        self._prefixes = self._read_prefixes()
        self._frame_of = self._stacks.get("frame").list()
        self._columns: dict[tuple[str, str], list[Any]] = {}
        self._locations: dict[tuple[int, ...], int] = {}
        self._calls: list[_Calls] = []
        self._nodes: list[int] = []

    def add_samples(self, thread: model.Thread, value: int, factor: int) -> None:
        """Add all samples of the thread."""
        self._read_stacks()
        samples = self._own.get("samples")
        stacks, weights = samples.get("stack"), samples.get("weight").list()
        times = self._times(samples)
        index = self._builder.thread(thread)
        types = len(self._builder.profile.value_types)
        for number, stack in enumerate(stacks.list()):
            weight = weights[number] if number < len(weights) else 1
            values = [0] * types
            values[value] = scaled(weight, factor) or 0
            node = ROOT
            if stack is not None:
                if type(stack) is not int or not 0 <= stack < len(self._nodes):
                    raise stacks.error(f"no stack {stack!r:.20}")
                node = self._nodes[stack]
            self._builder.sample(
                self._tree.stack(node),
                tuple(values),
                thread=index,
                time=times[number] if number < len(times) else None,
            )

    @staticmethod
    def _times(samples: Node) -> list[int | None]:
        """The times in nanoseconds; none if one is unknown."""
        times = [scaled(each, _MILLISECOND) for each in samples.get("time").list()]
        if not times:
            deltas = samples.get("timeDeltas").list()
            times = [*accumulate(scaled(each, _MILLISECOND) or 0 for each in deltas)]
        return [] if None in times else times

    def _table(self, name: str) -> Node:
        own = self._own.get(name)
        if own.value is not None or self._shared.value is None:
            return own
        return self._shared.get(name)

    def _column(self, table: str, name: str) -> list[Any]:
        found = self._columns.get((table, name))
        if found is None:
            node = self._table(table)
            found = [] if node.value is None else node.get(name).list()
            self._columns[table, name] = found
        return found

    def _item(self, table: str, name: str, row: Any) -> Any:
        """A value of a table; None if it has none."""
        column = self._column(table, name)
        is_row = type(row) is int and 0 <= row < len(column)
        return column[row] if is_row else None

    def _text(self, index: Any) -> str:
        is_text = type(index) is int and 0 <= index < len(self._texts)
        return text_of(self._texts[index]) if is_text else ""

    def _read_prefixes(self) -> list[Any]:
        """The caller of each row of the stacks; since version 66 as a distance."""
        distances = enumerate(self._stacks.get("prefixOffset").list())
        return self._stacks.get("prefix").list() or [
            row - distance if type(distance) is int and distance else None
            for row, distance in distances
        ]

    def _has(self, table: str, row: Any, flag: int) -> bool:
        """Whether a row has a value that a flag tells of, where there are flags."""
        flags = self._item(table, "flags", row)
        return type(flags) is not int or bool(flags & flag)

    def _read_stacks(self) -> None:
        """The node of each row of the table of stacks; callers precede them."""
        for row, (prefix, frame) in enumerate(
            zip(self._prefixes, self._frame_of, strict=False)
        ):
            if type(frame) is not int:
                reason = f"row {row} has no frame"
                raise self._stacks.get("frame").error(reason)
            calls: _Calls = ROOT, (frame,)
            if prefix is not None and prefix != -1:
                if type(prefix) is not int or not 0 <= prefix < row:
                    reason = f"row {row} is called by {prefix!r:.20}"
                    raise self._stacks.get("prefix").error(reason)
                calls = self._nodes[prefix], (frame,)
                above, frames = self._calls[prefix]
                if len(frames) < _MOST_INLINED and self._is_inlined(frame, frames[-1]):
                    calls = above, (*frames, frame)
            self._calls.append(calls)
            self._nodes.append(self._tree.child(calls[0], self._location(calls[1])))

    def _is_inlined(self, frame: Any, caller: Any) -> bool:
        """Whether a call was inlined into that of another frame."""
        depth = self._item("frameTable", "inlineDepth", frame)
        if depth is None and self._column("frameTable", "flags"):
            depth = int(self._has("frameTable", frame, IS_INLINED))
        address = self._item("frameTable", "address", frame)
        return (
            type(depth) is int
            and depth > 0
            and type(address) is int
            and address >= 0
            and address == self._item("frameTable", "address", caller)
            and self._library(frame) is not None
            and self._library(frame) == self._library(caller)
        )

    def _library(self, frame: Any) -> int | None:
        if not self._has("frameTable", frame, HAS_ADDRESS):
            return None
        function = self._item("frameTable", "func", frame)
        resource = self._item("funcTable", "resource", function)
        found = self._item("frameTable", "lib", frame)
        if found is None:
            found = self._item("resourceTable", "lib", resource)
        is_known = type(found) is int and 0 <= found < len(self._mappings)
        return found if is_known else None

    def _location(self, frames: tuple[int, ...]) -> int:
        """The location of frames, the outermost first."""
        found = self._locations.get(frames)
        if found is not None:
            return found
        functions = tuple(self._function(frame) for frame in reversed(frames))
        address = self._item("frameTable", "address", frames[0])
        library = self._library(frames[0])
        mapping = None
        if library is not None:
            mapping = self._builder.mapping(self._mappings[library])
        if mapping is None or type(address) is not int or address < 0:
            found = self._builder.function(functions[0], mapping)
        else:
            found = self._native(address & UINT64_MAX, mapping, functions)
        self._locations[frames] = found
        return found

    def _native(
        self, address: int, mapping: int, functions: tuple[model.Frame, ...]
    ) -> int:
        """The location of an address in a library."""
        profile = self._builder.profile
        if all(_UNRESOLVED.fullmatch(function.name) for function in functions):
            return self._builder.location(address, mapping)
        is_named_only = has_id(model.module_key(profile.mappings[mapping]))
        profile.locations.append(
            model.Location(
                address, mapping, frames=functions, is_named_only=is_named_only
            )
        )
        return len(profile.locations) - 1

    def _function(self, frame: Any) -> model.Frame:
        function = self._item("frameTable", "func", frame)
        if function is None:
            raise self._frames.error(f"no frame {frame!r:.20}")
        name = self._text(self._item("funcTable", "name", function))
        path = self._item("funcTable", "fileName", function)
        if path is None and self._has("funcTable", function, _HAS_SOURCE):
            source = self._item("funcTable", "source", function)
            path = self._item("sources", "filename", source)
        line = model.line_of(self._item("frameTable", "line", frame))
        return model.Frame(name, path=self._text(path), line=line)
