"""How standard input is read: in blocks, from any descriptor, lines of any length."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
import weakref
from typing import TYPE_CHECKING, Any
from unittest import mock

import pytest
from hypothesis import given, strategies as st

from gsym.cli import main as gsym_main, streams
from gsym.cli.dropins import gsymutil, symbolizer, symbolizer_addresses
from gsym.formatting.formatter import Formatter
from tests.conftest import REPOSITORY
from tests.hostile import small_file

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Main = Callable[[list[str]], int]

BLOCK = streams._BLOCK_SIZE  # noqa: SLF001
LEAST = streams._LEAST_SIZE  # noqa: SLF001
read_block = streams._read  # noqa: SLF001


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("reading") / "small"
    path.write_bytes(small_file(1, "little"))
    return str(path)


class Sizes:
    """Answers everything; keeps how much came together."""

    def __init__(self) -> None:
        self.all: list[int] = []

    def answer(self, lines: bytes) -> bytes:
        self.all.append(len(lines))
        return b""


# ---- blocks


def test_the_content_of_a_pipe_is_read_together() -> None:
    reading, writing = os.pipe()
    os.write(writing, b"1\n" * LEAST)
    os.write(writing, b"2\n")
    os.close(writing)
    sizes = Sizes()
    streams.answer_lines(reading, sizes.answer)
    os.close(reading)
    assert sizes.all == [2 * LEAST + 2]


@given(
    sizes=st.lists(st.integers(1, 1 << 12), max_size=6),
    block_size=st.sampled_from([1, 100, 1 << 12, 1 << 22]),
    least_size=st.sampled_from([1, 100, 1 << 12]),
)
def test_blocks_hold_what_arrived_and_no_more_than_fits(
    sizes: list[int], block_size: int, least_size: int
) -> None:
    reading, writing = os.pipe()
    whole = bytes(range(251)) * (sum(sizes) // 251 + 1)
    sent, blocks = 0, []
    with mock.patch.object(streams, "_LEAST_SIZE", least_size):
        for size in sizes:
            sent += os.write(writing, whole[sent : sent + size])
            blocks.append(read_block(reading, block_size))
        os.close(writing)
        while block := read_block(reading, block_size):
            blocks.append(block)
    os.close(reading)
    assert [block for block in blocks if not 0 < len(block) <= block_size] == []
    assert b"".join(blocks) == whole[:sent]


def test_a_descriptor_may_have_any_number() -> None:
    resource = pytest.importorskip("resource")
    fcntl = pytest.importorskip("fcntl")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 1100:
        pytest.skip("select() takes all descriptors that a process may have")
    reading, writing = os.pipe()
    os.write(writing, b"1\n" * LEAST)
    os.close(writing)
    sizes = Sizes()
    resource.setrlimit(resource.RLIMIT_NOFILE, (1100, hard))
    try:
        high = fcntl.fcntl(reading, fcntl.F_DUPFD, 1050)
        streams.answer_lines(high, sizes.answer)
        os.close(high)
    finally:
        os.close(reading)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert sizes.all == [2 * LEAST]


def test_systems_without_poll_select(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("select.poll", raising=False)
    test_the_content_of_a_pipe_is_read_together()
    test_a_descriptor_that_does_not_wait_is_waited_for()


def test_a_descriptor_that_does_not_wait_is_waited_for() -> None:
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    sizes = Sizes()

    def write() -> None:
        for _ in range(2):
            time.sleep(0.05)
            os.write(writing, b"1\n" * LEAST)
        os.close(writing)

    thread = threading.Thread(target=write)
    thread.start()
    streams.answer_lines(reading, sizes.answer)
    thread.join()
    os.close(reading)
    assert sum(sizes.all) == 4 * LEAST


def test_a_failure_is_reported_though_nobody_reads_the_answers(small: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with subprocess.Popen(
        [sys.executable, "-m", "gsym", "lookup", "--stdin", small],
        stdin=subprocess.PIPE,
        stdout=writing,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY), "PYTHONUNBUFFERED": ""},
    ) as process:
        os.close(writing)
        _, err = process.communicate(b"16\nzz\n")
    assert b"'zz' is not an address" in err


# ---- long lines


@pytest.mark.parametrize(
    ("size", "count"), [(1 << 16, 1), ((1 << 16) + 1, 1), (BLOCK + 5, 2)]
)
def test_a_line_that_is_too_long_gets_an_end(
    size: int, count: int, tmp_path: Path
) -> None:
    source = tmp_path / "line"
    source.write_bytes(b"1" * size)
    lines = []

    def answer(block: bytes) -> bytes:
        if not block.endswith(b"\n"):
            return block
        lines.append(block)
        return b""

    with source.open("rb") as file:
        streams.answer_lines(file.fileno(), answer)
    assert b"".join(lines).replace(b"\n", b"") == b"1" * size
    assert len(lines) == count


@pytest.mark.parametrize("word", [b"z", b"1"])
@pytest.mark.parametrize(
    ("main", "arguments", "behind"),
    [
        (gsymutil.main, ["--addresses-from-stdin"], b""),
        (gsym_main.main, ["lookup", "--stdin", "small"], b""),
        (symbolizer.main, ["-e", "small"], b"\n\0"),
        (symbolizer.main, [], b" 16"),
    ],
)
def test_messages_show_the_beginning_of_a_long_word(  # noqa: PLR0913, PLR0917
    main: Main,
    arguments: list[str],
    behind: bytes,
    word: bytes,
    small: str,
    tmp_path: Path,
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    source = tmp_path / "line"
    source.write_bytes(word * 5000 + behind + b"\n")
    with source.open(encoding="utf-8") as lines, mock.patch.object(sys, "stdin", lines):
        main([small if each == "small" else each for each in arguments])
    out, err = capfdbinary.readouterr()
    assert 0 < len(out + err) < 2500


def test_a_number_of_many_digits_is_none(
    small: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert gsym_main.main(["lookup", "--json", small, "0x" + "1" * 5000]) == 2
    assert "is not an address" in capfd.readouterr().err


# ---- names of many modules


def test_names_of_all_modules_share_one_bound(
    small: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = []

    class Text(Formatter):
        def __init__(self, *arguments: Any, **options: Any) -> None:  # noqa: ANN401
            super().__init__(*arguments, **options)
            texts.append(weakref.ref(self))

    def kept() -> int:
        return sum(text.name_bytes for each in texts if (text := each()) is not None)

    bound, count = 1 << 10, 60
    monkeypatch.setattr(symbolizer_addresses, "_MAX_NAME_BYTES", bound)
    monkeypatch.setattr(symbolizer_addresses, "Formatter", Text)
    # As many names of the module, each twice: the second time, its prefix is known.
    folder, name = os.path.split(small)
    lines = [f"{folder}{'/' * (at + 1)}{name} 0x1004\n".encode() for at in range(count)]
    blocks = [line for line in lines for _ in range(2)]
    sizes = []

    def next_block(_source: int, _most: int) -> bytes:
        sizes.append(kept())
        return blocks.pop(0) if blocks else b""

    monkeypatch.setattr(streams, "_read", next_block)
    with open(os.devnull, encoding="utf-8") as nothing:  # noqa: PTH123
        monkeypatch.setattr(sys, "stdin", nothing)
        assert symbolizer.main([]) == 0
    assert len(texts) >= count
    assert bound // 2 < max(sizes) <= bound
