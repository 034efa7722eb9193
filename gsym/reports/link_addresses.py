"""The link-time addresses of the frames of a module."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from itertools import chain, islice, pairwise, product
from operator import itemgetter

from gsym.engine.native import lib
from gsym.model import UINT64_MAX
from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from gsym.containers.headers import Segment
    from gsym.containers.machine_code import MachineCode
    from gsym.containers.object_file import ObjectFile
    from gsym.memory.module_files import LoadedFile
    from gsym.memory.stack_parts import StackFrame
    from gsym.model import FunctionRange
    from gsym.modules.function_names import FunctionNames
    from gsym.reading.reader import Reader

# What reports call functions that they do not know.
NO_NAMES = frozenset(
    {"", "?", "??", "???", "??:?", "<unknown>", "(unknown)", "n/a", "<null>"}
)
# What is at an address: a function, one before it, code before it, a call that ends.
FUNCTION: int = lib.GSYM_PLACE_FUNCTION
AFTER: int = lib.GSYM_PLACE_AFTER
CODE: int = lib.GSYM_PLACE_CODE
CALL: int = lib.GSYM_PLACE_CALL
_PAGE = 4096
# A distance is taken if, by chance, one of so many modules would have as many calls.
_ENOUGH = 1024
_MOST_FRAMES = 64  # that are compared
_INTO_CALLS = 0, 1, 2, 4  # bytes by which tools move all return addresses
_MOST_PROCESSES = 16  # whose calls are
_LINKED = frozenset(" (<:)>[]")
_MOST_WORDS = 8  # before the name of a function
# Bases of addresses that may be those of the process.
MAY_BE_LINK = frozenset({"link", "either", "file"})
_LINKS = frozenset({"link", "either"})
NO_LINK = UINT64_MAX
"""In the place of a link-time address that is not known."""
NOT_PLACED = "the report does not say where its module was loaded"


class Readings(NamedTuple):
    """Readings of frames in a module.

    Attributes:
        are_unclear: Whether there are several for a frame, or it may be text.
        kinds: Frames, each for all that only differ in their addresses: these.
        ordered: Returns all of them, in order.
    """

    are_unclear: bool
    kinds: Sequence[tuple[StackFrame, Sequence[int]]]
    ordered: Callable[[], Iterable[StackFrame]]


class LinkAddresses:
    """Link-time addresses of the frames of a module.

    Attributes:
        code: Its machine code.
        reason: Why the last frame has none.
    """

    def __init__(
        self,
        reader: Reader,
        find_binaries: Callable[[], Iterator[str]],
        names: FunctionNames,
        readings: Readings,
        code: MachineCode,
    ) -> None:
        self._reader = reader
        self._base = reader.header.base_address
        self._layout = _Layout(reader, find_binaries)
        self._names = names
        self._found: dict[str, Sequence[FunctionRange]] = {}
        self._starts: dict[tuple[str, int, int | None], list[int]] = {}
        self.code = code
        self._asked: tuple[array[int], array[int]] = array("Q"), array("B")
        if readings.are_unclear:  # where a part of a file is converted: for all
            reader.mapped_for(self._likely(readings))
        self._loaded = self._find_load_addresses(readings)
        self._is_moved = any(distance is not None for _, distance in self._loaded)
        self.reason: str = ""
        # By name and address: of functions whose addresses others have, too.
        self._readers: dict[tuple[str, int, bool], Reader] = {}

    def reader_of(self, frame: StackFrame, address: int) -> Reader:
        """The reader that answers a frame as the function that it names."""
        named = frame.symbol, address + frame.is_return, frame.is_return
        return self._readers.get(named, self._reader)

    def link_address(self, frame: StackFrame) -> int | None:
        """The link-time address to look up; None if it cannot be told."""
        found = self.address(frame)
        return (
            None if found is None else max(0, min(found - frame.is_return, UINT64_MAX))
        )

    def is_signal_return(self, address: int) -> bool:
        """Whether the handler of a signal returns to an address, as its binary says.

        Libraries without a symbol table do not name where that is.
        """
        return self._layout.is_signal_frame(address)

    def named_addresses(self, frame: StackFrame) -> list[int]:
        """The link-time addresses that a frame may be at that names its function."""
        return [start + (frame.plus or 0) for start in self._named_starts(frame)]

    def addresses_of(self, frame: StackFrame, addresses: array[int]) -> array[int]:
        """The values of `address` for a frame, with each of these addresses."""
        start, mask = self._base, self.code.mask
        if frame.base == "image":
            if start or mask != -1:
                addresses = links_of([(each + start) & mask for each in addresses])
            return addresses
        is_plain = frame.base in _LINKS and frame.plus is None and not self._is_moved
        if is_plain and mask == -1 and min(addresses, default=0) >= start:
            return addresses
        return links_of(
            each & mask
            if is_plain and each >= start
            else self.address(frame._replace(address=each))
            for each in addresses
        )

    def places(self, addresses: array[int]) -> array[int]:
        """Kinds of places: of each address a set of `FUNCTION` and the like.

        The set of `NO_LINK` is empty.
        """
        if addresses != self._asked[0]:  # several readings of lines are the same
            before = (each - 1 for each in addresses if each)
            mapped = self._reader.mapped_for(chain(addresses, before))
            found = self.code.places(mapped, addresses)
            if NO_LINK in addresses:
                for at, each in enumerate(addresses):
                    found[at] *= each != NO_LINK
            self._asked = addresses, found
        return self._asked[1]

    def _likely(self, readings: Readings) -> Iterator[int]:
        """Link-time addresses that frames may be at, unless their module was moved."""
        start = self._base
        for frame, addresses in readings.kinds:
            is_image = frame.base == "image"
            for each in addresses if is_image or frame.base in MAY_BE_LINK else ():
                at = each + start if is_image or each < start else each
                yield from (at, at - 1)

    def is_in(self, symbol: str, address: int) -> bool | None:
        """Whether an address is in a function of a name; None if there is none."""
        found = self._functions(symbol)
        if not found:
            return None
        return any(0 <= address - each.start <= each.size for each in found)

    def starts_function(self, address: int) -> bool:
        """Whether a function starts at a link-time address."""
        found = self._reader.lookup(address) if address >= 0 else None
        return found is not None and found.function.start == address

    def address(self, frame: StackFrame) -> int | None:
        """The link-time address of a frame, as in the report; None if unknown."""
        found = self._address(frame)
        return None if found is None else found & self.code.mask

    def _address(self, frame: StackFrame) -> int | None:
        base, address = frame.base, frame.address
        if base == "symbol":
            return self._symbol_address(frame)
        if base == "image" or (base == "either" and address < self._base):
            return address + self._base
        start = None
        if base not in _LINKS:
            layout = "file" if base == "offset" else base
            start = self._layout.link_address(layout, address)
        if start is None and base in MAY_BE_LINK:
            at = bisect_right(self._loaded, address, key=itemgetter(0)) - 1
            loaded = self._loaded[max(at, 0)][1] if self._loaded else None
            is_other = loaded is not None or frame.plus is not None
            if not is_other or self._is_code(address):
                return address
            named = None if frame.plus is None else self._symbol_address(frame)
            if named is not None or loaded is None:
                return address if named is None else named
            start = address - loaded
            if start < 0:
                self.reason = "the address is below the start of its module"
                return None
        if start is None:
            self.reason = f"no file has its segments, and {NOT_PLACED}"
        return start

    def _is_code(self, address: int) -> bool:
        return not [*self._without_code((address,))]

    def _without_code(self, addresses: Sequence[int]) -> Iterator[int]:
        """Select addresses that no function has, nor ends before."""
        pairs = zip(addresses, self.places(links_of(addresses)), strict=True)
        return (
            each for each, place in pairs if not place & (AFTER if each else FUNCTION)
        )

    def _symbol_address(self, frame: StackFrame) -> int | None:
        starts = self._named_starts(frame)
        if len(starts) != 1:
            self.reason = f"no function {frame.symbol} of this size"
            if starts:
                reason = f"{len(starts)} functions are called {frame.symbol}"
                self.reason = f"ambiguous: {reason}"
            return None
        address = starts[0] + (frame.plus or 0)
        named = frame.symbol, address, frame.is_return
        if named not in self._readers:
            from gsym.reading.named_address import place_in

            reader, inside = self._reader, address - frame.is_return - starts[0]
            for each in self._functions(frame.symbol):
                # Behind its end is another function, which the loader has no name of.
                if each.start == starts[0] and inside < each.size:
                    reader = place_in(reader, each, address).reader
                    break
            self._readers[named] = reader
        return address

    def _named_starts(self, frame: StackFrame) -> list[int]:
        """Starts of the functions that a frame may be in."""
        key = frame.symbol, frame.plus or 0, frame.function_size
        if key not in self._starts:
            self._starts[key] = self._find_starts(frame)
        return self._starts[key]

    def _find_starts(self, frame: StackFrame) -> list[int]:
        plus = frame.plus or 0
        found = [each for each in self._functions(frame.symbol) if plus <= each.size]
        if not found and self.code:
            # The loader names the last exported function before an address.
            ends = ((each, each.start + plus) for each in self._functions(frame.symbol))
            found = [each for each, end in ends if self._is_called(end)]
        if frame.function_size is not None:
            # Symbol tables have the end of a function; the kernel the next start.
            sized = [each for each in found if each.size == frame.function_size]
            if not sized:
                after = [each for each in found if each.size < frame.function_size]
                sized = [each for each in after if self._reaches(each, frame)]
            found = sized or found
        starts = list(dict.fromkeys(each.start for each in found))
        if len(starts) > 1 and self.code:
            called = [each for each in starts if self.code.may_return(each + plus)]
            starts = called if len(called) == 1 else starts
        return starts

    def _is_called(self, address: int) -> bool:
        """Whether a call or the handler of a signal returns to an address."""
        (place,) = self.places(links_of((address,)))
        is_code = place & CALL and place & AFTER
        return bool(is_code) or self._layout.is_signal_frame(address)

    def _reaches(self, function: FunctionRange, frame: StackFrame) -> bool:
        """Whether no function starts before the end that a report gives one."""
        found = self._reader.lookup(function.start + (frame.function_size or 0) - 1)
        return found is None or found.function.start <= function.start

    def _functions(self, symbol: str) -> Sequence[FunctionRange]:
        """The functions of a name, before which there may be other words."""
        if symbol not in self._found:
            functions = map(self._names.find, name_variants(symbol))
            self._found[symbol] = next(filter(None, functions), ())
        return self._found[symbol]

    def _find_load_addresses(
        self, readings: Readings
    ) -> Sequence[tuple[int, int | None]]:
        """Distances of addresses in the process, each from an address on.

        A text may have stacks of several processes, in which the module was loaded
        elsewhere: their addresses are further apart than its size.
        """
        asked = [each for each in readings.kinds if each[0].base in MAY_BE_LINK]
        if not asked:
            return ()
        addresses = [*chain.from_iterable(possible for _, possible in asked)]
        extent = self.code.extent() if self.code else self._reader.module_range
        size = UINT64_MAX if extent is None else extent[1] - extent[0]
        starts = _starts_apart([possible for _, possible in asked], size)
        found: list[set[int]] = [set() for _ in starts]
        for frame, possible in asked:
            for address in self._without_code(possible) if frame.symbol else ():
                one = frame._replace(address=address)
                found[_last_at(starts, address)] |= self._distances_of_name(one)
        if self.code and not all(found) and not self._has_code(addresses):
            processes: list[list[StackFrame]] = [[] for _ in starts]
            for each in readings.ordered():
                if each.base in MAY_BE_LINK:
                    processes[_last_at(starts, each.address)].append(each)
                    if len(starts) == 1 and len(processes[0]) == _MOST_FRAMES:
                        break
            unknown = (at for at, each in enumerate(found) if not each)
            largest = sorted(unknown, key=lambda at: -len(processes[at]))
            for at in largest[:_MOST_PROCESSES]:
                distance = self._distance_of_calls(processes[at])
                found[at] = set() if distance is None else {distance}
        return [
            (start, min(one) if len(one) == 1 else None)
            for start, one in zip(starts, found, strict=True)
        ]

    def _has_code(self, addresses: Collection[int]) -> bool:
        """Whether a function covers one of the addresses before these."""
        if any(map(self._is_code, islice(addresses, _MOST_FRAMES))):
            return True
        above = [each for each in addresses if each > self._base]
        return any(place & AFTER for place in self.places(links_of(above)))

    def _distances_of_name(self, frame: StackFrame) -> set[int]:
        """Distances of the address in a process of a frame whose function is named.

        Modules are loaded at page boundaries, so the last digits of an address and its
        function tell the distance if the function is less than a page.
        """
        found: set[int] = set()
        exact = frame.address - frame.is_return
        for each in self._functions(frame.symbol):
            if frame.plus is not None:
                distance = frame.address - each.start - frame.plus
            elif each.size > _PAGE:
                continue
            else:
                distance = (exact - each.start) & -_PAGE
            inside = exact - distance - each.start
            if distance % _PAGE == 0 and 0 <= inside < each.size:
                found.add(distance)
        return found

    def _distance_of_calls(self, asked: Sequence[StackFrame]) -> int | None:
        """Distance of addresses in a process, if calls end there with one alone.

        The first address of a stack may be exact, and the last one that of a start. A
        tool may have moved all into the calls.
        """
        low, end = self.code.extent()
        asked = asked[:_MOST_FRAMES]
        addresses = {each.address for each in asked}
        inner = {
            frame.address
            for before, frame, after in zip(asked, asked[1:], asked[2:], strict=False)
            if before.stack == after.stack
        }
        if not inner:
            return None
        first, last = min(addresses), max(addresses)
        distances = range(-((end - last) // _PAGE) * _PAGE, first - low + 1, _PAGE)
        enough = len(_INTO_CALLS) * _ENOUGH * max(len(distances), 1)

        def ends_call(address: int) -> bool:
            return self.code.is_known(address) and self.code.may_return(address)

        found: list[int] = []
        for distance, before in product(distances, _INTO_CALLS):
            start = distance - before
            if all(ends_call(each - start) for each in inner):
                calls = sum(ends_call(each - start) for each in addresses)
                calls += 2 * max(
                    self._callers(asked, start), self._callers(asked[::-1], start)
                )
                if self.code.addresses_per_call**calls >= enough:
                    found.append(distance)
        return found[0] if len(found) == 1 else None

    def _callers(self, frames: Sequence[StackFrame], distance: int) -> int:
        """The number of frames that call the function of the one before them."""
        count = 0
        for callee, caller in pairwise(frames):
            target = self.code.call_target(caller.address - distance)
            if target is None or callee.stack != caller.stack:
                continue
            called = self._reader.lookup(target)
            if called is not None:
                inside = callee.address - distance - called.function.start
                count += 0 < inside <= called.function.size
        return count


def _starts_apart(addresses: Iterable[Sequence[int]], size: int) -> list[int]:
    """The lowest address, and each that is further from the next lower than a size."""
    points: set[int] = set()
    for starts in addresses:
        ends = min(starts), max(starts)
        points.update(ends if ends[1] - ends[0] <= size else starts)
    first, *others = sorted(points)
    apart = (
        each for before, each in pairwise((first, *others)) if each - before > size
    )
    return [first, *apart]


def links_of(addresses: array[int] | Iterable[int | None]) -> array[int]:
    """Link-time addresses as a column: `NO_LINK` for those that it cannot have."""
    if isinstance(addresses, array):
        return addresses
    known = (NO_LINK if each is None else each for each in addresses)
    return array("Q", (each if 0 <= each < NO_LINK else NO_LINK for each in known))


def _last_at(starts: Sequence[int], address: int) -> int:
    """The index of the last start that is not above an address."""
    return bisect_right(starts, address) - 1


def name_variants(text: str) -> Iterator[str]:
    """Names of functions that a text may end with, the likeliest first."""
    last = text.rpartition(" ")[2]
    if last.isidentifier() or _LINKED.isdisjoint(last):
        yield last
    starts = [0]
    depth = 0
    for at, each in enumerate(text):
        if each in "(<[":
            depth += 1
        elif each in ")>]":
            depth -= 1
        elif each == " " and depth <= 0:
            starts.append(at + 1)
    for start in starts[:_MOST_WORDS]:
        yield text[start:]
    if "(" in last or "(" in text:  # `main()`, where it has no parameters
        yield text[starts[-1] :].partition("(")[0]


class _Layout:
    """Segments and sections of a file, read once."""

    def __init__(
        self, reader: Reader, find_binaries: Callable[[], Iterator[str]]
    ) -> None:
        self._reader = reader
        self._find_binaries = find_binaries
        self._segments: Sequence[Segment] | None = None
        self._text: int | None = None
        self._loaded: LoadedFile | None = None

    def is_signal_frame(self, address: int) -> bool:
        """Whether its call frame information says so of a link-time address."""
        from gsym.memory.module_files import NO_FILE, read_file

        if self._loaded is None:
            files = map(read_file, self._find_binaries())
            self._loaded = next(filter(None, files), NO_FILE)
        return self._loaded.frames.is_signal_frame(address)

    def link_address(self, base: str, address: int) -> int | None:
        """The link-time address of an address in a file, section or segment."""
        from gsym.containers.headers import file_address

        if self._segments is None:
            from gsym.conversion.identity import read_first

            paths, said = self._find_binaries(), self._reader.module_like
            self._segments = read_first(paths, said, self._read) or ()
        if base == "text":
            return None if self._text is None else self._text + address
        if base == "file":
            return file_address(address, self._segments)
        for each in self._segments:
            if each.is_executable:
                return (each.address & -_PAGE) + address
        return None

    def _read(self, file: ObjectFile) -> Sequence[Segment]:
        """The segments of a file; none if it has none."""
        from gsym.containers.headers import load_segments

        text = file.code_range(b".text")
        self._text = None if text is None else text[0]
        return load_segments(file.data, file.path)
