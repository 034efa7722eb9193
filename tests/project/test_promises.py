"""Promises of the documentation have tests, some of them here."""

from __future__ import annotations

import ast
import os
import re
import socket
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

import gsym
from gsym.cli.dropins.addr2line import main as addr2line_main
from gsym.cli.dropins.gsymutil import main as gsymutil_main
from gsym.cli.dropins.symbolizer import main as symbolizer_main
from gsym.cli.main import main as gsym_main
from tests.companions import ID, stripped
from tests.conftest import REPOSITORY
from tests.inputs.dwarf import Dwarf
from tests.inputs.elf import Compression, Symbol, elf_of
from tests.inputs.program import function, unit
from tests.peak_memory import MEASURES
from tests.sanitizer import no_sanitizer
from tools.manual_parts import filled

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.no_engine

NAMED = re.compile(r"tests/[\w/]+\.py")
TABLE = REPOSITORY / "tools/qa/promises.tsv"


class Promise(NamedTuple):
    """A line of the table: the first words of a promise of a page, and a test of it."""

    page: str
    words: str
    test: str


def table() -> list[Promise]:
    head, *lines = TABLE.read_text(encoding="utf-8").splitlines()
    assert head.split("\t") == ["page", "promise", "test"]
    return [Promise(*line.split("\t")) for line in lines]


@cache
def defined_in(path: str) -> frozenset[str]:
    """The functions that a file defines."""
    tree = ast.parse((REPOSITORY / path).read_text(encoding="utf-8"))
    nodes = ast.walk(tree)
    return frozenset(each.name for each in nodes if isinstance(each, ast.FunctionDef))


def page(name: str) -> str:
    return filled((REPOSITORY / name).read_text(encoding="utf-8"))


def rows(text: str) -> list[str]:
    """The first cells of the rows of all tables, without their heads."""
    found = re.findall(r"^\|(?: ?-+:? ?\|)+\n((?:\|.*\n)+)", text, re.MULTILINE)
    lines = (row for rows_ in found for row in rows_.splitlines())
    return [line.split("|")[1].strip() for line in lines]


def differences(text: str) -> list[str]:
    """The rows of what gsym does otherwise than llvm-gsymutil, and other sections."""
    parts = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    own = [part for part in parts if "| gsym | llvm-gsymutil" in part]
    others = [part.partition("\n")[0] for part in parts if part not in own]
    return [*others, *(row for part in own for row in rows(f"\n{part}"))]


def points(text: str) -> list[str]:
    """The points of all lists in subsections."""
    found = re.findall(r"^- (.*(?:\n  .*)*)", text.partition("\n### ")[2], re.MULTILINE)
    return [" ".join(each.split()) for each in found]


def gates(text: str) -> list[str]:
    return rows(text.partition("\n## What is run\n")[2])


PROMISES: dict[str, Callable[[str], list[str]]] = {
    "SECURITY.md": points,
    "docs/differences.md": differences,
    "docs/quality.md": gates,
    "docs/reliability.md": rows,
}


@pytest.mark.parametrize("name", PROMISES)
def test_the_table_has_each_promise_of_a_page_and_no_other(name: str) -> None:
    entries = {each.words for each in table() if each.page == name}
    # Of several that fit, the longest is meant.
    found = {
        promise: max(filter(promise.startswith, entries), key=len, default=None)
        for promise in PROMISES[name](page(name))
    }
    assert [promise for promise, words in found.items() if words is None] == []
    assert sorted(entries - set(found.values())) == []
    assert len(set(found.values())) == len(found)


def test_the_table_has_no_other_pages() -> None:
    assert {each.page for each in table()} == set(PROMISES)


@pytest.mark.parametrize("test", sorted({each.test for each in table()}))
def test_a_test_of_the_table_exists(test: str) -> None:
    path, _, function = test.partition("::")
    assert function in defined_in(path)


@pytest.mark.parametrize(
    "path",
    [
        *(REPOSITORY / name for name in ("README.md", "SECURITY.md")),
        *sorted((REPOSITORY / "docs").rglob("*.md")),
    ],
    ids=lambda path: str(path.relative_to(REPOSITORY)),
)
def test_pages_for_users_name_no_test(path: Path) -> None:
    assert NAMED.findall(path.read_text(encoding="utf-8")) == []


# ---- code in files

LOADERS = {"pickle", "marshal", "shelve", "dill"}
RUNNERS = {"eval", "exec"}


@pytest.mark.long
def test_nothing_unpickles_or_runs_what_files_hold() -> None:
    found = set()
    for path in (REPOSITORY / "gsym").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names: list[str | None] = []
            if isinstance(node, ast.Import):
                names = [each.name for each in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module]
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                names = [node.func.id] if node.func.id in RUNNERS else []
            wrong = RUNNERS | LOADERS
            found |= {(path.name, name) for name in names if name in wrong}
    assert found == {
        ("chrome_json.py", "marshal"),  # of a nameless file of its own
        *(("hints.py", name) for name in ("eval", "exec")),  # of the package's source
    }


# ---- network and written files


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a binary, its GSYM file and a log, and private user folders."""
    (tmp_path / "app").write_bytes(stripped(build_id=ID))
    with gsym.Creator(uuid=ID) as creator:
        creator.add(gsym.FunctionInfo(0x1000, 0x10, "main"))
        creator.save(tmp_path / "app.gsym")
    module = f"{{{{{{module:0:app:elf:{ID.hex()}}}}}}}\n"
    place = "{{{mmap:0x1000:0x100:load:0:rx:0x1000}}}\n{{{pc:0x1004}}}\n"
    (tmp_path / "app.log").write_text(module + place)
    for name in ("HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "GSYM_CACHE_DIR"):
        monkeypatch.setenv(name, str(tmp_path / "own"))
    monkeypatch.setenv("GSYM_STORE", str(tmp_path / "own"))
    monkeypatch.setenv("DEBUGINFOD_URLS", "http://127.0.0.1:9")
    monkeypatch.chdir(tmp_path)
    return tmp_path


LOOKUPS = {
    "gsym lookup app.gsym 0x1004": gsym_main,
    "gsym lookup --json app.gsym 0x1004": gsym_main,
    "gsym filter --gsym-dir . app.log": gsym_main,
    "gsymutil app.gsym --address=0x1004": gsymutil_main,
    "gsym-addr2line -f -e app.gsym 0x1004": addr2line_main,
    "gsym-symbolizer --obj=app.gsym 0x1004": symbolizer_main,
}
OTHERS = {
    "gsym convert app -o out": gsym_main,
    "gsym verify app.gsym --against app": gsym_main,
    "gsym store add --store own app": gsym_main,
    "gsym symbfile extract app -o out": gsym_main,
    "gsymutil --convert=app --out-file=out": gsymutil_main,
    "gsym-addr2line -f -e app 0x1004": addr2line_main,
    "gsym-symbolizer --obj=app 0x1004": symbolizer_main,
}


@pytest.mark.parametrize("command", [*LOOKUPS, *OTHERS])
def test_no_command_reaches_for_the_network_unasked(
    command: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []
    monkeypatch.setattr(socket.socket, "connect", lambda _, to: asked.append(to))
    monkeypatch.setattr(socket, "getaddrinfo", lambda *to, **_: asked.append(to))
    {**LOOKUPS, **OTHERS}[command](command.split()[1:])
    assert not asked
    assert folder.exists()


@pytest.mark.parametrize("command", LOOKUPS)
def test_a_lookup_in_a_gsym_file_writes_no_file(command: str, folder: Path) -> None:
    before = sorted(folder.rglob("*"))
    assert LOOKUPS[command](command.split()[1:]) == 0
    assert sorted(folder.rglob("*")) == before


def test_a_lookup_in_a_binary_writes_to_the_cache_alone(folder: Path) -> None:
    (folder / "app.gsym").unlink()
    before = sorted(folder.rglob("*"))
    assert addr2line_main(["-f", "-e", "app", "0x1004"]) == 0
    made = [path for path in folder.rglob("*") if path not in before]
    assert made
    assert [path for path in made if not path.is_relative_to(folder / "own")] == []


# ---- memory

# Converts with a limit on private memory; mapped files do not count.
CONVERT_WITHIN = """
import gsym, re, resource, sys
gsym.convert(sys.argv[1], threads=1)
with open("/proc/self/status") as status:
    used = int(re.search(r"VmData:\\s+(\\d+) kB", status.read())[1]) << 10
resource.setrlimit(resource.RLIMIT_DATA, (used + int(sys.argv[3]),) * 2)
gsym.convert(sys.argv[2], threads=1)
"""


def write_dead_units(path: Path, compression: Compression | None) -> int:
    """Write a program of many units without code; return the size of the units."""
    dead = [function(f"f{n}", 0, 0x10) for n in range(2_000)]
    sections_ = Dwarf([unit(*dead, version=4)]).sections()
    sections_[".debug_info"] *= 1_000
    symbols = [Symbol("main", 0x1000, 0x10)]
    path.write_bytes(elf_of(sections_, compression=compression, symbols=symbols))
    return len(sections_[".debug_info"])


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no /proc")
@no_sanitizer
def test_memory_follows_the_output(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.write_bytes(elf_of({}, symbols=[Symbol("main", 0x1000, 0x10)]))

    def fits(path: Path, most: float, temporary: Path = tmp_path) -> bool:
        words = ["-c", CONVERT_WITHIN, str(small), str(path), str(int(most))]
        own = {"PYTHONPATH": str(REPOSITORY), "TMPDIR": str(temporary)}
        environment = {**os.environ, **own}
        done = subprocess.run([sys.executable, *words], env=environment, check=False)
        return done.returncode == 0

    plain, packed = tmp_path / "plain", tmp_path / "packed"
    size = write_dead_units(plain, None)
    write_dead_units(packed, "zlib")
    assert fits(plain, size / 2)
    assert fits(packed, size / 2)
    nowhere = tmp_path / "nowhere"  # then sections are inflated to memory
    assert fits(packed, size * 1.5, nowhere)
    assert not fits(packed, size / 2, nowhere)


# Prints the peak of resident memory, mapped files included.
CONVERT_AND_WEIGH = f"""
import gsym, sys
{MEASURES}
gsym.convert(sys.argv[1], threads=1)
print(peak())
"""


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no /proc")
@no_sanitizer
def test_compressed_sections_take_half_as_much_again_at_most(tmp_path: Path) -> None:
    def weigh(compression: Compression | None) -> int:
        path = tmp_path / str(compression)
        write_dead_units(path, compression)
        words = [sys.executable, "-c", CONVERT_AND_WEIGH, str(path)]
        own = {"PYTHONPATH": str(REPOSITORY), "TMPDIR": str(tmp_path)}
        environment = {**os.environ, **own}
        done = subprocess.run(words, env=environment, capture_output=True, check=True)
        return int(done.stdout)

    assert weigh("zlib") < 1.5 * weigh(None)
