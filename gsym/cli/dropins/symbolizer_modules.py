"""The modules of requests, opened once and kept open."""

from __future__ import annotations

from gsym.cache import BoundedCache
from gsym.cli.dropins.symbolizer_requests import RequestError, parse_request
from gsym.containers import DEBUG_DIRECTORIES
from gsym.errors import FormatError, GsymError, reason_of
from gsym.model import UINT64_MAX
from gsym.modules.binary_lookup import BinarySearch, find_gsym
from gsym.modules.key import Attempt, key_of_build_id
from gsym.reading.named_address import place_in, without_section
from gsym.reading.reader import Reader, wants_read_ahead

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable

    from gsym.cli.dropins.symbolizer_options import Options
    from gsym.containers.data_symbols import DataSymbol, DataSymbols
    from gsym.modules.places import MatchedFile
    from gsym.writing.source_part import SourceFiles


_MAX_MODULES = 128
_PE_MAGIC = b"MZ"
# LLVM's names of architectures, which may follow a colon.
_ARCHITECTURES = (
    " aarch64 aarch64_32 aarch64_be arm arm64 arm64_32 arm64e armeb armv4t armv5 "
    "armv5e armv6 armv6m armv7 armv7em armv7k armv7m armv7s avr bpf hexagon i386 i486 "
    "i586 i686 loongarch32 loongarch64 m68k mips mips64 mips64el mipsel powerpc "
    "powerpc64 powerpc64le powerpcle ppc ppc64 ppc64le ppcle riscv32 riscv64 s390x "
    "sparc sparcv9 thumb thumbv7 wasm32 wasm64 x86 x86-64 x86_64 x86_64h xscale "
)


class ModuleError(Exception):
    """A module cannot be read, for the reason in the text."""


class Module:
    """One module: its functions, and the symbols of its binary."""

    def __init__(self, reader: Reader | None, path: str, options: Options) -> None:
        self.reader = reader  # the reader of its functions; None if it has none
        self._path = path
        base = _image_base(path) if options.flag("--relative-address") else 0
        self.shift: int = base - options.adjust_vma  # added to requested addresses
        self._symbols: tuple[DataSymbols, ...] | None = None
        self._sources: SourceFiles | None = None

    def source(self, path: str) -> bytes | None:
        """A source file that the module has with it; None if it does not."""
        if self._sources is None:
            from gsym.modules.source_files import sources_of_module

            self._sources = sources_of_module(self.reader, (self._path,))
        try:
            return self._sources.text(path)
        except FormatError:
            return None

    def symbol(self, name: str, offset: int) -> list[tuple[Reader, int]]:
        """Readers and addresses of the bytes *offset* after the starts of functions."""
        if self.reader is None:
            return []
        find, found = self.reader.find, []
        named = find(name, exact=True) or find(without_section(name), exact=True)
        for function in named:
            address = (function.start + offset) & UINT64_MAX
            is_inside = offset < function.size
            place = place_in(self.reader, function, address) if is_inside else None
            found.append((place.reader if place else self.reader, address))
        return found

    def data(self, address: int) -> DataSymbol | None:
        """The symbol at an address as requested, or None."""
        if self._symbols is None:
            from gsym.containers.data_symbols import DataSymbols
            from gsym.conversion.identity import read_first

            said = None if self.reader is None else self.reader.module_like
            found = read_first([self._path], said, lambda each: (DataSymbols(each),))
            self._symbols = found or ()
        place = (address + self.shift) & UINT64_MAX
        return next((each.find(place) for each in self._symbols), None)


class Modules:
    """All modules of a session, by their names in requests."""

    def __init__(self, options: Options, warn: Callable[[str], None]) -> None:
        self._options = options
        self._warn = warn
        self._opened: BoundedCache[str | bytes, Module | None]
        self._opened = BoundedCache(_MAX_MODULES)
        self._read_ahead = wants_read_ahead(_address_count(options))

    def open(self, name: str, build_id: bytes) -> Module | None:
        """The module of a name or a build id.

        Returns:
            None if it could not be read, which was reported before.

        Raises:
            ModuleError: It cannot be read, and this was not reported before.
        """
        key = build_id or name
        if key in self._opened:
            return self._opened[key]
        try:
            path, unsure = name, ""
            architecture = self._options.text("--default-arch") or None
            if build_id:
                # A file for a build id may appear later.
                path, match = self._of_build(build_id)
                architecture = match.architecture or architecture
                unsure = (
                    match.unsure and f"{path} may be of another build: {match.unsure}"
                )
            else:
                front, colon, suffix = name.rpartition(":")
                if colon and f" {suffix} " in _ARCHITECTURES:
                    path, architecture = front, suffix
            self._opened.keep(key, None)
            found = find_gsym(path, self._search(architecture))
            module = Module(found.reader, path, self._options)
        except (GsymError, OSError) as error:
            raise ModuleError(reason_of(error)) from error
        for note in filter(None, (*found.notes, unsure or found.unsure)):
            self._warn(note)
        self._opened.keep(key, module)
        return module

    def opened(self, name: str, build_id: bytes) -> Module | None:
        """The module of a name or a build id, if it is open already."""
        return self._opened.get(build_id or name)

    def _search(self, architecture: str | None) -> BinarySearch:
        options = self._options
        return BinarySearch(
            architecture=architecture,
            is_for_fat=True,
            beside=not options.flag("--disable-gsym"),
            gsym_directories=tuple(options.texts("--gsym-file-directory")),
            debug_file_directories=self._debug_directories(),
            debuginfod=bool(options.debuginfod),
            dwp=options.text("--dwp") or None,
            store=not options.flag("--disable-gsym"),
            read_ahead=self._read_ahead,
            partial=True,
        )

    def _debug_directories(self) -> tuple[str, ...]:
        given = self._options.texts("--debug-file-directory")
        return tuple(given) or DEBUG_DIRECTORIES

    def _of_build(self, build_id: bytes) -> MatchedFile:
        # Most requests name a file.
        from gsym.modules.places import Folder, find_files

        directories = self._options.texts("--gsym-file-directory")
        folders = (*directories, *self._debug_directories())
        places = [Folder(each, by_build_id=True) for each in folders]
        attempts: list[Attempt] = []
        for found in find_files(places, key_of_build_id(build_id), attempts):
            return found
        for each in attempts:
            if each.outcome == "refused":
                raise ModuleError(f"{each.source} is of another build: {each.detail}")
        raise ModuleError("could not find build ID")


def _address_count(options: Options) -> int:
    """Number of addresses on the command line; 0 if not known."""
    for line in options.inputs:
        try:
            request = parse_request(line, options.obj or "", options.build_id)
        except RequestError:
            continue
        if request.symbol:
            return 0  # the first search for a name reads all names
    return len(options.inputs)


def _image_base(path: str) -> int:
    """The base of relative addresses: the image base of a PE file, else 0."""
    with open(path, "rb") as file:
        if file.read(len(_PE_MAGIC)) != _PE_MAGIC:
            return 0
    from gsym.containers.fat import open_slice

    with open_slice(path) as binary:
        return binary.base_address or 0
