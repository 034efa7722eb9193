"""Images in a report: the modules that it says to be loaded, and where."""

from __future__ import annotations

from array import array
from collections import Counter

from gsym.engine.native import ffi
from gsym.memory.regions import Region, Regions
from gsym.memory.stack_parts import (
    NO_MODULE,
    module_of_build_id,
    module_of_debug_id,
    module_of_path,
    module_of_uuid,
)
from gsym.model import UINT64_MAX
from gsym.reports.stacks import evidence

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    import re
    from collections.abc import Mapping
    from typing import Any

    from gsym.memory.loaded import Loaded
    from gsym.memory.stack_parts import Base, StackBuilder, StackModule
    from gsym.reports.stacks.line_forms import ImageForm
    from gsym.reports.stacks.shapes import Shape

_MOST_DISTANCE = 1 << 30  # of a segment from the start of its image
_MOST_NAMED = 64  # lines with a word that may be a module, as `mem 0x1000-0x2000`


class PlacedImages:
    """The modules of a report that are at known addresses.

    Args:
        stack: Numbers the modules.
        process: What is loaded in the process of the report, beside its own images.

    Attributes:
        loaded: The regions that the report places.
    """

    def __init__(self, stack: StackBuilder, process: Loaded | None) -> None:
        self._stack = stack
        self._process = process
        self.loaded: Regions = Regions()
        self._first: dict[int, int] = {}  # by module: where the start of its file is
        self._known_starts: set[int] = set()
        self._named: Counter[tuple[str, ...]] = Counter()  # lines by their words
        self._images_read = 0
        self._placed: tuple[int, int, object] = 0, 0, None  # of which there are
        self._tables: list[Any] = []
        self._starts = array("Q")

    def place(self, module: StackModule, start: int) -> None:
        """Place a module at an address of the process."""
        number = self._stack.number(module)
        self._first[number] = start
        self._known_starts.add(start)
        self.loaded.add(Region(start, 0, number, base="image"))

    def add_described(self, text: str, shape: Shape) -> bool:
        """Whether the text of a line has an image of a known form, and no frame."""
        for form in shape.images:
            if found := form.pattern.search(text):
                self._images_read += 1
                if self._images_read <= self._stack.limits.images:
                    self._place_found(found, form)
                return not form.has_frame
        return False

    def may_add(self, shape: Shape) -> bool:
        """Whether one more line of a shape may place modules: not of a usual word."""
        words = shape.words
        self._named[words] += bool(words)
        return self._named[words] <= _MOST_NAMED

    def add(self, line: evidence.Line) -> None:
        """Place the modules of a line, unless they are placed."""
        for module, start, end, offset in line.images():
            if start in self._known_starts or self.loaded.covering(start):
                continue
            if end and not offset:
                self._first.setdefault(self._stack.number(module), start)
            self._known_starts.add(start)
            number = self._stack.number(module)
            base: Base = "file" if offset else "image"
            add = self.loaded.add if end else self.loaded.add_open
            add(Region(start, end, number, 0, offset, base))

    @property
    def count(self) -> int:
        """Count of the known starts."""
        return len(self._known_starts)

    def find(self, address: int) -> Region | None:
        """The part of a region from an address on, as far as is known."""
        region, process = self.loaded.region(address), self._process
        if region is not None or process is None:
            return region
        region = process.region(address)
        if region is None:
            return None
        return region._replace(
            module=self._stack.number(process.modules[region.module])
        )

    def set_places(self, lines: Any) -> None:
        """Let the engine know where modules are, for some lines that it reads."""
        regions, process = self.loaded.regions, self._process
        placed = len(self._known_starts), len(regions), regions
        if self._placed != placed:
            both = regions, [] if process is None else process.regions
            self._tables = [
                ffi.new("gsym_line_region[]", [*map(_line_region, each)])
                for each in both
            ]
            self._starts = array("Q", sorted(self._known_starts))
            self._placed = placed
        lines.regions = self._tables
        lines.region_counts = [*map(len, self._tables)]
        lines.starts = ffi.from_buffer("uint64_t[]", self._starts)
        lines.start_count = len(self._starts)

    def find_for(self, address: int, module: StackModule | None) -> Region | None:
        """The part for a frame in a module; None if it cannot be there."""
        placed = self.find(address)
        if placed is None or module is None or placed.module == NO_MODULE:
            return placed
        if placed.is_open and self._stack.module(placed.module).name != module.name:
            return None
        return placed

    def module_of(self, groups: Mapping[str, str], usual: str) -> StackModule | None:
        """The module that a line with a frame names."""
        module = _module(groups, usual)
        if module is not None and self._process is not None and not module.has_id:
            return self._process.named(module.name) or module
        return module

    def _place_found(self, found: re.Match[str], form: ImageForm) -> None:
        groups = {name: text for name, text in found.groupdict().items() if text}
        module = _module(groups, form.module)
        if module is None:
            return
        number = self._stack.number(module)
        start = hex_number(groups["start"]) if "start" in groups else None
        if form.usual is not None and hex_number(groups["address"]) in form.usual:
            start = form.usual.start
        if start is None:
            return  # only the id of a module
        end = hex_number(groups.get("end"))
        if "last" in groups:
            end = hex_number(groups["last"]) + 1
        if "size" in groups:
            end = start + hex_number(groups["size"])
        base, first = form.base, hex_number(groups.get("at"))
        has_place = "at" in found.re.groupindex
        if base != "image":  # the file of the module says where its start is
            distance = start - self._first.get(number, start + 1)
            if 0 <= distance < _MOST_DISTANCE:
                base, first = "image", distance
            self._known_starts.add(start)
        elif not first and (has_place or start <= self._first.get(number, start)):
            self._first[number] = start
            self._known_starts.add(start)
        elif number in self._first:
            # A loader maps all segments of a file at one distance.
            first = start - self._first[number]
        else:
            base = "file"
        self.loaded.add(Region(start, end, number, 0, first, base))


def _line_region(region: Region) -> tuple[int, int, int]:
    """A region as the engine has it."""
    last = min(region.end - 1, UINT64_MAX)
    return region.start, last, region.address & UINT64_MAX


def hex_number(digits: str | None) -> int:
    """The value of hexadecimal digits; 0 for none."""
    return int(digits.replace("`", ""), 16) if digits else 0


def _module(groups: Mapping[str, str], usual: str) -> StackModule | None:
    path = groups.get("module", "").strip() or usual
    if path.strip("[]") in evidence.KERNEL_NAMES:
        path = evidence.KERNEL
    if build_id := groups.get("build_id"):
        return module_of_build_id(path, build_id)
    if uuid := groups.get("uuid"):
        return module_of_uuid(path, uuid)
    if debug_id := groups.get("debug_id"):
        return module_of_debug_id(path, debug_id)
    return module_of_path(path) if path else None
