"""Attribute forms: how a number, a string or a block is stored."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.inputs.dwarf_constants import Form, Value
from tests.inputs.encoding import cstring, sleb, uleb

if TYPE_CHECKING:
    from tests.inputs.encoding import Encoding

_SIZE: dict[int, int] = {
    Form.data1: 1,
    Form.data2: 2,
    Form.data4: 4,
    Form.data8: 8,
    Form.data16: 16,
    Form.flag: 1,
    Form.flag_present: 0,
    Form.implicit_const: 0,
    Form.ref1: 1,
    Form.ref2: 2,
    Form.ref4: 4,
    Form.ref8: 8,
    Form.ref_sig8: 8,
    Form.ref_sup4: 4,
    Form.ref_sup8: 8,
    Form.strx1: 1,
    Form.strx2: 2,
    Form.strx3: 3,
    Form.strx4: 4,
    Form.addrx1: 1,
    Form.addrx2: 2,
    Form.addrx3: 3,
    Form.addrx4: 4,
}
_ULEB: set[int] = {
    Form.udata,
    Form.ref_udata,
    Form.strx,
    Form.addrx,
    Form.loclistx,
    Form.rnglistx,
    Form.GNU_addr_index,
    Form.GNU_str_index,
}
_OFFSET: set[int] = {
    Form.strp,
    Form.line_strp,
    Form.strp_sup,
    Form.sec_offset,
    Form.GNU_ref_alt,
    Form.GNU_strp_alt,
}
_BLOCK_LENGTH_SIZE: dict[int, int] = {Form.block1: 1, Form.block2: 2, Form.block4: 4}
BLOCK_FORMS: set[int] = {*_BLOCK_LENGTH_SIZE, Form.block, Form.exprloc}

STRING_INDEX_FORMS: set[int] = {
    Form.strx,
    Form.strx1,
    Form.strx2,
    Form.strx3,
    Form.strx4,
    Form.GNU_str_index,
}
ADDRESS_INDEX_FORMS: set[int] = {
    Form.addrx,
    Form.addrx1,
    Form.addrx2,
    Form.addrx3,
    Form.addrx4,
    Form.GNU_addr_index,
}


def encode_form(
    encoding: Encoding, version: int, form: int, value: int | str | bytes
) -> bytes:
    """Bytes of *value* in *form*; a form without a meaning takes raw bytes."""
    if isinstance(value, Value):  # DW_FORM_indirect
        inner = encode_form(encoding, version, value.form, value.value)
        return uleb(value.form) + inner
    if isinstance(value, str):
        return cstring(value)
    if isinstance(value, bytes):
        return _encode_block(encoding, form, value)
    return _encode_number(encoding, version, form, value)


def _encode_block(encoding: Encoding, form: int, value: bytes) -> bytes:
    if form in _BLOCK_LENGTH_SIZE:
        return encoding.uint(len(value), _BLOCK_LENGTH_SIZE[form]) + value
    if form in {Form.block, Form.exprloc}:
        return uleb(len(value)) + value
    return value


def _encode_number(encoding: Encoding, version: int, form: int, value: int) -> bytes:
    if form in _ULEB:
        return uleb(value)
    if form == Form.sdata:
        return sleb(value)
    if form == Form.addr or (form == Form.ref_addr and version <= 2):
        return encoding.address(value)
    if form in _OFFSET or form == Form.ref_addr:
        return encoding.offset(value)
    return encoding.uint(value, _SIZE[form])
