"""Convert only the units of a binary that have code at a few addresses."""

from __future__ import annotations

import time

from gsym.conversion.input_file import InputFile
from gsym.conversion.inputs.dwarf import DwarfJob
from gsym.conversion.output import ConversionOutput, ConversionRequest
from gsym.engine.native import check, ffi, lib, new_error, new_object
from gsym.errors import EmptyError
from gsym.reading.reader import Reader
from gsym.records import NamedTuple
from gsym.writing.creator_handle import finish_creator, iter_finished

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from gsym.containers.object_file import ObjectFile
    from gsym.conversion.debug_info import DebugInfo
    from gsym.conversion.options import ConvertOptions


class UnitSelection(NamedTuple):
    """The units that may have code at some addresses, or just before one."""

    units: Sequence[int]  # their numbers, ascending
    size: int  # bytes of them in .debug_info
    total: int  # bytes of all units there


# Below this much .debug_info of units a second thread costs more than it brings.
_BYTES_FOR_THREADS = 16 << 20


class PartialConversion:
    """A binary of which parts are converted as addresses are asked for.

    Thread-safe. The binary must stay open.
    """

    def __init__(
        self, binary: ObjectFile, found: DebugInfo, options: ConvertOptions
    ) -> None:
        self._binary = binary
        self._found = found
        file = InputFile("", binary.path, binary.data, "object")
        self._request = ConversionRequest(time.perf_counter(), file, "", options)
        _, self._scanned = self._job(1)
        self._scanned.prepare()
        handle = self._scanned.handle
        self._index: Any = new_object(
            *("unit_index", lib.gsym_unit_index_create, lib.gsym_unit_index_destroy),
            handle,
            path=binary.path,
        )
        # whether the rest of units is in other files, so that no part can be converted
        self.has_split_units: bool = bool(lib.gsym_conversion_skeleton_count(handle))

    def units_at(self, addresses: Sequence[int]) -> UnitSelection:
        """The units for *addresses*, which ascend."""
        asked = ffi.new("uint64_t[]", addresses)
        count, error = ffi.new("size_t *"), new_error()
        size, total = ffi.new("uint64_t *"), ffi.new("uint64_t *")
        capacity = 16
        while True:
            units = ffi.new("uint32_t[]", capacity)
            status = lib.gsym_unit_index_find(
                *(self._index, asked, len(addresses), units, capacity),
                *(count, size, total, error),
            )
            check(status, error, self._binary.path)
            if count[0] <= capacity:
                return UnitSelection(list(units[0 : count[0]]), size[0], total[0])
            capacity = count[0]

    def convert(self, addresses: Sequence[int], chosen: UnitSelection) -> bytes | None:
        """A GSYM file that answers for ascending *addresses* as one of the whole does.

        Returns:
            None where neither a function nor a symbol is at any of them.
        """
        places = {*addresses}
        asked = ffi.new("uint64_t[]", addresses)
        column = memoryview(ffi.buffer(asked)).cast("Q")
        while True:
            data = self._convert(asked, chosen)
            if data is None:
                return None
            # A symbol in the middle of a function does not answer what follows it; the
            # unit of that function may have no code at the addresses themselves.
            with Reader(data) as reader:
                ranges_of = reader.mapped.function_ranges
                answers = reader.lookup_many(column, misses=False)
                for at in {*answers.function_index}:
                    places |= {each.start for each in ranges_of(at)}
            wider = self.units_at(sorted(places))
            if wider.units == chosen.units:
                return data
            chosen = wider

    def _convert(self, asked: Any, chosen: UnitSelection) -> bytes | None:
        output, job = self._job(1 if chosen.size < _BYTES_FOR_THREADS else None)
        job.select(self._index, chosen.units)
        error = new_error()
        status = lib.gsym_creator_ask(output.creator, asked, len(asked), error)
        check(status, error, self._binary.path)
        job.convert_units()
        job.add_symbols()
        try:
            finish_creator(output.creator, self._binary.path)
        except EmptyError:
            return None
        return b"".join(map(bytes, iter_finished(output.creator)))

    def _job(self, threads: int | None) -> tuple[ConversionOutput, DwarfJob]:
        request = self._request.with_options(threads=threads)
        output = ConversionOutput(
            request,
            big_endian=self._binary.big_endian,
            base_address=self._binary.base_address,
            version=lib.GSYM_VERSION_2,  # which has no limits that a binary exceeds
        )
        output.set_uuid(self._binary.uuid)
        return output, DwarfJob(self._binary, self._found, output, request)
