"""The running kernel of Linux and its modules, and lookups of its addresses."""

from __future__ import annotations

import os
import re
from functools import partial
from tempfile import TemporaryDirectory, mkdtemp

from gsym.arguments import integer_of, path_of
from gsym.containers.fat import open_slice
from gsym.errors import GsymError
from gsym.memory.loaded import LoadedSymbols
from gsym.memory.regions import Region
from gsym.memory.stack_parts import StackModule, module_of_build_id
from gsym.memory.symbol_lists import read_symbols
from gsym.model import UINT64_MAX
from gsym.modules.key import OTHER, UNKNOWN, ModuleKey, compare, is_absent
from gsym.records import NamedTuple
from gsym.store.archives import inflate_file
from gsym.unwinding.images import build_id_in, image_in_file

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gsym.memory.report_modules import PathOrUrl, Sources
    from gsym.store.directory import Store

_VMLINUX = "vmlinux"
# Below the root; {0} is the release.
_PLACES = (
    "boot/vmlinux-{0}",
    "boot/vmlinux",
    "usr/lib/debug/boot/vmlinux-{0}",
    "usr/lib/debug/lib/modules/{0}/vmlinux",
    "lib/modules/{0}/vmlinux",
    "lib/modules/{0}/build/vmlinux",
)
_CODE = frozenset(b"tTwW")  # types of symbols
_WITH_MODULE = 4  # words of a line of kallsyms
_PAGE = 4096
_ANY_SIZE = 1 << 40  # of a symbol, which the next one limits


def _may_be(build_id: str, found: str) -> bool:
    """Whether a file of a build id may be what is loaded; "" is not known."""
    outcome = compare(ModuleKey(code_id=build_id), ModuleKey(code_id=found)).outcome
    return outcome != OTHER and (outcome != UNKNOWN or is_absent(build_id))


class _Part(NamedTuple):
    """A module that is loaded, and what the system says of it."""

    name: str
    start: int
    size: int


class Kernel(LoadedSymbols):
    """The running kernel and its modules; to be closed.

    Names are from `vmlinux` and the modules' files where they are installed, else from
    `/proc/kallsyms`, which has no lines.

    Args:
        base: Where `_text` is, if `/proc/kallsyms` may not be read.
        source: Folders and servers with symbols, as for `symbolicate`.
        store: The store, its folder or URL; None for the user's own.
        root: The folder that holds `proc`, `sys`, `lib/modules` and `boot`.

    Raises:
        GsymError: It is not known where the kernel is loaded.
    """

    def __init__(
        self,
        *,
        base: int | None = None,
        source: Sources = (),
        store: PathOrUrl | Store | None = None,
        root: str | os.PathLike[str] = "/",
    ) -> None:
        super().__init__(source, store)
        self._root = path_of("root", root)
        if base is not None:
            base = integer_of("base", base, 0, UINT64_MAX)
        self._temporary: TemporaryDirectory[str] | None = None  # for inflated files
        self._release = self._text("proc/sys/kernel/osrelease").strip()
        self._symbols = self._bytes("proc/kallsyms")
        start = self._symbol("_text") if base is None else base
        if not start:
            path = os.path.join(self._root, "proc/kallsyms")
            reason = (
                "it has no addresses for this user (see kernel.kptr_restrict), and no "
                "kernel base is given"
            )
            raise GsymError(reason, path=path)
        self._names: dict[str, list[tuple[int, int, bytes]]] | None = None
        self._waiting: dict[int, _Part] = {}  # modules whose files are not yet read
        regions = [*self._vmlinux(start), *self._modules()]
        self.set_regions(regions)

    def __repr__(self) -> str:
        return f"<gsym.Kernel {self._release}: {len(self.modules)} modules>"

    def close(self) -> None:
        """Close the files of all modules."""
        super().close()
        if self._temporary is not None:
            self._temporary.cleanup()

    def covering(self, address: int) -> Region | None:
        """Find the module at an address and read its file."""
        found = super().covering(address)
        if found is None or found.module not in self._waiting:
            return found
        self._read_module(found.module)
        return super().covering(address)

    def named(self, name: str) -> StackModule | None:
        """Find the module of a name and read its file."""
        number = self._numbers.get(name)
        if number in self._waiting:
            self._read_module(number)
        return super().named(name)

    def _read_module(self, number: int) -> None:
        """Find the file of a module, and place its sections."""
        part = self._waiting.pop(number)
        others = [each for each in self.regions if each.module != number]
        self.set_regions([*self._regions_of(number, part), *others])

    def _bytes(self, name: str) -> bytes:
        try:
            with open(os.path.join(self._root, name), "rb") as file:
                return file.read()
        except OSError:
            return b""

    def _text(self, name: str) -> str:
        return self._bytes(name).decode("utf-8", "replace")

    def _symbol(self, name: str) -> int:
        """The address of a symbol in the list; 0 if it is hidden or missing."""
        found = re.search(
            rb"^([0-9a-f]+) . %s$" % name.encode(), self._symbols, re.MULTILINE
        )
        return int(found[1], 16) if found else 0

    def _vmlinux(self, start: int) -> Iterator[Region]:
        notes = memoryview(self._bytes("sys/kernel/notes"))
        build_id = build_id_in(notes)
        named = module_of_build_id(_VMLINUX, build_id)._replace(path="")
        for path in self._places(named):
            image = image_in_file(path)
            code = [each for each in image.segments if each.is_executable]
            if not code or not _may_be(build_id, image.build_id):
                continue
            module = self.add_module(named._replace(path=path))
            bias = start - code[0].address
            for each in code:
                at = each.address + bias
                yield Region(at, at + each.size, module, each.offset, each.address)
            return
        symbols = self._symbols_of("")
        if symbols:
            yield self._listed(named, symbols)

    def _places(self, named: StackModule) -> Iterator[str]:
        yield from self._opener.paths(named)
        for each in _PLACES:
            yield os.path.join(self._root, each.format(self._release))

    def _listed(
        self, module: StackModule, symbols: Sequence[tuple[int, int, bytes]]
    ) -> Region:
        """The region of a module of which only kallsyms has symbols."""
        # No file has its addresses, so that it must not be searched by its id.
        alone = module_of_build_id(module.name, "")._replace(
            path="", read=partial(read_symbols, symbols)
        )
        addresses = [address for address, _, _ in symbols]
        start, end = min(addresses) & -_PAGE, (max(addresses) + _PAGE) & -_PAGE
        return Region(start, end, self.add_module(alone), 0, start)

    def _symbols_of(self, module: str) -> list[tuple[int, int, bytes]]:
        if self._names is None:
            self._names = {}
            for line in self._symbols.split(b"\n"):
                words = line.split()
                if len(words) < _WITH_MODULE - 1 or words[1][0] not in _CODE:
                    continue
                has_module = len(words) == _WITH_MODULE
                name = words[3].strip(b"[]").decode() if has_module else ""
                if address := int(words[0], 16):
                    symbol = address, _ANY_SIZE, words[2]
                    self._names.setdefault(name, []).append(symbol)
        return self._names.get(module, [])

    def _modules(self) -> Iterator[Region]:
        known = set()
        for line in self._text("proc/modules").splitlines():
            words = line.split()
            try:
                part = _Part(words[0], int(words[5], 16), int(words[1]))
            except (IndexError, ValueError):
                continue
            known.add(part.name)
            if part.start:
                number = self.add_module(module_of_build_id(part.name, ""))
                self._waiting[number] = part
                end = part.start + part.size
                yield Region(part.start, end, number, 0, part.start)
        for each in sorted(
            set(re.findall(rb"\t\[(\w+)\]$", self._symbols, re.MULTILINE))
        ):
            name = each.decode()
            symbols = [] if name in known else self._symbols_of(name)
            if symbols:  # of BPF programs, of ftrace
                yield self._listed(module_of_build_id(name, ""), symbols)

    def _regions_of(self, number: int, part: _Part) -> Iterator[Region]:
        """The regions of a module, by the sections in its file."""
        folder = f"sys/module/{part.name}"
        notes = self._bytes(f"{folder}/notes/.note.gnu.build-id")
        build_id = build_id_in(memoryview(notes))
        if self._temporary is None:
            self._temporary = TemporaryDirectory(prefix="gsym-")
        for path in self._files_of(part.name):
            try:
                file = inflate_file(path, mkdtemp(dir=self._temporary.name))
                with open_slice(file) as binary:
                    found_id, sections = binary.uuid.hex(), binary.placements
            except (GsymError, OSError, ValueError):
                continue
            if not _may_be(build_id, found_id):
                continue
            module = module_of_build_id(part.name, build_id)
            self.modules[number] = module._replace(path=file)
            for name, start, end in sections:
                at = self._text(f"{folder}/sections/{name}").strip()
                if at and (place := int(at, 16)):
                    yield Region(place, place + end - start, number, 0, start)
            return
        symbols = self._symbols_of(part.name)
        self.modules[number] = module_of_build_id(part.name, "")._replace(
            path="", read=partial(read_symbols, symbols)
        )
        yield Region(part.start, part.start + part.size, number, 0, part.start)

    def _files_of(self, name: str) -> Iterator[str]:
        """The paths of the file of a module, with debug information first."""
        for line in self._text(f"lib/modules/{self._release}/modules.dep").splitlines():
            path = line.partition(":")[0]
            file = os.path.basename(path).partition(".ko")[0]
            if file.replace("-", "_") == name:
                below = f"lib/modules/{self._release}"
                stem = path.partition(".ko")[0]
                debug = f"usr/lib/debug/{below}/{stem}.ko"
                yield os.path.join(self._root, f"{debug}.debug")
                yield os.path.join(self._root, debug)
                yield os.path.join(self._root, below, path)
