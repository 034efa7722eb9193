"""Line programs of DWARF 2 to 5, written from a list of opcodes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from tests.inputs.dwarf_constants import Content, Form
from tests.inputs.encoding import cstring, sleb, uleb
from tests.inputs.forms import BLOCK_FORMS, encode_form

if TYPE_CHECKING:
    from tests.inputs.encoding import Encoding

# Most opcodes are the same bytes everywhere; the others ask for their program.
Op = bytes | Callable[["LineProgram", "Encoding"], bytes]

COPY = b"\x01"
NEGATE_STMT = b"\x06"
SET_BASIC_BLOCK = b"\x07"
CONST_ADD_PC = b"\x08"
SET_PROLOGUE_END = b"\x0a"
SET_EPILOGUE_BEGIN = b"\x0b"

LLVM_SOURCE = 0x2001


def advance_pc(operations: int) -> bytes:
    return b"\x02" + uleb(operations)


def advance_line(lines: int) -> bytes:
    return b"\x03" + sleb(lines)


def set_file(index: int) -> bytes:
    return b"\x04" + uleb(index)


def set_column(column: int) -> bytes:
    return b"\x05" + uleb(column)


def fixed_advance_pc(size: int) -> Op:
    return lambda _, encoding: b"\x09" + encoding.uint(size, 2)


def set_isa(isa: int) -> bytes:
    return b"\x0c" + uleb(isa)


def special(operations: int, lines: int) -> Op:
    """Advance both registers and append a row, all in one byte."""

    def encode(program: LineProgram, _: Encoding) -> bytes:
        step = lines - program.line_base + program.line_range * operations
        return bytes([step + program.opcode_base])

    return encode


def extended(opcode: int, operands: bytes = b"") -> bytes:
    return b"\0" + uleb(1 + len(operands)) + bytes([opcode]) + operands


END_SEQUENCE = extended(1)


def set_address(address: int) -> Op:
    return lambda _, encoding: extended(2, encoding.address(address))


def define_file(name: str, directory: int = 0) -> bytes:
    return extended(3, cstring(name) + uleb(directory) + uleb(0) + uleb(0))


def set_discriminator(discriminator: int) -> bytes:
    return extended(4, uleb(discriminator))


def sequence(*rows: tuple[int, int] | tuple[int, int, int], end: int) -> list[Op]:
    """A sequence of (address, line[, file]) rows that ends at address *end*."""
    ops: list[Op] = [set_address(rows[0][0])]
    address, line, file = rows[0][0], 1, 1
    for row in rows:
        row_file = row[2] if len(row) == 3 else file
        if row_file != file:
            ops.append(set_file(row_file))
        if row[0] < address:
            ops.append(set_address(row[0]))
        else:
            ops.append(advance_pc(row[0] - address))
        ops += [advance_line(row[1] - line), COPY]
        address, line, file = row[0], row[1], row_file
    return [*ops, advance_pc(end - address), END_SEQUENCE]


@dataclass(frozen=True)
class File:
    """One file; *columns* holds what a version 5 table may say beside the path."""

    name: str
    directory: int = 0
    columns: dict[int, int | str | bytes] = field(default_factory=dict)

    def column(self, content: int, default: int | str | bytes) -> int | str | bytes:
        known: dict[int, int | str | bytes] = {
            Content.path: self.name,
            Content.directory_index: self.directory,
            **self.columns,
        }
        return known.get(content, default)


PATH_ONLY = ((Content.path, Form.string),)
PATH_AND_DIRECTORY = (*PATH_ONLY, (Content.directory_index, Form.udata))

# Operand counts of the standard opcodes 1 to 12.
_OPERAND_COUNTS = bytes([0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1])


@dataclass(frozen=True)
class LineProgram:
    """Header fields and opcodes.

    The tables are written as the version wants them: up to version 4 the first
    of *directories* and *files* has index 1, in version 5 it has index 0.
    `length` and `header_length` replace the right values by wrong ones. `dwarf64` is
    for a table of another format than its unit.
    """

    ops: tuple[Op, ...] | list[Op] = ()
    files: tuple[File, ...] = (File("a.c"),)
    directories: tuple[str, ...] = ()
    version: int | None = None
    minimum_instruction_length: int = 1
    maximum_operations: int = 1
    default_is_stmt: int = 1
    line_base: int = -5
    line_range: int = 14
    opcode_base: int = 13
    operand_counts: bytes | None = None
    directory_format: tuple[tuple[int, int], ...] = PATH_ONLY
    file_format: tuple[tuple[int, int], ...] = PATH_AND_DIRECTORY
    length: int | None = None
    header_length: int | None = None
    dwarf64: bool | None = None

    def encode(
        self, encoding: Encoding, version: int, add_string: Callable[[int, str], int]
    ) -> bytes:
        """The whole contribution; `add_string(form, text)` gives a string's offset."""
        version = self.version or version
        if self.dwarf64 is not None:
            encoding = replace(encoding, dwarf64=self.dwarf64)
        tables = self._encode_parameters(version)
        if version >= 5:
            tables += self._encode_tables(encoding, add_string)
        else:
            tables += self._encode_old_tables()
        ops = b"".join(
            op if isinstance(op, bytes) else op(self, encoding) for op in self.ops
        )
        head = encoding.uint(version, 2)
        if version >= 5:
            head += bytes([encoding.address_size, 0])
        header_length = self.header_length
        head += encoding.offset(len(tables) if header_length is None else header_length)
        return encoding.with_length(head + tables + ops, self.length)

    def _encode_parameters(self, version: int) -> bytes:
        counts = self.operand_counts
        if counts is None:
            missing = max(0, self.opcode_base - 1 - len(_OPERAND_COUNTS))
            counts = (_OPERAND_COUNTS + bytes(missing))[: max(0, self.opcode_base - 1)]
        operations = [self.maximum_operations] if version >= 4 else []
        return (
            bytes([self.minimum_instruction_length, *operations, self.default_is_stmt])
            + bytes([self.line_base & 0xFF, self.line_range, self.opcode_base])
            + counts
        )

    def _encode_old_tables(self) -> bytes:
        out = b"".join(cstring(name) for name in self.directories) + b"\0"
        for file in self.files:
            out += cstring(file.name) + uleb(file.directory) + uleb(0) + uleb(0)
        return out + b"\0"

    def _encode_tables(
        self, encoding: Encoding, add_string: Callable[[int, str], int]
    ) -> bytes:
        out = b""
        tables = (
            (self.directory_format, [File(name) for name in self.directories]),
            (self.file_format, self.files),
        )
        for table_format, entries in tables:
            out += bytes([len(table_format)])
            out += b"".join(
                uleb(content) + uleb(form) for content, form in table_format
            )
            out += uleb(len(entries))
            for entry in entries:
                for content, form in table_format:
                    value = entry.column(content, b"" if form in BLOCK_FORMS else 0)
                    if isinstance(value, str) and form != Form.string:
                        value = add_string(form, value)
                    out += encode_form(encoding, 5, form, value)
        return out
