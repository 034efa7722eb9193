"""Core files in ELF: threads, their stacks, what was loaded, code of a JIT.

A JIT registers files in memory, listed from `__jit_debug_descriptor`.
"""

from __future__ import annotations

import struct
from functools import partial

from gsym.containers.headers import PT_LOAD, PT_NOTE, ProgramHeader, program_headers
from gsym.containers.object_file import ObjectFile
from gsym.errors import FormatError, GsymError
from gsym.memory.core_notes import CoreNotes
from gsym.memory.link_map import LinkMap
from gsym.memory.loaded import Loaded, linked_region, moved_code
from gsym.memory.module_files import ModuleFiles, SavedMemory, loaded_file
from gsym.memory.regions import Region
from gsym.memory.stack_parts import ParsedReport, StackModule, module_of_build_id
from gsym.memory.symbol_lists import MOST_IMAGE, read_converted
from gsym.memory.threads import Dump, Thread, dump_report
from gsym.memory.walking import Walker
from gsym.model import UINT64_MAX
from gsym.modules.maps import DELETED, Mapping
from gsym.ranges import AddressRanges
from gsym.records import NamedTuple
from gsym.unwinding.expressions import ByteReader, DamagedError
from gsym.unwinding.images import ELF_MAGIC, Image, image_in_memory, load_bias
from gsym.unwinding.machines import S390X, X86, X86_64, Machine

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gsym.memory.module_files import FindFiles
    from gsym.unwinding.frame_info import Step
    from gsym.unwinding.images import Memory

DESCRIPTOR = b"__jit_debug_descriptor"
_MAX_FILES = 1 << 16  # that a JIT registered
# Limit: File that a JIT registered
_MAX_SIZE = 64 << 20
_CLASS_AT, _ORDER_AT, _OSABI_AT, _TYPE_AT, _MACHINE_AT = 4, 5, 7, 16, 18
_BIG_ENDIAN = 2
_ET_CORE = 4
_AT_ENTRY = 9  # in the auxiliary vector
# Limit: Frames that are walked in all stacks of a core
_MAX_WALKED = (100_000, 1)
_ILLEGAL, _TRAP, _FLOATING, _BREAKPOINT = 4, 5, 8, b"\xcc"
# Signals after which the program counter is after the instruction that caused them; on
# x86 only if that is a breakpoint.
_AFTER = {X86: {_TRAP}, X86_64: {_TRAP}, S390X: {_ILLEGAL, _TRAP, _FLOATING}}


def registered_files(
    descriptor: int, memory: Memory, machine: Machine
) -> Iterator[tuple[int, bytes]]:
    """Address and contents of the files in the list of a descriptor."""

    def words(address: int, *sizes: int) -> list[int]:
        data = ByteReader(memory(address, sum(sizes)), machine.word, machine.order)
        return [data.fixed(each) for each in sizes]

    word = machine.word
    seen: set[int] = set()
    try:
        *_, at = words(descriptor, 4, 4, word, word)
        while at and at not in seen and len(seen) < _MAX_FILES:
            seen.add(at)
            following, _, address, size = words(at, word, word, word, 8)
            if size <= _MAX_SIZE:
                data = memory(address, size)
                if len(data) == size:
                    yield address, data
            at = following
    except DamagedError:
        return


def is_core(head: bytes) -> bool:
    """Whether a file starts as a core file does."""
    return head.startswith(ELF_MAGIC) and _ET_CORE in head[_TYPE_AT : _TYPE_AT + 2]


def read_core(
    data: memoryview, path: str, find: FindFiles = lambda _module: ()
) -> ParsedReport:
    """The stacks in a core file."""
    return _Core(data, path, find).stacks()


class _LoadedImage(NamedTuple):
    """An image of a file: the index of its module, and where it was loaded."""

    module: int
    image: Image = Image()
    bias: int = 0


class _Core:
    def __init__(self, data: memoryview, path: str, find: FindFiles) -> None:
        self._data = data
        headers = program_headers(data, path)
        if not headers:
            raise FormatError("no program headers in it", path=path, offset=0)
        order = ">" if data[_ORDER_AT] == _BIG_ENDIAN else "<"
        (machine,) = struct.unpack_from(f"{order}H", data, _MACHINE_AT)
        try:
            bits, osabi = 32 * data[_CLASS_AT], data[_OSABI_AT]
            self._notes = CoreNotes(machine, bits, order, osabi)
        except FormatError as error:
            raise FormatError(error.reason, path=path, offset=_MACHINE_AT) from None
        for each in headers:
            if each.kind == PT_NOTE:
                self._notes.read(data[each.offset : each.offset + each.file_size])
        if not self._notes.threads:
            raise FormatError("no threads in it", path=path, offset=0)
        parts = [each for each in headers if each.kind == PT_LOAD]
        self._parts = sorted(parts, key=lambda each: each.address)
        self._memory = AddressRanges(
            (each.address, each.address + each.memory_size, each)
            for each in self._parts
        )
        self._loaded = Loaded()
        self._knows_jit = False
        self._of_file: dict[tuple[int, str], list[Region]] = {}
        self._saved = SavedMemory(
            data, ((each.address, each.file_size, each.offset) for each in parts)
        )
        machine = self._notes.machine
        self._files = ModuleFiles(self._loaded, machine, self._saved, find)
        self._loaded.set_regions(self._regions())
        self._loaded.compare_code_by(self._files.compare_code)

    def stacks(self) -> ParsedReport:
        """The threads of the core file as a report."""
        notes = self._notes
        files = self._files
        machine = notes.machine._replace(
            signature=notes.signature or notes.machine.signature
        )
        walker = Walker(machine, files.memory, self._is_code, self._step)
        walker.entry = notes.auxiliary.get(_AT_ENTRY, 0)
        floor, factor = _MAX_WALKED
        walker.budget = floor + factor * len(self._data) // machine.word
        threads = [self._placed(each) for each in notes.threads]
        dump = Dump("ELF core file", notes.program, notes.reason, threads)
        return dump_report(dump, self._loaded, walker)

    def _step(self, pc: int, values: dict[int, int]) -> Step | None:
        """The registers in the caller; code in no file may be that of a JIT."""
        if not self._knows_jit and self._loaded.covering(pc) is None:
            self._knows_jit = True
            for descriptor in list(self._files.symbols(DESCRIPTOR)):
                machine, memory = self._notes.machine, self._files.memory
                for place in registered_files(descriptor, memory, machine):
                    self._add_registered(*place)
        return self._files.step(pc, values)

    def _add_registered(self, address: int, contents: bytes) -> None:
        """Add a file of a JIT, whose sections are at the addresses of its code."""
        name, data = f"[code at {address:#x}]", memoryview(contents)
        try:
            with ObjectFile(data, name) as held:
                sections = [] if held.is_relocatable else list(held.code_sections())
        except GsymError:
            return
        if not sections:
            return
        module = module_of_build_id(name, "")
        read = partial(read_converted, contents)
        number = self._loaded.add_module(module._replace(path="", read=read))
        found = loaded_file(data, name, Image(), self._notes.machine)
        self._files.add(number, found)
        for _, start, end in sections:
            self._loaded.add(Region(start, end, number, 0, start))

    def _placed(self, thread: Thread) -> Thread:
        """A thread; that which crashed may have stopped after an instruction."""
        machine, pc = self._notes.machine, thread.registers.pc
        if not thread.is_crashed or self._notes.signal not in _AFTER.get(machine, ()):
            return thread
        is_after = machine == S390X or self._files.memory(pc - 1, 1) == _BREAKPOINT
        return thread._replace(is_after=is_after)

    def _is_code(self, address: int) -> bool:
        part = self._memory.find(address)
        return self._loaded.is_code(address) if part is None else part.is_executable

    def _regions(self) -> Iterator[Region]:
        of_path: dict[str, list[Mapping]] = {}
        for each in self._notes.files:
            of_path.setdefault(each.path, []).append(each)
        loaded: list[_LoadedImage] = []
        for path, mapped in of_path.items():
            images = list(self._images(path, mapped))
            yield from (self._region(each, images) for each in mapped)
            loaded += images
        yield from self._moved(loaded)
        files = {start for start, *_ in self._notes.files}
        linked = {} if files else self._linked()
        for part in self._parts:
            if part.address not in files:
                yield from self._unnamed(part, linked)
        for start, path in linked.items():
            yield from self._regions_of_file(start, path)

    def _moved(self, images: Iterable[_LoadedImage]) -> Iterator[Region]:
        """The code of images in memory of no file."""
        files = {start for start, *_ in self._notes.files}
        moved = AddressRanges(
            (start, end, part)
            for start, end, part in self._memory
            if part.is_executable and part.address not in files
        )
        for number, image, bias in images:
            yield from moved_code(number, image, bias, moved)

    def _linked(self) -> dict[int, str]:
        """The files of the program by their starts, where the core has no list.

        The way to the list of the loader begins in the headers of the program, which
        may be in its file alone.
        """
        notes, memory = self._notes, self._files.memory
        linked = LinkMap(notes.machine, notes.auxiliary, memory)
        program = linked.program(notes.program.partition(" ")[0])
        if program is None:
            return {}
        if not image_in_memory(memory, program[0]).segments:
            for each in self._regions_of_file(*program):
                self._loaded.add(each)
        return dict([program, *linked.libraries()])

    def _regions_of_file(self, start: int, path: str) -> Iterator[Region]:
        """The regions of a file by its own headers."""
        if (start, path) not in self._of_file:
            number = self._loaded.add_module(_module(path, ""))
            image = self._files.image_of_file(number)
            regions = list(_regions_of(number, start, image)) if image.segments else []
            self._of_file[start, path] = regions
        yield from self._of_file[start, path]

    def _images(self, path: str, mapped: Sequence[Mapping]) -> Iterator[_LoadedImage]:
        """The images of a path, which different files may have one after the other."""
        are_known = False
        for start, _, _, offset, *_ in mapped:
            image = Image() if offset else image_in_memory(self._saved.read, start)
            if image.segments:
                number = self._loaded.add_module(_module(path, image.build_id))
                self._files.know(number, image)
                are_known = True
                yield _LoadedImage(number, image, load_bias(start, image.segments))
        if not are_known:  # the first page is not in the dump, or is that of a PE file
            number = self._loaded.add_module(_module(path, ""))
            start, _, _, offset, *_ = mapped[0]
            image, bias = Image(), 0
            is_pe = self._saved.read(start, 2) == b"MZ"
            if not offset and (is_pe or self._memory.find(start) is None):
                image = self._files.image_of_file(number)
                bias = load_bias(start, image.segments) if image.segments else 0
            yield _LoadedImage(number, image, bias)

    def _region(self, mapped: Mapping, images: Sequence[_LoadedImage]) -> Region:
        """The region of the image that the loader put there, else of the one before."""
        start, end, is_executable, offset, *_ = mapped
        part = self._memory.find(start)
        if part is not None:  # gdb and FreeBSD leave out what the file has: the code
            is_executable = part.is_executable
        region = Region(*(start, end, -1, offset, offset, "file", is_executable))
        nearest: Region | None = None
        for each in images:
            found = linked_region(region, each.image.segments)
            found = found._replace(module=each.module)
            is_linked = found.base == "link"
            if is_linked and (start - found.address - each.bias) & UINT64_MAX == 0:
                return found
            if nearest is None or each.bias <= start:
                nearest = found
        return nearest or region

    def _unnamed(self, part: ProgramHeader, linked: dict[int, str]) -> Iterator[Region]:
        """The regions of an image that the list of files does not have."""
        start = part.address
        image = image_in_memory(self._files.memory, start)
        if not image.segments:
            return
        if path := linked.pop(start, ""):
            module = _module(path, image.build_id)
            yield from self._of_image(module, start, image)
            return
        name = "[vdso]" if start == self._notes.vdso else f"[image at {start:#x}]"
        size = min(part.file_size, MOST_IMAGE)
        module = module_of_build_id(name, image.build_id)._replace(
            path="", read=lambda: read_converted(self._files.memory(start, size))
        )
        yield from self._of_image(module, start, image)

    def _of_image(
        self, module: StackModule, start: int, image: Image
    ) -> Iterator[Region]:
        """The regions of an image that is in memory as a whole."""
        number = self._loaded.add_module(module)
        self._files.know(number, image)
        return _regions_of(number, start, image)


def _regions_of(number: int, start: int, image: Image) -> Iterator[Region]:
    """The regions of an image that is loaded as a whole."""
    bias = load_bias(start, image.segments)
    for each in image.segments:
        at = (bias + each.address) & UINT64_MAX
        yield Region(
            *(at, at + each.size, number, each.offset, each.address, "link"),
            each.is_executable,
        )


def _module(path: str, build_id: str) -> StackModule:
    """The module of a mapped file."""
    module = module_of_build_id(path.removesuffix(DELETED), build_id)
    if path.endswith(DELETED) and not module.has_id:
        return module._replace(path="")  # another file is there, if any
    return module
