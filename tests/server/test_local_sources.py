"""Folders as sources: what lies there is found, and so is what comes later."""

from __future__ import annotations

import shutil
import threading
from typing import TYPE_CHECKING, NamedTuple

import pytest

from gsym.containers.recognition import recognise
from gsym.conversion.identity import identify
from gsym.errors import SourceError
from gsym.modules.key import ModuleKey
from gsym.server.modules import make_symbolizer
from gsym.server.settings import Settings
from gsym.store.loose_files import LooseFiles
from gsym.store.packages import Packages
from tests.inputs import packages
from tests.server.modules import SOURCE, run
from tests.symbol_files import key as symbol_key, symbols

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from gsym.model import Lookup
    from gsym.modules.symbolizer import Symbolizer

pytestmark = [pytest.mark.long, pytest.mark.no_engine, pytest.mark.confined]


class Program(NamedTuple):
    """A program in a folder of its own, and a companion that was taken away.

    Attributes:
        path: The program.
        companion: Where its companion belongs.
        kept: Where that is.
        address: Of its function.
    """

    path: Path
    companion: Path
    kept: Path
    address: int

    @property
    def key(self) -> ModuleKey:
        found = identify(self.path)
        return ModuleKey(debug_id=found.debug_id, code_id=found.code_id.upper())


def made(folder: Path, kind: str) -> Program:
    """A program whose debug information is in its companion of a kind."""
    for name in ("bin", "objects", "kept"):
        (folder / name).mkdir()
    source, path = folder / "app.c", folder / "bin" / "app"
    source.write_text(SOURCE)
    command = ["gcc", "-g", "-O1", "-Wl,--build-id"]
    kept = folder / "kept" / "companion"
    if kind == "dwo":
        companion = folder / "objects" / "app.dwo"
        unit = folder / "objects" / "app.o"
        run(*command, "-gsplit-dwarf", "-c", "-o", unit, source)
        run(*command, "-o", path, unit)
        unit.unlink()
    else:
        run(*command, "-o", path, source)
        companion = folder / "bin" / "app.debug"
        run("objcopy", "--only-keep-debug", path, companion)
        run("objcopy", "--strip-debug", f"--add-gnu-debuglink={companion}", path)
    if kind == "dwz":
        shutil.copy(companion, other := folder / "objects" / "other.debug")
        supplementary = folder / "objects" / "common"
        run("dwz", "-m", supplementary, companion, other)
        other.unlink()
        companion = supplementary
    found = [line.split() for line in run("nm", path).splitlines()]
    (address,) = (int(words[0], 16) for words in found if words[-1] == "twice")
    companion.rename(kept)
    return Program(path, companion, kept, address)


@pytest.fixture(params=["dwo", "debug link", "dwz"])
def program(request: pytest.FixtureRequest, tmp_path: Path) -> Program:
    return made(tmp_path, request.param)


@pytest.fixture
def symbolizer(program: Program, tmp_path: Path) -> Iterator[Symbolizer]:
    settings = Settings(store=str(tmp_path / "store"), sources=[str(tmp_path / "bin")])
    opened = make_symbolizer(settings)
    for source in opened.resolver.sources:
        if isinstance(source, LooseFiles):
            source._rescan_seconds = -1.0  # noqa: SLF001
    opened._recheck = -1.0  # noqa: SLF001
    assert program.path.exists()
    yield opened
    opened.close()


def answer(symbolizer: Symbolizer, program: Program) -> Lookup:
    found = symbolizer.symbolize(program.key, va=program.address).lookup
    assert found is not None
    return found


def is_whole(found: Lookup) -> bool:
    calls = [(each.name, each.line) for each in found.frames]
    return calls == [("square", 1), ("twice", 2)]


def test_a_poorer_module_is_replaced_when_its_companion_appears(
    symbolizer: Symbolizer, program: Program, caplog: pytest.LogCaptureFixture
) -> None:
    assert not is_whole(answer(symbolizer, program))
    entry = symbolizer.open(program.key).entry
    assert entry is not None
    assert str(program.companion.name) in " ".join(entry.missing)
    assert str(program.companion.name) in caplog.text
    program.kept.rename(program.companion)
    assert is_whole(answer(symbolizer, program))
    entry = symbolizer.open(program.key).entry
    assert entry is not None
    assert entry.missing == ()


# ---- files that come and go


def folder_server(tmp_path: Path, source: Path | None = None) -> Symbolizer:
    (tmp_path / "bin").mkdir(exist_ok=True)
    folder = str(source or tmp_path / "bin")
    settings = Settings(store=str(tmp_path / "store"), sources=[folder])
    return make_symbolizer(settings)


def rescan_at_once(symbolizer: Symbolizer) -> None:
    for source in symbolizer.resolver.sources:
        if isinstance(source, LooseFiles):
            source._due = float("-inf")  # noqa: SLF001


def test_a_file_that_comes_after_its_module_was_missed_is_found(
    tmp_path: Path,
) -> None:
    symbolizer = folder_server(tmp_path)
    for _ in range(2):  # the second time from the negative cache
        assert symbolizer.open(symbol_key()).reader is None
    (tmp_path / "bin" / "x.sym").write_bytes(symbols())
    rescan_at_once(symbolizer)
    assert symbolizer.open(symbol_key()).reader is not None
    symbolizer.close()


def test_a_deleted_file_vanishes_from_names_and_lists(tmp_path: Path) -> None:
    symbolizer = folder_server(tmp_path)
    (tmp_path / "bin" / "x.sym").write_bytes(symbols())
    (folder,) = (
        each for each in symbolizer.resolver.sources if isinstance(each, LooseFiles)
    )
    assert len(folder.entries()) == len(folder.named("x")) == 1
    (tmp_path / "bin" / "x.sym").unlink()
    rescan_at_once(symbolizer)
    assert folder.entries() == []
    assert folder.named("x") == []
    assert symbolizer.open(symbol_key()).reader is None
    symbolizer.close()


def test_a_large_folder_is_read_while_the_server_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "x.sym").write_bytes(symbols())
    may_read = threading.Event()

    def slowly(head: bytes) -> str:
        may_read.wait()
        return recognise(head)

    monkeypatch.setattr("gsym.store.indexed_file.recognise", slowly)
    source = LooseFiles(str(tmp_path), patience=0.0)
    source.start()
    with pytest.raises(SourceError, match="is still being read"):
        source.find_all(symbol_key())
    assert source.entries() == []
    may_read.set()
    source._patience = None  # noqa: SLF001
    assert source.find_all(symbol_key()) == [str(tmp_path / "x.sym")]


def test_nobody_waits_for_a_scan_with_much_that_is_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "x.sym").write_bytes(symbols())
    source = LooseFiles(str(tmp_path), patience=60.0, rescan_seconds=-1)
    assert source.find_all(symbol_key()) == [str(tmp_path / "x.sym")]
    source._is_slow = False  # noqa: SLF001 - on a busy machine
    may_read, was_free = threading.Event(), []

    def slowly(head: bytes) -> str:
        was_free.append(may_read.wait(60))
        return recognise(head)

    monkeypatch.setattr("gsym.store.indexed_file.recognise", slowly)
    (tmp_path / "y.sym").write_bytes(symbols(1))
    source._due = float("-inf")  # noqa: SLF001
    for _ in range(2):
        assert source.best(symbol_key()) == str(tmp_path / "x.sym")
    assert was_free == []
    may_read.set()


def test_a_file_is_found_while_packages_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "x.sym").write_bytes(symbols())
    (tmp_path / "a.deb").write_bytes(packages.deb({}))
    may_read = threading.Event()
    monkeypatch.setattr(Packages, "_load", lambda *_: may_read.wait(60) and [])
    symbolizer = folder_server(tmp_path, tmp_path)
    # More than a server would be asked in vain before it counts as not answering.
    for number in range(1, 100):
        attempt = symbolizer.open(symbol_key(number)).attempts[-1]
        assert attempt.detail.endswith("1 packages are still being read")
    assert symbolizer.open(symbol_key()).reader is not None
    may_read.set()
    symbolizer.close()


def test_files_beyond_the_limit_of_a_folder_are_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for number in range(3):
        (tmp_path / f"{number}.sym").write_bytes(symbols(number))
    source = LooseFiles(str(tmp_path), max_files=2, rescan_seconds=-1)
    assert len(source.entries()) == len(source.entries()) == 2
    assert [each.message for each in caplog.records] == [
        f"{tmp_path} has more than 2 files; only these are searched"
    ]
