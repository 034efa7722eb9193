"""Where the addresses that `perf script` prints are: in which module, in which file.

In stacks, perf since Linux 5.19 prints the offset in the file of the module instead of
the address in memory; in a line with an only address, and before that, the address. A
mapping that the text tells of decides; without one, an address that no file is large
enough for is one in memory.
"""

from __future__ import annotations

import os
from bisect import bisect_right

from gsym.errors import FormatError
from gsym.trace.profiles.binaries import build_id_of
from gsym.trace.profiles.model import Mapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping as Dictionary

    from gsym.trace.profiles.building import ProfileBuilder
    from gsym.trace.profiles.perf_script import PerfFrame, PerfMapping

_KERNEL_START = 1 << 63
_KERNEL = "[kernel.kallsyms]"
_MOST_FILE_SIZE = 1 << 36
MOST_MAPPINGS = 1 << 16
"""Of a process; Linux allows as many, where nobody changed it."""
_PAGE = 4096
_HEXADECIMAL = frozenset("0123456789abcdef")
_MOST_LIST_BYTES = 64 << 20


def read_build_ids(path: str | os.PathLike[str]) -> dict[str, str]:
    """What `perf buildid-list` prints: the build ids of modules by their paths.

    Raises:
        FormatError: A line is no build id with a path behind it.
        OSError: The file cannot be read.
    """
    found: dict[str, str] = {}
    name = os.fspath(path)
    with open(name, "rb") as file:
        data = file.read(_MOST_LIST_BYTES + 1)
    if len(data) > _MOST_LIST_BYTES:
        raise FormatError(f"it has more than {_MOST_LIST_BYTES} bytes", path=name)
    for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), 1):
        build_id, _, module = line.strip().partition(" ")
        if not build_id:
            continue
        if not module or not _HEXADECIMAL.issuperset(build_id.lower()):
            reason = f"line {number} is no build id with a path behind it"
            raise FormatError(reason, path=name)
        found[module.strip()] = build_id.lower()
    return found


class ModulePlaces:
    """Tells the mapping of a frame, and its address in that.

    Args:
        builder: Gets the mappings.
        build_ids: Of modules by their paths; the others are asked for theirs.
    """

    def __init__(
        self, builder: ProfileBuilder, build_ids: Dictionary[str, str] | None
    ) -> None:
        self._builder = builder
        self._build_ids = dict(build_ids or {})
        self._sizes: dict[str, int] = {}
        self._loaded: dict[int, _Loaded] = {}
        self._kernel = _Loaded()
        self._ends: dict[int, int] = {}

    def load(self, mapping: PerfMapping) -> None:
        """A part of a file is in the memory of a process from now on."""
        if mapping.path.startswith(_KERNEL):
            # `[kernel.kallsyms]_text`: named after its first symbol, for all processes.
            loaded, mapping = self._kernel, mapping._replace(path=_KERNEL)
        elif mapping.path.startswith("/") and mapping.start < _KERNEL_START:
            loaded = self._loaded.setdefault(mapping.process, _Loaded())
        else:
            return
        if len(loaded) < MOST_MAPPINGS:
            loaded.add(mapping)
        else:
            self._builder.lose("mappings beyond those that a process can have")

    def find(self, frame: PerfFrame, process: int) -> tuple[int, int | None]:
        """The address of a frame, and the index of its mapping.

        A mapping whose place in the file is not known has no build id, so that nobody
        looks anything up in it.
        """
        address, module = frame.address, frame.module
        if frame.module_offset is not None:
            return frame.module_offset, self._whole_file(module, frame.module_offset)
        is_kernel = self.is_kernel(frame)
        loaded = self._kernel if is_kernel else self._loaded.get(process)
        part = loaded.find(address) if loaded is not None else None
        if part is not None and part.path == module:
            return address, self._builder.mapping(
                Mapping(
                    part.start,
                    part.start + part.size,
                    None,
                    part.file_offset,
                    module,
                    self._build_id(module),
                )
            )
        if not module:
            return address, None
        if is_kernel or address >= self._size(module):
            return address, self._builder.mapping(Mapping(0, 0, path=module))
        return address, self._whole_file(module, address)

    @staticmethod
    def is_kernel(frame: PerfFrame) -> bool:
        """Whether a frame is in the kernel."""
        return frame.address >= _KERNEL_START

    def finish(self) -> None:
        """Tell mappings of whole files how far they were seen to reach."""
        mappings = self._builder.profile.mappings
        for index, end in self._ends.items():
            limit = -(-end // _PAGE) * _PAGE
            mappings[index] = mappings[index]._replace(limit=limit)

    def _whole_file(self, module: str, offset: int) -> int:
        """The mapping in which addresses are offsets in the file."""
        mapping = Mapping(0, 0, None, 0, module, self._build_id(module))
        index = self._builder.mapping(mapping)
        self._ends[index] = max(self._ends.get(index, 0), offset + 1)
        return index

    def _build_id(self, module: str) -> str:
        found = self._build_ids.get(module)
        if found is None:
            found = build_id_of(module) if os.path.isabs(module) else ""
            self._build_ids[module] = found
            self._builder.profile.assumed_build_ids.add(found)
        return found

    def _size(self, module: str) -> int:
        """How large the file is, or any file where it is not there."""
        found = self._sizes.get(module)
        if found is None:
            try:
                found = os.stat(module).st_size if os.path.isabs(module) else 0
            except (OSError, ValueError):
                found = 0
            found = self._sizes[module] = found or _MOST_FILE_SIZE
        return found


class _Loaded:
    """What of files a process has in its memory; what comes later takes the place."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._parts: list[PerfMapping] = []

    def __len__(self) -> int:
        return len(self._parts)

    def add(self, part: PerfMapping) -> None:
        end = part.start + part.size
        first = bisect_right(self._starts, part.start)
        if first and _end(self._parts[first - 1]) > part.start:
            first -= 1
        last = first
        while last < len(self._parts) and self._starts[last] < end:
            last += 1
        rests = [part]
        for hidden in self._parts[first:last]:
            if hidden.start < part.start:
                rests.insert(0, hidden._replace(size=part.start - hidden.start))
            if _end(hidden) > end:
                offset = hidden.file_offset + end - hidden.start
                size = _end(hidden) - end
                rests.append(hidden._replace(start=end, size=size, file_offset=offset))
        self._parts[first:last] = rests
        self._starts[first:last] = [rest.start for rest in rests]

    def find(self, address: int) -> PerfMapping | None:
        place = bisect_right(self._starts, address) - 1
        if place < 0 or address >= _end(self._parts[place]):
            return None
        return self._parts[place]


def _end(part: PerfMapping) -> int:
    return part.start + part.size
