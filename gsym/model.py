"""Records of functions and of answers to lookups.

All are immutable tuples. Addresses are link-time virtual addresses in bytes; lines
count from 1, and 0 means that the compiler recorded no line.
"""

from __future__ import annotations

from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

UINT64_END = 1 << 64
UINT64_MAX = UINT64_END - 1
NO_FUNCTION = "no function covers this address"
DAMAGED = "damaged record"
BEST_LEVEL = 2  # of `detail_level`


class LineEntry(NamedTuple):
    """A row of a line table.

    Attributes:
        address: First address of the line.
        path: Source file; "" for none.
        line: Line in it, from 1; 0 if the compiler gave none.
    """

    address: int
    path: str
    line: int


class Range(NamedTuple):
    """Addresses start <= address < end.

    Attributes:
        start: First address.
        end: First address after the range.
    """

    start: int
    end: int


class InlineInfo(NamedTuple):
    """An inlined function; the root of the tree is the function itself, without a call.

    Attributes:
        name: Name of the inlined function.
        call_path: Source file of the call.
        call_line: Line of the call.
        ranges: Addresses of its code, ascending.
        children: Functions inlined into it.
    """

    name: str
    call_path: str
    call_line: int
    ranges: tuple[Range, ...]
    children: tuple[InlineInfo, ...] = ()


class CallSite(NamedTuple):
    """A call in a function.

    Attributes:
        return_offset: Return address - start of the function.
        flags: 1: internal call, 2: external call.
        match_regex: Patterns, one of which matches the name of the callee.
    """

    return_offset: int
    flags: int
    match_regex: tuple[str, ...]


class FunctionRange(NamedTuple):
    """The name and the extent of a function.

    Attributes:
        name: Linkage name.
        start: First address.
        size: In bytes. A symbol without a size extends to the next one; 0 if nothing
            tells where it ends.
    """

    name: str
    start: int
    size: int

    @property
    def demangled(self) -> str:
        """The name in source notation."""
        return in_source_notation(self.name)


class FunctionInfo(NamedTuple):
    """The complete record of one function.

    Attributes:
        start: First address.
        size: As of `FunctionRange`.
        name: Linkage name.
        line_table: `LineEntry` records in ascending order, or None.
        inline: Root of the tree of inlined functions, or None.
        merged: Identical functions folded into this one.
        call_sites: Calls, where they were kept.
        extra: Unknown InfoType -> payload.
    """

    start: int
    size: int
    name: str
    line_table: tuple[LineEntry, ...] | None = None
    inline: InlineInfo | None = None
    merged: tuple[FunctionInfo, ...] = ()
    call_sites: tuple[CallSite, ...] = ()
    extra: dict[int, bytes] = {}  # noqa: RUF012 - a default of a NamedTuple

    @property
    def demangled(self) -> str:
        """The name in source notation."""
        return in_source_notation(self.name)


def frame_text(
    name: str, path: str, line: int, offset: int = 0, *, inlined: bool = False
) -> str:
    """Format a frame as text for people: `NAME + OFFSET at PATH:LINE [inlined]`."""
    shown = f"{name} + {offset}" if offset else name
    source = f" at {path}:{line or '?'}" if path else ""
    return f"{shown}{source} [inlined]" if inlined else shown + source


class Frame(NamedTuple):
    """One frame of an answer.

    Attributes:
        name: Linkage name of the function.
        directory: Directory of the source file.
        filename: Name of the source file; `path` joins both.
        line: Line in it, from 1; 0 if the compiler gave none.
        offset: Bytes from the start of the function, or of the first range of an
            inlined call.
        inlined: False only for the last frame, which is the function itself.
    """

    name: str
    directory: str
    filename: str
    line: int
    offset: int
    inlined: bool

    @property
    def path(self) -> str:
        """Directory and file name, joined as in the debug information."""
        return join_path(self.directory, self.filename)

    @property
    def demangled(self) -> str:
        """The name in source notation."""
        return in_source_notation(self.name)

    def __str__(self) -> str:
        """Format as `gsym lookup` does: `NAME + OFFSET at PATH:LINE [inlined]`."""
        return frame_text(
            self.demangled, self.path, self.line, self.offset, inlined=self.inlined
        )


class Lookup(NamedTuple):
    """The answer to one address.

    Attributes:
        address: The address that was looked up.
        function: The function that covers it.
        frames: Innermost first; at least one.
        call_site_patterns: Patterns of the callee's name, if a recorded call returns to
            the address.
        merged: The answers of functions folded into this one, if they were asked for.
    """

    address: int
    function: FunctionRange
    frames: tuple[Frame, ...]
    call_site_patterns: tuple[str, ...] = ()
    merged: tuple[Lookup, ...] = ()

    def __str__(self) -> str:
        """Format as `gsym lookup` does, a line for each frame."""
        lines = [str(frame) for frame in self.frames]
        if self.call_site_patterns:
            lines.append("calls " + ", ".join(self.call_site_patterns))
        start = f"{self.address:#x}: "
        return start + ("\n" + " " * len(start)).join(lines)

    def to_dict(self) -> dict[str, Any]:
        """The values of `gsym lookup --json`, for `json.dumps`."""
        function = self.function
        answer: dict[str, Any] = {
            "address": self.address,
            "function": {
                "name": function.name,
                "demangled": function.demangled,
                "start": function.start,
                "size": function.size,
            },
            "frames": [
                {"name": each.name, "demangled": each.demangled, "path": each.path}
                | {field: getattr(each, field) for field in each._fields[1:]}
                for each in self.frames
            ],
        }
        if self.call_site_patterns:
            answer["call_site_patterns"] = list(self.call_site_patterns)
        if self.merged:
            answer["merged"] = [each.to_dict() for each in self.merged]
            for each in answer["merged"]:
                del each["address"]  # it is that of the answer
        return answer


def in_source_notation(name: str) -> str:
    """The demangled name of a function."""
    import gsym  # for its public function: records import nothing of the engine

    return gsym.demangle(name)


def after_call(call: Lookup) -> Lookup:
    """The answer to a return address, from that to the byte before it."""
    return call._replace(
        address=call.address + 1,
        frames=tuple(each._replace(offset=each.offset + 1) for each in call.frames),
        merged=tuple(map(after_call, call.merged)),
    )


class Header(NamedTuple):
    """The header of a GSYM file; see docs/format.md.

    Attributes:
        version: 1 or 2.
        byteorder: "little" or "big".
        addr_off_size: Bytes of an entry of the address table.
        uuid: Build id of the binary, or b"".
        base_address: Address of the image.
        num_addresses: Number of functions.
        num_files: Entries of the file table.
        strtab_offset: Offset of the string table in the file.
        strtab_size: Size of the string table in bytes.
    """

    version: int
    byteorder: str
    addr_off_size: int
    uuid: bytes
    base_address: int
    num_addresses: int
    num_files: int
    strtab_offset: int
    strtab_size: int


def join_path(directory: str, filename: str) -> str:
    """The path of a file entry, joined as LLVM's GsymReader joins it."""
    if not directory:
        return filename
    separator = "\\" if "\\" in directory and "/" not in directory else "/"
    return directory + separator + filename


def valid_text(text: str) -> str:
    """The text, with question marks for halves of surrogates, which no UTF-8 has."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def base_name(path: str) -> str:
    """The name in a path of any operating system."""
    return path.replace("\\", "/").rpartition("/")[2]


def rewritten(path: str, path_map: Iterable[tuple[str, str]]) -> str:
    """The path with the first of the prefixes (old, new) that fits replaced."""
    for old, new in path_map:
        if path.startswith(old):
            return new + path[len(old) :]
    return path


def detail_level(with_lines: int, with_inlines: int) -> int:
    """0: function names only; 1: also source lines; 2: also inlined calls.

    Args:
        with_lines: Functions with a line table, or bytes of line tables.
        with_inlines: Functions with inlined calls, or bytes of these.
    """
    return BEST_LEVEL if with_inlines else int(with_lines > 0)
