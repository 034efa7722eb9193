"""Standard input of all commands: any cut into blocks, any line, bounded memory."""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING
from unittest import mock

import pytest
from hypothesis import given, strategies as st

import gsym
from gsym.cli import main as gsym_main, streams
from gsym.cli.dropins import addr2line, gsymutil, symbolizer
from tests import oracle
from tests.conftest import REPOSITORY
from tests.hostile import ADDRESSES, small_file
from tests.sanitizer import no_sanitizer
from tests.views import to_oracle

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Main = Callable[[list[str]], int]

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("streams")
    (path / "small").write_bytes(small_file(1, "little"))
    return path


class Source:
    """Standard input; its blocks come from elsewhere."""

    def __init__(self, descriptor: int = 0) -> None:
        self._descriptor = descriptor

    @property
    def buffer(self) -> Source:
        return self

    def fileno(self) -> int:
        return self._descriptor


def run(main: Main, arguments: list[str], blocks: list[bytes]) -> tuple[int, bytes]:
    """Exit code and output of a command whose input comes in *blocks*."""
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="surrogateescape")
    read = mock.Mock(side_effect=[*filter(None, blocks), b""])
    with (
        mock.patch.object(streams, "_read", read),
        mock.patch.object(sys, "stdin", Source()),
        mock.patch.object(sys, "stderr", io.TextIOWrapper(io.BytesIO())),
        contextlib.redirect_stdout(out),
    ):
        status = main(arguments)
        out.flush()
        return status, out.buffer.getvalue()


def pieces(whole: bytes, cuts: list[int]) -> Iterator[bytes]:
    bounds = [0, *sorted(cut % (len(whole) + 1) for cut in cuts), len(whole)]
    for start, end in itertools.pairwise(bounds):
        yield whole[start:end]


WORDS = [
    *(b"0x1004", b"4100", b"0xff0", b"0", b"", b" ", b"\t0x1004 \r", b"0x1040"),
    *(b"0b1", b"0o7", b"00", b"0x", b"0X1004", b"1" * 25, b"full+4", b"0x1004\0"),
]
GOOD_WORDS = [*(b"%d" % address for address in ADDRESSES), b"", b"0o20", b" 16\t"]


@pytest.mark.parametrize(
    ("main", "arguments", "behind"),
    [
        (gsymutil.main, ["--addresses-from-stdin"], b" small"),
        (gsymutil.main, ["--addresses-from-stdin", "--verbose"], b" small"),
        (addr2line.main, ["-afiCe", "small"], b""),
        (symbolizer.main, ["-e", "small"], b""),
        (symbolizer.main, ["-e", "small", "--output-style=JSON"], b""),
        (gsym_main.main, ["lookup", "small", "--stdin"], b""),
        (gsym_main.main, ["lookup", "small", "--stdin", "--json", "-C"], b""),
        (gsym_main.main, ["lookup", "small", "--stdin", "--merged-functions"], b""),
    ],
)
@given(
    words=st.lists(st.sampled_from(GOOD_WORDS) | st.sampled_from(WORDS), max_size=30),
    end=st.sampled_from([b"", b"\n"]),
    cuts=st.lists(st.integers(0), max_size=6),
)
def test_input_may_be_cut_anywhere(  # noqa: PLR0913, PLR0917
    main: Main,
    arguments: list[str],
    behind: bytes,
    folder: Path,
    words: list[bytes],
    end: bytes,
    cuts: list[int],
) -> None:
    path = str(folder / "small")
    behind = behind.replace(b"small", path.encode())
    lines = b"\n".join(word + behind for word in words) + end
    arguments = [path if word == "small" else word for word in arguments]
    one = run(main, arguments, [lines])
    assert run(main, arguments, list(pieces(lines, cuts))) == one


ODD_NAMES = (
    *('say "\\hi"', "tab\t", "escape\x1b[1m", "delete\x7f", "control\x85"),
    *("sn\N{SNOWMAN}w", "latin1 \udce9", "_Z3foov", "plain", "~ !", "x" * 9, ""),
)
ODD_PATHS = (
    *('/d/"q".c', "C:\\src\\a.c", "/t\t/\x1b.c", "/\udce9/s\N{SNOWMAN}.c", "a.c", ""),
    *("/", "C:\\d\N{SNOWMAN}\\b.c"),
)


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of which each string may need to be escaped."""
    functions = []
    for at, name in enumerate(ODD_NAMES):
        start = 0x1000 + 0x100 * at
        ranges = (gsym.Range(start + 4, start + 12),)
        calls = [
            gsym.InlineInfo(ODD_NAMES[at - 1], path, 7, ranges) for path in ODD_PATHS
        ]
        root = gsym.InlineInfo(name, "", 0, (gsym.Range(start, start + 16),), ())
        lines = [gsym.LineEntry(start + 2 * n, p, n) for n, p in enumerate(ODD_PATHS)]
        call = calls[at % len(calls)]
        functions.append(
            gsym.FunctionInfo(
                *(start, 16, name, tuple(lines), root._replace(children=(call,))),
                (),
                (gsym.CallSite(5, 1, ODD_NAMES[:3]),) if at % 2 else (),
            )
        )
    path = tmp_path_factory.mktemp("odd") / "odd.gsym"
    path.write_bytes(oracle.encode_file(to_oracle(functions, 1, "little")))
    return path


@pytest.mark.parametrize(
    "options", [[], ["--json"], ["-C"], ["--json", "-C"], ["--return-addresses"]]
)
def test_strings_of_any_kind_are_printed_alike_in_blocks_and_alone(
    options: list[str], odd: Path
) -> None:
    asked = [
        str(0x1000 + 0x100 * at + offset)
        for at in range(len(ODD_NAMES))
        for offset in range(-1, 18)
    ]
    arguments = ["lookup", *options, str(odd)]
    singles = run(gsym_main.main, [*arguments, *asked], [])
    whole = "\n".join(asked).encode()
    lines = whole.splitlines(keepends=True)
    stream = [*arguments, "--stdin"]
    assert run(gsym_main.main, stream, [whole]) == singles
    assert run(gsym_main.main, stream, lines) == singles


def test_json_has_all_strings_as_they_are(odd: Path) -> None:
    asked = [0x1006 + 0x100 * at for at, name in enumerate(ODD_NAMES) if name]
    lines = b"".join(b"%d\n" % address for address in asked)
    _, out = run(gsym_main.main, ["lookup", "--json", str(odd), "--stdin"], [lines])
    with gsym.open(odd) as reader:
        for address, line in zip(asked, out.splitlines(), strict=True):
            found = reader.lookup(address)
            assert found is not None
            assert json.loads(line) == found.to_dict()


@pytest.mark.parametrize("load_address", [0, 1, 0x2000, 2**63, 2**64 - 1, 2**65])
def test_addresses_are_of_the_module_up_to_its_bounds(
    load_address: int, odd: Path
) -> None:
    shift = 0x1000 - load_address
    bounds = [at + near for at in (-shift, 2**64 - shift) for near in (-2, -1, 0, 1)]
    asked = [str(at) for at in bounds if at >= 0]
    arguments = ["lookup", f"--load-address={load_address}", str(odd)]
    singles = run(gsym_main.main, [*arguments, *asked], [])
    lines = "\n".join(asked).encode()
    assert run(gsym_main.main, [*arguments, "--stdin"], [lines]) == singles


def test_a_line_that_is_not_an_address_is_reported_with_its_number(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    reading, writing = os.pipe()
    os.write(writing, b"16\n\n" * 5 + b"0o7\n\n \nzz\n1\n")
    os.close(writing)
    with mock.patch.object(sys, "stdin", Source(reading)):
        status = gsym_main.main(["lookup", "--stdin", str(folder / "small")])
    os.close(reading)
    out, err = capfd.readouterr()
    assert (status, len(out.splitlines())) == (1, 8)
    assert err == "gsym: error: standard input, line 14: 'zz' is not an address\n"


# ---- memory


WITHIN_LIMIT = """
import importlib, resource, sys
main = importlib.import_module(sys.argv[1]).main
resource.setrlimit(resource.RLIMIT_AS, (192 << 20, 192 << 20))
sys.exit(main(sys.argv[2:]))
"""
DEPTH = 60
COUNT = 120_000


@pytest.fixture(scope="module")
def deep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file whose answers have many frames with long paths."""
    ranges = (gsym.Range(0x1000, 0x1010),)
    source = "/a/path/that/is/rather/long/as/paths/of/libraries/are.h"
    node = gsym.InlineInfo("innermost", source, 1, ranges)
    for _ in range(DEPTH):
        node = gsym.InlineInfo("_Z6callerv", source, 1, ranges, (node,))
    root = gsym.InlineInfo("f", "", 0, ranges, (node,))
    lines = (gsym.LineEntry(0x1000, source, 3),)
    path = tmp_path_factory.mktemp("deep") / "deep.gsym"
    with gsym.Creator() as creator:
        creator.add(gsym.FunctionInfo(0x1000, 16, "f", lines, root))
        creator.save(str(path))
    return path


every_stream = pytest.mark.parametrize(
    ("module", "arguments"),
    [
        ("gsym.cli.dropins.gsymutil", ["--addresses-from-stdin"]),
        ("gsym.cli.dropins.addr2line", ["-fiCe", "deep.gsym"]),
        ("gsym.cli.dropins.symbolizer", ["-e", "deep.gsym"]),
        ("gsym.cli.main", ["lookup", "-C", "--stdin", "deep.gsym"]),
        ("gsym.cli.main", ["lookup", "--json", "--stdin", "deep.gsym"]),
    ],
)


@pytest.mark.slow
@no_sanitizer
@every_stream
def test_memory_does_not_grow_with_the_stream(
    module: str, arguments: list[str], deep: Path
) -> None:
    line = b"0x1008" + b" deep.gsym" * (module == "gsym.cli.dropins.gsymutil") + b"\n"
    source = deep.parent / "lines"
    source.write_bytes(line * COUNT)
    with (
        source.open("rb") as lines,
        subprocess.Popen(
            [sys.executable, "-c", WITHIN_LIMIT, module, *arguments],
            stdin=lines,
            stdout=subprocess.PIPE,
            cwd=deep.parent,
            env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        ) as process,
    ):
        assert process.stdout is not None
        size = 0
        while block := process.stdout.read(1 << 20):
            size += len(block)
        assert process.wait(60) == 0
    assert size > 2 * (192 << 20)


@no_sanitizer
@every_stream
def test_memory_does_not_grow_with_a_line(
    module: str, arguments: list[str], deep: Path
) -> None:
    source = deep.parent / "line"
    source.write_bytes(b"1" * (64 << 20))
    with source.open("rb") as line:
        done = subprocess.run(
            [sys.executable, "-c", WITHIN_LIMIT, module, *arguments],
            stdin=line,
            capture_output=True,
            check=False,
            cwd=deep.parent,
            env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
            timeout=60,
        )
    assert b"memory" not in done.stderr
    assert b"Traceback" not in done.stderr
    assert len(done.stderr) < 1 << 16
    assert done.returncode == (0 if done.stdout.startswith(b"??") else 1)
