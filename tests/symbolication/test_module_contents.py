"""What is in a module, by folders of its sources."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import given, strategies as st

from gsym import FunctionInfo, LineEntry
from gsym.reading.reader import Reader
from gsym.symbolication.module_contents import ModuleContents
from tests.creations import create

if TYPE_CHECKING:
    from collections.abc import Sequence


def tree_of(paths: Sequence[str]) -> dict[str, Any]:
    functions = [
        FunctionInfo(
            0x100 * at, 1 + at, f"f{at}", line_table=(LineEntry(0x100 * at, path, 1),)
        )
        for at, path in enumerate(paths)
    ]
    return ModuleContents(Reader(create(functions))).tree()


def test_a_chain_of_single_folders_is_collapsed() -> None:
    tree = tree_of(["/a/b/c/x.c", "/a/b/d/y.c", "/a/b/d/z.c"])
    assert tree == {
        "name": "a/b",
        "bytes": 6,
        "functions": 3,
        "children": [
            {"name": "d", "bytes": 5, "functions": 2, "children": []},
            {"name": "c", "bytes": 1, "functions": 1, "children": []},
        ],
    }


def test_paths_of_windows_have_folders_too() -> None:
    tree = tree_of([r"C:\a\x.c", r"C:\b\x.c"])
    assert tree["name"] == "C:"
    assert {child["name"] for child in tree["children"]} == {"a", "b"}


def test_the_smallest_of_many_folders_are_merged() -> None:
    tree = tree_of([f"/d{at}/x.c" for at in range(700)])
    names = {child["name"]: child for child in tree["children"]}
    assert len(names) == 601
    assert names["(others)"]["functions"] == 100
    assert tree["functions"] == 700


def check_sums(node: dict[str, Any]) -> None:
    for key in ("bytes", "functions"):
        assert node[key] >= sum(child[key] for child in node["children"])
    sizes = [child["bytes"] for child in node["children"]]
    assert sizes == sorted(sizes, reverse=True)
    for child in node["children"]:
        check_sums(child)


folders = st.lists(st.sampled_from(["a", "b", "..", "", "c d"]), max_size=5)


@given(st.lists(folders.map("/".join).map(lambda path: f"{path}/x.c"), min_size=1))
def test_the_totals_of_a_folder_include_its_children(paths: list[str]) -> None:
    tree = tree_of(paths)
    assert tree["functions"] == len(paths)
    assert tree["bytes"] == sum(range(1, len(paths) + 1))
    check_sums(tree)


def test_the_depth_of_the_tree_is_limited() -> None:
    tree = tree_of(["/".join(["a", "b"] * 5000) + "/x.c", "y/x.c"])
    depth = 0
    while tree["children"]:
        tree = tree["children"][0]
        depth += 1
    assert depth < 100
