"""The samples in a Fuchsia trace -> a profile.

Specification: Fuchsia trace format, "Profiler record". Modules and mappings may come
after the samples, and those of a process count for all its samples. The innermost
address of a backtrace is where the thread was; the others are where calls return to.
"""

from __future__ import annotations

from gsym.formats.fxt_records import Backtrace, Mmap, Module
from gsym.fxt.objects import PROCESS, THREAD, Objects
from gsym.profile.address_ranges import AddressRanges
from gsym.profile.building import ProfileBuilder
from gsym.profile.model import Mapping, Thread

__all__ = ["PROFILER_KINDS", "read_fxt_samples"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gsym.formats.fxt_records import Record
    from gsym.profile.model import Profile

# Of `gsym.formats.fxt.KINDS`: the records that a profile is made of.
PROFILER_KINDS = ("kernel_object", "module", "mmap", "backtrace")

_HEX_DIGITS = frozenset(b"0123456789abcdefABCDEF")
_SMALLEST_TEXT_ID = 32  # digits of a build id that is written as text


def read_fxt_samples(records: Iterable[Record]) -> Profile:
    """The profile of all backtraces of a trace.

    Args:
        records: Of the trace, in its order; those that say nothing of samples, too.

    Returns:
        Samples that count 1 each. What could not be used is among its losses: mappings
        of modules that are not named, modules whose number another one has.
    """
    modules: dict[tuple[int, int], Module] = {}
    mmaps: list[Mmap] = []
    backtraces: list[Backtrace] = []
    objects = Objects()
    builder = ProfileBuilder()
    for record in records:
        if isinstance(record, Backtrace):
            backtraces.append(record)
        elif isinstance(record, Mmap):
            mmaps.append(record)
        elif isinstance(record, Module):
            known = modules.setdefault((record.process, record.module_id), record)
            if known.build_id != record.build_id:
                builder.lose("modules whose number another one has")
        else:
            objects.add(record)
    spaces = _address_spaces(builder, modules, mmaps)
    for backtrace in backtraces:
        _take(builder, backtrace, spaces, objects)
    return builder.profile


def _take(
    builder: ProfileBuilder,
    backtrace: Backtrace,
    spaces: dict[int, _AddressSpace],
    objects: Objects,
) -> None:
    """Take a sample in."""
    space = spaces.get(backtrace.process)
    stack = [
        builder.location(
            address, space.find(address) if space else None, is_return=depth > 0
        )
        for depth, address in enumerate(backtrace.frames)
    ]
    process, thread, provider = backtrace.process, backtrace.thread, backtrace.provider
    seen = Thread(
        process,
        thread,
        objects.name_of(process, provider, PROCESS) or "",
        objects.name_of(thread, provider, THREAD) or "",
    )
    builder.sample(builder.stack(stack), thread=builder.thread(seen), time=backtrace.ns)


class _AddressSpace:
    """The mappings of a process, by address."""

    def __init__(self, indexes: list[int], mappings: list[Mapping]) -> None:
        self._indexes = indexes
        self._ranges = AddressRanges([(each.start, each.limit) for each in mappings])

    def find(self, address: int) -> int | None:
        """The index of the mapping that covers an address."""
        found = self._ranges.find(address)
        return None if found is None else self._indexes[found]


def _address_spaces(
    builder: ProfileBuilder,
    modules: dict[tuple[int, int], Module],
    mmaps: list[Mmap],
) -> dict[int, _AddressSpace]:
    """What is mapped in each process."""
    lowest: dict[tuple[int, int], int] = {}
    for mmap in mmaps:
        key = (mmap.process, mmap.module_id)
        lowest[key] = min(lowest.get(key, mmap.vaddr), mmap.vaddr)
    found: dict[int, list[Mapping]] = {}
    for mmap in mmaps:
        key = (mmap.process, mmap.module_id)
        module = modules.get(key)
        if module is None:
            builder.lose("mappings of a module that is not named")
            continue
        mapping = Mapping(
            mmap.start_address,
            mmap.start_address + mmap.address_range,
            mmap.vaddr,
            # The trace does not say; this is so where a file is laid out as it is
            # loaded.
            mmap.vaddr - lowest[key],
            module.name,
            _hex(module.build_id),
        )
        found.setdefault(mmap.process, []).append(mapping)
    return {
        process: _AddressSpace([builder.mapping(each) for each in mappings], mappings)
        for process, mappings in found.items()
    }


def _hex(build_id: bytes) -> str:
    """A build id as digits; old writers have put those into the record."""
    is_text = len(build_id) >= _SMALLEST_TEXT_ID and not len(build_id) % 2
    if is_text and _HEX_DIGITS.issuperset(build_id):
        return build_id.decode().lower()
    return build_id.hex()
