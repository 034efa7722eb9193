"""Modules and the addresses at which they are loaded."""

from __future__ import annotations

from functools import partial
from operator import attrgetter

from gsym.arguments import integer_of, items_of
from gsym.errors import ClosedError
from gsym.memory.regions import Region, Regions
from gsym.memory.stack_parts import NO_LIMITS, NO_MODULE, StackBuilder, StackFrame
from gsym.model import UINT64_MAX, FunctionRange, Lookup, after_call
from gsym.records import NamedTuple
from gsym.unwinding.images import mapped_segment

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any

    from typing_extensions import Self

    from gsym.containers.headers import Segment
    from gsym.memory.report_modules import PathOrUrl, Sources
    from gsym.memory.stack_parts import ParsedReport, StackModule
    from gsym.modules.key import Comparison
    from gsym.ranges import AddressRanges
    from gsym.reading.reader import Reader
    from gsym.store.directory import Store
    from gsym.unwinding.images import Image


def linked_region(region: Region, segments: Sequence[Segment]) -> Region:
    """A region at an offset in a file, as one of a module with these segments."""
    is_executable = region.is_executable
    found = mapped_segment(region.offset, segments, is_executable=is_executable)
    if found is None:
        return region
    address = (found.address + region.offset - found.offset) & UINT64_MAX
    is_executable = found.is_executable
    return region._replace(address=address, base="link", is_executable=is_executable)


def moved_code(
    module: int, image: Image, bias: int, memory: AddressRanges[Any]
) -> Iterator[Region]:
    """The code of an image in memory of no file, in the place of the image.

    Programs move it there to have it in huge pages, Wine copies that of files whose
    sections are not aligned to pages.
    """
    for each in filter(attrgetter("is_executable"), image.segments):
        at = (bias + each.address) & UINT64_MAX
        known = Region(at, at + each.size, module, each.offset, each.address)
        for low, high, _ in memory.meeting(at, known.end):
            yield known.at(low)._replace(end=high)


class ModuleAddress(NamedTuple):
    """An address in a module.

    Attributes:
        name: Of the module, without folder; `[vdso]`, `vmlinux`.
        path: Where its file can be read now; "" if it has none.
        build_id: In hexadecimal digits, or "".
        offset: Of the address in the file.
        address: The link-time address; None if the headers cannot be read.
    """

    name: str
    path: str
    build_id: str
    offset: int
    address: int | None


class Loaded(Regions):
    """Modules, and the regions of memory that are mapped from them."""

    def __init__(self) -> None:
        super().__init__()
        self.modules: list[StackModule] = []
        self._numbers: dict[str, int] = {}  # by name

    def add_module(self, module: StackModule) -> int:
        """Add a module; its index."""
        self._numbers.setdefault(module.name, len(self.modules))
        self.modules.append(module)
        return len(self.modules) - 1

    def compare_code_by(self, compare: Callable[[int, str], Comparison]) -> None:
        """Let the code of files be compared with that of the modules in memory.

        Args:
            compare: Takes the index of a module and the path of a file.
        """
        self.modules = [
            each._replace(compare_code=partial(compare, number))
            for number, each in enumerate(self.modules)
        ]

    def set_regions(self, regions: Iterable[Region]) -> None:
        """Set the regions of all modules; where two overlap, the first one stays."""
        ordered = sorted(regions, key=lambda region: region.start)
        self.clear()
        end = 0
        for each in ordered:
            start = max(each.start, end)
            if start < each.end:
                self.add(each.at(start))
                end = each.end

    def named(self, name: str) -> StackModule | None:
        """The first module of a name."""
        number = self._numbers.get(name)
        return None if number is None else self.modules[number]

    def frame(self, address: int, *, is_return: bool = False) -> StackFrame:
        """The frame of an address; its text is the place in the module."""
        # What follows a call at the end of a module may be another module.
        region = self.region(address - is_return)
        if region is None:
            return StackFrame("??", NO_MODULE, address, is_return=is_return)
        name, inside = self.modules[region.module].name, region.address + is_return
        place = region.module, min(inside, UINT64_MAX), region.base
        return StackFrame(f"{name}+{inside:#x}", *place, is_return)

    def stack(self, addresses: Iterable[int]) -> ParsedReport:
        """A report of single addresses."""
        stack = StackBuilder(NO_LIMITS)
        for address in addresses:
            stack.add_text(f"{address:#x}: ")
            stack.add_frame(self.frame(address))
            stack.add_text("\n")
        return self.finish(stack, "addresses")

    def finish(self, stack: StackBuilder, form: str) -> ParsedReport:
        """The report of frames that were made here."""
        made = stack.finish(form, is_verbatim=False)
        return made._replace(modules=tuple(self.modules))


class LoadedSymbols(Loaded):
    """Answers for addresses of what is loaded; to be closed.

    Args:
        source: Folders and servers, as for `symbolicate`.
        store: The store, its folder or URL; None for the user's own.
    """

    def __init__(
        self, source: Sources = (), store: PathOrUrl | Store | None = None
    ) -> None:
        from gsym.memory.report_modules import ReportModules

        super().__init__()
        self.source = source
        self.store = store
        self._opener = ReportModules(source, store=store)
        self._readers: dict[int, Reader | None] = {}
        self._is_closed = False

    def __enter__(self) -> Self:
        self._check_open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the files of all modules."""
        self._is_closed = True
        for reader in self._readers.values():
            if reader is not None:
                reader.close()
        self._readers.clear()
        self._opener.close()

    def _check_open(self) -> None:
        if self._is_closed:
            raise ClosedError(f"{self!r} is closed")

    def modules_at(self, addresses: Iterable[int]) -> list[ModuleAddress | None]:
        """The module at each address, and the place in it, as `module_at` has it.

        With the build id and the offset, another machine can look them up.
        """
        return [self.module_at(each) for each in addresses]

    def module_at(self, address: int) -> ModuleAddress | None:
        """The module at an address, and the place in it; None if there is none.

        Raises:
            ClosedError: This was closed.
            TypeError: The address is not an integer.
        """
        self._check_open()
        region = self.region(integer_of("address", address))
        if region is None:
            return None
        module = self.modules[region.module]
        build_id = module.key.code_id.lower()
        linked = region.address if region.base == "link" else None
        return ModuleAddress(module.name, module.path, build_id, region.offset, linked)

    def lookup(self, address: int, *, is_return: bool = False) -> Lookup | None:
        """Function, file, line and inline chain at one address.

        Args:
            address: Runtime address in bytes.
            is_return: Whether it is a return address: the answer is that of the call
                before it.

        Returns:
            None where no function of a known module is. Addresses in the answer are
            runtime addresses, too.

        Raises:
            ClosedError: This was closed.
            FormatError: A record of its module is damaged, as of `Reader.lookup`: None
                would be read as no function. `symbolicate` reports it and goes on.
            TypeError: The address is not an integer.
        """
        number = integer_of("address", address)
        return self.lookup_each([number], is_return=is_return)[0]

    def lookup_each(
        self, addresses: Iterable[int], *, is_return: bool = False
    ) -> list[Lookup | None]:
        """Look up many addresses; the answers are in their order, as of `lookup`."""
        self._check_open()
        asked = [
            integer_of("addresses", each)
            for each in items_of("addresses", addresses, "integers")
        ]
        if is_return:
            calls = self.lookup_each([each - 1 for each in asked])
            return [None if each is None else after_call(each) for each in calls]
        placed: dict[int, list[tuple[int, int]]] = {}  # numbers and load biases
        for number, address in enumerate(asked):
            region = self.covering(address)
            if region is not None and region.base == "link":
                place = number, region.start - region.address
                placed.setdefault(region.module, []).append(place)
        answers: list[Lookup | None] = [None] * len(asked)
        for module, places in placed.items():
            if module not in self._readers:
                self._readers[module] = self._opener.open(self.modules[module]).reader
            reader = self._readers[module]
            if reader is None:
                continue
            linked = [(asked[at] - bias) & UINT64_MAX for at, bias in places]
            # A reader of a large binary then converts what is needed for all of them.
            reader.mapped_for(linked)
            for (at, bias), address in zip(places, linked, strict=True):
                found = reader.lookup(address)
                if found is not None:
                    answers[at] = _moved(found, bias)
        return answers


def _moved(found: Lookup, bias: int) -> Lookup:
    name, start, size = found.function
    return Lookup(
        found.address + bias & UINT64_MAX,
        FunctionRange(name, start + bias & UINT64_MAX, size),
        found.frames,
        found.call_site_patterns,
        tuple([_moved(each, bias) for each in found.merged]),
    )
