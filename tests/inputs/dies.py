"""Trees of debugging information entries and their abbreviations.

    Die(Tag.subprogram, {At.name: "f", **code(0x1000, 0x1010)})

An attribute's value is a plain one, which takes a usual form, or says its form:
`Form.strp("f")`. Strings, addresses and range lists find their way into the
section that the form asks for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tests.inputs.dwarf_constants import At, Form, Value
from tests.inputs.encoding import Encoding, sleb, uleb
from tests.inputs.range_lists import RangeList

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


class Ref(NamedTuple):
    """The DIE that carries this label, in whatever unit it is."""

    label: str


class Raw(NamedTuple):
    """The number itself where a string, address or list is usual: an index, say."""

    number: int


class _Sibling:
    """The place behind the DIE's children."""


SIBLING = _Sibling()


class Die:
    """A tag, attributes and children.

    *code* asks for an abbreviation code; *has_children* may differ from the truth.
    """

    def __init__(
        self,
        tag: int,
        attributes: Mapping[int, object] | None = None,
        *children: Die,
        label: str | None = None,
        code: int | None = None,
        has_children: bool | None = None,
    ) -> None:
        self.tag = tag
        self.attributes = dict(attributes or {})
        self.children = children
        self.label = label
        self.code = code
        self.has_children = bool(children) if has_children is None else has_children

    def walk(self) -> Iterator[tuple[Die, bool]]:
        """Each DIE before its children, and again, with True, behind them."""
        pending: list[tuple[Die, Iterator[Die]]] = [(self, iter(self.children))]
        yield self, False
        while pending:
            die, rest = pending[-1]
            child = next(rest, None)
            if child is None:
                pending.pop()
                yield die, True
            else:
                yield child, False
                pending.append((child, iter(child.children)))


def code(start: int, end: int) -> dict[int, object]:
    """The attributes of code at [start, end), in forms that every version has."""
    return {At.low_pc: start, At.high_pc: Form.addr(end)}


_ADDRESS_ATTRIBUTES = {
    At.low_pc,
    At.high_pc,
    At.entry_pc,
    At.call_return_pc,
    At.call_pc,
}
_OFFSET_ATTRIBUTES = {
    At.stmt_list,
    At.ranges,
    At.str_offsets_base,
    At.addr_base,
    At.rnglists_base,
    At.loclists_base,
    At.GNU_ranges_base,
    At.GNU_addr_base,
    At.LLVM_stmt_sequence,
}


def offset_form(version: int, encoding: Encoding) -> Form:
    """The form of a section offset."""
    if version >= 4:
        return Form.sec_offset
    return Form.data8 if encoding.dwarf64 else Form.data4


def with_form(attribute: int, value: object, version: int, encoding: Encoding) -> Value:
    """*value* in the form it names, else in the usual one."""
    if isinstance(value, Value):
        return value
    form = {
        bool: Form.flag,
        str: Form.string,
        bytes: Form.exprloc if version >= 4 else Form.block1,
        RangeList: offset_form(version, encoding),
        Ref: Form.ref4,
        _Sibling: Form.ref4,
    }.get(type(value), Form.udata)
    if attribute in _OFFSET_ATTRIBUTES:
        form = offset_form(version, encoding)
    elif form == Form.udata and attribute in _ADDRESS_ATTRIBUTES:
        form = Form.addr
    elif form == Form.udata and isinstance(value, int) and value < 0:
        form = Form.sdata
    return Value(form, value)


class AbbreviationTable:
    """One table; equal shapes share a code, as compilers do it."""

    def __init__(self) -> None:
        self._codes: dict[tuple[object, ...], int] = {}
        self._declarations = b""

    def code_of(self, die: Die, values: Mapping[int, Value]) -> int:
        shape = tuple(
            (at, value.form, value.value if value.form == Form.implicit_const else 0)
            for at, value in values.items()
        )
        key = (die.code, die.tag, die.has_children, shape)
        known = self._codes.get(key)
        if known is not None:
            return known
        code = len(self._codes) + 1 if die.code is None else die.code
        self._codes[key] = code
        self._declarations += uleb(code) + uleb(die.tag) + bytes([die.has_children])
        for at, form, constant in shape:
            self._declarations += uleb(at) + uleb(form)
            if form == Form.implicit_const and isinstance(constant, int):
                self._declarations += sleb(constant)
        self._declarations += b"\0\0"
        return code

    def encode(self) -> bytes:
        return self._declarations + b"\0"
