"""Build a GSYM file from functions.

The engine keeps each function as an encoded record, so a creator needs little more
memory than the file. Strings and paths are passed by number, and each function in one
call, with its rows and inline nodes packed in arrays.
"""

from __future__ import annotations

from struct import (
    Struct,
    error as StructError,  # noqa: N812 - an exception, named as one
)

from gsym.engine.native import check, ffi, lib, new_error, to_bytes, uuid_bytes
from gsym.errors import ClosedError
from gsym.writing.atomic_file import AtomicFile
from gsym.writing.creator_handle import (
    CreatorReport,
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

    from gsym.model import CallSite, FunctionInfo, InlineInfo
    from gsym.reading.reader import Reader

    CData = Any  # a cffi object, or a function of the engine


# The engine's records, in the machine's byte order and without padding.
_ROW = Struct("=QII")
_RANGE = Struct("=QQ")
_NODE = Struct("=Q6I")
_CALL_SITE = Struct("=Q4I")
_STRP = Struct("=Q")


class Creator:
    """Collects functions and writes them as one GSYM file.

    Of several functions with the same range the most detailed one is written. A creator
    writes once; it is not thread-safe.

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
        if byteorder not in {"little", "big"}:
            raise ValueError(f"byte order must be 'little' or 'big', not {byteorder!r}")
        identifier = uuid_bytes(uuid)
        self._error: CData = new_error()
        self._handle: CData = None
        self._version = version
        self._report: CreatorReport | None = None
        self._strings: dict[str, int] = {"": 0}
        self._files: dict[str, int] = {"": 0}
        self._strp: CData = ffi.new("uint64_t *")
        self._file: CData = ffi.new("uint32_t *")
        self._handle = new_creator(
            version=version,
            big_endian=byteorder == "big",
            base_address=base_address,
            has_index=index,
        )
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
            ClosedError: The creator has written its file or was closed.
            LimitError: The function's size exceeds 32 bits, or its strings what
                version 1 can hold.
            ValueError: Rows do not ascend or leave the function, an inlined call
                lies outside of its parent, the name is empty, a string holds a NUL,
                an extra has an InfoType with a meaning, or a number is out of range.
        """
        alive: list[CData] = []
        try:
            function = self._describe(info, alive)
        except (OverflowError, StructError) as problem:
            raise ValueError(f"{info.name}: {problem}") from problem
        self._call(lib.gsym_creator_add_function, function, lib.GSYM_ORIGIN_DEBUG_INFO)

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
            ClosedError: The creator has written its file or was closed.
            EmptyError: No function was added.
            LimitError: The file does not fit version 1.
            OSError: The file cannot be made or written.
            ValueError: A function lies below the base address.
        """
        _ = self.handle  # raises if closed
        with AtomicFile(path) as file:
            for chunk in self._finish():
                file.write(chunk)

    def to_bytes(self) -> bytes:
        """The file as bytes. The creator is closed.

        Raises:
            ClosedError: The creator has written its file or was closed.
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
        """The engine's handle, for other modules of the package.

        Raises:
            ClosedError: The creator has written its file or was closed.
        """
        if self._handle is None:
            raise ClosedError("the creator is closed")
        return self._handle

    def _call(self, function: CData, *arguments: CData) -> None:
        check(function(self.handle, *arguments, self._error), self._error)

    def _string(self, text: str) -> int:
        strp = self._strings.get(text)
        if strp is None:
            raw = to_bytes(text)
            self._call(lib.gsym_creator_add_string, raw, len(raw), self._strp)
            strp = self._strings[text] = self._strp[0]
        return strp

    def _path(self, path: str) -> int:
        file = self._files.get(path)
        if file is None:
            raw = to_bytes(path)
            self._call(lib.gsym_creator_add_path, raw, len(raw), self._file)
            file = self._files[path] = self._file[0]
        return file

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

        function.address = info.address
        function.size = info.size
        function.name = self._string(info.name)
        if info.line_table:
            rows = [_ROW.pack(at, self._path(p), n) for at, p, n in info.line_table]
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
            name, file = self._string(node.name), self._path(node.call_path)
            place = len(ranges), len(node.ranges)
            nodes.append(_NODE.pack(name, file, node.call_line, depth, *place, 0))
            ranges += [_RANGE.pack(start, end) for start, end in node.ranges]
            stack += [(child, depth + 1) for child in reversed(node.children)]
        return nodes, ranges

    def _pack_call_sites(
        self, call_sites: tuple[CallSite, ...]
    ) -> tuple[list[bytes], list[bytes]]:
        sites: list[bytes] = []
        regexes: list[bytes] = []
        for offset, flags, patterns in call_sites:
            place = len(regexes), len(patterns)
            sites.append(_CALL_SITE.pack(offset, flags, *place, 0))
            regexes += [_STRP.pack(self._string(pattern)) for pattern in patterns]
        return sites, regexes
