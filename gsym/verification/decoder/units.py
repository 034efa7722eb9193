"""The second opinion on units: their DIEs, references, attributes and ranges.

pyelftools decodes the DIEs. It keeps every DIE that it has seen, so all are given up
from time to time.
"""

from __future__ import annotations

import struct
from collections import Counter
from functools import cached_property
from inspect import signature
from io import BytesIO
from typing import TYPE_CHECKING, Any

from elftools.common.exceptions import DWARFError, ELFError
from elftools.construct.core import ConstructError
from elftools.dwarf.compileunit import CompileUnit
from elftools.dwarf.die import DIE, AttributeValue
from elftools.dwarf.dwarf_expr import DWARFExprParser
from elftools.dwarf.dwarfinfo import DebugSectionDescriptor, DwarfConfig, DWARFInfo
from elftools.dwarf.ranges import BaseAddressEntry, RangeEntry, RangeLists

from gsym.errors import GsymError
from gsym.model import UINT64_MAX, Range
from gsym.verification.decoder.file import DWARF_SECTIONS, DebugSections, DwarfFile
from gsym.verification.decoder.lines import LineTable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


_CONTEXT_SIZE = 4 << 20  # bytes of .debug_info that one context may decode
_VERSION_5 = 5
_DEAD = UINT64_MAX  # an address that no code has
_TYPE_UNITS = {"DW_UT_type", "DW_UT_split_type"}
_SUPPLEMENTARY_REFERENCES = {
    "DW_FORM_GNU_ref_alt",
    "DW_FORM_ref_sup4",
    "DW_FORM_ref_sup8",
}
_SUPPLEMENTARY_STRINGS = {"DW_FORM_GNU_strp_alt", "DW_FORM_strp_sup"}
_SPLIT_NAMES = ("DW_AT_dwo_name", "DW_AT_GNU_dwo_name")
_SPLIT_UNITS = {"DW_UT_skeleton", "DW_UT_split_compile"}
# Where a unit's part of a section starts without an attribute for it: after a header
# of the first size; 64-bit DWARF has eight bytes more.
_BASES = {
    "DW_AT_str_offsets_base": 8,
    "DW_AT_addr_base": 8,
    "DW_AT_rnglists_base": 12,
    "DW_AT_loclists_base": 12,
}
_LANGUAGE_NAME = 0x90
_IS_64_BIT = 64
# Errors of pyelftools for damaged input, and of this decoder for unsupported input.
DECODING_ERRORS = (
    *(GsymError, ELFError, DWARFError, ConstructError, struct.error),
    *(ArithmeticError, AssertionError, AttributeError, LookupError),
    *(NotImplementedError, TypeError, ValueError),
)
# A DIE may leave a name or line to the DIE that these refer to; searched in
# this order, as LLVM does.
_INHERITED_FROM = ("DW_AT_signature", "DW_AT_specification", "DW_AT_abstract_origin")


class _Unit(CompileUnit):
    """A unit whose root may leave out the bases of its indexes."""

    def get_top_DIE(self) -> DIE:  # noqa: N802 - inherited
        """The root, with all bases; pyelftools needs them for an index."""
        if self.has_top_DIE():
            return self._dielist[0]
        units: Any = self.dwarfinfo
        root = DIE(self, units.debug_info_sec.stream, self.cu_die_offset)
        self._dielist.insert(0, root)
        self._diemap.insert(0, self.cu_die_offset)
        # Bases of split units are their skeleton's, or where the section starts.
        more = 8 * (self.structs.dwarf_format == _IS_64_BIT)
        bases = {name: size + more for name, size in _BASES.items()}
        if units.skeleton is not None:
            bases["DW_AT_addr_base"] = units.skeleton.addr_base
        for name, start in bases.items():
            value = AttributeValue(name, "DW_FORM_sec_offset", start, start, 0, 0)
            root.attributes.setdefault(name, value)
        root._translate_indirect_attributes()  # noqa: SLF001 - as in the base class
        return root


class Units(DWARFInfo):
    """All units of .debug_info; versions up to 6, which has the headers of 5.

    Attributes:
        file: As given.
        path_map: As given.
        sections: What is decoded.
        offsets: Of the units, type units left out, ascending.
        damage: Why the list of units ends early, None where it does not.
        end: Offset after the last unit in the list.
        skeleton: That of the unit that was opened last, for split units.
        uncompared: How often functions or parts of them were not decoded, by reason.
    """

    def __init__(
        self,
        file: DwarfFile,
        path_map: Sequence[tuple[str, str]] = (),
        sections: DebugSections | None = None,
        types: Callable[[int], Units | None] = lambda _: None,
    ) -> None:
        self.file = file
        self.path_map = path_map
        self.sections: DebugSections = file.sections if sections is None else sections
        self.damage: str | None = None
        self.end: int = 0
        self.skeleton: Unit | None = None
        self._supplementary = (
            None
            if file.supplementary is None
            else Units(DwarfFile(file.supplementary, ()), path_map)
        )
        self._types = types
        self._decoded = 0
        self._sizes: dict[int, int] = {}
        self._type_units: dict[int, int] = {}  # by signature, the offset of the type
        self.offsets: list[int] = []
        self._failures: list[str] = []
        self.uncompared: Counter[str] = Counter()
        self._renew()
        try:
            for cu in self.iter_CUs():
                self._sizes[cu.cu_offset] = cu.size
                self.end = cu.cu_offset + cu.size
                if cu.header.get("unit_type") in _TYPE_UNITS:
                    place = cu.cu_offset + cu["type_offset"]
                    self._type_units[cu["type_signature"]] = place
                else:
                    self.offsets.append(cu.cu_offset)
        except DECODING_ERRORS as error:
            self.damage = f"{type(error).__name__}: {error}"

    def _renew(self) -> None:
        """Give up all DIEs, which pyelftools keeps."""
        _, little, size = self.sections
        sections: dict[str, Any] = dict.fromkeys(signature(DWARFInfo).parameters)
        for name in DWARF_SECTIONS:
            data = self.sections.contents.get(name)
            if data is not None:
                sections[f"{name}_sec"] = DebugSectionDescriptor(
                    BytesIO(data), name, 0, len(data), 0
                )
        sections["config"] = DwarfConfig(little == "little", "", size)
        super().__init__(**sections)
        vars(self).pop("_type_units_by_sig", None)
        self._decoded = 0

    def _is_supported_version(self, version: int) -> bool:
        return 2 <= version <= 6  # noqa: PLR2004

    def _parse_CU_at_offset(self, offset: int) -> _Unit:  # noqa: N802 - inherited
        cu = super()._parse_CU_at_offset(offset)
        forms = cu.structs.Dwarf_dw_form
        # pyelftools 0.33 reads eight bytes for the first and does not know the others.
        forms["DW_FORM_strx4"] = cu.structs.the_Dwarf_uint32
        for form in ("DW_FORM_GNU_addr_index", "DW_FORM_GNU_str_index"):
            forms.setdefault(form, cu.structs.the_Dwarf_uleb128)
        return _Unit(cu.header, self, cu.structs, cu.cu_offset, cu.cu_die_offset)

    def size(self, offset: int) -> int:
        """Bytes of the unit at *offset*."""
        return self._sizes[offset]

    def note_failure(self, what: str, error: Exception | None = None) -> None:
        """Record a failure to decode something until `take_failures` is called."""
        kind = "" if error is None else f" ({type(error).__name__})"
        self._failures.append(what + kind)

    def take_failures(self) -> tuple[str, ...]:
        """The distinct failures since the last call."""
        taken, self._failures = self._failures, []
        return tuple(dict.fromkeys(taken))

    def open(self, offset: int, skeleton: Unit | None = None) -> Unit:
        """The unit at *offset*; DIEs of units opened before must not be used."""
        if self._decoded > _CONTEXT_SIZE:
            self._renew()
        self._decoded += self._sizes[offset]
        self.skeleton = skeleton
        return Unit(self, self.get_CU_at(offset), skeleton)

    def split_id(self, offset: int) -> int | None:
        """The number that a skeleton unit and its split unit share; None: no such."""
        try:
            cu = self.get_CU_at(offset)
            if cu["version"] >= _VERSION_5:
                return cu["dwo_id"] if cu["unit_type"] in _SPLIT_UNITS else None
            number = cu.get_top_DIE().attributes.get("DW_AT_GNU_dwo_id")
        except DECODING_ERRORS:
            return None
        return None if number is None else number.value

    def get_DIE_by_sig8(self, sig8: int) -> DIE:  # noqa: N802 - inherited
        """The type with a signature, in any type unit."""
        if sig8 in self._type_units:
            return self.get_DIE_from_refaddr(self._type_units[sig8])
        try:
            return super().get_DIE_by_sig8(sig8)
        except KeyError:
            other = self._types(sig8)
            if other is None:
                raise
        return other.get_DIE_by_sig8(sig8)

    def follow(self, die: DIE, attribute: str) -> DIE | None:
        """The DIE that *attribute* of *die* refers to, if it has it.

        A reference that leads nowhere, or to a file that is missing, is none.
        """
        value = die.attributes.get(attribute)
        if value is None:
            return None
        try:
            if value.form not in _SUPPLEMENTARY_REFERENCES:
                return die.get_DIE_from_attribute(attribute)
            if self._supplementary is not None:
                return self._supplementary.get_DIE_from_refaddr(value.raw_value)
        except DECODING_ERRORS as error:
            self.note_failure(f"{attribute} cannot be followed", error)
        return None

    def find(self, die: DIE, *attributes: str) -> tuple[Any, DIE] | None:
        """The first of *attributes* in *die* or in what it inherits from."""
        work, seen = [die], {id(die)}
        while work:
            die = work.pop()
            for attribute in attributes:
                if attribute in die.attributes:
                    return die.attributes[attribute], die
            for link in reversed(_INHERITED_FROM):
                target = self.follow(die, link)
                if target is not None and id(target) not in seen:
                    seen.add(id(target))
                    work.append(target)
        return None

    def text(self, die: DIE, *attributes: str) -> str:
        """The result of `find` as a string; "" for none."""
        found = self.find(die, *attributes)
        if found is None:
            return ""
        value, holder = found
        text = value.value
        if value.form in _SUPPLEMENTARY_STRINGS and self._supplementary is not None:
            text = self._supplementary.get_string_from_table(value.raw_value)
        elif value.form == "DW_FORM_GNU_str_index":
            home: Any = holder.dwarfinfo
            size = holder.cu.structs.dwarf_format // 8
            start = size * value.raw_value
            place = home.sections.word("debug_str_offsets", start, size)
            text = home.get_string_from_table(place)
        return (
            text.decode("utf-8", "surrogateescape") if isinstance(text, bytes) else ""
        )


def attribute(die: DIE, name: str, number: int) -> Any | None:
    """An attribute whose name pyelftools may not know."""
    attributes: dict[Any, Any] = die.attributes
    return attributes.get(name, attributes.get(number))


class Unit:
    """One unit, with the attributes of its root DIE."""

    def __init__(
        self, units: Units, cu: CompileUnit, skeleton: Unit | None = None
    ) -> None:
        self.units = units
        self.cu = cu
        self.root: DIE = cu.get_top_DIE()
        self._skeleton = skeleton
        self.language: int = int(self._root_value("DW_AT_language"))
        name = attribute(self.root, "DW_AT_language_name", _LANGUAGE_NAME)
        self.language_name: int = 0 if name is None else int(name.value)
        # For a skeleton, that of its split unit.
        self.ranges_base: int = int(self._root_value("DW_AT_GNU_ranges_base"))
        is_old = cu["version"] < _VERSION_5
        self.addr_base: int = int(
            self._root_value("DW_AT_GNU_addr_base" if is_old else "DW_AT_addr_base")
        )
        self.base_address: int = 0 if skeleton is None else skeleton.base_address
        for start in ("DW_AT_entry_pc", "DW_AT_low_pc"):
            if start in self.root.attributes:
                address = self.address(self.root.attributes[start])
                self.base_address = address or self.base_address

    def code_ranges(self) -> list[Range]:
        """Ranges of the unit in code, which its skeleton may have."""
        unit = self if self._skeleton is None else self._skeleton
        return unit.live_ranges(unit.root)

    @property
    def split_name(self) -> tuple[str, str] | None:
        """For a skeleton the file of its split unit and its folder; else None.

        One without code, as of a Clang module, is no skeleton.
        """
        if not {"DW_AT_low_pc", "DW_AT_ranges"} & set(self.root.attributes):
            return None
        name = self.units.text(self.root, *_SPLIT_NAMES)
        return (name, self.units.text(self.root, "DW_AT_comp_dir")) if name else None

    @property
    def line_table_start(self) -> int:
        """Start of offsets in .debug_line: in a split unit that of its table."""
        lines = self.lines if self._skeleton is not None else None
        return 0 if lines is None else lines.begin

    def _root_value(self, name: str) -> Any:
        value = self.root.attributes.get(name)
        return 0 if value is None else value.value

    @cached_property
    def lines(self) -> LineTable | None:
        """The unit's line table, if it has one."""
        if self._skeleton is not None:
            return self._skeleton.lines
        if "DW_AT_stmt_list" not in self.root.attributes:
            return None
        return LineTable(
            self.cu,
            self.units.text(self.root, "DW_AT_comp_dir"),
            self.units.file,
            self.units.path_map,
        )

    def dies(self) -> Iterator[DIE]:
        """All DIEs in order, null ones at the end of each list of children."""
        return self.cu.iter_DIEs()

    def live_ranges(self, die: DIE) -> list[Range]:
        """Ranges of *die* in code; linkers leave others where they dropped it.

        Those at address 0 may be of dropped code, too.
        """
        is_text = self.units.file.is_text
        return [r for r in self.ranges(die) if r.start < r.end and is_text(r.start)]

    def address(self, value: Any) -> int:
        """The value of an attribute that is an address, an index or an expression."""
        if value.form == "DW_FORM_GNU_addr_index":
            return self.cu.dwarfinfo.get_addr(self.cu, value.raw_value)
        if value.form != "DW_FORM_exprloc":
            return int(value.value)
        stack: list[int] = []
        for operation in DWARFExprParser(self.cu.structs).parse_expr(value.value):
            name, operands = operation.op_name, operation.args
            if name in {"DW_OP_addrx", "DW_OP_constx"}:
                stack.append(self.cu.dwarfinfo.get_addr(self.cu, operands[0]))
            elif name.startswith(("DW_OP_addr", "DW_OP_const")):
                stack.append(operands[0])
            elif name == "DW_OP_plus":
                stack.append(stack.pop() + stack.pop())
            elif name == "DW_OP_plus_uconst":
                stack.append(stack.pop() + operands[0])
            else:
                raise NotImplementedError(f"{name} in an address")
        return stack[-1] % int(1 << 8 * self.cu["address_size"])

    def ranges(self, die: DIE) -> list[Range]:
        """Ranges of *die*, including empty and dead ones."""
        code_range = self.units.file.code_range
        # An end behind the last address wraps round.
        wrapped = 1 << 8 * self.cu["address_size"]
        return [
            code_range(start, end or (wrapped if start else 0))
            for start, end in self._ranges(die)
        ]

    def _ranges(self, die: DIE) -> list[Range]:
        low = die.attributes.get("DW_AT_low_pc")
        high = die.attributes.get("DW_AT_high_pc")
        if low is not None and high is not None:
            start = self.address(low)
            is_address = high.form.startswith(("DW_FORM_addr", "DW_FORM_GNU_addr"))
            end = self.address(high) if is_address else start + high.value
            return [Range(start, end)]
        if "DW_AT_ranges" not in die.attributes:
            return []
        try:
            return list(self._range_list(die.attributes["DW_AT_ranges"].value))
        except DECODING_ERRORS as error:
            self.units.note_failure("a range list cannot be read", error)
            return []

    def _range_list(self, offset: int) -> Iterator[Range]:
        context: DWARFInfo = self.cu.dwarfinfo
        version = self.cu["version"]
        section = (
            context.debug_rnglists_sec
            if version >= _VERSION_5
            else context.debug_ranges_sec
        )
        if section is None:
            self.units.note_failure("no section of range lists")
            return
        if version < _VERSION_5 and self._skeleton is not None:
            offset += self._skeleton.ranges_base
        lists = RangeLists(section.stream, self.cu.structs, version, context)
        base = self.base_address
        mask = (1 << 8 * self.cu["address_size"]) - 1
        for entry in self._entries(lists, offset):
            if isinstance(entry, BaseAddressEntry):
                base = entry.base_address
                # GNU ld writes 1 for dropped code, since two 0 end a list.
                base = _DEAD if version < _VERSION_5 and base == 1 else base
            elif entry.is_absolute:
                yield Range(entry.begin_offset, entry.end_offset)
            elif max(base, entry.begin_offset) < mask - 1:  # -1 and -2 mean dead code
                # The sums wrap round.
                offsets = entry.begin_offset, entry.end_offset
                yield Range(*((base + each) & mask for each in offsets))

    def _entries(
        self, lists: RangeLists, offset: int
    ) -> Iterator[RangeEntry | BaseAddressEntry]:
        if lists.version < _VERSION_5:
            yield from lists.get_range_list_at_offset(offset, self.cu)
            return
        raw_entries: Any = lists.get_range_list_at_offset_ex(offset)
        for raw in raw_entries:
            try:
                yield lists.translate_v5_entry(raw, self.cu)
            except DECODING_ERRORS as error:  # noqa: PERF203
                what = "an entry of a range list cannot be read"
                self.units.note_failure(what, error)
                # An index that leads nowhere costs the list this entry, and where it
                # is a base address all that counts from it.
                if raw.entry_type == "DW_RLE_base_addressx":
                    yield BaseAddressEntry(raw.entry_offset, _DEAD)
