"""Places of modules in memory, as the records of a profile of perf tell them."""

from __future__ import annotations

import os
from bisect import bisect_right
from contextlib import suppress
from functools import cache
from types import MappingProxyType

from gsym.model import UINT64_MAX
from gsym.modules.key import elf_debug_id
from gsym.profiles.binaries import PathModule, module_at
from gsym.profiles.jit_code import ANONYMOUS, JitCode
from gsym.profiles.model import Frame, Mapping, ProfileBuilder
from gsym.ranges import range_at
from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Mapping as Dictionary, Sequence

    from gsym.profiles.binaries import BuildIds
    from gsym.profiles.perf_features import BpfPrograms, FileSymbols
    from gsym.profiles.perf_reader import PerfMapping
    from gsym.profiles.perf_script import PerfFrame

NO_BUILD_IDS: BuildIds = MappingProxyType({})
_NO_SYMBOLS: Dictionary[str, FileSymbols] = MappingProxyType({})
KERNEL_START: int = 1 << 63
_KERNEL = "[kernel.kallsyms]"
_OF_KERNEL = -1  # the process of its mappings
_MOST_FILE_SIZE = 1 << 36
# Limit: Mappings of a process in a profile of perf
MOST_MAPPINGS = 1 << 16
"""Of a process; the default limit of Linux."""
# Limit: Mappings that processes in a profile of perf inherit and change
_MOST_COPIED = 1 << 24
_FILE_STARTS = ("/", "[")  # of a path, and of `[vdso]`
_PAGE = 4096


class PerfFacts(NamedTuple):
    """Modules that a profile of perf names, apart from its records."""

    # Of modules by path; a path may have several. Those of modules without any are read
    # from their files.
    build_ids: BuildIds = NO_BUILD_IDS
    kernels: Sequence[str] = ()  # paths of those that are of the kernel and its modules
    byteorder: str = ""  # of the machine: "little" or "big"; "" if it is not known
    # when the file was written, in seconds since 1970; None: not known
    recorded: float | None = None
    # whether names of code that processes made are looked for here
    finds_code: bool = False
    # whether times are those of the clock that jitdumps have
    is_monotonic: bool = False
    # of files by path, which the recording has
    symbols: Dictionary[str, FileSymbols] = _NO_SYMBOLS
    programs: BpfPrograms | None = None  # of BPF, which the kernel compiled


class ModulePlaces:
    """Finds the mapping of a frame, and its address in that."""

    def __init__(self, builder: ProfileBuilder, facts: PerfFacts | None = None) -> None:
        self._builder = builder
        self._facts = facts or PerfFacts()
        # Of the kernel itself, in the order in which perf looks for it.
        kernels = (_KERNEL, *self._facts.kernels)
        self._kernels = [each for each in kernels if not _is_kernel_module(each)][:2]
        self._find_module = cache(self._module_of)
        self._part_mapping = cache(self._mapping_of_part)
        self._size = cache(_size)
        self._loaded: dict[int | None, _Loaded] = {}  # of processes
        self._kernel = _Loaded()
        self._shared: set[int | None] = set()
        self._copied = 0
        self._ends: dict[int, int] = {}
        self.jit: JitCode = JitCode(
            builder.profile, self._facts.recorded, is_timed=self._facts.is_monotonic
        )

    def load(self, mapping: PerfMapping) -> None:
        """A part of a file is in the memory of a process from now on."""
        if is_of_kernel(mapping):
            loaded = self._kernel
            if mapping.path.startswith(_KERNEL):
                # `[kernel.kallsyms]_text`: named after its first symbol.
                mapping = mapping._replace(path=_KERNEL)
        elif mapping.path.startswith(_FILE_STARTS):
            loaded = self._own(mapping.process)
            if self._facts.finds_code:
                self.jit.load(mapping.process, mapping.path)
        else:
            return
        if len(loaded) < MOST_MAPPINGS:
            loaded.add(mapping)
        else:
            self._builder.profile.lose("mappings beyond those that a process can have")

    def begin(self, process: int, parent: int | None) -> None:
        """A new process has the mappings of its parent, or none.

        It keeps them if it runs another program: while that is loaded, samples still
        have addresses of the one before, and mappings hide those before them.
        """
        self._loaded.pop(process, None)
        self._shared.discard(process)
        if parent in self._loaded:
            self._loaded[process] = self._loaded[parent]
            self._shared.update((process, parent))

    def _own(self, process: int) -> _Loaded:
        """The mappings of a process, to be changed."""
        loaded = self._loaded.setdefault(process, _Loaded())
        if process in self._shared:
            self._shared.remove(process)
            self._copied += len(loaded)
            is_copied = self._copied <= _MOST_COPIED
            if not is_copied:
                self._builder.profile.lose("mappings that processes inherit")
            loaded = self._loaded[process] = loaded.copy() if is_copied else _Loaded()
        return loaded

    def find(self, frame: PerfFrame, process: int | None) -> tuple[int, int | None]:
        """The address of a frame, and the index of its mapping.

        A mapping whose file offset is unknown has no build id, so that nothing is
        looked up in it.
        """
        address, module = frame.address, frame.module
        if frame.module_offset is not None:
            place = frame.module_offset
            return place, self._whole_file(module, place, process)
        is_kernel = self.is_kernel(frame)
        part = self.part(address, process, is_kernel=is_kernel)
        if not module:
            return address, self.mapping_of(part, is_kernel=is_kernel)
        if is_kernel and part is not None and not _is_kernel_module(module):
            is_in_part = not _is_kernel_module(part.path)
            module = self._kernel_path(module)
        else:
            is_in_part = part is not None and part.path == module and not is_kernel
        if part is not None and is_in_part:
            return address, self._part_mapping(part, module)
        if is_kernel or address >= self._size(module):
            return address, self._builder.module(module)
        return address, self._whole_file(module, address, process)

    def part(
        self, address: int, process: int | None, *, is_kernel: bool
    ) -> PerfMapping | None:
        """Part of memory at an address of a process, or of the kernel."""
        loaded = self._kernel if is_kernel else self._loaded.get(process)
        return None if loaded is None else loaded.find(address)

    def mapping_of(self, part: PerfMapping | None, *, is_kernel: bool) -> int | None:
        """The index of the mapping of addresses in a part of memory."""
        if part is None:
            return None
        if not is_kernel:
            return self._part_mapping(part, part.path)
        if _is_kernel_module(part.path):
            return self._builder.mapping(Mapping(0, 0, path=part.path))
        return self._part_mapping(part, self._kernel_path(part.path))

    def _mapping_of_part(self, part: PerfMapping, module: str) -> int:
        made = Mapping(part.start, part.end, None, part.file_offset, module)
        found = self._module(module, part)._asdict()
        return self._builder.mapping(made._replace(**found))

    def made_function(
        self, part: PerfMapping | None, address: int, process: int | None
    ) -> tuple[int, Frame] | None:
        """The function that a process made in a part of its memory, and its mapping.

        None of what is in a file.
        """
        is_of_file = part is not None and not part.path.startswith(ANONYMOUS)
        if is_of_file or process is None or not self._facts.finds_code:
            return None
        if process not in self._loaded:
            return None
        found = self.jit.find(process, address)
        if found is None:
            return None
        path, function = found
        mapping = Mapping(0, UINT64_MAX, 0, 0, path)
        return self._builder.mapping(mapping), function

    def program(self, address: int) -> tuple[int, Frame] | None:
        """The function of a BPF program at an address, and its mapping."""
        programs = self._facts.programs
        found = None if programs is None else programs.find(address)
        if found is None:
            return None
        mapping = Mapping(found.start, found.end, 0, 0, found.name)
        return self._builder.mapping(mapping), found.frame(address)

    def symbol(self, part: PerfMapping | None, address: int) -> str:
        """The symbol that a recording has at an address in a part of memory, or ""."""
        symbols = None if part is None else self._facts.symbols.get(part.path)
        if part is None or symbols is None:
            return ""
        return symbols.find(address, part.start, part.file_offset)

    @staticmethod
    def is_kernel(frame: PerfFrame) -> bool:
        """Whether a frame is in the kernel."""
        return bool(frame.is_kernel) or frame.address >= KERNEL_START

    def finish(self) -> None:
        """Set the ends of mappings of complete files."""
        mappings = self._builder.profile.mappings
        for index, end in self._ends.items():
            limit = -(-end // _PAGE) * _PAGE
            mappings[index] = mappings[index]._replace(limit=limit)

    def _whole_file(self, module: str, offset: int, process: int | None) -> int:
        """The mapping in which addresses are offsets in the file."""
        loaded = self._loaded.get(process)
        part = loaded.of(module) if loaded is not None else None
        found = self._module(module, part)._asdict()
        index = self._builder.mapping(Mapping(0, 0, None, 0, module)._replace(**found))
        self._ends[index] = max(self._ends.get(index, 0), offset + 1)
        return index

    def _kernel_path(self, module: str) -> str:
        """The path of the kernel that the profile has a build id of, if it has one."""
        names = (module, *self._kernels)
        return next(filter(self._facts.build_ids.__contains__, names), module)

    def _module(self, path: str, part: PerfMapping | None) -> PathModule:
        """Module at a path, in a part of memory if that is known.

        Two processes may have different files at one path.
        """
        return self._find_module(path, *(part[-2:] if part is not None else ("", 0)))

    def _module_of(self, path: str, build_id: str, inode: int) -> PathModule:
        facts, found = self._facts, PathModule(build_id)
        if not build_id and (os.path.isabs(path) or path in facts.build_ids):
            ids, recorded = facts.build_ids, facts.recorded
            found = module_at(path, ids, recorded=recorded, inode=inode)
        if facts.byteorder == "big" and found.build_id:
            debug_id = elf_debug_id(bytes.fromhex(found.build_id), "big")
            found = found._replace(module=found.module._replace(debug_id=debug_id))
        return found


def _size(module: str) -> int:
    """The size of the file, or the maximum if it is unavailable."""
    with suppress(OSError, ValueError):
        if os.path.isabs(module):
            return os.stat(module).st_size or _MOST_FILE_SIZE
    return _MOST_FILE_SIZE


def is_of_kernel(mapping: PerfMapping) -> bool:
    """Whether a mapping is of the kernel, and so of all processes."""
    return (
        mapping.path.startswith(_KERNEL)
        or mapping.start >= KERNEL_START
        or mapping.process == _OF_KERNEL
    )


class _Loaded:
    """The parts of files that a process has mapped; later ones replace others."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._parts: list[PerfMapping] = []
        self._of_path: dict[str, PerfMapping] = {}

    def __len__(self) -> int:
        return len(self._parts)

    def copy(self) -> _Loaded:
        made = _Loaded()
        made._starts, made._parts = self._starts.copy(), self._parts.copy()
        made._of_path = {part.path: part for part in self._parts}
        return made

    def add(self, part: PerfMapping) -> None:
        self._of_path[part.path] = part
        end = part.end
        first = bisect_right(self._starts, part.start)
        if first and self._parts[first - 1].end > part.start:
            first -= 1
        last = first
        while last < len(self._parts) and self._starts[last] < end:
            last += 1
        rests = [part]
        for hidden in self._parts[first:last]:
            if hidden.start < part.start:
                rests.insert(0, hidden._replace(size=part.start - hidden.start))
            if hidden.end > end:
                offset = hidden.file_offset + end - hidden.start
                size = hidden.end - end
                rests.append(hidden._replace(start=end, size=size, file_offset=offset))
        self._parts[first:last] = rests
        self._starts[first:last] = [rest.start for rest in rests]

    def of(self, path: str) -> PerfMapping | None:
        """The part of a file that was loaded last."""
        return self._of_path.get(path)

    def find(self, address: int) -> PerfMapping | None:
        return range_at(self._parts, address, self._starts)


def _is_kernel_module(path: str) -> bool:
    """Whether a part of the kernel, as perf names it, is one of its modules.

    The kernel itself is `[kernel.kallsyms]` or the path of a file.
    """
    return ".ko" in path.rpartition("/")[2] or not (
        path == _KERNEL or path.startswith("/")
    )
