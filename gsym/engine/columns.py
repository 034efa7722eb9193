"""Columns of rows as arrays: the rows in order, or only some of them."""

from __future__ import annotations

from array import array

from gsym.engine.native import check, ffi, lib, new_error

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Sequence


def ordered(keys: array[int]) -> array[int]:
    """The indexes of rows by their keys; equal ones keep their order.

    *keys* and the result are of type "I".
    """
    order, error = array("I", bytes(4 * len(keys))), new_error()
    several = [ffi.from_buffer("uint32_t[]", each) for each in (keys, order)]
    status = lib.gsym_order_rows(several[0], len(keys), several[1], error)
    check(status, error)
    return order


def taken(column: array[int], rows: Sequence[int], after: int = 0) -> array[int]:
    """The items of a column that stand *after* items after each of some rows."""
    asked = rows if isinstance(rows, array) else array("I", rows)
    width, error = column.itemsize, new_error()
    found = array(column.typecode, bytes(width * len(asked)))
    status = lib.gsym_take_rows(
        *(ffi.from_buffer(column), width, len(column)),
        *(ffi.from_buffer("uint32_t[]", asked), len(asked), after),
        *(ffi.from_buffer(found), error),
    )
    check(status, error)
    return found
