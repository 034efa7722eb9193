"""Random inline sites: at each address the chain of calls that their spans say."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hypothesis import given, strategies as st

import gsym
from tests.inputs.pdb import TEXT, Function, Inline, Module, Pdb, function_id
from tests.inputs.pdb_examples import LENGTH, LINE, OFFSET

if TYPE_CHECKING:
    from pathlib import Path

SIZE = 64  # of the function
NAMES = ("a", "b", "c", "d")
FIRST_ID = 0x1000
DECLARED = 100  # line of the first inlinee; those of others follow in such steps
FILE = r"C:\src\b.h"
IDS = [function_id(name) for name in NAMES]
INLINEES = [(FIRST_ID + at, FILE, DECLARED * (at + 1)) for at in range(len(NAMES))]


class Site(NamedTuple):
    """*spans* are (start, size, change of the line), one after the other."""

    inlinee: int
    spans: tuple[tuple[int, int, int], ...]
    children: tuple[Site, ...]

    def symbol(self) -> Inline:
        annotations, at = b"", 0
        for start, size, lines in self.spans:
            annotations += bytes([LINE, 2 * lines, OFFSET, start - at, LENGTH, size])
            at = start + size
        children = [each.symbol() for each in self.children]
        return Inline(FIRST_ID + self.inlinee, annotations, children)


class Span(NamedTuple):
    start: int
    end: int
    line: int
    site: Site
    parent: Site | None


@st.composite
def spans(draw: st.DrawFn) -> tuple[tuple[int, int, int], ...]:
    bounds = sorted(draw(st.sets(st.integers(0, SIZE), min_size=2, max_size=6)))
    pairs = zip(bounds[::2], bounds[1::2], strict=False)
    return tuple((start, end - start, draw(st.integers(0, 3))) for start, end in pairs)


def sites(depth: int) -> st.SearchStrategy[tuple[Site, ...]]:
    children = sites(depth - 1) if depth > 1 else st.just(())
    site = st.builds(Site, st.integers(0, len(NAMES) - 1), spans(), children)
    return st.lists(site, max_size=3).map(tuple)


def levels_of(outermost: tuple[Site, ...]) -> list[list[Span]]:
    """The spans of each level; of those that overlap, the first keeps its bytes."""
    found = []
    level: list[tuple[Site, Site | None]] = [(each, None) for each in outermost]
    while level:
        placed: list[Span] = []
        for site, parent in level:
            line = DECLARED * (site.inlinee + 1)
            for start, size, change in site.spans:
                line += change
                placed.append(Span(start, start + size, line, site, parent))
        placed.sort(key=lambda each: each.start)
        covered, kept = 0, []
        for each in placed:
            kept.append(each._replace(start=max(each.start, covered)))
            covered = max(covered, each.end)
        found.append(kept)
        level = [(child, site) for site, _ in level for child in site.children]
    return found


def expected(
    levels: list[list[Span]], lines: list[tuple[int, int]], offset: int
) -> list[tuple[str, int]]:
    """Names and lines, innermost first."""
    rows = [line for start, line in lines if start <= offset]
    chain = [("f", rows[-1] if rows else 0)]
    caller: Site | None = None
    for level in levels:
        here = [each for each in level if each.start <= offset < each.end]
        if not here or here[0].parent is not caller:
            break
        caller = here[0].site
        chain.append((NAMES[caller.inlinee], here[0].line))
    return chain[::-1]


@given(
    sites(3),
    st.dictionaries(st.integers(0, SIZE - 1), st.integers(1, 50), min_size=1),
)
def test_chains_are_those_of_the_sites(
    tmp_path_factory: object, outermost: tuple[Site, ...], rows: dict[int, int]
) -> None:
    lines = sorted(rows.items())
    function = Function("f", 0, SIZE, lines, [each.symbol() for each in outermost])
    pdb = Pdb([Module([function], inlinees=INLINEES)], ids=IDS)
    folder: Path = tmp_path_factory.mktemp("pdb")  # type: ignore[attr-defined]
    report = gsym.convert(pdb.to_bytes(), folder / "made.gsym", name="made.pdb")
    levels = levels_of(outermost)
    with gsym.open(report.outputs[0]) as reader:
        for offset in range(SIZE):
            answer = reader.lookup(TEXT + offset)
            assert answer is not None
            found = [(each.name, each.line or 0) for each in answer.frames]
            assert found == expected(levels, lines, offset), offset
