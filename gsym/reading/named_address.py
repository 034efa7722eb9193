"""Addresses as a function and an offset: `kernel+0x40`."""

from __future__ import annotations

from gsym.errors import GsymError

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from gsym.model import FunctionRange
    from gsym.reading.reader import Reader

_SECTION = ".text."  # of one function: `.text.kernel+0x40`
_SHOWN = 3  # addresses in a message


def address_of_name(reader: Reader, name: str, offset: int) -> int:
    """The link-time address of a function's byte.

    Raises:
        GsymError: No function, or several, have this name and an address there.
    """
    found = reader.find(name)
    if not found and name.startswith(_SECTION):
        found = reader.find(name[len(_SECTION) :])
    if not found:
        raise GsymError(f"no function is called '{name}'", path=reader.path)
    starts = sorted({each.start for each in _whole(found) if _reaches(each, offset)})
    if not starts:
        size = max(each.size for each in found)
        reason = f"function '{name}' has {size} bytes, so none at offset {offset:#x}"
        raise GsymError(reason, path=reader.path)
    if len(starts) > 1:
        shown = ", ".join(map(hex, starts[:_SHOWN]))
        reason = f"{len(starts)} functions are called '{name}': at {shown}"
        raise GsymError(reason, path=reader.path)
    return starts[0] + offset


def _reaches(function: FunctionRange, offset: int) -> bool:
    return offset < function.size or not function.size


def _whole(found: tuple[FunctionRange, ...]) -> list[FunctionRange]:
    """The functions without the parts that follow functions inside of them."""
    whole: list[FunctionRange] = []
    for each in sorted(found, key=lambda each: (each.start, -each.size)):
        if not any(
            other.name == each.name and each.start < other.start + other.size
            for other in whole[-1:]
        ):
            whole.append(each)
    return whole
