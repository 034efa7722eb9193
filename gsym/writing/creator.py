"""Build a GSYM file from functions.

The engine keeps each function as an encoded record, so a creator needs little more
memory than the file. Strings and paths are passed by number, and each function in one
call, with its rows and inline nodes packed in arrays.
"""

from __future__ import annotations

from struct import error as StructError  # noqa: N812 - an exception, named as one

from gsym.arguments import (
    choice_of,
    flag_of,
    integer_of,
    items_of,
    path_of,
    refusal,
    strings_of,
    text_of,
)
from gsym.engine.native import (
    CALL_SITE,
    NODE,
    RANGE,
    ROW,
    STRP,
    check,
    ffi,
    lib,
    new_error,
    uuid_bytes,
)
from gsym.errors import ClosedError
from gsym.model import (
    UINT64_MAX,
    CallSite,
    FunctionInfo,
    InlineInfo,
    LineEntry,
    Range,
)
from gsym.writing.atomic_file import AtomicFile
from gsym.writing.creator_handle import (
    CreatorReport,
    CreatorStrings,
    finish_creator,
    iter_finished,
    new_creator,
)

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    import os
    from collections.abc import Iterator
    from typing import Any

    from typing_extensions import Self

    from gsym.reading.reader import Reader

    CData = Any  # a cffi object, or a function of the engine

_PROBLEMS = AttributeError, OverflowError, StructError, TypeError, ValueError


class Creator:
    """Collects functions and writes them as one GSYM file.

    Of several functions with the same range the most detailed one is written. A creator
    writes once and raises `ClosedError` after that; it is not thread-safe.

    Args:
        version: Format version, 1 or 2. Every LLVM reads version 1, which is limited to
            4 GiB and a UUID of 20 bytes.
        byteorder: "little" or "big", the order of the integers in the file.
        base_address: The image base that addresses in the file count from; by
            default the start of the first function.
        uuid: Identifier of the binary that the functions belong to, as bytes or as
            hexadecimal text.
        index: Add an index of large functions, with which lookups read little of them.

    Raises:
        LimitError: The UUID does not fit version 1.
        TypeError: The UUID is neither bytes nor text.
        ValueError: The version or byte order is invalid, or the UUID is not
            hexadecimal.
    """

    def __init__(
        self,
        version: int = 1,
        byteorder: str = "little",
        base_address: int | None = None,
        uuid: bytes | str = b"",
        *,
        index: bool = True,
    ) -> None:
        choice_of("byteorder", byteorder, ("little", "big"))
        index = flag_of("index", index)
        version = integer_of("version", version, 1, 2)
        if base_address is not None:
            base_address = integer_of("base_address", base_address, 0, UINT64_MAX)
        identifier = uuid_bytes(uuid)
        self._error: CData = new_error()
        self._handle: CData = None
        self._version = version
        self._report: CreatorReport | None = None
        self._mark: CData = ffi.new("gsym_creator_mark *")
        self._handle = new_creator(
            version=version,
            big_endian=byteorder == "big",
            base_address=base_address,
            has_index=index,
        )
        self._strings = CreatorStrings(self._handle)
        self._files = CreatorStrings(self._handle, are_paths=True)
        self._strings[""] = self._files[""] = 0
        self._call(lib.gsym_creator_set_uuid, identifier, len(identifier))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Free the memory. Functions that were not saved are lost."""
        if self._handle is not None:
            ffi.release(self._handle)
            self._handle = None

    @property
    def report(self) -> CreatorReport | None:
        """Counts of the written file; None before that."""
        return self._report

    def add(self, info: FunctionInfo) -> None:
        """Add a function, with its merged functions and unknown InfoTypes.

        Raises:
            LimitError: The function's size exceeds 32 bits, or its strings what
                version 1 can hold.
            ValueError: Rows do not ascend or leave the function, an inlined call
                lies outside of its parent, the name is empty, a string holds a NUL,
                an extra has an InfoType with a meaning, or a number is out of range.
        """
        names, files, mark = len(self._strings), len(self._files), self._mark
        lib.gsym_creator_get_mark(self.handle, mark)
        alive: list[CData] = []
        try:
            try:
                function = self._describe(info, alive)
            except _PROBLEMS as problem:
                _check_function("info", info)
                raise ValueError(f"{info.name}: {problem}") from problem
            origin = lib.GSYM_ORIGIN_DEBUG_INFO
            self._call(lib.gsym_creator_add_function, function, origin)
        except BaseException:
            # The output has no name and no file of a function that is refused.
            self._call(lib.gsym_creator_forget, mark)
            for known, count in (self._strings, names), (self._files, files):
                while len(known) > count:
                    known.popitem()
            raise

    def add_reader(self, reader: Reader) -> None:
        """Add all functions of another file unchanged.

        If both files are of version 2, sections of unknown types are copied as well.
        UUID and base address are not.

        Raises:
            ClosedError: The creator has written its file, or one of the two was
                closed.
            FormatError: A record of the other file is damaged.
            LimitError: The result does not fit version 1.
            ValueError: A record is invalid for a creator, such as a call outside of its
                caller.
        """
        if not hasattr(reader, "mapped"):
            raise refusal("reader", "a gsym.Reader", reader)
        source = self.handle, reader.mapped.image
        status = lib.gsym_creator_add_entries(*source, ffi.NULL, self._error)
        check(status, self._error, reader.path)
        status = lib.gsym_creator_add_sections(*source, self._error)
        check(status, self._error, reader.path)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the file at *path*, complete or not at all.

        The creator is closed, even after an error; only if *path* cannot be created it
        is unchanged.

        Raises:
            EmptyError: No function was added.
            LimitError: The file does not fit version 1.
            OSError: The file cannot be made or written.
            ValueError: A function lies below the base address.
        """
        _ = self.handle  # raises if closed
        with AtomicFile(path_of("path", path)) as file:
            for chunk in self._finish():
                file.write(chunk)

    def to_bytes(self) -> bytes:
        """The file as bytes. The creator is closed.

        Raises:
            EmptyError: No function was added.
            LimitError: The file does not fit version 1.
            ValueError: A function lies below the base address.
        """
        _ = self.handle  # raises if closed
        return b"".join(map(bytes, self._finish()))

    def _finish(self) -> Iterator[memoryview]:
        try:
            self._report = finish_creator(self.handle)
            yield from iter_finished(self._handle)
        finally:
            self.close()

    @property
    def handle(self) -> CData:
        """The engine's handle, for other modules of the package."""
        if self._handle is None:
            raise ClosedError("the creator is closed")
        return self._handle

    def _call(self, function: CData, *arguments: CData) -> None:
        check(function(self.handle, *arguments, self._error), self._error)

    def _path(self, path: str) -> int:
        return self._files[path if path in self._files else path_of("path", path)]

    def _describe(self, info: FunctionInfo, alive: list[CData]) -> CData:
        """The engine's view of *info*; *alive* keeps its memory."""
        function = ffi.new("gsym_function *")
        self._fill(function, info, alive)
        if info.merged:
            merged = ffi.new("gsym_function[]", len(info.merged))
            alive.append(merged)
            for child, child_info in zip(merged, info.merged, strict=True):
                self._fill(child, child_info, alive)
                child.merged_count = len(child_info.merged)  # refused by the engine
            function.merged = merged
            function.merged_count = len(merged)
        return function

    def _fill(self, function: CData, info: FunctionInfo, alive: list[CData]) -> None:
        """Set all fields except those of merged functions."""

        def array(kind: str, packed: list[bytes]) -> CData:
            view = ffi.from_buffer(kind, b"".join(packed))
            alive.append(view)
            return view

        function.address = info.start
        function.size = info.size
        function.name = self._strings[info.name]
        if not function.name:
            raise ValueError("a function without a name")
        if info.line_table:
            rows = [ROW.pack(at, self._path(p), n) for at, p, n in info.line_table]
            function.rows = array("gsym_line_row[]", rows)
            function.row_count = len(rows)
        # A root without calls adds nothing to the function, unless it names a file.
        if info.inline is not None and (info.inline.children or info.inline.call_path):
            nodes, ranges = self._pack_inline(info.inline)
            function.nodes = array("gsym_inline_node[]", nodes)
            function.node_count = len(nodes)
            function.ranges = array("gsym_range[]", ranges)
            function.range_count = len(ranges)
        if info.call_sites:
            sites, regexes = self._pack_call_sites(info.call_sites)
            function.call_sites = array("gsym_call_site[]", sites)
            function.call_site_count = len(sites)
            function.regexes = array("uint64_t[]", regexes)
            function.regex_count = len(regexes)
        if info.extra:
            extras = ffi.new("gsym_extra[]", len(info.extra))
            alive.append(extras)
            for extra, (kind, payload) in zip(extras, info.extra.items(), strict=True):
                extra.type = kind
                extra.size = len(payload)
                extra.data = array("uint8_t[]", [payload])
            function.extras = extras
            function.extra_count = len(extras)

    def _pack_inline(self, root: InlineInfo) -> tuple[list[bytes], list[bytes]]:
        nodes: list[bytes] = []
        ranges: list[bytes] = []
        # A stack: the input chooses the depth of trees.
        stack = [(root, 0)]
        while stack:
            node, depth = stack.pop()
            name, file = self._strings[node.name], self._path(node.call_path)
            place = len(ranges), len(node.ranges)
            nodes.append(NODE.pack(name, file, node.call_line, depth, *place, 0))
            ranges += [RANGE.pack(start, end) for start, end in node.ranges]
            stack += [(child, depth + 1) for child in reversed(node.children)]
        return nodes, ranges

    def _pack_call_sites(
        self, call_sites: tuple[CallSite, ...]
    ) -> tuple[list[bytes], list[bytes]]:
        sites: list[bytes] = []
        regexes: list[bytes] = []
        for offset, flags, patterns in call_sites:
            place = len(regexes), len(patterns)
            sites.append(CALL_SITE.pack(offset, flags, *place, 0))
            regexes += [STRP.pack(self._strings[pattern]) for pattern in patterns]
        return sites, regexes


# ---- why a function is refused


def _uint64(name: str, value: int) -> None:
    integer_of(name, value, 0, UINT64_MAX)


def _uint32(name: str, value: int) -> None:
    integer_of(name, value, 0, 0xFFFF_FFFF)


# What the fields of each record have to be.
_CHECKS: dict[type[Any], tuple[Any, ...]] = {
    LineEntry: (_uint64, path_of, _uint32),
    CallSite: (_uint64, _uint32, strings_of),
    Range: (_uint64, _uint64),
}


def _check_function(name: str, info: FunctionInfo) -> None:
    """Raise an error that names the part of a function that has a wrong value.

    Raises:
        TypeError: It has another type.
        ValueError: It is out of its range.
    """
    if not isinstance(info, FunctionInfo):
        raise refusal(name, "a FunctionInfo", info)
    _uint64(f"{name}.start", info.start)
    _uint64(f"{name}.size", info.size)
    if not text_of(f"{name}.name", info.name):
        raise ValueError(f"{name}.name: expected the name of a function, not ''")
    _check_records(f"{name}.line_table", info.line_table, LineEntry)
    if info.inline is not None:
        _check_inlined(f"{name}.inline", info.inline)
    _check_records(f"{name}.call_sites", info.call_sites, CallSite)
    if not isinstance(info.extra, dict):
        raise refusal(f"{name}.extra", "a dict of InfoTypes and bytes", info.extra)
    for kind, payload in info.extra.items():
        _uint32(f"{name}.extra", kind)
        if not isinstance(payload, (bytes, bytearray, memoryview)):
            raise refusal(f"{name}.extra[{kind}]", "bytes", payload)
    for at, merged in enumerate(info.merged):
        _check_function(f"{name}.merged[{at}]", merged)


def _check_inlined(name: str, root: InlineInfo) -> None:
    nodes = [(root, name)]
    while nodes:
        node, place = nodes.pop()
        if not isinstance(node, InlineInfo):
            raise refusal(place, "an InlineInfo", node)
        text_of(f"{place}.name", node.name)
        path_of(f"{place}.call_path", node.call_path)
        _uint32(f"{place}.call_line", node.call_line)
        _check_records(f"{place}.ranges", node.ranges, Range)
        nodes += _numbered(f"{place}.children", node.children, InlineInfo)


def _check_records(name: str, values: Any, kind: type[Any]) -> None:
    for record, place in _numbered(name, values, kind):
        for field, check_of, value in zip(
            kind._fields, _CHECKS[kind], record, strict=True
        ):
            check_of(f"{place}.{field}", value)


def _numbered(name: str, values: Any, kind: type[Any]) -> Iterator[tuple[Any, str]]:
    """Yield records, or tuples like them, and their names in messages."""
    expected = f"{kind.__name__} records"
    for at, each in enumerate(items_of(name, values or (), expected)):
        place = f"{name}[{at}]"
        if not isinstance(each, tuple) or len(each) != len(kind._fields):
            raise refusal(place, f"a {kind.__name__}", each)
        yield each, place
