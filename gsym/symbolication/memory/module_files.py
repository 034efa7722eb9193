"""Code and call frame information that a dump leaves out, as the files have it."""

from __future__ import annotations

from gsym.containers.mapped_file import map_file
from gsym.model import UINT64_MAX
from gsym.records import NamedTuple
from gsym.symbolication.memory.frame_info import HEADER_MAGIC, step
from gsym.symbolication.memory.images import Image, image_in_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from gsym.symbolication.memory.frame_info import Step
    from gsym.symbolication.memory.images import Memory
    from gsym.symbolication.memory.loaded import Loaded
    from gsym.symbolication.memory.walking import Machine
    from gsym.symbolication.stacks.parts import StackModule
    from gsym.symbolication.stacks.regions import Region

    FindFiles = Callable[[StackModule], Iterable[str]]


class ModuleFiles:
    """Memory of a dump, completed by the files of its modules where they are the same.

    Args:
        loaded: The modules.
        machine: What the program ran on.
        saved: The memory in the dump.
        find: Where the file of a module may be.
    """

    def __init__(
        self, loaded: Loaded, machine: Machine, saved: Memory, find: FindFiles
    ) -> None:
        self._loaded = loaded
        self._machine = machine
        self._saved = saved
        self._find = find
        self._images: dict[int, Image] = {}
        self._files: dict[int, LoadedFile] = {}

    def memory(self, address: int, size: int) -> bytes:
        """Bytes at an address; fewer where neither the dump nor a file has them."""
        pieces: list[bytes] = []
        while size > 0 and (piece := self._piece(address, size)):
            pieces.append(piece)
            address, size = address + len(piece), size - len(piece)
        return b"".join(pieces)

    def step(self, pc: int, values: dict[int, int]) -> Step | None:
        """The registers in the caller, by the call frame information of a module."""
        region = self._loaded.region(pc)
        if region is None:
            return None
        image = self._image(region.module)
        linked = _linked(region, image)
        if linked is None or not image.frame_header:
            return None
        header = (image.frame_header + pc - linked) & UINT64_MAX
        return step(header, pc, values, self.memory, self._machine)

    def know(self, module: int, image: Image) -> None:
        """Use the headers that a module had in memory."""
        self._images[module] = image

    def _image(self, module: int) -> Image:
        known = self._images.get(module)
        return self._file(module).image if known is None else known

    def _file(self, module: int) -> LoadedFile:
        """The file of a module, of the same build; an empty one if there is none."""
        if module not in self._files:
            named = self._loaded.modules[module]
            build_id = named.key.code_id
            paths = self._find(named) if build_id else ()
            files = (
                file
                for path in paths
                if (file := read_file(path)) and file.image.build_id.upper() == build_id
            )
            self._files[module] = next(files, _NO_FILE)
        return self._files[module]

    def _piece(self, address: int, size: int) -> bytes:
        saved = self._saved(address, size)
        region = None if saved else self._loaded.region(address)
        if region is None:
            return saved
        file = self._file(region.module)
        linked = _linked(region, file.image)
        return b"" if linked is None else file.read(linked, size)


class LoadedFile(NamedTuple):
    """An ELF file, read by link-time addresses.

    Attributes:
        image: Its headers.
        data: The file.
    """

    image: Image = Image()
    data: memoryview = memoryview(b"")

    @property
    def word(self) -> int:
        """Bytes of an address."""
        return 8 if bytes(self.data[4:5]) == b"\2" else 4  # ELFCLASS64

    def read(self, address: int, size: int) -> bytes:
        """Bytes at a link-time address."""
        for each in self.image.segments:
            inside = address - each.address
            if 0 <= inside < each.size:
                held = min(size, each.size - inside)
                return bytes(self.data[each.offset + inside :][:held])
        return b""


_NO_FILE = LoadedFile()


def read_file(path: str) -> LoadedFile | None:
    """The file at *path*; None if it has no code, or no call frame information."""
    image = image_in_file(path)
    if not image.frame_header:
        return None
    file = LoadedFile(image, map_file(path))
    # A file with debug information alone has the headers of what it was made from.
    is_whole = file.read(image.frame_header, len(HEADER_MAGIC)) == HEADER_MAGIC
    return file if is_whole else None


def _linked(region: Region, image: Image) -> int | None:
    """The link-time address of the start of a region; None if unknown."""
    if region.base == "link" or not image.segments:
        return region.address if region.base == "link" else None
    if region.base != "image":
        return None
    return region.address + min(each.address for each in image.segments)
