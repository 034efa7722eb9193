"""Code and call frame information that a dump leaves out, as the files have it."""

from __future__ import annotations

import struct
from contextlib import suppress
from itertools import islice

from gsym.containers.data_symbols import DataSymbols, SymbolNames
from gsym.containers.fat import open_slice, slice_if_fat
from gsym.containers.headers import load_segments
from gsym.containers.mapped_file import map_file
from gsym.containers.object_file import ObjectFile
from gsym.containers.recognition import recognise_file
from gsym.errors import GsymError
from gsym.memory.loaded import linked_region
from gsym.model import UINT64_MAX
from gsym.modules.key import OTHER, PART, SAME, UNKNOWN, Comparison
from gsym.ranges import AddressRanges
from gsym.unwinding.arm_tables import SECTION, step_by_tables
from gsym.unwinding.breakpad_frames import BreakpadFrames
from gsym.unwinding.compact_unwind import CompactUnwind, MachoParts, macho_parts
from gsym.unwinding.expressions import DamagedError
from gsym.unwinding.frame_info import HEADER_MAGIC, CallFrames, FrameSection, apply_row
from gsym.unwinding.go_frames import GoFrames, go_table
from gsym.unwinding.images import Image, image_in_file, read_image
from gsym.unwinding.machines import AARCH64, ARM, X86, X86_64
from gsym.unwinding.pe_arm_frames import step_by_pe_arm
from gsym.unwinding.pe_frames import pe_image, step_by_pe
from gsym.unwinding.prologues import FollowedCode

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from gsym.containers.headers import Segment
    from gsym.memory.loaded import Loaded
    from gsym.memory.regions import Region
    from gsym.memory.stack_parts import StackModule
    from gsym.unwinding.frame_info import Row, Step
    from gsym.unwinding.images import Memory
    from gsym.unwinding.machines import Machine

    FindFiles = Callable[[StackModule], Iterable[str]]
    FrameSource = Callable[[int, dict[int, int], Memory], Step | None]
    """The registers in the caller of the function at a link-time address."""

# What is beyond these is not compared, and not called equal.
_MOST_COMPARED = 16 << 20  # bytes of code
_MOST_REGIONS = 64  # of a module
_MOST_PLAIN = 1 << 14  # rules that are kept
_MAX_FILES = 8  # of a module that may have call frame information
_FUNCTIONS = frozenset({2, 10})  # types of symbols: STT_FUNC, STT_GNU_IFUNC
_PAGE = 4096
_APPLE_NAMES = {X86_64: "x86_64", AARCH64: "arm64"}
_BLOCK = struct.Struct("<II")  # of relocations in a PE file: page, size in bytes
_MOST_RELOCATED = 8  # bytes at a place


class SavedMemory:
    """The memory in a dump.

    Args:
        data: The dump.
        parts: Address, size, and offset in the dump of each part. Parts may overlap, as
            the stack of a thread with other memory of a minidump.
    """

    def __init__(
        self, data: memoryview, parts: Iterable[tuple[int, int, int]] = ()
    ) -> None:
        self._data = data
        # Offsets in the dump less addresses.
        self._parts: AddressRanges[int] = AddressRanges()
        end = 0
        for start, size, offset in sorted(parts):
            self._parts.add(max(start, end), start + size, offset - start)
            end = max(end, start + size)

    def read(self, address: int, size: int) -> bytes:
        """Bytes at an address, as many as its part has."""
        start, data = next(self.within(address, address + size), (address, b""))
        return bytes(data) if start == address else b""

    def within(self, start: int, end: int) -> Iterator[tuple[int, memoryview]]:
        """The address and the bytes of each part in a range."""
        for low, high, shift in self._parts.meeting(start, end):
            yield low, self._data[low + shift : high + shift]


class ModuleFiles:
    """Memory of a dump, completed by files of its modules where they are the same."""

    def __init__(
        self, loaded: Loaded, machine: Machine, saved: SavedMemory, find: FindFiles
    ) -> None:
        self._loaded = loaded
        self._machine = machine
        self._saved = saved
        self._find = find
        self._images: dict[int, Image] = {}
        self._files: dict[int, list[LoadedFile]] = {}
        self._paths: dict[int, Iterator[str]] = {}  # of files that are not read yet
        self._frames: dict[tuple[int, int], CallFrames] = {}  # by module and bias
        self._code = FollowedCode(machine, self.memory)
        # By address: rules without expressions; see _place.
        self._plain: dict[int, Row] = {}
        self._placed: dict[int, tuple[int, int | None]] = {}

    def memory(self, address: int, size: int) -> bytes:
        """Bytes at an address; fewer where neither the dump nor a file has them."""
        saved = self._saved.read(address, size)
        if len(saved) == size:
            return saved
        pieces: list[bytes] = []
        while size > 0 and (piece := self._piece(address, size)):
            pieces.append(piece)
            address, size = address + len(piece), size - len(piece)
        return b"".join(pieces)

    def step(self, pc: int, values: dict[int, int]) -> Step | None:
        """The registers in the caller, by the call frame information of a module."""
        row = self._plain.get(pc)
        if row is not None:
            with suppress(DamagedError, KeyError):
                return apply_row(row, values, self.memory, self._machine)
        module, linked = self._place(pc)
        if linked is None:
            return None
        bias = pc - linked
        found = self._by_header(module, linked, bias, values)
        if found is not None:
            return found
        base = self._base(module)
        for file in self._files_of(module):
            place = linked - base if file.is_relative else linked
            found = file.step(place, values, self.memory)
            if found is not None:
                return found
        starts = (each.function_start(linked) for each in self._files_of(module))
        start = next((each for each in starts if each is not None), None)
        if start is None:
            return None
        return self._code.step(start + bias, pc, values)

    def _by_header(
        self, module: int, linked: int, bias: int, values: dict[int, int]
    ) -> Step | None:
        """The step by call frame information that is loaded; None without it."""
        image = self._image(module)
        if not image.frame_header:
            return None
        if (module, bias) not in self._frames:
            self._frames[module, bias] = CallFrames(
                self._machine,
                lambda address, size: self.memory(address + bias, size),
                image.frame_header,
            )
        frames = self._frames[module, bias]
        found = frames.step(linked, values, self.memory)
        row = None if found is None else frames.row(linked)
        if row is not None and row.saved and len(self._plain) < _MOST_PLAIN:
            self._plain[linked + bias] = row
        return found

    def _place(self, pc: int) -> tuple[int, int | None]:
        """The module at an address, and the address in it, if that is known."""
        place = self._placed.get(pc)
        if place is None:
            region = self._loaded.region(pc)
            if region is None:
                return -1, None
            module = region.module
            segments = self._image(module).segments
            place = module, _linked(region, segments, self._base(module))
            self._placed[pc] = place
        return place

    def know(self, module: int, image: Image) -> None:
        """Use the headers that a module had in memory."""
        self._images[module] = image

    def add(self, module: int, file: LoadedFile) -> None:
        """Use a file for a module."""
        self._files[module], self._paths[module] = [file], iter(())

    def symbols(self, name: bytes) -> Iterator[int]:
        """The addresses of symbols of a name in all modules that have files."""
        biases: dict[int, int] = {}
        for region in self._loaded.regions:
            linked = _linked(region, self._image(region.module).segments)
            if linked is not None:
                biases.setdefault(region.module, region.start - linked)
        for module, bias in biases.items():
            address = self._binary(module).symbol(name)
            if address is not None:
                yield (address + bias) & UINT64_MAX

    def image_of_file(self, module: int) -> Image:
        """The headers of the file of a module; without segments if there is none."""
        return self._binary(module).image

    def _image(self, module: int) -> Image:
        known = self._images.get(module)
        return self._binary(module).image if known is None else known

    def _base(self, module: int) -> int:
        """The link-time address of the start of a module; 0 if unknown."""
        segments = self._image(module).segments
        first = None if segments else next(self._files_of(module), None)
        segments = segments if first is None else first.image.segments
        return min((each.address for each in segments), default=0)

    def _binary(self, module: int) -> LoadedFile:
        """The first file of a module that has code; an empty one if there is none."""
        whole = (each for each in self._files_of(module) if each.is_whole)
        return next(whole, NO_FILE)

    def _files_of(self, module: int) -> Iterator[LoadedFile]:
        """The files of a module that have segments or frames, read as they are needed.

        A search may be part of another one, so each begins with those that are known.
        """
        if module not in self._files:
            self._files[module] = []
            self._paths[module] = iter(self._find(self._loaded.modules[module]))
        files, paths = self._files[module], self._paths[module]
        for number in range(_MAX_FILES):
            while len(files) <= number:
                path = next(paths, None)
                if path is None:
                    return
                file = read_file(path, self._machine) or self._read_symbols(path)
                if file is not None:
                    files.append(file)
            yield files[number]

    def _read_symbols(self, path: str) -> LoadedFile | None:
        """The Breakpad file at *path*, which has no segments; None if it is none."""
        with suppress(GsymError, OSError):
            if recognise_file(path) == "breakpad":
                data = map_file(path)
                frames = BreakpadFrames(self._machine, data, self._loaded.is_code)
                return LoadedFile(Image(), data, [frames.step], is_relative=True)
        return None

    def compare_code(self, module: int, path: str) -> Comparison:
        """Compare the code in a file with what the dump has of that of a module.

        Returns:
            SAME if all of it is equal, PART if what the dump has is equal, UNKNOWN if
            the dump has none, or is of a machine whose loaders change code.
        """
        if self._machine == X86:  # loaders relocate its code
            return _NOT_COMPARED
        try:
            with open_slice(path) as file:
                return self._compare(module, file, load_segments(file.data, path))
        except (GsymError, OSError, ValueError):
            return _NOT_COMPARED

    def _compare(
        self, module: int, file: ObjectFile, segments: tuple[Segment, ...]
    ) -> Comparison:
        of_module = (each for each in self._loaded.regions if each.module == module)
        regions = [
            (each, linked)
            for each in islice(of_module, _MOST_REGIONS)
            if (linked := _linked(each, segments, file.base_address)) is not None
        ]
        total = compared = 0
        for start, code in _fixed_code(file):
            total += len(code)
            for region, linked in regions:
                bias = region.start - linked
                low = max(start + bias, region.start)
                high = min(start + bias + len(code), region.end)
                for at, held in self._saved.within(low, high):
                    inside = at - bias - start
                    held = held[: _MOST_COMPARED - compared]  # noqa: PLW2901
                    if held != code[inside : inside + len(held)]:
                        reason = "its code differs from that in the dump"
                        return Comparison(OTHER, reason)
                    compared += len(held)
        if compared:
            reason = f"the {compared} bytes of its code in the dump are equal"
            return Comparison(SAME if compared == total else PART, reason)
        known = self._images.get(module, Image()).segments
        if total and known and known != segments:
            return Comparison(OTHER, "its segments differ from those in the dump")
        return _NOT_COMPARED

    def _piece(self, address: int, size: int) -> bytes:
        saved = self._saved.read(address, size)
        region = None if saved else self._loaded.region(address)
        if region is None:
            return saved
        file = self._binary(region.module)
        linked = _linked(region, file.image.segments)
        return b"" if linked is None else file.read(linked, size)


class LoadedFile:
    """A file of a module, read by link-time addresses.

    Args:
        image: Its headers.
        data: Its contents.
        sources: Its call frame information, the best first.
        is_relative: Whether addresses count from the start of the module there.
    """

    def __init__(
        self,
        image: Image,
        data: memoryview,
        sources: Sequence[FrameSource] = (),
        *,
        is_relative: bool = False,
    ) -> None:
        self.image = image
        self.is_relative = is_relative
        # whether it has its code: one with debug information alone has only the headers
        # of what it was made from
        self.is_whole = False
        # `.eh_frame` and `.debug_frame`
        self.frames: CallFrames = CallFrames(X86_64, self.read)
        self.sources: list[FrameSource] = list(sources)
        self._data = data
        self._functions: DataSymbols | None = None

    def step(self, pc: int, values: dict[int, int], memory: Memory) -> Step | None:
        """The registers in the caller of the function at an address."""
        for each in self.sources:
            found = each(pc, values, memory)
            if found is not None:
                return found
        return None

    def symbol(self, name: bytes) -> int | None:
        """Link-time address of a symbol; None if there is none of this name."""
        with suppress(GsymError, ValueError), ObjectFile(self._data, "") as file:
            return next((start for start, _ in SymbolNames(file).find(name)), None)
        return None

    def function_start(self, address: int) -> int | None:
        """Start of the function at a link-time address; None if unknown.

        A part that the compiler moved away does not begin as a function does.
        """
        if self._functions is None:
            with suppress(GsymError, ValueError), ObjectFile(self._data, "") as file:
                self._functions = DataSymbols(file, _FUNCTIONS)
        found = self._functions.find(address) if self._functions else None
        return None if found is None or ".cold" in found.name else found.start

    def read(self, address: int, size: int) -> bytes:
        """Bytes at a link-time address."""
        return read_image(self.image, self._data, address, size)


NO_FILE = LoadedFile(Image(), memoryview(b""))
"""A file without segments."""
_NOT_COMPARED = Comparison(UNKNOWN, "the dump has none of its code")


def read_file(path: str, machine: Machine | None = None) -> LoadedFile | None:
    """The file at *path*; None if it has no segments.

    Args:
        path: The file.
        machine: What it is for; by default one with little endian.
    """
    image, table, parts = image_in_file(path), None, MachoParts()
    try:
        data = map_file(path)
        if not image.segments:
            image, table = pe_image(data)
        if not image.segments:
            data = slice_if_fat(data, path, _APPLE_NAMES.get(machine or X86_64, ""))
            parts = macho_parts(data)
            image = parts.image
    except (GsymError, OSError):
        return None
    if not image.segments:
        return None
    sections = () if parts.frames is None else (parts.frames,)
    found = loaded_file(data, path, image, machine, sections)
    if machine is not None and parts.unwind:
        base = min(each.address for each in image.segments)
        unwind = CompactUnwind(machine, parts.unwind, base, found.read)
        found.sources.insert(0, unwind.step)
    if table is not None:
        step = step_by_pe_arm if machine == AARCH64 else step_by_pe
        found.sources.insert(
            0, lambda pc, values, memory: step(table, pc, values, found.read, memory)
        )
    return found


def loaded_file(
    data: memoryview,
    path: str,
    image: Image,
    machine: Machine | None = None,
    known: Sequence[FrameSection] = (),
) -> LoadedFile:
    """A file whose headers, and perhaps sections, are known."""
    found = LoadedFile(image, data)
    sections = list(known)
    machine = machine or (X86_64 if bytes(data[4:5]) == b"\2" else X86)  # ELFCLASS64
    table: tuple[int, int] | None = None
    with suppress(GsymError, ValueError), ObjectFile(data, path) as file:
        found.is_whole = any(True for _ in file.placed_code())
        extents = {each.name: each[1:3] for each in file.loaded_sections()}
        loaded = {name: address for name, (address, _) in extents.items()}
        if found.is_whole:
            table = extents.get(SECTION)
            of_go = go_table(file, loaded)
            if of_go is not None:
                with suppress(DamagedError):
                    found.sources.append(GoFrames(machine, of_go).step)
        for name in (".eh_frame", ".debug_frame")[not file.is_elf :]:
            is_debug = name not in loaded
            held = file.section(name.encode()) if is_debug or found.is_whole else None
            if held:
                sections.append(FrameSection(held, loaded.get(name, 0), is_debug))
    if not found.is_whole and image.frame_header:  # its sections may be gone
        magic = found.read(image.frame_header, len(HEADER_MAGIC))
        found.is_whole = magic == HEADER_MAGIC
    header = image.frame_header if found.is_whole else 0
    found.frames = CallFrames(machine, found.read, header, sections)
    found.sources.append(found.frames.step)
    if table is not None and machine == ARM:
        found.sources.append(
            lambda pc, values, memory: step_by_tables(
                table, pc, values, found.read, memory
            )
        )
    return found


def _fixed_code(file: ObjectFile) -> Iterator[tuple[int, memoryview]]:
    """The code that is the same wherever a file is loaded, with link-time addresses.

    The loader of Windows changes some; pages with such places are left out.
    """
    moved = () if file.is_elf or file.is_macho else sorted(_relocated_pages(file))
    for start, code in file.placed_code():
        end = start + len(code)
        at = start
        for page in moved:
            if at < page + _PAGE and page < end:
                if at < page:
                    yield at, code[at - start : page - start]
                at = page + _PAGE
        if at < end:
            yield at, code[at - start :]


def _relocated_pages(file: ObjectFile) -> set[int]:
    """Link-time addresses of the pages of a PE file that its relocations change."""
    pages: set[int] = set()
    data, at = file.section(b".reloc") or memoryview(b""), 0
    while at + _BLOCK.size <= len(data):
        page, size = _BLOCK.unpack_from(data, at)
        count = (size - _BLOCK.size) // 2
        if count < 0 or at + size > len(data):
            break
        places = struct.unpack_from(f"<{count}H", data, at + _BLOCK.size)
        address = (file.base_address or 0) + page
        pages.add(address)
        if any(each % _PAGE > _PAGE - _MOST_RELOCATED for each in places):
            pages.add(address + _PAGE)
        at += size
    return pages


def _linked(
    region: Region, segments: Sequence[Segment], base: int | None = None
) -> int | None:
    """The link-time address of the start of a region; None if unknown."""
    if region.base == "file":
        region = linked_region(region, segments)
    if region.base == "link":
        return region.address
    first = min((each.address for each in segments), default=base)
    if region.base != "image" or first is None:
        return None
    return region.address + first
