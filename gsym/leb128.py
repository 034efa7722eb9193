"""Numbers in LEB128: seven bits a byte, least significant first."""

from __future__ import annotations

_MORE = 0x80  # the bit of all bytes but the last one
_SIGN = 0x40  # of the last byte of a signed number


def read_leb(
    data: bytes | memoryview, at: int, most: int = 10, *, signed: bool = False
) -> tuple[int, int]:
    """A number of at most *most* bytes at an offset, and the offset after it.

    Both are 0 where it is truncated or longer.
    """
    value = shift = 0
    for byte in data[at : at + most]:
        value |= (byte & ~_MORE) << shift
        shift += 7
        if byte < _MORE:
            is_negative = signed and byte & _SIGN
            return value - (is_negative and 1 << shift), at + shift // 7
    return 0, 0
