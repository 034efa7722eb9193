"""The modules of a running process of Linux, and lookups of its addresses."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from functools import partial

from gsym.arguments import integer_of, path_of
from gsym.containers.fat import open_slice
from gsym.containers.mapped_file import map_file
from gsym.conversion.identity import module_of
from gsym.errors import GsymError, reason_of
from gsym.memory.loaded import LoadedSymbols, linked_region, moved_code
from gsym.memory.regions import Region
from gsym.memory.stack_parts import module_of_build_id
from gsym.memory.symbol_lists import (
    MOST_IMAGE,
    latest_symbols,
    read_converted,
    read_perf_map,
    read_symbols,
)
from gsym.modules.key import SAME, UNKNOWN, Comparison, compare
from gsym.modules.maps import DELETED, Mapping, read_maps
from gsym.ranges import AddressRanges
from gsym.unwinding.images import Image, image_in_file, image_in_memory, load_bias
from gsym.unwinding.pe_frames import pe_image

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from gsym.memory.report_modules import PathOrUrl, Sources
    from gsym.store.directory import Store
    from gsym.unwinding.images import Memory

_VDSO = "[vdso]"


class Process(LoadedSymbols):
    """A running process: its modules as they are loaded now; to be closed.

    Files are read as the process sees them: in its own mount namespace, and also those
    that were deleted or replaced. A JIT's code is answered from `/tmp/perf-PID.map`.
    What is loaded later needs another `Process`.

    Args:
        pid: Its number.
        source: Folders and servers with symbols, as for `symbolicate`.
        store: The store, its folder or URL; None for the user's own.
        proc: Where procfs is mounted.

    Raises:
        GsymError: There is no such process, it has no memory, or it belongs to another
            user.
    """

    def __init__(
        self,
        pid: int,
        *,
        source: Sources = (),
        store: PathOrUrl | Store | None = None,
        proc: str = "/proc",
    ) -> None:
        super().__init__(source, store)
        self.pid: int = integer_of("pid", pid, 1)
        self._folder = os.path.join(path_of("proc", proc), str(pid))
        mappings = list(read_maps(self._read("maps")))
        if not mappings:
            reason = "the process has no memory: it has ended, or is of the kernel"
            raise GsymError(reason, path=self._folder)
        try:
            descriptor = os.open(self._place("mem"), os.O_RDONLY | os.O_CLOEXEC)
        except OSError:  # it may be forbidden though maps are not
            self._add(mappings, lambda _address, _size: b"")
        else:
            try:
                self._add(mappings, partial(_read_memory, descriptor))
            finally:
                os.close(descriptor)

    def __repr__(self) -> str:
        return f"<gsym.Process {self.pid}: {len(self.modules)} modules>"

    def _place(self, name: str) -> str:
        return os.path.join(self._folder, name)

    def _read(self, name: str) -> str:
        path = self._place(name)
        try:
            with open(path, encoding="utf-8", errors="surrogateescape") as file:
                return file.read()
        except (FileNotFoundError, ProcessLookupError):
            raise GsymError("there is no such process", path=self._folder) from None
        except OSError as error:
            raise GsymError(reason_of(error), path=path) from error

    def _add(self, mappings: Sequence[Mapping], memory: Memory) -> None:
        regions: list[Region] = []
        without_file: list[Mapping] = []
        images: dict[tuple[str, int], tuple[int, Image]] = {}
        biases: dict[tuple[int, Image], int] = {}
        for each in mappings:
            key = each.path, each.inode
            if key not in images:
                images[key] = self._image(each, memory)
                if not each.offset and images[key][1].segments:
                    biases[images[key]] = load_bias(each.start, images[key][1].segments)
            module, image = images[key]
            if image.segments:
                start, end, is_executable, offset, *_ = each
                part = Region(start, end, module, offset, offset, "file", is_executable)
                regions.append(linked_region(part, image.segments))
            elif each.is_executable:
                without_file.append(each)
        moved = AddressRanges((each.start, each.end, each) for each in without_file)
        for (number, image), bias in biases.items():
            regions += moved_code(number, image, bias, moved)
        if without_file and (path := self._perf_map()):
            listed = module_of_build_id(path, "")._replace(
                path="",
                read=lambda: read_symbols(latest_symbols(read_perf_map(path)[0])),
            )
            number = self.add_module(listed)
            regions += [
                Region(start, end, number, 0, start) for start, end, *_ in without_file
            ]
        self.set_regions(regions)

    def _image(self, first: Mapping, memory: Memory) -> tuple[int, Image]:
        """The module of a file's first mapping, and its headers."""
        start, end, _, offset, inode, path, _ = first
        seen = Image() if offset else image_in_memory(memory, start)
        if path == _VDSO and seen.segments:
            contents = memory(start, min(end - start, MOST_IMAGE))
            read = partial(read_converted, contents)
            vdso = module_of_build_id(path, seen.build_id)._replace(path="", read=read)
            return self.add_module(vdso), seen
        if not inode:
            return -1, Image()
        file, is_mapped = self._file(first)
        image = seen if seen.segments else image_in_file(file)
        if not image.segments:
            with suppress(GsymError, OSError):
                image = pe_image(map_file(file))[0]
        if not image.segments:
            return -1, image
        build_id = image.build_id if seen.segments or is_mapped else ""
        name = path.removesuffix(DELETED)
        module = module_of_build_id(name, build_id)._replace(path=file)
        if is_mapped and not module.has_id:
            module = module._replace(compare_code=partial(_compare_files, file))
        return self.add_module(module), image

    def _file(self, mapping: Mapping) -> tuple[str, bool]:
        """A path of the mapped file, and whether it is not of another one now."""
        path = mapping.path
        seen = self._place("root") + path
        span = f"{mapping.start:x}-{mapping.end:x}"
        for place in (path, seen, self._place(f"map_files/{span}"), self._place("exe")):
            # The same file, and not one of the same number in another file system.
            is_same = _status(place, "st_ino") == mapping.inode
            if is_same and (place != path or self._shares(path)):
                return place, True
        return (seen if _status(seen, "st_ino") else path), False

    def _shares(self, path: str) -> bool:
        """Whether a path means the same here and for the process."""
        try:
            return os.path.samefile(path, self._place("root") + path)
        except OSError:
            return os.path.exists(path)

    def _perf_map(self) -> str:
        """The path of the list of a JIT, or ""."""
        number = str(self.pid)
        for line in self._read("status").splitlines():
            if line.startswith("NSpid:"):
                number = line.split()[-1]  # in the innermost namespace
        in_root = f"{self._place('root')}/tmp/perf-{number}.map"  # noqa: S108
        paths = in_root, f"/tmp/perf-{self.pid}.map"  # noqa: S108 - by convention
        owners = {0, os.geteuid(), _status(self._place("."), "st_uid")}
        return next((path for path in paths if _is_of(path, owners)), "")


def _status(path: str, field: str) -> int:
    """A number in the status of a file; 0 if there is none."""
    try:
        return int(getattr(os.stat(path), field))
    except OSError:
        return 0


def _compare_files(mapped: str, path: str) -> Comparison:
    """Compare the code of the file that is mapped with that of another one."""
    if os.path.samefile(mapped, path):
        return Comparison(SAME)
    try:
        keys = []
        for each in mapped, path:
            with open_slice(each) as file:
                keys.append(module_of(file))
    except (GsymError, OSError, ValueError):
        return Comparison(UNKNOWN)
    return compare(*keys)


def _read_memory(descriptor: int, address: int, size: int) -> bytes:
    try:
        return os.pread(descriptor, size, address)
    except (OSError, OverflowError):
        return b""


def _is_of(path: str, owners: Container[int]) -> bool:
    """Whether it is a regular file of one of these; anybody may write into /tmp."""
    try:
        status = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISREG(status.st_mode) and status.st_uid in owners
