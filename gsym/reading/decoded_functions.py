"""The functions of a GSYM file: complete records, or only names and extents."""

from __future__ import annotations

from gsym import model
from gsym.engine.mapped_image import MappedImage, Paths
from gsym.engine.native import (
    CALL_SITE,
    NODE,
    RANGE,
    ROW,
    STRP,
    check,
    ffi,
    lib,
    new_error,
    new_object,
)

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterator
    from struct import Struct
    from typing import Any

    from gsym.reading.reader import Reader

    CData = Any  # a cffi object

_new = tuple.__new__  # a named tuple without the handling of its arguments


def unpack(items: CData, count: int, item: Struct) -> Iterator[tuple[int, ...]]:
    """The fields of *count* records of the engine."""
    return item.iter_unpack(ffi.buffer(items, count * item.size)) if count else iter(())


class FunctionDecoder:
    """Decodes records; for one thread at a time."""

    __slots__ = ("_error", "_function", "_mapped", "_paths", "_record")

    def __init__(self, mapped: MappedImage) -> None:
        self._mapped = mapped
        self._paths = Paths(mapped.files)
        self._error = new_error()
        self._function = ffi.new("gsym_function **")
        life = lib.gsym_record_create, lib.gsym_record_destroy
        self._record = new_object("record", *life)

    def decode(self, index: int) -> model.FunctionInfo:
        """The function of entry *index*."""
        return self._function_info(self.read(index))

    def read(self, index: int) -> CData:
        """The engine's record of entry *index*, until the next one is read."""
        status = lib.gsym_record_decode(
            self._record, self._mapped.image, index, self._function, self._error
        )
        check(status, self._error, self._mapped.path)
        return self._function[0]

    def _function_info(self, function: CData) -> model.FunctionInfo:
        return model.FunctionInfo(
            function.address,
            function.size,
            self._mapped.strings[function.name],
            self._line_table(function) if function.row_count else None,
            self._inline(function) if function.node_count else None,
            tuple(
                self._function_info(function.merged + at)
                for at in range(function.merged_count)
            ),
            self._call_sites(function) if function.call_site_count else (),
            {
                extra.type: ffi.buffer(extra.data, extra.size)[:]
                for extra in function.extras[0 : function.extra_count]
            }
            if function.extra_count
            else {},
        )

    def _line_table(self, function: CData) -> tuple[model.LineEntry, ...]:
        paths = self._paths
        return tuple(
            _new(model.LineEntry, (address, paths[file], line))
            for address, file, line in unpack(function.rows, function.row_count, ROW)
        )

    def _inline(self, function: CData) -> model.InlineInfo:
        """The tree, built from its last node backwards, so that children come first."""
        strings, paths = self._mapped.strings, self._paths
        ranges = [
            _new(model.Range, extent)
            for extent in unpack(function.ranges, function.range_count, RANGE)
        ]
        nodes = list(unpack(function.nodes, function.node_count, NODE))
        waiting: list[list[model.InlineInfo]] = [[], []]  # by depth, last sibling first
        for name, file, line, depth, first, count, _ in reversed(nodes):
            while len(waiting) <= depth + 1:
                waiting.append([])
            children = tuple(reversed(waiting[depth + 1]))
            waiting[depth + 1] = []
            extents = tuple(ranges[first : first + count])
            waiting[depth].append(
                model.InlineInfo(strings[name], paths[file], line, extents, children)
            )
        return waiting[0][0]

    def _call_sites(self, function: CData) -> tuple[model.CallSite, ...]:
        strings = self._mapped.strings
        patterns = [
            strings[strp]
            for (strp,) in unpack(function.regexes, function.regex_count, STRP)
        ]
        sites = unpack(function.call_sites, function.call_site_count, CALL_SITE)
        return tuple(
            model.CallSite(offset, flags, tuple(patterns[first : first + count]))
            for offset, flags, first, count, _ in sites
        )


def function_ranges(reader: Reader) -> Iterator[model.FunctionRange]:
    """Names and extents of all functions in file order, including merged ones."""
    mapped = reader.mapped
    for index in range(len(reader)):
        yield from mapped.function_ranges(index)
