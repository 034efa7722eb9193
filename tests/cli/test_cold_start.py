"""A process that answers one address reads next to nothing of a large file."""

from __future__ import annotations

import struct
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import gsym
from gsym.cli.dropins import addr2line, symbolizer
from gsym.reading.function_table import FunctionTable
from tests.conftest import REPOSITORY
from tests.handmade import file_bytes
from tests.page_cache import forget, pages_in_memory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = [pytest.mark.long, pytest.mark.no_engine]

FUNCTIONS = 40_000  # 40 pages of addresses alone
START, SIZE = 0x10_0000, 0x40
ASKED = START + FUNCTIONS // 3 * SIZE + 0x11
MOST_PAGES = 16
MOST_PAGES_TO_OPEN = 4

COMMANDS = {
    "lookup": "from gsym.cli.main import main\nmain(['lookup', path, address])",
    "gsymutil": (
        "from gsym.cli.dropins.gsymutil import main\n"
        "main([f'--address={address}', path])"
    ),
    "addr2line": (
        "from gsym.cli.dropins.addr2line import main\nmain(['-fie', path, address])"
    ),
    "symbolizer": (
        "from gsym.cli.dropins.symbolizer import main\nmain(['-e', path, address])"
    ),
    "API": (
        "import gsym\n"
        "with gsym.open(path) as reader:\n"
        "    for frame in reader.lookup(int(address, 16)).frames: print(frame.name)"
    ),
}


def numbered_functions() -> Iterator[gsym.FunctionInfo]:
    for number in range(FUNCTIONS):
        start = START + number * SIZE
        path = f"/usr/src/package-{number % 50}/file-{number % 2_000}.cc"
        rows = tuple(
            gsym.LineEntry(start + 4 * row, path, 10 + 3 * row) for row in range(12)
        )
        call = gsym.InlineInfo(
            f"inlined_{number}", path, 9, (gsym.Range(start + 8, start + 0x30),)
        )
        whole = (gsym.Range(start, start + SIZE),)
        name = f"function_{number}"
        inline = gsym.InlineInfo(name, "", 0, whole, (call,))
        yield gsym.FunctionInfo(start, SIZE, name, rows, inline)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of some megabytes, each function with lines and an inlined call."""
    path = tmp_path_factory.mktemp("cold") / "large.gsym"
    with gsym.Creator() as creator:
        for function in numbered_functions():
            creator.add(function)
        creator.save(str(path))
    return path


def ask(code: str, path: Path) -> str:
    """What a fresh process prints for the address."""
    head = f"import sys\nsys.path.insert(0, {str(REPOSITORY)!r})\n"
    script = f"{head}path, address = sys.argv[1:]\n{code}"
    return subprocess.run(
        [sys.executable, "-c", script, str(path), hex(ASKED)],
        check=True,
        capture_output=True,
        text=True,
    ).stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_one_address_touches_few_pages(command: str, large: Path) -> None:
    forget(large)
    answer = ask(COMMANDS[command], large)
    assert f"inlined_{FUNCTIONS // 3}" in answer
    assert 1 < pages_in_memory(large) <= MOST_PAGES


def test_files_are_read_ahead_on_request_only(large: Path) -> None:
    for read_ahead in [False, True]:
        with gsym.open(large, read_ahead=read_ahead):
            assert ("rr" in advice_on(large)) != read_ahead


def test_many_lookups_one_by_one_turn_reading_ahead_on(large: Path) -> None:
    with gsym.open(large) as reader:
        assert reader.lookup(ASKED)
        assert "rr" in advice_on(large)
        for number in range(100):
            reader.lookup(START + number * SIZE)
        assert "rr" not in advice_on(large)


def test_many_addresses_at_once_turn_reading_ahead_on(large: Path) -> None:
    with gsym.open(large) as reader:
        reader.lookup_many([ASKED] * 8)
        assert "rr" in advice_on(large)
        reader.lookup_many([ASKED] * 9)
        assert "rr" not in advice_on(large)


@pytest.mark.parametrize(
    "read_all",
    [FunctionTable, lambda reader: reader.find("f"), lambda reader: reader.functions()],
    ids=["columns", "names", "functions"],
)
def test_reading_all_functions_turns_read_ahead_on(
    large: Path, read_all: Callable[[gsym.Reader], object]
) -> None:
    with gsym.open(large) as reader:
        read_all(reader)
        assert "rr" not in advice_on(large)


def advice_on(path: Path) -> list[str]:
    """What the kernel was told about the map of a file in this process."""
    maps = Path("/proc/self/smaps")
    if not maps.exists():
        pytest.skip("the kernel does not tell how files are mapped")
    _, found, rest = maps.read_text(encoding="utf-8").partition(f"{path}\n")
    assert found
    return rest.partition("VmFlags:")[2].partition("\n")[0].split()


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["0x1000"], False),
        (["1000", "0XfF"], False),
        (["main+4"], True),
        (["1000", "main"], True),
        (["1"] * 9, True),
        ([""], True),
        ([], True),
    ],
)
def test_names_want_read_ahead(
    words: list[str], large: Path, *, wanted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def find_gsym(_path: str, search: Any) -> None:  # noqa: ANN401
        asked.append(search.read_ahead)
        raise OSError("enough is known")

    monkeypatch.setattr("gsym.cli.dropins.addr2line.find_gsym", find_gsym)
    assert addr2line.main(["-e", str(large), *words]) == 1
    assert asked == [wanted]


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["0x1000"], False),
        (["DATA 1000", "0xfF", "BUILDID:"], False),
        (["small main+4"], True),
        (["0x1000", "main"], True),
        (["1"] * 9, True),
    ],
)
def test_names_of_requests_want_read_ahead(
    words: list[str], large: Path, *, wanted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def find_gsym(_path: str, search: Any) -> None:  # noqa: ANN401
        asked.append(search.read_ahead)
        raise OSError("enough is known")

    monkeypatch.setattr("gsym.cli.dropins.symbolizer_modules.find_gsym", find_gsym)
    symbolizer.main(["-e", str(large), *words])
    assert asked == [wanted]


def test_opening_a_gigabyte_touches_as_many_pages_as_opening_a_kilobyte(
    tmp_path: Path,
) -> None:
    path = tmp_path / "sparse.gsym"
    size = 1 << 30
    image = bytearray(file_bytes())
    (strtab_offset,) = struct.unpack_from("<I", image, 20)
    struct.pack_into("<I", image, 24, size - strtab_offset)  # strings up to the end
    with path.open("wb") as stream:
        stream.write(image)
        stream.truncate(size)
    forget(path)
    with gsym.open(path, read_ahead=False) as reader:
        assert reader.size == size
        assert pages_in_memory(path) <= MOST_PAGES_TO_OPEN
