"""The second opinion on line programs: DWARF 2 to 6, run independently of the engine.

pyelftools reads the header. The program itself is run here: pyelftools ignores
op_index in DW_LNS_advance_pc, and keeps an object for each opcode.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from itertools import accumulate
from typing import IO, TYPE_CHECKING, Any, Literal, NamedTuple

from elftools.common.utils import struct_parse
from elftools.dwarf.enums import ENUM_DW_FORM
from elftools.dwarf.structs import DWARFStructs

from gsym.model import LineEntry, Range, rewritten
from gsym.unwinding.expressions import ByteReader, DamagedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from elftools.dwarf.compileunit import CompileUnit

    from gsym.verification.decoder.file import DwarfFile

_DW_LNS_COPY = 1
_DW_LNS_ADVANCE_PC = 2
_DW_LNS_ADVANCE_LINE = 3
_DW_LNS_SET_FILE = 4
_DW_LNS_CONST_ADD_PC = 8
_DW_LNS_FIXED_ADVANCE_PC = 9
_DW_LNE_END_SEQUENCE = 1
_DW_LNE_SET_ADDRESS = 2
_DW_LNE_DEFINE_FILE = 3
_VERSION_5 = 5
_FORMS = {number: name for name, number in ENUM_DW_FORM.items()}
_LINE_MASK = 0xFFFF_FFFF
_IS_64_BIT = 0xFFFF_FFFF  # instead of a 32-bit length

_UNKNOWN = 1 << 32


class Declaration(NamedTuple):
    """Place where a function is declared, as far as it is known."""

    file: int | None = None
    line: int = 0


class LineSequence(NamedTuple):
    """Rows with ascending addresses from *low* on; the last one ends at *high*."""

    low: int
    high: int
    offset: int  # of its first opcode, in .debug_line
    addresses: list[int]
    files: list[int]  # DWARF file indexes
    lines: list[int]

    def index_of(self, address: int) -> int | None:
        """The last row at or below *address*, None where the sequence lacks it."""
        if not self.low <= address < self.high:
            return None
        return bisect_right(self.addresses, address) - 1

    def unfit(self, span: Range, declared: Declaration) -> tuple[int, int, int]:
        """Misfit to a function; of several sequences the least is its own."""
        extent = 2 if self.high < span.end else int(self.low != span.start)
        row = self.index_of(span.start) or 0
        lines = _UNKNOWN
        if declared.line and declared.file in {None, self.files[row]}:
            distance = self.lines[row] - declared.line
            lines = distance if distance >= 0 else _UNKNOWN
        return extent, lines, self.high - self.low


class LineTable:
    """Files and rows of one unit.

    Sequences outside of the code of *file* are dead.
    """

    def __init__(
        self,
        cu: CompileUnit,
        comp_dir: str,
        file: DwarfFile,
        path_map: Sequence[tuple[str, str]] = (),
    ) -> None:
        # where its program stands in .debug_line
        self.begin: int = cu.get_top_DIE().attributes["DW_AT_stmt_list"].value
        header, start, opcodes = _read_program(cu, self.begin)
        # Before version 5 tables begin at 1; 0 means none and the compilation folder.
        self._is_old: bool = header["version"] < _VERSION_5
        self._comp_dir = comp_dir
        self._path_map = path_map
        self._directories = [comp_dir] if self._is_old else []
        self._directories += map(_text, header.get("include_directory") or ())
        files = [("", 0)] if self._is_old else []
        files += [
            (_text(file["name"]), int(file["dir_index"] or 0))
            for file in header.get("file_entry") or ()
        ]
        is_little = cu.structs.little_endian
        byteorder: Literal["little", "big"] = "little" if is_little else "big"
        machine = _Machine(header, opcodes, start, byteorder, files)
        machine.run()
        self._files = files
        self._paths: dict[int, str | None] = {}
        placed = (_placed(sequence, file) for sequence in machine.sequences)
        live = [sequence for sequence in placed if file.is_text(sequence.low)]
        # those of live code, by their starts
        self.sequences: list[LineSequence] = sorted(
            live, key=lambda sequence: sequence.low
        )
        self._lows = [sequence.low for sequence in self.sequences]
        # The highest end up to each: sequences may overlap and contain others.
        self._reach = list(
            accumulate((sequence.high for sequence in self.sequences), max)
        )

    def path(self, index: int) -> str | None:
        """Path of the DWARF file *index*: "" for no file, None for a bad index."""
        if index not in self._paths:
            path = self._build_path(index)
            self._paths[index] = path and rewritten(path, self._path_map)
        return self._paths[index]

    def _build_path(self, index: int) -> str | None:
        if index == 0 and self._is_old:
            return ""
        if not 0 <= index < len(self._files):
            return None
        name, number = self._files[index]
        if _is_absolute(name):
            return name
        known = number < len(self._directories)
        directory = self._directories[number] if known else ""
        path = ""
        if number and not _is_absolute(directory):  # 0 is the compilation folder itself
            first = self._directories[0] if self._directories else ""
            path = first if _is_absolute(first) else self._comp_dir
        return _join(_join(path, directory), name)

    def entries(
        self,
        start: int,
        end: int,
        stmt_sequence: int | None = None,
        declared: Callable[[], Declaration] = Declaration,
    ) -> tuple[LineEntry, ...]:
        """Rows of the function [start, end).

        The sequence at the offset *stmt_sequence* in .debug_line comes first.
        """
        entries: list[LineEntry] = []
        for address, file, line in self._rows(start, end, stmt_sequence, declared):
            path = "" if file is None else self.path(file)
            if path is None or address >= end:
                continue
            if entries and entries[-1].path == path and entries[-1].line == line:
                continue
            entries.append(LineEntry(max(address, start), path, line))
        return tuple(entries)

    def _rows(
        self,
        start: int,
        end: int,
        stmt_sequence: int | None,
        declared: Callable[[], Declaration],
    ) -> Iterator[tuple[int, int | None, int]]:
        """The rows; without a file, the line is not known from that address on."""
        at, is_first = start, True
        while at < end:
            holding = self.holding(at)
            if not holding:
                if not is_first:
                    yield at, None, 0
                following = bisect_right(self._lows, at)
                if following == len(self._lows) or self._lows[following] >= end:
                    return
                at = self._lows[following]
                continue
            best = own_sequence(holding, Range(at, end), stmt_sequence, declared)
            is_whole = start < best.low >= at
            first = 0 if is_whole else best.index_of(at) or 0
            last = best.index_of(end - 1)
            for row in range(first, len(best.addresses) if last is None else last + 1):
                address = best.addresses[row]
                place = address if is_first else max(address, at)
                yield place, best.files[row], best.lines[row]
            at, is_first = best.high, False

    def holding(self, address: int) -> list[LineSequence]:
        """The sequences with an address, in the order of the program."""
        found = []
        for index in range(bisect_right(self._lows, address) - 1, -1, -1):
            if self._reach[index] <= address:
                break
            if address < self.sequences[index].high:
                found.append(self.sequences[index])
        return sorted(found, key=lambda sequence: sequence.offset)


def own_sequence(
    holding: list[LineSequence],
    span: Range,
    stmt_sequence: int | None,
    declared: Callable[[], Declaration],
) -> LineSequence:
    """Sequence of the function itself, among those at the start of *span*."""
    for sequence in holding:
        if sequence.offset == stmt_sequence or len(holding) == 1:
            return sequence
    where = declared()
    return min(holding, key=lambda sequence: sequence.unfit(span, where))


def _placed(sequence: LineSequence, file: DwarfFile) -> LineSequence:
    """A sequence without the bits that say which instruction set its code is of."""
    if not file.isa_bit:
        return sequence
    low, high = file.code_range(sequence.low, sequence.high)
    addresses = [address & ~file.isa_bit for address in sequence.addresses]
    return sequence._replace(low=low, high=high, addresses=addresses)


def _read_program(cu: CompileUnit, begin: int) -> tuple[Any, int, bytes]:
    """Header of the unit's line program, offset of its opcodes, and these."""
    section = cu.dwarfinfo.debug_line_sec
    if section is None:
        raise ValueError("no .debug_line")
    # An assembler may write a 32-bit line program for a 64-bit unit, so the program
    # is read as if its unit had its format.
    word = struct_parse(cu.structs.the_Dwarf_uint32, section.stream, begin)
    structs = DWARFStructs(
        cu.structs.little_endian,
        64 if word == _IS_64_BIT else 32,
        cu.structs.address_size,
        cu.structs.dwarf_version,
    )
    after_length = begin + structs.initial_length_field_size()
    _check_tables(structs, section.stream, after_length)
    program = cu.dwarfinfo._parse_line_program_at_offset(begin, structs)  # noqa: SLF001
    header = program.header
    start = after_length + 2 + (2 if header["version"] >= _VERSION_5 else 0)
    start += structs.dwarf_format // 8 + header["header_length"]
    section.stream.seek(start)
    return (
        header,
        start,
        section.stream.read(max(0, program.program_end_offset - start)),
    )


def _check_tables(structs: DWARFStructs, stream: IO[bytes], start: int) -> None:
    """Refuse entries of directories and files without bytes: there may be any number.

    Raises:
        ValueError: There are such entries.
    """
    number, byte = structs.the_Dwarf_uleb128, structs.the_Dwarf_uint8
    if struct_parse(structs.the_Dwarf_uint16, stream, start) < _VERSION_5:
        return
    # The lengths of the standard opcodes come before the tables.
    opcode_base = struct_parse(byte, stream, start + 9 + structs.dwarf_format // 8)
    stream.seek(max(0, opcode_base - 1), os.SEEK_CUR)
    for _ in ("directories", "files"):
        forms: list[Any] = []
        for _ in range(struct_parse(byte, stream)):
            struct_parse(number, stream)  # the content type
            name = _FORMS.get(struct_parse(number, stream), "")
            forms.append(structs.Dwarf_dw_form[name])
        for _ in range(struct_parse(number, stream)):
            entry = stream.tell()
            for form in forms:
                struct_parse(form, stream)
            if stream.tell() == entry:
                raise ValueError("the entries of a line table take no bytes")


class _Machine:
    """The state machine of DWARF 5 section 6.2; `run` fills *sequences*."""

    def __init__(
        self,
        header: Any,
        opcodes: bytes,
        start: int,
        byteorder: Literal["little", "big"],
        files: list[tuple[str, int]],
    ) -> None:
        self.sequences: list[LineSequence] = []
        self._code = ByteReader(opcodes, 0, byteorder)
        self._start = start  # offset of the opcodes in .debug_line
        self._files = files
        self._opcode_base: int = header["opcode_base"]
        self._operand_counts: list[int] = header["standard_opcode_lengths"]
        self._line_base: int = header["line_base"]
        self._line_range: int = header["line_range"] or 1
        self._step: int = header["minimum_instruction_length"]
        self._operations: int = header["maximum_operations_per_instruction"] or 1
        self._begin_sequence()

    def run(self) -> None:
        """Run to the end, or to where the program is cut off inside an opcode.

        A sequence without an end is dropped.
        """
        try:
            self._run()
        except (DamagedError, ValueError):
            return

    def _run(self) -> None:
        code = self._code
        while code.at < len(code.data):
            opcode = code.byte()
            if opcode >= self._opcode_base:
                operation, line = divmod(opcode - self._opcode_base, self._line_range)
                self._advance(operation)
                self._line += self._line_base + line
                self._emit()
            elif opcode == 0:
                self._extended()
            else:
                self._standard(opcode)

    def _begin_sequence(self) -> None:
        self._address = 0
        self._operation = 0  # op_index
        self._file = 1
        self._line = 1
        self._addresses: list[int] = []
        self._row_files: list[int] = []
        self._lines: list[int] = []
        self._sequence_start = self._start + self._code.at

    def _emit(self) -> None:
        self._addresses.append(self._address)
        self._row_files.append(self._file)
        self._lines.append(self._line & _LINE_MASK)

    def _advance(self, operations: int) -> None:
        steps, self._operation = divmod(self._operation + operations, self._operations)
        self._address += self._step * steps

    def _standard(self, opcode: int) -> None:
        if opcode == _DW_LNS_COPY:
            self._emit()
        elif opcode == _DW_LNS_ADVANCE_PC:
            self._advance(self._code.leb())
        elif opcode == _DW_LNS_ADVANCE_LINE:
            self._line += self._code.leb(signed=True)
        elif opcode == _DW_LNS_SET_FILE:
            self._file = self._code.leb()
        elif opcode == _DW_LNS_CONST_ADD_PC:
            self._advance((255 - self._opcode_base) // self._line_range)
        elif opcode == _DW_LNS_FIXED_ADVANCE_PC:
            self._address += self._code.fixed(2)
            self._operation = 0
        else:
            for _ in range(self._operand_counts[opcode - 1]):
                self._code.leb()

    def _extended(self) -> None:
        code = self._code
        size = code.leb()
        next_opcode = code.at + size
        kind = code.byte() if size else 0
        if kind == _DW_LNE_END_SEQUENCE:
            code.at = next_opcode
            self._end_sequence()
        elif kind == _DW_LNE_SET_ADDRESS:
            self._address = code.fixed(size - 1)
            self._operation = 0
        elif kind == _DW_LNE_DEFINE_FILE:
            name = code.take(code.data.index(0, code.at) - code.at)
            code.at += 1
            self._files.append((_text(name), code.leb()))
        code.at = next_opcode

    def _end_sequence(self) -> None:
        if self._addresses and min(self._addresses) < self._address:
            order = sorted(range(len(self._addresses)), key=self._addresses.__getitem__)
            addresses, files, lines = (
                [column[row] for row in order]
                for column in (self._addresses, self._row_files, self._lines)
            )
            self.sequences.append(
                LineSequence(
                    *(addresses[0], self._address, self._sequence_start),
                    *(addresses, files, lines),
                )
            )
        self._begin_sequence()


def _text(raw: bytes | None) -> str:
    return (raw or b"").decode("utf-8", "surrogateescape")


def _is_absolute(path: str) -> bool:
    """Whether *path* is absolute on POSIX or, with a drive or server, on Windows."""
    has_drive = path[1:2] == ":" and path[:1].isalpha()
    return path.startswith(("/", "\\\\")) or (has_drive and path[2:3] in {"/", "\\"})


def _join(directory: str, name: str) -> str:
    if not directory or not name:
        return directory or name
    if directory.endswith("/"):
        return directory + name.lstrip("/")
    return directory + ("" if name.startswith("/") else "/") + name
