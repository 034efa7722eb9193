"""The second opinion on units: their DIEs, references, attributes and ranges.

pyelftools decodes the DIEs. It keeps every DIE that it has seen, so the context is
given up from time to time; references across units go through `Units.die_at`.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING, Any

from elftools.common.exceptions import DWARFError, ELFError
from elftools.construct.core import ConstructError
from elftools.dwarf.ranges import BaseAddressEntry, RangeEntry, RangeLists

from gsym.errors import GsymError, UnsupportedError
from gsym.model import UINT64_MAX, Range
from gsym.verification.decoder.elf import open_dwarf
from gsym.verification.decoder.lines import LineTable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from elftools.dwarf.compileunit import CompileUnit
    from elftools.dwarf.die import DIE
    from elftools.dwarf.dwarfinfo import DWARFInfo

    from gsym.verification.decoder.elf import ReferenceElf

_CONTEXT_SIZE = 4 << 20  # bytes of .debug_info that one context may decode
_VERSION_5 = 5
_DEAD = UINT64_MAX  # an address that no code has
_TYPE_UNITS = {"DW_UT_type", "DW_UT_split_type"}
_LOCAL_REFERENCES = {
    "DW_FORM_ref1",
    "DW_FORM_ref2",
    "DW_FORM_ref4",
    "DW_FORM_ref8",
    "DW_FORM_ref_udata",
}
_SUPPLEMENTARY_REFERENCES = {
    "DW_FORM_GNU_ref_alt",
    "DW_FORM_ref_sup4",
    "DW_FORM_ref_sup8",
}
_SUPPLEMENTARY_STRINGS = {"DW_FORM_GNU_strp_alt", "DW_FORM_strp_sup"}
_SPLIT_NAMES = ("DW_AT_dwo_name", "DW_AT_GNU_dwo_name")
# Errors of pyelftools for damaged input, and of this decoder for unsupported input.
DECODING_ERRORS = (
    *(GsymError, ELFError, DWARFError, ConstructError, struct.error),
    *(ArithmeticError, AssertionError, AttributeError, LookupError),
    *(NotImplementedError, TypeError, ValueError),
)
# A DIE may leave a name or line to the DIE that these refer to; searched in
# this order, as LLVM does.
_INHERITED_FROM = ("DW_AT_signature", "DW_AT_specification", "DW_AT_abstract_origin")


class Units:
    """All units of .debug_info.

    Args:
        elf: The file.
        path_map: (old, new) prefixes of paths; the first that fits is rewritten.

    Attributes:
        offsets: Of the units, type units left out, ascending.
        damage: Why the list of units ends early, None where it does not.
        end: Offset after the last unit in the list.
        context: What pyelftools decodes with for the time being.
        uncompared: How often functions or parts of them were not decoded, by reason.
    """

    def __init__(
        self, elf: ReferenceElf, path_map: Sequence[tuple[str, str]] = ()
    ) -> None:
        self.elf = elf
        self.path_map = path_map
        self.damage: str | None = None
        self.end = 0
        self._supplementary = (
            None if elf.supplementary is None else Units(elf.supplementary, path_map)
        )
        self._sections = elf.dwarf_sections()
        self.context = open_dwarf(self._sections)
        self._decoded = 0
        self._all_offsets: list[int] = []
        self._sizes: dict[int, int] = {}
        self._type_units: dict[int, tuple[int, int]] = {}
        self.offsets: list[int] = []
        self._failures: list[str] = []
        self.uncompared: Counter[str] = Counter()
        try:
            for cu in self.context.iter_CUs():
                self._all_offsets.append(cu.cu_offset)
                self._sizes[cu.cu_offset] = cu.size
                self.end = cu.cu_offset + cu.size
                if cu.header.get("unit_type") in _TYPE_UNITS:
                    place = (cu.cu_offset, cu.cu_offset + cu["type_offset"])
                    self._type_units[cu["type_signature"]] = place
                else:
                    self.offsets.append(cu.cu_offset)
        except DECODING_ERRORS as error:
            self.damage = f"{type(error).__name__}: {error}"

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

    def open(self, offset: int) -> Unit:
        """The unit at *offset*; DIEs of units opened before must not be used."""
        if self._decoded > _CONTEXT_SIZE:
            self.context = open_dwarf(self._sections)
            self._decoded = 0
        self._decoded += self._sizes[offset]
        return Unit(self, self.cu_at(offset))

    def open_around(self, die: DIE) -> Unit:
        """The unit that contains *die*, without releasing another one."""
        home = self._home(die)
        return Unit(home, home.cu_at(die.cu.cu_offset))

    def _home(self, die: DIE) -> Units:
        """The units of the file that *die* is in."""
        other = self._supplementary
        # That one opens no units by `open`, so it keeps its context.
        is_other = other is not None and die.cu.dwarfinfo is other.context
        return other if is_other and other is not None else self

    def cu_at(self, offset: int) -> CompileUnit:
        """The unit that begins at *offset*, as pyelftools has it."""
        cu = self.context.get_CU_at(offset)
        forms = cu.structs.Dwarf_dw_form
        # pyelftools 0.33 reads eight bytes for the first and does not know the others.
        forms["DW_FORM_strx4"] = cu.structs.the_Dwarf_uint32
        for form in ("DW_FORM_GNU_addr_index", "DW_FORM_GNU_str_index"):
            forms.setdefault(form, cu.structs.the_Dwarf_uleb128)
        return cu

    def die_at(self, offset: int) -> DIE:
        """The DIE at *offset* in .debug_info."""
        unit = self._all_offsets[bisect_right(self._all_offsets, offset) - 1]
        return self.cu_at(unit).get_DIE_from_refaddr(offset)

    def type_die(self, signature: int) -> DIE | None:
        """The type with *signature*, in any type unit."""
        place = self._type_units.get(signature)
        if place is not None:
            return self.cu_at(place[0]).get_DIE_from_refaddr(place[1])
        try:
            return self.context.get_DIE_by_sig8(signature)
        except KeyError:
            return None

    def follow(self, die: DIE, attribute: str) -> DIE | None:
        """The DIE that *attribute* of *die* refers to, if it has it.

        A reference that leads nowhere, or to a file that is missing, is none.
        """
        value = die.attributes.get(attribute)
        if value is None:
            return None
        try:
            return self._target(die, value)
        except DECODING_ERRORS as error:
            self.note_failure(f"{attribute} cannot be followed", error)
            return None

    def _target(self, die: DIE, value: Any) -> DIE | None:
        if value.form in _LOCAL_REFERENCES:
            return die.cu.get_DIE_from_refaddr(die.cu.cu_offset + value.raw_value)
        if value.form == "DW_FORM_ref_addr":
            return self._home(die).die_at(value.raw_value)
        if value.form in _SUPPLEMENTARY_REFERENCES and self._supplementary is not None:
            return self._supplementary.die_at(value.raw_value)
        if value.form == "DW_FORM_ref_sig8":
            return self.type_die(value.raw_value)
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
        """What `find` finds, as a string; "" for nothing."""
        found = self.find(die, *attributes)
        if found is None:
            return ""
        text = found[0].value
        if found[0].form in _SUPPLEMENTARY_STRINGS and self._supplementary is not None:
            context = self._supplementary.context
            text = context.get_string_from_table(found[0].raw_value)
        return (
            text.decode("utf-8", "surrogateescape") if isinstance(text, bytes) else ""
        )


class Unit:
    """One unit, with the attributes of its root DIE."""

    def __init__(self, units: Units, cu: CompileUnit) -> None:
        self.units = units
        self.cu = cu
        self.root = cu.get_top_DIE()
        if any(name in self.root.attributes for name in _SPLIT_NAMES):
            raise UnsupportedError("its DIEs are in a split unit, which is not read")
        self.language = int(self._root_value("DW_AT_language"))
        self._base_address = int(
            self._root_value("DW_AT_low_pc") or self._root_value("DW_AT_entry_pc")
        )

    def _root_value(self, attribute: str) -> Any:
        value = self.root.attributes.get(attribute)
        return 0 if value is None else value.value

    @cached_property
    def lines(self) -> LineTable | None:
        """The unit's line table, if it has one."""
        if "DW_AT_stmt_list" not in self.root.attributes:
            return None
        comp_dir = self._root_value("DW_AT_comp_dir") or b""
        return LineTable(
            self.cu,
            comp_dir.decode("utf-8", "surrogateescape"),
            self.units.elf.is_text,
            self.units.path_map,
        )

    def dies(self) -> Iterator[DIE]:
        """All DIEs in order, null ones at the end of each list of children."""
        return self.cu.iter_DIEs()

    def live_ranges(self, die: DIE) -> list[Range]:
        """Ranges of *die* in code; linkers leave others where they dropped it."""
        is_text = self.units.elf.is_text
        return [r for r in self.ranges(die) if r.start < r.end and is_text(r.start)]

    def ranges(self, die: DIE) -> list[Range]:
        """Ranges of *die* unchanged, including empty and dead ones."""
        low = die.attributes.get("DW_AT_low_pc")
        high = die.attributes.get("DW_AT_high_pc")
        if low is not None and high is not None:
            end = high.value
            if not high.form.startswith("DW_FORM_addr"):
                end += low.value
            return [Range(low.value, end)]
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
        lists = RangeLists(section.stream, self.cu.structs, version, context)
        base = self._base_address
        mask = (1 << 8 * self.cu["address_size"]) - 1
        for entry in self._entries(lists, offset):
            if isinstance(entry, BaseAddressEntry):
                base = entry.base_address
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
            entry = self._translated(lists, raw)
            if entry is not None:
                yield entry

    def _translated(
        self, lists: RangeLists, raw: Any
    ) -> RangeEntry | BaseAddressEntry | None:
        try:
            return lists.translate_v5_entry(raw, self.cu)
        except DECODING_ERRORS as error:
            self.units.note_failure("an entry of a range list cannot be read", error)
            # An index that leads nowhere costs the list this entry, and where it is
            # a base address all that counts from it.
            if raw.entry_type == "DW_RLE_base_addressx":
                return BaseAddressEntry(raw.entry_offset, _DEAD)
            return None
