"""Arguments that take several values refuse a single one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import gsym
from gsym.fxt.conditions import Patterns
from gsym.modules.key import key_of_build_id
from gsym.modules.resolver import Resolver
from gsym.store.directory import Store
from gsym.store.tree_adding import add_tree
from gsym.symbfile.to_gsym import convert_symbfiles
from gsym.symbfile.upload import extract_upload, ready_upload
from gsym.verification.check import compare

if TYPE_CHECKING:
    from collections.abc import Callable

ID = gsym.FileId(bytes(16))

# Each is called with the wrong value; the message names the parameter.
CALLS: dict[str, Callable[[Any], object]] = {
    "keep_functions": lambda value: gsym.convert("app", keep_functions=value),
    "drop_functions": lambda value: gsym.convert("app", drop_functions=value),
    "address_ranges": lambda value: gsym.convert("app", address_ranges=value),
    "debug_file_directories": lambda value: gsym.convert(
        "app", debug_file_directories=value
    ),
    "path_map": lambda value: gsym.convert("app", path_map=value),
    "object_prefix_map": lambda value: gsym.convert("app", object_prefix_map=value),
    "arch": lambda value: gsym.convert_slices("app", arch=value),
    "members": lambda value: gsym.convert_members("app", members=value),
    "inputs": lambda value: gsym.merge_files(value, "out"),
    "sources": lambda value: convert_symbfiles(value, "out"),
    "sources of a resolver": lambda value: Resolver(Store("store"), value),
    "kinds": lambda value: extract_upload("app", ID, "out", kinds=value),
    "paths": lambda value: ready_upload(value, ID, "out"),
    "paths of a tree": lambda value: list(add_tree(Store("store"), value)),
    "path_map of a comparison": lambda value: compare("a", "b", path_map=value),
    "patterns": Patterns,
}


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("app").write_bytes(b"")


@pytest.mark.usefixtures("app")
def test_a_single_string_is_refused() -> None:
    for parameter, call in CALLS.items():
        name = parameter.partition(" ")[0]
        reason = f"^{name}: expected a sequence of .*, not"
        for value in ("main", b"main", 7):
            with pytest.raises(TypeError, match=reason):
                call(value)


@pytest.mark.usefixtures("app")
@pytest.mark.parametrize("parameter", ["path_map", "object_prefix_map"])
def test_a_single_pair_is_refused(parameter: str) -> None:
    for pair in (("/a", "/b"), ("ab", "cd")):
        with pytest.raises(TypeError, match=f"{parameter}: .* pairs of strings"):
            CALLS[parameter](pair)


def test_a_build_id_is_bytes() -> None:
    with pytest.raises(TypeError, match="build_id: expected bytes, not 'a65a'"):
        key_of_build_id("a65a")  # type: ignore[arg-type]
