"""`gsym store`: its verbs, what they print and how they end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.cli.main import help_text, main
from gsym.store.directory import Store
from gsym.store.layout import default_store
from tests.store_modules import (
    PE_CODE_ID,
    build_id,
    identity,
    put,
    windows_identity,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    Captured = pytest.CaptureFixture[str]
    Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """The store that GSYM_STORE names."""
    monkeypatch.setenv("GSYM_STORE", str(tmp_path / "store"))
    return Store(tmp_path / "store")


@pytest.fixture
def run(capsys: Captured) -> Run:
    """Run `gsym store ...`: exit code, output, errors."""

    def run_verb(*arguments: str) -> tuple[int, str, str]:
        status = main(["store", *arguments])
        return (status, *capsys.readouterr())

    return run_verb


def test_the_command_line_is_checked_at_each_level(run: Run) -> None:
    assert run()[0] == 2
    assert run("--help")[:2] == (0, help_text("store"))
    status, _, errors = run("gte")
    assert status == 2
    reason = "unknown verb 'gte'; did you mean 'get'?"
    assert errors == f"gsym store: error: {reason}\nTry 'gsym store --help'.\n"
    status, _, errors = run("get")
    assert status == 2
    assert errors.startswith("gsym store get: error: MODULE is missing\n")


# ---- get


def test_module_is_found_by_each_of_its_names(store: Store, run: Run) -> None:
    entry = put(store, 1).entry
    debug_id, digits = identity(1).debug_id, build_id(1).hex()
    part = "perhaps another build: only 16 of 20 bytes of its build id are known"
    for name, told in (
        (debug_id, part),
        (debug_id.lower(), part),
        (debug_id[:32], part),
        (digits, ""),
        (digits.upper(), ""),
        (f"lib1.so/{debug_id}", part),
        (f"any/{digits}", ""),
        (f"a/b/{digits}", ""),
    ):
        errors = f"gsym store get: {told}\n" if told else ""
        assert run("get", name) == (0, f"{entry.path}\n", errors), name


def test_a_module_of_windows_is_found_by_its_code_id(store: Store, run: Run) -> None:
    entry = put(store, 1, **windows_identity(1)._asdict()).entry
    assert run("get", f"XUL.dll/{PE_CODE_ID}")[1] == f"{entry.path}\n"
    assert run("get", f"other.dll/{PE_CODE_ID}")[0] == 1


# ---- list and info


@pytest.mark.parametrize(
    ("patterns", "names"),
    [
        (["lib1*"], ["lib1.so"]),
        (["LIB*"], ["lib1.so", "lib2.so"]),
        (["lib2.so", "xul.*"], ["lib2.so", "xul.pdb"]),
        (["xul.dll"], ["xul.pdb"]),
        (["nope"], []),
    ],
    ids=repr,
)
def test_the_list_is_filtered_by_name(
    store: Store, run: Run, patterns: list[str], names: list[str]
) -> None:
    put(store, 1)
    put(store, 2)
    put(store, 3, **windows_identity(3)._asdict())
    status, output, _ = run("list", "--json", *patterns)
    assert status == 0
    found = [json.loads(line)["debug_file"] for line in output.splitlines()]
    assert found == names


def test_damaged_module_is_reported_and_the_others_are_listed(
    store: Store, run: Run
) -> None:
    put(store, 1)
    record = Path(put(store, 2).entry.path).with_name("module.json")
    record.write_text("{}")
    status, output, errors = run("list")
    assert status == 1
    assert "lib1.so" in output
    assert errors.startswith(f"gsym store list: {record}: damaged record")


@pytest.mark.parametrize(
    ("environment", "path"),
    [
        ({"GSYM_STORE": "/s", "XDG_DATA_HOME": "/d", "HOME": "/h"}, "/s"),
        ({"GSYM_STORE": "", "XDG_DATA_HOME": "/d", "HOME": "/h"}, "/d/gsym/store"),
        ({"HOME": "/h"}, "/h/.local/share/gsym/store"),
    ],
)
def test_the_store_of_a_user_is_where_the_environment_says(
    environment: dict[str, str], path: str
) -> None:
    assert default_store(environment) == path


def test_a_file_is_copied_out(store: Store, run: Run, tmp_path: Path) -> None:
    put(store, 1, functions=5)
    output = tmp_path / "out.gsym"
    assert run("get", build_id(1).hex(), "-o", str(output)) == (0, "", "")
    with gsym.open(output, uuid=build_id(1)) as reader:
        assert len(reader) == 5
    status, _, errors = run("get", identity(1).debug_id, "--original", "sym")
    assert status == 1
    assert "no original of kind sym; kept: none" in errors


def test_info_says_all_that_is_known(store: Store, run: Run) -> None:
    entry = put(store, 1, functions=3).entry
    status, output, _ = run("info", identity(1).debug_id)
    assert status == 0
    shown = dict(line.split("  ", 1) for line in output.splitlines())
    shown = {label.strip(): text.strip() for label, text in shown.items()}
    assert shown["name"] == "lib1.so"
    assert shown["identifier"] == build_id(1).hex()
    assert shown["detail"] == "names"
    assert shown["functions"] == "3"
    assert shown["file"] == entry.path
    record = json.loads(run("info", identity(1).debug_id, "--json")[1])
    assert record["path"] == entry.path
    assert record["last_used"] == store.last_used(entry)
