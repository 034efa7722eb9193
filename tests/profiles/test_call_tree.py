"""Call stacks and call trees: shared prefixes, sums, pruned nodes."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, strategies as st

import gsym
from gsym.profiles.call_tree import (
    OTHERS,
    ROOTS,
    CallTree,
    TreeFunction,
    call_stacks,
    call_tree,
)
from gsym.profiles.model import Frame, Profile, ValueType
from gsym.profiles.outputs import collapsed_lines
from tests.profiles.profiles import INNER, MAIN, OUTER, profiles, small_profile

pytestmark = [pytest.mark.long, pytest.mark.no_engine]


def paths(tree: CallTree, profile: int = 0) -> dict[str, int]:
    """{names from the root: own weight} of all nodes."""
    found: list[str] = []
    for parent, function in zip(tree.parent, tree.function, strict=True):
        name = tree.functions[function].name
        found.append(f"{found[parent]};{name}" if parent >= 0 else name)
    return dict(zip(found, tree.weights[profile], strict=True))


def test_stacks_share_their_beginnings() -> None:
    assert paths(call_tree([small_profile()])) == {
        "main": 0,
        "main;outer(int)": 0,
        "main;outer(int);inner()": 7,
        "main;a.so!0x7fff": 1,
    }


def test_functions_know_their_module_and_source() -> None:
    functions = call_tree([small_profile()]).functions
    assert TreeFunction("inner()", "a.so", "/src/a.h") in functions
    assert TreeFunction("a.so!0x7fff", "a.so") in functions


def test_two_profiles_are_columns_of_one_tree() -> None:
    other = small_profile()
    other.samples = other.samples[:1]
    tree = call_tree([small_profile(), other])
    assert paths(tree, 1)["main;outer(int);inner()"] == 1
    assert tree.totals(0)[0] == 8
    assert tree.totals(1)[0] == 1


def one_valued(kind: str) -> Profile:
    """The small profile with its samples alone, as values of this type."""
    profile = small_profile()
    profile.value_types = (ValueType(kind, "count"),)
    profile.samples = [
        each._replace(values=each.values[:1]) for each in profile.samples
    ]
    return profile


@pytest.mark.parametrize("kind", ["samples", "cpu", "other"])
def test_a_profile_is_compared_by_the_values_of_the_same_type(kind: str) -> None:
    tree = call_tree([one_valued(kind), small_profile()], 1)
    assert tree.totals(0)[0] == 8  # its only values
    turned = small_profile()
    turned.value_types = turned.value_types[::-1]
    turned.samples = [
        each._replace(values=each.values[::-1]) for each in turned.samples
    ]
    tree = call_tree([turned, small_profile()], 1)
    assert tree.totals(0) == tree.totals(1)


def test_values_without_a_type_to_compare_are_refused() -> None:
    with pytest.raises(
        gsym.GsymError, match="'other' to compare with, only samples, cpu"
    ):
        call_tree([small_profile(), one_valued("other")])


def test_sums_beyond_63_bits_are_refused() -> None:
    profile = small_profile()
    first, *others = profile.samples
    for most, is_refused in ((1 << 62, False), (1 << 63, True)):
        value = most - sum(each.values[0] for each in others)
        profile.samples = [first._replace(values=(value,)), *others]
        if is_refused:
            with pytest.raises(gsym.GsymError, match="more than 63 bits"):
                call_tree([profile])
        else:
            assert sum(call_tree([profile]).weights[0]) == most


@pytest.mark.parametrize(
    ("most", "left"),
    [
        (4, {"main;outer(int);inner()": 7, "main;a.so!0x7fff": 1}),
        (3, {"main;outer(int);inner()": 7, "main;(others)": 1}),
        (2, {"main;outer(int);(others)": 7, "main;(others)": 1}),
        (1, {"main;(others)": 8}),
        (0, {"(others)": 8}),
    ],
)
def test_the_heaviest_nodes_are_kept(most: int, left: dict[str, int]) -> None:
    found = paths(call_tree([small_profile()]).pruned(most))
    assert {path: weight for path, weight in found.items() if weight} == left


@given(profiles())
def test_a_tree_holds_each_call_stack(profile: Profile) -> None:
    stacks: Counter[tuple[str, ...]] = Counter()
    for frames, weight in call_stacks(profile, 0, ROOTS):
        stacks[tuple(frame.name for frame in frames)] += weight
    del stacks[()]  # a stack of nothing has no node
    tree = call_tree([profile], 0, ROOTS)
    found: Counter[tuple[str, ...]] = Counter()
    names: list[tuple[str, ...]] = []
    for node, (parent, function) in enumerate(
        zip(tree.parent, tree.function, strict=True)
    ):
        assert parent < node
        name = tree.functions[function].name
        names.append((*(names[parent] if parent >= 0 else ()), name))
        found[names[-1]] += tree.weights[0][node]
    assert +found == +stacks


@given(profiles(), st.integers(0, 8))
def test_pruning_loses_no_weight(profile: Profile, most: int) -> None:
    tree = call_tree([profile])
    pruned = tree.pruned(most)
    assert sum(pruned.weights[0]) == sum(tree.weights[0])
    others = {i for i, each in enumerate(pruned.functions) if each == OTHERS}
    kept = [function for function in pruned.function if function not in others]
    assert len(tree) <= most or len(kept) == most


# ---- call stacks, collapsed stacks

UNKNOWN = Frame("a.so!0x7fff")


def test_equal_stacks_are_summed_over_threads() -> None:
    assert list(call_stacks(small_profile())) == [
        ((MAIN, OUTER, INNER), 7),
        ((MAIN, UNKNOWN), 1),
    ]


@pytest.mark.parametrize(
    ("roots", "fronts"),
    [
        (("process",), [["app (1)"], ["app (1)"]]),
        (("thread",), [["main (10)"], ["main (10)"], ["thread 11"]]),
        (
            ROOTS,
            [
                ["app (1)", "main (10)"],
                ["app (1)", "main (10)"],
                ["app (1)", "thread 11"],
            ],
        ),
    ],
)
def test_processes_and_threads_are_roots(
    roots: tuple[str, ...], fronts: list[list[str]]
) -> None:
    found = [
        [frame.name for frame in frames[: len(roots)]]
        for frames, _ in call_stacks(small_profile(), 0, roots)
    ]
    assert found == fronts


def test_collapsed_stacks_are_lines_in_order() -> None:
    assert list(collapsed_lines(small_profile())) == [
        "main;a.so!0x7fff 1",
        "main;outer(int);inner() 7",
    ]


def test_names_cannot_break_a_collapsed_line() -> None:
    profile = small_profile()
    evil = (Frame("a;b\r\nc\x1b\x9b\udc9b 1"),)
    profile.locations = [each._replace(frames=evil) for each in profile.locations]
    assert list(collapsed_lines(profile)) == ["a:b  c    1;a:b  c    1 8"]
