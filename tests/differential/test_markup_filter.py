"""Style `llvm` beside llvm-symbolizer --filter-markup, on logs made at random."""

from __future__ import annotations

import random
import re
import subprocess
from typing import TYPE_CHECKING

import pytest

from gsym.markup.filter import MarkupFilter
from gsym.markup.settings import FilterSettings
from gsym.markup.symbols import SymbolOptions
from gsym.modules.finder import find_in
from tests.symbolizer_runs import run_llvm

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("llvm_symbolizer")

# A piece of a line; `_` in a field stands for one of the words below.
_ELEMENTS = (
    *("module:_:_:elf:_", "module:_:a.o:elf:abcdef", "module:0:a.o:elf:abcdef") * 2,
    "module:1:b.o:elf:cd:_",
    *("mmap:_:_:load:_:_:_", "mmap:_:_:load:0:r:_", "mmap:0x10:256:load:0:rx:0") * 2,
    *("mmap:_:1:load:1:w:_", "mmap:_:_:_"),
    *("reset", "reset:_"),
    *("bt:_:_", "bt:_:_:_", "bt:0:_:_", "bt:0:_:_:_", "bt:7:0x19:ra", "bt") * 2,
    *("pc:_", "pc:_:_", "pc:0x11:ra", "pc:_:_:_") * 2,
    *("data:_", "data", "symbol:_", "symbol:_Z1fv", "symbol:_ZN1a1bEv", "symbol"),
    *("hexdict:a:_", "dumpfile:_:_", "t2g", "tag:_", ":_", "", "_", "_:_"),
)
_WORDS = (
    *("0", "1", "0x0", "0x1", "0x10", "0x11", "0x19", "0x20", "0x110", "256", "010"),
    *("0x1F", "0b11", "0o7", "-1", "0xfffffffffffffff0", "18446744073709551616", "08"),
    *("ra", "pc", "r", "rwx", "RX", "wr", "load", "elf", "ab", "abc", "", "x y", "}"),
    *("{{", "\0", "\x1b[1m", "é", "main"),
)
_TEXTS = (
    *("", " ", "text", "\r", "}}}", "{{{", "{", "}", "\0", "\t", "\x1b[2m", "é"),
    *("\x1b[0m", "\x1b[1m", "\x1b[31m", "\x1b[34m", "\x1b[37m", "\x1b[38m", "\x1b["),
)


def make_log(seed: int, lines: int) -> bytes:
    """A log, the same for a seed; its last line may lack its end."""
    source = random.Random(seed)  # noqa: S311
    parts = []
    for _ in range(lines):
        for _ in range(source.choice((0, 1, 1, 1, 2, 3))):
            if source.random() < 0.4:
                parts.append(source.choice(_TEXTS))
            element = source.choice(_ELEMENTS)
            while "_" in element and "_Z" not in element:
                element = element.replace("_", source.choice(_WORDS), 1)
            parts.append(f"{{{{{{{element}}}}}}}")
        if source.random() < 0.2:
            parts.append(source.choice(_TEXTS))
        parts.append("\n")
    return "".join(parts[:-1] if source.random() < 0.3 else parts).encode()


@pytest.fixture(scope="module")
def folder(
    markup_fixtures: Path, clang: str, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A folder with the module `abcdef`."""
    folder = tmp_path_factory.mktemp("debug")
    path = folder / ".build-id/ab/cdef.debug"
    path.parent.mkdir(parents=True)
    source = markup_fixtures / "fixtures/lit/bt/bt.s"
    subprocess.run([clang, "-c", "-o", path, source], check=True)
    return folder


@pytest.mark.parametrize("colour", ["never", "always"])
@pytest.mark.parametrize("seed", range(10))
def test_a_log_comes_out_as_llvm_symbolizer_prints_it(
    seed: int, colour: str, folder: Path
) -> None:
    compare(make_log(seed, 300), colour, folder)


@pytest.mark.parametrize(
    ("options", "symbols"),
    [
        (["--functions=short"], SymbolOptions(functions="short")),
        (["--functions=none"], SymbolOptions(functions="none")),
        (
            ["--no-demangle", "--basenames"],
            SymbolOptions(demangle=False, basenames=True),
        ),
        (["--no-inlines"], SymbolOptions()),
    ],
)
def test_its_options_mean_the_same(
    options: list[str], symbols: SymbolOptions, folder: Path
) -> None:
    compare(make_log(99, 300), "never", folder, options, symbols)


def compare(
    log: bytes,
    colour: str,
    folder: Path,
    options: Sequence[str] = (),
    symbols: SymbolOptions | None = None,
) -> None:
    """See that both programs make the same of a log."""
    printed = run_llvm(
        *(*options, "--filter-markup", "--no-debuginfod"),
        *(f"--color={colour}", f"--debug-file-directory={folder}"),
        lines=log.decode("utf-8", "surrogateescape"),
    )
    assert printed.status == 0
    messages: list[bytes] = []
    log_filter = MarkupFilter(
        find_in([str(folder)], []),
        style="llvm",
        symbols=symbols,
        settings=FilterSettings(colour=colour == "always"),
        tell=messages.append,
    )
    shown = log_filter.feed(log) + log_filter.finish()
    assert _without_columns(shown) == _without_columns(as_bytes(printed.out))
    assert b"".join(messages) == as_bytes(printed.err)


def as_bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


_CODE = rb"(?:\x1b\[[\d;]+m)?"
_COLUMN = re.compile(rb"(:%s\d+%s:%s)\d+" % (_CODE, _CODE, _CODE))


def _without_columns(text: bytes) -> bytes:
    """GSYM files have no columns."""
    return _COLUMN.sub(rb"\g<1>0", text)
