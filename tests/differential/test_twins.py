"""Files of one build in several formats give the same function and line.

Addresses count from the base address of the image. What differs has a name here, and
a count that is known.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import pytest

import gsym
from tests.conftest import find_peer
from tests.differential import peers

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


class Twins(NamedTuple):
    """Two files of one build.

    *starts* are the starts of functions that both have, *lines* those of them that
    have lines in both, *only_one* and *only_other* the starts that one alone has.
    """

    one: str
    other: str
    starts: int
    lines: int
    only_one: int = 0
    only_other: int = 0
    differences: dict[str, int] = {}  # noqa: RUF012 - a default of a NamedTuple


TWINS = (
    # A binary has stubs of the functions that it calls in others.
    Twins("linux/crash", "linux/crash.debug", 167, 158, only_one=55),
    Twins("linux/crash.debug-zlib", "linux/crash.debug", 167, 158),
    Twins("linux/crash.debug-zstd", "linux/crash.debug", 167, 158),
    Twins(
        *("linux/crash.debug", "linux/crash.sym", 167, 0),
        differences={"clone_is_named": 8},
    ),
    Twins("macos/crash", "macos/crash.dSYM", 194, 193, only_one=110),
    Twins(
        *("macos/crash.dSYM", "macos/crash.sym", 194, 193),
        only_other=60,
        differences={
            "name_is_omitted": 25,
            "references_are_not_collapsed": 1,
            "inlined_calls_are_left_out": 13,
        },
    ),
    Twins(
        *("macos/crash.dSYM", "macos/crash.inlines.sym", 194, 193),
        only_other=1,
        differences={
            "return_type_is_left_out": 9,
            "function_has_c_linkage": 1,
            "path_is_folded": 193,
        },
    ),
    Twins(
        *("py/minidump/crash_macos", "py/minidump/crash_macos.dSYM", 510, 509),
        only_one=283,
    ),
)


# ---- names


def name_is_omitted(_: str, other: str) -> bool:
    """An old dump_syms found no name in the DWARF, where there is a linkage name."""
    return other == "<name omitted>"


def return_type_is_left_out(one: str, other: str) -> bool:
    """The demangler of a dump_syms leaves it out; only templates have it mangled."""
    return one.endswith(f" {other}")


def clone_is_named(one: str, other: str) -> bool:
    """The symbol table names the clone, the DWARF the function that it is of."""
    return one == re.sub(r"( \[clone [^]]*\])+$", "", other) != other


def function_has_c_linkage(one: str, other: str) -> bool:
    """A symbol without a namespace; the DWARF shows the one around it."""
    return other.endswith(f"::{one}") or one.endswith(f"::{other}")


def references_are_not_collapsed(one: str, other: str) -> bool:
    """An old demangler prints a reference to a reference."""
    return one == other.replace("&&&", "&")


NAMES: tuple[Callable[[str, str], bool], ...] = (
    name_is_omitted,
    return_type_is_left_out,
    clone_is_named,
    function_has_c_linkage,
    references_are_not_collapsed,
)


# ---- places


class Place(NamedTuple):
    path: str
    line: int


def path_is_folded(one: list[Place], other: list[Place]) -> bool:
    """A newer dump_syms folds `..`."""
    return [
        place._replace(path=posixpath.normpath(place.path)) for place in one
    ] == other


def inlined_calls_are_left_out(one: list[Place], other: list[Place]) -> bool:
    """A file without INLINE records has the innermost place of each address only."""
    return one[:1] == other


PLACES: tuple[Callable[[list[Place], list[Place]], bool], ...] = (
    path_is_folded,
    inlined_calls_are_left_out,
)


# ---- the files


class Start(NamedTuple):
    name: str
    places: list[Place]  # innermost first; none: no lines


def starts_of(source: Path, folder: Path) -> dict[int, Start]:
    """What stands at the start of each function."""
    output = folder / f"{source.name}.gsym"
    gsym.convert(source, output)
    with gsym.open(output) as reader:
        base = reader.header.base_address
        found = {}
        for function in reader.functions():
            answer = reader.lookup(function.start)
            assert answer is not None
            places = [Place(frame.path, frame.line) for frame in answer.frames]
            has_lines = function.line_table is not None
            found[function.start - base] = Start(
                function.name, places if has_lines else []
            )
    return found


def _spelled(name: str) -> str:
    """A demangled name as all demanglers spell it."""
    return re.sub("(?<=>) (?=>)", "", re.sub(r" \((\.[^)]*)\)", r" [clone \1]", name))


def demangled(starts: dict[int, Start], demangler: str) -> dict[int, Start]:
    names = [start.name for start in starts.values()]
    words = peers.run(demangler, stdin="\n".join(names)).split("\n")
    return {
        address: start._replace(name=_spelled(word))
        for (address, start), word in zip(starts.items(), words, strict=False)
    }


def differences_of(one: Start, other: Start) -> list[str]:
    """What tells the two apart, by name; "" for what has none."""
    found = []
    if one.name != other.name:
        found.append(explain(NAMES, one.name, other.name))
    if one.places and other.places and one.places != other.places:
        found.append(explain(PLACES, one.places, other.places))
    return found


def explain(checks: tuple[Callable[..., bool], ...], *values: object) -> str:
    return next((check.__name__ for check in checks if check(*values)), "")


@pytest.mark.parametrize("twins", TWINS, ids=lambda twins: f"{twins.one}~{twins.other}")
def test_twins_agree_at_the_start_of_every_function(
    twins: Twins, fixtures: Path, tmp_path: Path
) -> None:
    demangler = find_peer("llvm-cxxfilt-22", "llvm-cxxfilt", "c++filt")
    one, other = (
        demangled(starts_of(fixtures / "symbolic" / name, tmp_path), demangler)
        for name in (twins.one, twins.other)
    )
    both = {a: (one[a], other[a]) for a in sorted(one.keys() & other.keys())}
    differences: Counter[str] = Counter()
    for pair in both.values():
        differences.update(differences_of(*pair))
    assert [pair for pair in both.values() if "" in differences_of(*pair)] == []
    assert (
        Twins(
            *(twins.one, twins.other, len(both)),
            sum(1 for pair in both.values() if all(start.places for start in pair)),
            *(len(one) - len(both), len(other) - len(both)),
            dict(differences),
        )
        == twins
    )
