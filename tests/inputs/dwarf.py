"""Units of DWARF 2 to 5 and the sections they fill.

    Dwarf([Unit(Die(Tag.compile_unit, {...}, Die(...)), version=5)]).sections()

Base attributes (DW_AT_addr_base and its like) and DW_AT_stmt_list are added to
the unit's DIE where the unit needs them and it does not have them; None leaves one out.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeVar

from tests.inputs.dies import (
    SIBLING,
    AbbreviationTable,
    Die,
    Raw,
    Ref,
    with_form,
)
from tests.inputs.dwarf_constants import At, Form, UnitType, Value
from tests.inputs.encoding import ByteOrder, Encoding, cstring, uleb
from tests.inputs.forms import (
    ADDRESS_INDEX_FORMS,
    STRING_INDEX_FORMS,
    encode_form,
)
from tests.inputs.range_lists import RangeList

if TYPE_CHECKING:
    from tests.inputs.line_program import LineProgram

_T = TypeVar("_T")


@dataclass
class Unit:
    """A tree with its header; `length` replaces the right unit_length.

    A type unit has a *signature*, and *type_label* names the DIE of its type; up
    to version 4 it goes to .debug_types. The *signature* of a skeleton unit is the
    id of the file with the rest of it.

    A unit with a *skeleton* stands in a file of its own, together with the type units
    *beside* it. Its addresses and lines are in the main file; so is the skeleton, whose
    DIE says where.

    With *other_tables*, its lists of strings and ranges are of the other format of
    DWARF, 32-bit or 64-bit, as llvm-dwp writes them.
    """

    root: Die
    version: int = 5
    lines: LineProgram | None = None
    dwarf64: bool = False
    other_tables: bool = False
    unit_type: int = UnitType.compile
    signature: int | None = None
    type_label: str | None = None
    skeleton: Unit | None = None
    beside: tuple[Unit, ...] = ()
    length: int | None = None
    abbreviation_offset: int | None = None

    @property
    def section(self) -> str:
        is_old_type_unit = self.type_label is not None and self.version < 5
        return ".debug_types" if is_old_type_unit else ".debug_info"


@dataclass(frozen=True)
class _Places:
    """Where DIEs were put in the pass before; all 0 in the first."""

    labels: dict[str, tuple[int, int]] = field(default_factory=dict)  # unit, DIE
    ends: dict[tuple[int, int], int] = field(default_factory=dict)  # (unit, ordinal)


class _Sections(dict[str, bytes]):
    """Section contents by name, and where strings stand in them."""

    def __init__(self) -> None:
        self._strings: dict[tuple[str, str], int] = {}

    def append(self, name: str, data: bytes) -> int:
        """Offset at which *data* was put."""
        offset = len(self.get(name, b""))
        self[name] = self.get(name, b"") + data
        return offset

    def add_string(self, form: int, text: str) -> int:
        name = ".debug_line_str" if form == Form.line_strp else ".debug_str"
        if (name, text) not in self._strings:
            self._strings[name, text] = self.append(name, cstring(text))
        return self._strings[name, text]


class _Tables:
    """What a unit's DIEs name by index: strings, addresses, range lists.

    Addresses are put into *code*, as are lists of them before version 5. Where that is
    another file, nothing in the unit says where its own tables are.
    """

    def __init__(
        self, unit: Unit, encoding: Encoding, sections: _Sections, code: _Sections
    ) -> None:
        self.unit, self.encoding, self.sections = unit, encoding, sections
        self.offsets = encoding
        if unit.other_tables:
            self.offsets = replace(encoding, dwarf64=not encoding.dwarf64)
        self.code, self.is_split = code, code is not sections
        self.strings: list[str] = []
        self.addresses: list[int] = []
        self.lists: list[RangeList] = []
        self.indexed_lists: list[RangeList] = []
        self.list_offsets: dict[RangeList, int] = {}
        self.bases: dict[int, int] = {}
        for die, behind in unit.root.walk():
            for attribute, value in () if behind else die.attributes.items():
                self._collect(with_form(attribute, value, unit.version, encoding))
        self._put_strings()
        self._put_addresses()
        self._put_lists()

    def _collect(self, typed: Value) -> None:
        form, value = typed
        if isinstance(value, Value):
            self._collect(value)
        elif isinstance(value, RangeList):
            _add(self.lists, value)
            if form == Form.rnglistx:
                _add(self.indexed_lists, value)
            for address in value.addresses():
                _add(self.addresses, address)
        elif form in STRING_INDEX_FORMS and isinstance(value, str):
            _add(self.strings, value)
        elif form in ADDRESS_INDEX_FORMS and isinstance(value, int):
            _add(self.addresses, value)

    def _put_strings(self) -> None:
        if not self.strings:
            return
        body = b"".join(
            self.offsets.offset(self.sections.add_string(Form.strp, text))
            for text in self.strings
        )
        encoding, name = self.offsets, ".debug_str_offsets"
        self._put_table(
            encoding, At.str_offsets_base, name, bytes(2), body, self.sections
        )
        if self.unit.version < 5 or self.is_split:
            del self.bases[At.str_offsets_base]

    def _put_addresses(self) -> None:
        if not self.addresses:
            return
        body = b"".join(map(self.encoding.address, self.addresses))
        attribute = At.addr_base if self.unit.version >= 5 else At.GNU_addr_base
        header = bytes([self.encoding.address_size, 0])
        self._put_table(
            self.encoding, attribute, ".debug_addr", header, body, self.code
        )

    def _put_table(  # noqa: PLR0913, PLR0917 - what a table is made of
        self,
        encoding: Encoding,
        attribute: int,
        name: str,
        header: bytes,
        body: bytes,
        home: _Sections,
    ) -> None:
        contribution = body
        if self.unit.version >= 5:
            version = encoding.uint(5, 2)
            contribution = encoding.with_length(version + header + body)
        offset = home.append(name, contribution)
        self.bases[attribute] = offset + len(contribution) - len(body)

    def _put_lists(self) -> None:
        if not self.lists:
            return
        if self.unit.version < 5:
            base = len(self.code.get(".debug_ranges", b"")) if self.is_split else 0
            for entries in self.lists:
                offset = self.code.append(
                    ".debug_ranges", entries.encode_ranges(self.encoding)
                )
                self.list_offsets[entries] = offset - base
            if self.is_split:
                self.bases[At.GNU_ranges_base] = base
            return
        size = self.offsets.offset_size
        table_size = len(self.indexed_lists) * size
        body, starts = b"", {}
        for entries in self.lists:
            starts[entries] = table_size + len(body)
            body += entries.encode_rnglist(self.encoding, self.addresses.index)
        table = b"".join(
            self.offsets.offset(starts[entries]) for entries in self.indexed_lists
        )
        count = self.encoding.uint(len(self.indexed_lists), 4)
        header = bytes([self.encoding.address_size, 0]) + count
        attribute, name = At.rnglists_base, ".debug_rnglists"
        self._put_table(
            self.offsets, attribute, name, header, table + body, self.sections
        )
        base = self.bases[At.rnglists_base]
        self.list_offsets = {entries: base + at for entries, at in starts.items()}
        if not self.indexed_lists or self.is_split:
            del self.bases[At.rnglists_base]

    def number_of(self, form: int, value: object) -> int | str | bytes:
        """The index or offset by which a DIE names *value* in this form."""
        if isinstance(value, RangeList):
            is_indexed = form == Form.rnglistx
            offset = self.list_offsets[value]
            return self.indexed_lists.index(value) if is_indexed else offset
        if form in STRING_INDEX_FORMS and isinstance(value, str):
            return self.strings.index(value)
        if form in ADDRESS_INDEX_FORMS and isinstance(value, int):
            return self.addresses.index(value)
        if isinstance(value, str) and form != Form.string:
            return self.sections.add_string(form, value)
        assert isinstance(value, (int, str, bytes))
        return value


class _Files:
    """The main file and those of split units."""

    def __init__(self) -> None:
        self.main = _Sections()
        self.splits: list[_Sections] = []


def _add(items: list[_T], item: _T) -> None:
    if item not in items:
        items.append(item)


class _UnitWriter:
    """Writes one unit's DIEs with what is known of places from the pass before."""

    def __init__(
        self, index: int, unit: Unit, tables: _Tables, known: _Places, found: _Places
    ) -> None:
        self.index, self.unit, self.tables = index, unit, tables
        self.encoding = tables.encoding
        self.known, self.found = known, found
        self.start = len(tables.sections.get(unit.section, b""))

    def encode(
        self, abbreviations: AbbreviationTable, abbreviation_offset: int
    ) -> bytes:
        if self.unit.abbreviation_offset is not None:
            abbreviation_offset = self.unit.abbreviation_offset
        head = self._encode_header(abbreviation_offset)
        length_size = 12 if self.encoding.dwarf64 else 4
        out = bytearray(head)
        ordinals: list[int] = []
        count = 0
        for die, behind in self.unit.root.walk():
            if behind:
                out += b"\0" if die.has_children else b""
                key = (self.index, ordinals.pop())
                self.found.ends[key] = self.start + length_size + len(out)
                continue
            ordinals.append(count)
            if die.label is not None:
                place = self.start + length_size + len(out)
                self.found.labels[die.label] = (self.start, place)
            out += self._encode_die(die, count, abbreviations)
            count += 1
        return self.encoding.with_length(bytes(out), self.unit.length)

    def _encode_header(self, abbreviation_offset: int) -> bytes:
        encoding, unit = self.encoding, self.unit
        version = encoding.uint(unit.version, 2)
        abbreviations = encoding.offset(abbreviation_offset)
        address_size = bytes([encoding.address_size])
        head = version + abbreviations + address_size
        if unit.version >= 5:
            kind = bytes([unit.unit_type])
            head = version + kind + address_size + abbreviations
        if unit.signature is not None:
            head += encoding.uint(unit.signature, 8)
        if unit.type_label is not None:
            _, place = self.known.labels.get(unit.type_label, (0, self.start))
            head += encoding.offset(place - self.start)
        return head

    def _encode_die(
        self, die: Die, ordinal: int, abbreviations: AbbreviationTable
    ) -> bytes:
        attributes = die.attributes
        if die is self.unit.root:
            given = {**self.tables.bases, **attributes}
            attributes = {at: each for at, each in given.items() if each is not None}
        values = {
            attribute: with_form(attribute, value, self.unit.version, self.encoding)
            for attribute, value in attributes.items()
        }
        return uleb(abbreviations.code_of(die, values)) + b"".join(
            self._encode_value(value, ordinal) for value in values.values()
        )

    def _encode_value(self, typed: Value, ordinal: int) -> bytes:
        form, value = typed
        if form == Form.implicit_const:
            return b""
        if isinstance(value, Value):
            return uleb(value.form) + self._encode_value(value, ordinal)
        return encode_form(
            self.encoding, self.unit.version, form, self._resolve(form, value, ordinal)
        )

    def _resolve(self, form: int, value: object, ordinal: int) -> int | str | bytes:
        """The number that stands for *value* in this form."""
        if isinstance(value, Ref):
            _, place = self.known.labels.get(value.label, (0, self.start))
            return place if form == Form.ref_addr else place - self.start
        if value is SIBLING:
            return self.known.ends.get((self.index, ordinal), self.start) - self.start
        if isinstance(value, Raw):
            return value.number
        return self.tables.number_of(form, value)


@dataclass
class Dwarf:
    """Units in file order. With *one_abbreviation_table* all share offset 0."""

    units: list[Unit]
    byteorder: ByteOrder = "little"
    address_size: int = 8
    one_abbreviation_table: bool = False

    def sections(self) -> dict[str, bytes]:
        """Contents by section name, of the main file."""
        return dict(self._settled()[0].main)

    def split_sections(self) -> list[dict[str, bytes]]:
        """The same of the file of each unit with a skeleton."""
        return [dict(sections) for sections in self._settled()[0].splits]

    def place_of(self, label: str) -> int:
        """Offset in .debug_info of a DIE."""
        return self._settled()[1].labels[label][1]

    def unit_of(self, label: str) -> int:
        """Offset in its section of the unit that holds a DIE."""
        return self._settled()[1].labels[label][0]

    def _settled(self) -> tuple[_Files, _Places]:
        """References are settled by repetition."""
        known = _Places()
        while True:
            found = _Places()
            files = _Files()
            self._encode(files, known, found)
            if found == known:
                return files, known
            known = found

    def _encode(self, files: _Files, known: _Places, found: _Places) -> None:
        shared = AbbreviationTable() if self.one_abbreviation_table else None
        main = files.main
        for index, unit in enumerate(self.units):
            if unit.skeleton is None:
                tables = self._tables(unit, main, main)
                writer = _UnitWriter(index, unit, tables, known, found)
                self._put_unit(main, writer, shared)
                continue
            split = _Sections()
            files.splits.append(split)
            own = self._tables(unit, split, main)
            tables = self._tables(unit.skeleton, main, main)
            tables.bases.update(own.bases)
            own.bases.clear()
            writer = _UnitWriter(-1 - index, unit.skeleton, tables, known, found)
            self._put_unit(main, writer, shared)
            self._put_unit(split, _UnitWriter(index, unit, own, known, found), None)
            for at, other in enumerate(unit.beside, 1):
                tables = self._tables(other, split, split)
                writer = _UnitWriter(1000 * at + index, other, tables, known, found)
                self._put_unit(split, writer, None)
        if shared is not None:
            main.append(".debug_abbrev", shared.encode())

    def _tables(self, unit: Unit, sections: _Sections, code: _Sections) -> _Tables:
        encoding = Encoding(self.byteorder, self.address_size, unit.dwarf64)
        tables = _Tables(unit, encoding, sections, code)
        if unit.lines is not None:
            program = unit.lines.encode(encoding, unit.version, code.add_string)
            tables.bases[At.stmt_list] = code.append(".debug_line", program)
        return tables

    @staticmethod
    def _put_unit(
        sections: _Sections, writer: _UnitWriter, shared: AbbreviationTable | None
    ) -> None:
        table = AbbreviationTable() if shared is None else shared
        offset = len(sections.get(".debug_abbrev", b""))
        sections.append(writer.unit.section, writer.encode(table, offset))
        if shared is None:
            sections.append(".debug_abbrev", table.encode())
