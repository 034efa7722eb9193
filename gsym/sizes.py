"""Sizes and times as text, the same in options, settings and arguments.

A size is a number of bytes with an optional unit, in letters of either case: K, M, G
and T, also written KB, MB, GB and TB, are powers of 1000, and Ki, Mi, Gi and Ti, also
KiB, MiB, GiB and TiB, are powers of 1024. So `500000`, `500K`, `1.5GB`, `1gib` and
`10 Ki` are sizes. Without a unit, it may be hexadecimal, octal or binary: `0x1000`.
"""

from __future__ import annotations

from gsym.lazy import re

DECIMAL_UNITS = ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "KB"))
BINARY_UNITS = ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))

_THOUSAND = 1000
_BYTES_OF_UNIT: dict[str, int] = {
    name.upper().removesuffix("B"): size
    for size, name in (*DECIMAL_UNITS, *BINARY_UNITS, (1, "B"))
}
_NANOSECONDS_OF_UNIT: dict[str, int] = {
    "ns": 1,
    "us": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "min": 60 * 10**9,
    "h": 3600 * 10**9,
    "d": 86_400 * 10**9,
}


def read_size(text: str) -> int:
    """The bytes of a size such as `500000`, `500K`, `1.5GB` or `1GiB`.

    Fractions of a byte are dropped.

    Raises:
        ValueError: It is not a size.
    """
    if re.fullmatch(r"0[xX][0-9A-Fa-f]{1,24}|0[oO][0-7]{1,24}|0[bB][01]{1,99}", text):
        return int(text, 0)
    joined = re.sub(r"(?<=[0-9]) (?=[A-Za-z])", "", text)
    whole, part, name = _number_and_unit(joined)
    factor = _BYTES_OF_UNIT.get(name.upper().removesuffix("B"))
    if not whole or factor is None:
        reason = f"invalid size '{text}': expected a number with a unit (500M, 1GiB)"
        raise ValueError(reason)
    scale: int = 10 ** len(part)
    return int(whole + part) * factor // scale


def rounded_size(size: int) -> str:
    """A size for people, in decimal units: `1.5 MB`."""
    if size < _THOUSAND:
        return f"{size} B"
    scale, unit = next(
        (each for each in DECIMAL_UNITS[::-1] if round(size / each[0], 1) < _THOUSAND),
        DECIMAL_UNITS[0],
    )
    return f"{size / scale:.1f} {unit}"


def exact_size(size: int) -> str:
    """A size in the largest binary unit that it is a multiple of: `8MiB`."""
    for scale, unit in BINARY_UNITS:
        if size and size % scale == 0:
            return f"{size // scale}{unit}"
    return str(size)


def read_duration(text: str, unit: str) -> int:
    """The nanoseconds of a time such as `1.5ms` or `5min`; fractions are dropped.

    Args:
        text: A number and its unit: ns, us, ms, s, min, h or d.
        unit: That of a number without a unit.

    Raises:
        ValueError: It is not a time.
    """
    whole, part, name = _number_and_unit(text)
    factor = _NANOSECONDS_OF_UNIT.get(name or unit)
    if not whole or factor is None:
        reason = f"invalid time '{text}': expected a number with a unit (1.5ms)"
        raise ValueError(reason)
    scale: int = 10 ** len(part)
    return int(whole + part) * factor // scale


def _number_and_unit(text: str) -> tuple[str, str, str]:
    """Digits before and after the point, and the unit; "" for what is not a number."""
    found = re.fullmatch(r"([0-9]{1,24})(?:\.([0-9]{1,24}))?([A-Za-z]*)", text)
    return (found[1], found[2] or "", found[3]) if found else ("", "", "")
