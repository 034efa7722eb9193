"""Addresses as a function and an offset: `kernel+0x40`, `.text.kernel+0x40`.

Functions may share addresses: overlays, folded functions, the sections of an object
file before they are placed. One that is asked for by its name answers as itself.
"""

from __future__ import annotations

from gsym.errors import GsymError
from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gsym.model import FunctionRange
    from gsym.reading.reader import Reader

_SECTION = ".text."  # of one function: `.text.kernel+0x40`
_PART = "$"  # of `$kernel$function`, a copy of a function inside a kernel
_SHOWN = 3  # addresses in a message
_MARKS = "*&,()<>[]"
_ENDS = frozenset(",()<>[]")  # of the words of a type, whose order is free


class Place(NamedTuple):
    """A byte of a function."""

    # answers *address* as that function, or as a copy of another inside it
    reader: Reader
    address: int  # its link-time address
    function: FunctionRange  # the function that was asked for


def split_name(text: str) -> tuple[str, int] | None:
    """Name and offset of `NAME+OFFSET`; None if *text* is not of this form."""
    name, plus, offset = text.rpartition("+")
    try:
        return (name, int(offset, 0)) if plus and name and offset[0].isdigit() else None
    except (ValueError, IndexError):
        return None


def check_text(argument: str, text: str) -> tuple[str, int]:
    """Name and offset of `NAME+OFFSET`.

    Raises:
        ValueError: *text* is not of this form.
    """
    named = split_name(text)
    if named is None:
        raise ValueError(f"{argument}: expected FUNCTION+OFFSET, not {text!r}")
    return named


def without_section(name: str) -> str:
    """The function of `.text.FUNCTION`, or ""."""
    return name[len(_SECTION) :] if name.startswith(_SECTION) else ""


def is_part(name: str) -> bool:
    """Whether it is the linkage name of a copy inside a kernel."""
    return name.startswith(_PART) and _PART in name[1:]


def spelling(name: str) -> str:
    """A text that a demangled name shares with the same name by other demanglers.

    That of CUDA writes `f(const int *)` for `f(int const*)`, and
    `[clone kernel(int *)] f()` for the copy of a function inside a kernel.
    """
    if is_part(name):
        from gsym.engine.demangling import demangle

        kernel, _, inside = name[1:].partition(_PART)
        name = f"[clone {demangle(kernel)}] {demangle(inside)}"
    for mark in _MARKS:
        name = name.replace(mark, f" {mark} ")
    parts: list[str] = []
    words: list[str] = []
    for word in (*name.split(), ","):
        if word in _ENDS:
            parts += (*sorted(words), word)
            words.clear()
        else:
            words.append(word)
    return " ".join(parts)


def functions_named(reader: Reader, name: str) -> tuple[FunctionRange, ...]:
    """The functions of a name, or of the section of this name."""
    found = reader.find(name)
    inside = "" if found else without_section(name)
    return reader.find(inside) if inside else found


def place_of(reader: Reader, text: str) -> Place:
    """Find the byte of a function that is given as `NAME+OFFSET`.

    Raises:
        GsymError: No function, or several, have this name and an address there.
        ValueError: *text* is not of this form.
    """
    name, offset = check_text("address", text)
    found = functions_named(reader, name)
    if not found:
        raise GsymError(f"no function is called '{name}'", path=reader.path)
    fitting = [each for each in _whole(found) if offset < each.size or not each.size]
    starts = sorted({each.start for each in fitting})
    if not starts:
        size = max(each.size for each in found)
        reason = f"function '{name}' has {size} bytes, so none at offset {offset:#x}"
        raise GsymError(reason, path=reader.path)
    if len(starts) > 1:
        shown = ", ".join(map(hex, starts[:_SHOWN]))
        reason = f"{len(starts)} functions are called '{name}': at {shown}"
        raise GsymError(reason, path=reader.path)
    return place_in(reader, fitting[0], starts[0] + offset)


def place_in(reader: Reader, function: FunctionRange, address: int) -> Place:
    """An address of a function, which answers also where another has this address."""
    answer = reader.lookup(address)
    other = function if answer is None else answer.function
    is_inside = other.start > function.start and is_part(other.name)
    if is_inside or other.name == function.name:
        return Place(reader, address, function)
    for index, at in reader.entries_by_name().get(function.name, ()):
        info = reader.function(index)
        info = info.merged[at - 1] if at else info._replace(merged=())
        if (info.start, info.size) == function[1:]:
            break
    else:  # of the symbol table of its binary
        return Place(reader, address, function)
    import gsym  # for its public creator

    creator = gsym.Creator()
    creator.add(info)
    return Place(gsym.Reader(creator.to_bytes(), path=reader.path), address, function)


def _whole(found: Sequence[FunctionRange]) -> list[FunctionRange]:
    """The functions without the parts that follow functions inside of them."""
    whole: list[FunctionRange] = []
    for each in sorted(found, key=lambda each: (each.start, -each.size)):
        if not any(
            other.name == each.name and each.start < other.start + other.size
            for other in whole[-1:]
        ):
            whole.append(each)
    return whole
