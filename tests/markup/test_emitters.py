"""Programs that log markup, and the filter at the other end."""

from __future__ import annotations

import ctypes
import io
import logging
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gsym.markup.filter import MarkupFilter
from gsym.markup.logging_handler import MarkupFormatter, MarkupHandler
from gsym.markup.own_modules import own_modules_markup
from gsym.markup.parser import (
    LLVM_DIALECT,
    Backtrace,
    Data,
    DumpFile,
    Fault,
    HexDict,
    Mmap,
    Module,
    Pc,
    Symbol,
    decode,
    encode,
    find_elements,
)
from gsym.markup.settings import FilterSettings
from gsym.modules.finder import find_in
from tests.markup_modules import CONTEXT, SUMMARY, Modules

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "docs/examples/markup"
INCLUDE = ROOT / "gsym/include"
STRICT = ["-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Werror"]
# What is preloaded for this process is not for programs with a sanitizer of their own.
BARE = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
DEMO = ["-Wall", "-Wextra", "-Werror", "-O0"]

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(
        not sys.platform.startswith("linux"), reason="reads /proc/self/maps"
    ),
]

EMITTER = """
#include "gsym_markup.h"
int main(int argc, char **argv) {
  void *addresses[2];
  addresses[0] = (void *)0x1000;
  addresses[1] = (void *)0x123;
  errno = 77;
  int status = gsym_markup_context(1);
  status |= gsym_markup_symbol(1, argc > 1 ? argv[1] : "");
  status |= gsym_markup_frames(1, addresses, 2, 1);
  status |= gsym_markup_data(1, (void *)0);
  status |= gsym_markup_pc(1, (void *)(uintptr_t)-1, GSYM_MARKUP_RETURN);
  status |= gsym_markup_dumpfile(1, "sancov", argc > 1 ? argv[1] : "");
  gsym_markup_pair pairs[40];
  for (unsigned at = 0; at < 40; at++) {
    pairs[at].key = argc > 1 ? argv[1] : "";
    pairs[at].value = at ? UINT64_MAX - at : 0;
  }
  status |= gsym_markup_hexdict(1, pairs, 40);
  return status || errno != 77;
}
"""


WITH_A_SHARED_FILE = """
#include <stdlib.h>
#include <sys/mman.h>
#include "gsym_markup.h"
int main(int argc, char **argv) {
  int file = open(argv[argc - 1], O_RDWR);
  void *block = mmap(0, 1, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  return block == MAP_FAILED || gsym_markup_context(1);
}
"""


def elements(log: str) -> list[object]:
    faults: list[Fault] = []
    tokens = find_elements(log.encode(), LLVM_DIALECT)
    found: list[object] = [decode(each, LLVM_DIALECT, faults) for each in tokens]
    assert not faults
    return found


def build_id_of(path: Path) -> str:
    notes = subprocess.run(
        ["readelf", "-n", path], check=True, capture_output=True, text=True
    ).stdout
    found = re.search(r"Build ID: (\w+)", notes)
    assert found
    return found[1]


def install(path: Path, folder: Path) -> None:
    """Put a debug file where it is found by its build id."""
    digits = build_id_of(path)
    target = folder / ".build-id" / digits[:2] / f"{digits[2:]}.debug"
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(path, target)


def filtered(log: str, folder: Path) -> str:
    made = MarkupFilter(find_in([str(folder)], []))
    return made.feed(log) + made.finish().decode()


@pytest.mark.parametrize(
    ("program", "flags", "name"),
    [
        ("gcc", ["-std=c99", "-pedantic"], "_Z1fv"),
        ("g++", ["-xc++", "-std=c++11"], ""),
        (
            "clang-19",
            ["-std=c99", "-fsanitize=address,undefined"],
            "a: b}}}{{{\n\x7f",
        ),
        ("clang-19", ["-std=c99", "-fsanitize=address,undefined"], "x" * 300),
        ("clang-19", ["-xc++", "-std=c++17"], "x" * 300),
    ],
)
def test_output_of_the_header_is_readable(
    program: str, flags: list[str], name: str, tmp_path: Path
) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"not installed: {program}")
    source, path = tmp_path / "emit.c", tmp_path / "emit"
    source.write_text(EMITTER)
    command: list[str | Path] = [
        program,
        *flags,
        *STRICT,
        "-g",
        "-I",
        INCLUDE,
        source,
        "-o",
        path,
    ]
    built = subprocess.run(
        [*command, "-Wl,--build-id"], capture_output=True, text=True, check=False
    )
    if "libclang_rt" in built.stderr:
        pytest.skip("not installed: the libraries of clang's sanitizers")
    assert not built.returncode, built.stderr
    log = subprocess.run(
        [path, name],
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
        env=BARE,
    ).stdout
    found = elements(log)
    start = next(at for at, each in enumerate(found) if isinstance(each, Symbol))
    context, (symbol, first, second, data, pc, dump, *registers) = (
        found[:start],
        found[start:],
    )
    shown = re.sub(r"[:{}\n\x7f]", "_", name)
    assert symbol == Symbol(shown[:256])
    assert dump == DumpFile("sancov", shown[:256])
    values = [0, *((1 << 64) - at for at in range(2, 41))]
    key = shown[:32].replace(" ", "_") or "_"
    text = "".join(each.text for each in registers if isinstance(each, HexDict))
    assert text.split() == [
        word for value in values for word in (f"{key}:", f"0x{value:02x}")
    ]
    assert max(map(len, log.splitlines())) < 512
    assert (first, second) == (Backtrace(0, 0x1000, "pc"), Backtrace(1, 0x123, "ra"))
    assert (data, pc) == (Data(0), Pc((1 << 64) - 1, "ra"))
    modules = [each for each in context if isinstance(each, Module)]
    assert modules[0].name == str(path)
    assert modules[0].build_id.hex() == build_id_of(path)
    assert any("libc.so" in module.name for module in modules)
    code = [each for each in context if isinstance(each, Mmap) and "x" in each.mode]
    assert {each.module for each in code} == {module.id for module in modules}


def test_shared_memory_is_not_read(compiler: str, tmp_path: Path) -> None:
    source, path = tmp_path / "emit.c", tmp_path / "emit"
    source.write_text(WITH_A_SHARED_FILE)
    (tmp_path / "empty").touch()  # to read from it where it is mapped would kill
    command: list[str | Path] = [compiler, "-I", INCLUDE, source, "-o", path]
    subprocess.run([*command, "-Wl,--build-id"], check=True)
    done = subprocess.run(
        [path, tmp_path / "empty"],
        check=False,
        capture_output=True,
        text=True,
        env=BARE,
    )
    assert done.returncode == 0
    assert any(isinstance(each, Module) for each in elements(done.stdout))


def test_a_crash_is_symbolized_later(compiler: str, tmp_path: Path) -> None:
    path = tmp_path / "crash"
    source = EXAMPLES / "crash.c"
    command: list[str | Path] = [
        compiler,
        *DEMO,
        "-g",
        "-I",
        INCLUDE,
        source,
        "-o",
        path,
    ]
    subprocess.run([*command, "-Wl,--build-id"], check=True)
    done = subprocess.run([path], check=False, capture_output=True, text=True, env=BARE)
    assert done.returncode == 128 + 11
    install(path, tmp_path / "symbols")
    shown = filtered(done.stderr, tmp_path / "symbols")
    lines = source.read_text().splitlines()
    at = {
        text: number
        for number, line in enumerate(lines, 1)
        for text in ("return table[index]", "return look_up(")
        if text in line
    }
    fault, caller = (
        f"look_up {source}:{at['return table[index]']}",
        f"main {source}:{at['return look_up(']}",
    )
    frames = [line for line in shown.splitlines() if line.startswith("    #")]
    assert fault in frames[0]
    assert caller in frames[1]


def test_a_python_program_logs_its_own_addresses(tmp_path: Path) -> None:
    log = subprocess.run(
        [sys.executable, EXAMPLES / "log_addresses.py"],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    ).stdout
    modules = [each for each in elements(log) if isinstance(each, Module)]
    (libc,) = (each for each in modules if "libc.so" in each.name)
    install(Path(libc.name), tmp_path)
    assert libc.build_id.hex() == build_id_of(Path(libc.name))
    assert "the C library is that of gnu_get_libc_version" in filtered(log, tmp_path)


def test_own_modules_are_found() -> None:
    function = ctypes.cast(
        ctypes.CDLL(None).gnu_get_libc_version, ctypes.c_void_p
    ).value
    assert function
    found = elements(own_modules_markup())
    (mmap,) = (
        each
        for each in found
        if isinstance(each, Mmap) and each.start <= function < each.start + each.size
    )
    assert "x" in mmap.mode
    (module,) = (
        each for each in found if isinstance(each, Module) and each.id == mmap.module
    )
    assert "libc" in module.name


@pytest.mark.parametrize("size", [0, 4, 40, 63, 100, 300])
def test_truncated_modules_are_skipped(size: int, tmp_path: Path) -> None:
    path, maps = tmp_path / "lib.so", tmp_path / "maps"
    path.write_bytes(Path(sys.executable).read_bytes()[:size])
    maps.write_text(f"1000-2000 r-xp 00000000 00:00 1  {path}\n3000-4000 rw-p 0 0 0\n")
    assert own_modules_markup(str(maps)) == "{{{reset}}}\n"


def test_a_logging_handler_symbolizes_messages() -> None:
    stream = io.StringIO()
    handler = MarkupHandler(MarkupFilter(Modules()), stream)
    handler.setFormatter(logging.Formatter("%(message)s"))
    logger = logging.getLogger("tests.markup")
    logger.propagate = False
    logger.addHandler(handler)
    try:
        for line in CONTEXT.decode().splitlines():
            logger.error(line)
        logger.error("at %s", encode(Pc(0x1011, "pc")))
        logger.error("{{{mmap:0x2000:10:load:0:r:0}}}")
    finally:
        logger.removeHandler(handler)
        handler.close()
    adds = '[[[ELF module #0x0 "a.o"; adds [0x2000-0x200f](r)]]]\n'
    assert stream.getvalue() == SUMMARY.decode() + "at first()[/src/a.c:3]\n" + adds


def test_a_logging_handler_without_its_stream_does_not_end_the_program(
    capsys: pytest.CaptureFixture[str],
) -> None:
    stream = io.StringIO()
    handler = MarkupHandler(MarkupFilter(Modules()), stream)
    stream.close()
    handler.emit(logging.makeLogRecord({"msg": "text"}))
    assert "I/O operation on closed file" in capsys.readouterr().err
    handler.close()
    assert not capsys.readouterr().err


def test_a_formatter_symbolizes_messages_for_any_handler() -> None:
    settings = FilterSettings(context="elide")
    made = MarkupFormatter(
        MarkupFilter(Modules(), settings=settings), logging.Formatter("<%(message)s>")
    )

    def shown(message: str) -> str:
        return made.format(logging.makeLogRecord({"msg": message}))

    assert [shown(line) for line in CONTEXT.decode().splitlines()] == ["<>", "<>"]
    assert shown("at {{{bt:0:0x1019}}}").splitlines() == [
        "<at     #0.1  0x0000000000001019 second /src/b.h:8 (a.o+0x18)",
        "    #0    0x0000000000001019 first() /src/a.c:4 (a.o+0x18)>",
    ]


@pytest.mark.parametrize("join", [None, r"\+"])
def test_formatter_does_not_delay_messages(join: str | None) -> None:
    made = MarkupFormatter(MarkupFilter(Modules(), join=join))

    def shown(message: str) -> str:
        return made.format(logging.makeLogRecord({"msg": message}))

    begin = "regs {{{hexdict: a:0x1"
    for message in (begin, f"{begin}\n b: 0", "b: 0\n"):
        assert shown(message) == message
    assert shown(f"{begin}\n b: 0\n}}}}}}") == "regs  a:0x1\n b: 0\n"


def test_folder_of_the_header_is_printed() -> None:
    command = [sys.executable, "-m", "gsym.include"]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT)
    assert (Path(done.stdout.strip()) / "gsym_markup.h").samefile(
        INCLUDE / "gsym_markup.h"
    )
