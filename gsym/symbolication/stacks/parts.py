"""The parts of a pasted stack: text, frames and their modules."""

from __future__ import annotations

from bisect import bisect_right

from gsym.conversion.identity import read_debug_id
from gsym.model import UINT64_END
from gsym.records import NamedTuple
from gsym.store.modules import ModuleKey


class Placement(NamedTuple):
    """The location of a part of a module.

    Attributes:
        start: First address in the process.
        end: The address after the last.
        module: Number of the module.
        address: The address in the module of *start*.
    """

    start: int
    end: int
    module: int
    address: int


class LoadedImages:
    """Placements that do not overlap."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._placements: list[Placement] = []

    def add(self, start: int, end: int, module: int, address: int = 0) -> None:
        """Add a placement, unless it is empty or overlaps another.

        Args:
            start: First address in the process.
            end: The address after the last.
            module: Number of the module.
            address: The address in the module of *start*.
        """
        at = bisect_right(self._starts, start)
        is_free = at == 0 or self._placements[at - 1].end <= start
        if at < len(self._placements):
            is_free = is_free and end <= self._placements[at].start
        if start < end and is_free:
            self._starts.insert(at, start)
            self._placements.insert(at, Placement(start, end, module, address))

    def find(self, address: int) -> tuple[int, int] | None:
        """The number of the module at an address, and the address in it."""
        at = bisect_right(self._starts, address) - 1
        if at < 0 or address >= self._placements[at].end:
            return None
        placement = self._placements[at]
        return placement.module, address - placement.start + placement.address

    def clear(self) -> None:
        """Remove all placements."""
        self._starts.clear()
        self._placements.clear()


_UUID_DIGITS = 32


def module_of_path(path: str) -> StackModule:
    """A module given as NAME or as `NAME/DEBUGID`."""
    folder, _, last = path.replace("\\", "/").rpartition("/")
    if folder and len(last) > _UUID_DIGITS:
        try:
            debug_id = read_debug_id(last)
        except ValueError:
            pass
        else:
            return module_of_debug_id(base_name(folder), debug_id)
    name = base_name(path)
    return StackModule(name, ModuleKey(name, code_file=name))


def module_of_debug_id(name: str, debug_id: str) -> StackModule:
    """A module as in symbolication requests."""
    if not debug_id:
        return StackModule(name, ModuleKey(name))
    try:
        known = read_debug_id(debug_id).upper()
    except ValueError as problem:
        return StackModule(name, ModuleKey(name, debug_id), str(problem))
    return StackModule(name, ModuleKey(name, known))


def module_of_build_id(path: str, build_id: str) -> StackModule:
    """A module of an ELF system; *build_id* as hexadecimal digits, or ""."""
    name = base_name(path)
    return StackModule(name, ModuleKey(name, "", name, build_id.upper()))


def module_of_uuid(path: str, uuid: str) -> StackModule:
    """A module of an Apple system; *uuid* with or without dashes, or ""."""
    digits = uuid.replace("-", "").upper()
    name = base_name(path)
    if len(digits) != _UUID_DIGITS:
        return StackModule(name, ModuleKey(name, code_file=name))
    return StackModule(name, ModuleKey(name, digits + "0", name, digits))


class PasteLimits(NamedTuple):
    """Limits of a paste; the rest stays text.

    Attributes:
        frames: Number of frames.
        modules: Number of modules.
        lines: Number of lines.
        line: Characters of a line with frames.
    """

    frames: int = 10_000
    modules: int = 1_000
    lines: int = 100_000
    line: int = 4_096


class StackModule(NamedTuple):
    """A module of a paste.

    Attributes:
        name: File name without folder.
        key: The key to look it up. A name alone does not identify a build.
        problem: Why it cannot be looked up, or "".
    """

    name: str
    key: ModuleKey
    problem: str = ""


class StackFrame(NamedTuple):
    """An address in a module, and its text in the paste.

    Attributes:
        text: The part of the paste that the symbolized frame replaces.
        module: Index into the modules of the paste, or -1.
        address: In bytes; *base* defines its origin.
        base: "image": from the start of the module; "link": a link-time address;
            "either": a link-time address if it is in the module, else from the start.
        is_return: Whether it is a return address, so that the call is before it.
    """

    text: str
    module: int
    address: int
    base: str = "image"
    is_return: bool = False


class PastedStack(NamedTuple):
    """A parsed paste.

    Attributes:
        form: The name of the recognized format.
        parts: Texts and frames in order. If *is_verbatim*, the paste is the
            concatenation of the texts and those of the frames.
        modules: The modules of the paste.
        is_verbatim: False for JSON: the texts are then headings.
        notes: Sentences about omissions.
    """

    form: str
    parts: tuple[str | StackFrame, ...]
    modules: tuple[StackModule, ...]
    is_verbatim: bool = True
    notes: tuple[str, ...] = ()


NO_MODULE = -1


class StackBuilder:
    """Collects the parts of a paste in order, within limits."""

    def __init__(self, limits: PasteLimits) -> None:
        self.limits = limits
        self._parts: list[str | StackFrame] = []
        self._pending: list[str] = []
        self._frames = 0
        self.is_over = False  # the limit of frames is exceeded: do not look for more
        self._modules: list[StackModule] = []
        self._number_of: dict[ModuleKey, int] = {}
        self._notes: dict[str, None] = {}

    def add_text(self, text: str) -> None:
        """Append text."""
        if text:
            self._pending.append(text)

    def add_frame(self, frame: StackFrame) -> None:
        """Append a frame; beyond the limits it is text."""
        if not 0 <= frame.address < UINT64_END:
            self.add_text(frame.text)
            return
        if self._frames == self.limits.frames:
            self.is_over = True
            self.add_note(f"Only the first {self._frames} frames are looked up.")
            self.add_text(frame.text)
            return
        self._frames += 1
        self._flush()
        self._parts.append(frame)

    def add_note(self, note: str) -> None:
        """Add a sentence about an omission, once."""
        self._notes[note] = None

    def number(self, module: StackModule) -> int:
        """The index of a module; -1 beyond the limits."""
        known = self._number_of.get(module.key)
        if known is not None:
            return known
        if len(self._modules) == self.limits.modules:
            self.add_note(f"Only the first {len(self._modules)} modules are looked up.")
            return NO_MODULE
        self._number_of[module.key] = len(self._modules)
        self._modules.append(module)
        return len(self._modules) - 1

    def has_frames(self) -> bool:
        """Whether any frame was found."""
        return self._frames > 0

    def finish(self, form: str, *, is_verbatim: bool = True) -> PastedStack:
        """The parsed paste."""
        self._flush()
        return PastedStack(
            form,
            tuple(self._parts),
            tuple(self._modules),
            is_verbatim,
            tuple(self._notes),
        )

    def _flush(self) -> None:
        if self._pending:
            self._parts.append("".join(self._pending))
            self._pending.clear()


def base_name(path: str) -> str:
    """The file name of a path of any system, or of a file in an archive."""
    return path.replace("\\", "/").rpartition("/")[2].rpartition("!")[2]
