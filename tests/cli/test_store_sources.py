"""`gsym store prefetch` and `gsym store misses`."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING

import pytest

from gsym.cli.main import main
from gsym.cli.verbs.store_adding import read_module_list
from gsym.errors import FormatError
from gsym.modules.key import ModuleKey
from gsym.store.adding import add_file
from gsym.store.directory import Store
from tests.http_server import Reply, Server
from tests.inputs import elf
from tests.symbol_files import debug_id, key, symbols

if TYPE_CHECKING:
    from pathlib import Path

BUILD_ID = "80AE0509E7CE335AE3CAB61C274274DE96049B64"


# ---- lists


def test_a_line_names_a_module() -> None:
    for text, first in [
        (f"app {debug_id()}", key()),
        (f"  app/{debug_id()}  ", key()),
        (f"a b+c.so {debug_id()}", ModuleKey("a b+c.so", debug_id())),
        (debug_id(), ModuleKey("", debug_id())),
        (BUILD_ID.lower(), ModuleKey("", "", "", BUILD_ID.lower())),
        (f"libc.so.6 {BUILD_ID}", ModuleKey("libc.so.6", "", "", BUILD_ID)),
        (f"# comment\n\napp {debug_id()}\napp {debug_id()}\n", key()),
    ]:
        (keys,) = read_module_list(text)
        assert keys[0] == first


def test_a_windows_binary_is_named_by_its_code_id() -> None:
    (keys,) = read_module_list("xul.dll 5CF2591C6859a000")
    assert ModuleKey("", "", "xul.dll", "5CF2591C6859a000") in keys


@pytest.mark.parametrize("is_single", [False, True])
def test_a_request_names_the_modules_of_its_memory_maps(*, is_single: bool) -> None:
    job = {
        "memoryMap": [["app", debug_id()], ["", ""], ["b", debug_id(1)]],
        "stacks": [],
    }
    request = job if is_single else {"jobs": [job, job], "version": 5}
    found = read_module_list(json.dumps(request))
    assert [keys[0] for keys in found] == [key(), key(1, "b")]


def test_a_request_names_modules_by_their_code_ids_too() -> None:
    request = {
        "memoryMap": [["app", debug_id()], ["app", debug_id()], ["b", ""], ["", ""]],
        "codeIds": ["5cf2591c6859a000", "", BUILD_ID, ""],
    }
    found = read_module_list(json.dumps(request))
    assert [keys[0] for keys in found] == [
        key()._replace(code_id="5CF2591C6859A000"),
        key(),
        ModuleKey("b", "", "", BUILD_ID),
    ]


def test_a_module_with_another_code_id_is_not_fetched(
    store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = elf.Elf(
        [elf.Section(".text", bytes(16), flags=elf.CODE, address=0x1000)],
        symbols=(elf.Symbol("f", 0x1000, 16),),
        build_id=bytes(range(1, 21)),
    )
    (tmp_path / "app").write_bytes(program.to_bytes())
    identity = add_file(store, tmp_path / "app").entry.identity
    wanted = tmp_path / "request.json"
    for code_id, outcome in [(identity.code_id, "there"), ("AB" * 20, "missing")]:
        job = {"memoryMap": [["app", identity.debug_id]], "codeIds": [code_id]}
        wanted.write_text(json.dumps({"jobs": [{**job, "stacks": []}]}))
        assert prefetch(store, str(wanted), "--json") == 0
        assert json.loads(capsys.readouterr().out)["outcome"] == outcome


def test_invalid_lists_are_reported() -> None:
    for text, reason in [
        (f"app {debug_id()}\nnonsense", "line 2: 'nonsense' is not NAME ID"),
        ("app xyz", "line 1: 'app/xyz'"),
        ("{", "not a request of the API"),
        ("{}", "not a request of the API"),
        ('{"jobs": 1}', "not a request of the API"),
        ('{"jobs": [{"memoryMap": [[1]]}]}', "not a request of the API"),
        ('{"memoryMap": ' + "[" * 99999, "not a request of the API"),
        (
            '{"memoryMap": [["a", "b"]], "codeIds": ["", ""]}',
            "not a request of the API",
        ),
    ]:
        with pytest.raises(FormatError, match=reason):
            read_module_list(text)


# ---- prefetch


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    for number in range(3):
        folder = root / "app" / debug_id(number)
        folder.mkdir(parents=True)
        (folder / "app.sym").write_bytes(of_mac(number))
    return root


def of_mac(number: int) -> bytes:
    """A file whose debug id is the whole id of its module."""
    return symbols(number).replace(b"Linux", b"mac")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def module_list(folder: Path, *numbers: int) -> str:
    path = folder / "list"
    path.write_text("".join(f"app {debug_id(number)}\n" for number in numbers))
    return str(path)


def prefetch(store: Store, *arguments: str) -> int:
    return main(["store", "prefetch", "--store", store.path, *arguments])


def test_the_modules_of_a_list_are_fetched(
    store: Store, tree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    add_file(store, tree / "app" / debug_id(0) / "app.sym")
    wanted = module_list(tmp_path, 0, 1, 2, 7)
    assert prefetch(store, wanted, "--source", str(tree)) == 0
    lines = capsys.readouterr().out.splitlines()
    assert f"there    app/{debug_id(0)}" in lines
    assert f"fetched  app/{debug_id(1)}" in lines
    at = lines.index(f"missing  app/{debug_id(7)}")
    assert f"{tree}: missing: not found (tried" in lines[at + 1]
    assert lines[-1] == "4 modules: 1 there, 2 fetched, 1 missing"
    assert prefetch(store, wanted, "--strict") == 3
    assert prefetch(store, module_list(tmp_path, 1, 2), "--strict") == 0


def test_a_module_that_may_be_of_another_build_is_marked(
    store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = elf.Section(".text", bytes(16), flags=elf.CODE, address=0x1000)
    symbol = elf.Symbol("f", 0x1000, 16)
    program = elf.Elf([text], symbols=(symbol,), build_id=bytes(range(1, 33)))
    (tmp_path / "app").write_bytes(program.to_bytes())
    entry = add_file(store, tmp_path / "app").entry
    wanted = tmp_path / "list"
    unsure = "only 16 of 32 bytes of its build id are known"
    for identifier, reason in (
        (entry.identity.debug_id, unsure),
        (entry.identity.code_id, ""),
    ):
        wanted.write_text(f"app {identifier}\n")
        assert prefetch(store, str(wanted), "--json") == 0
        printed = capsys.readouterr()
        assert json.loads(printed.out)["unsure"] == reason
        said = f"app/{identifier}: {reason}: it may be another build"
        expected = f"gsym store prefetch: warning: {said}\n" if reason else ""
        assert printed.err == expected
        assert prefetch(store, str(wanted), "--strict", "-q") == (3 if reason else 0)
        capsys.readouterr()


def test_missing_modules_are_requested_again_on_request(
    store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wanted = module_list(tmp_path, 7)
    with Server() as server:
        sources = ("--source", server.url)
        assert prefetch(store, wanted, *sources, "-q") == 0
        server.replies[f"/app/{debug_id(7)}/app.sym"] = Reply(of_mac(7))
        assert prefetch(store, wanted, *sources, "--strict", "-q") == 3
        assert prefetch(store, wanted, *sources, "--retry", "--strict") == 0
    assert "1 fetched" in capsys.readouterr().out


def test_missing_modules_of_folders_are_looked_for_again(
    store: Store, tree: Path, tmp_path: Path
) -> None:
    wanted = module_list(tmp_path, 7)
    assert prefetch(store, wanted, "--source", str(tree), "--strict", "-q") == 3
    folder = tree / "app" / debug_id(7)
    folder.mkdir()
    (folder / "app.sym").write_bytes(of_mac(7))
    assert prefetch(store, wanted, "--source", str(tree), "--strict", "-q") == 0


def test_list_is_read_from_standard_input_and_answered_as_json(
    store: Store,
    tree: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(f"app {debug_id(1)}\n{debug_id(9)}\n"))
    assert prefetch(store, "-", "--source", str(tree), "--json") == 0
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    found = {record["debug_id"]: record for record in records}
    assert found[debug_id(1)]["outcome"] == "fetched"
    assert found[debug_id(1)]["path"].endswith(".gsym")
    assert found[debug_id(1)]["attempts"][0]["outcome"] == "found"
    assert found[debug_id(9)]["outcome"] == "missing"
    assert found[debug_id(9)]["path"] is None


def test_invalid_source_is_a_wrong_command_line(
    store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert prefetch(store, module_list(tmp_path, 1), "--source", "ftp://h") == 2
    assert "option '--source': source 'ftp://h'" in capsys.readouterr().err


def test_missing_list_is_a_failure(
    store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert prefetch(store, str(tmp_path / "none")) == 1
    assert "No such file" in capsys.readouterr().err


# ---- misses


def test_the_report_shows_what_was_missed_most_and_why(
    store: Store, tree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for numbers in ((7, 8), (7,), (7, 9)):
        prefetch(store, module_list(tmp_path, *numbers), "--source", str(tree), "-q")
    report = ["store", "misses", "--store", store.path]
    assert main(report) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("      3 times, last ")
    assert lines[0].endswith(f"app {debug_id(7)}")
    assert lines[1].startswith(f"        {tree}: missing: not found (tried")
    assert lines[2].startswith(f"        {tree}/*: missing: not found (searched")
    assert len(lines) == 9
    assert main([*report, "--limit", "1", "--json"]) == 0
    (record,) = map(json.loads, capsys.readouterr().out.splitlines())
    assert (record["debug_id"], record["asked"]) == (debug_id(7), 3)
    assert record["attempts"][0]["source"] == str(tree)
    (tmp_path / "app.sym").write_bytes(symbols(7))
    add_file(store, tmp_path / "app.sym")
    assert main(report) == 0
    assert debug_id(7) not in capsys.readouterr().out
    assert main([*report, "--clear"]) == 0
    assert capsys.readouterr().out == "3 misses removed\n"
    assert main(report) == 0
    assert capsys.readouterr().out == ""


def test_report_of_a_store_without_sources(
    store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    prefetch(store, module_list(tmp_path, 7), "-q")
    assert main(["store", "misses", "--store", store.path]) == 0
    assert "no source was asked" in capsys.readouterr().out
