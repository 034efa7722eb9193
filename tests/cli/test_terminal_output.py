"""Names in files reach a terminal without control characters."""

from __future__ import annotations

import io
import json
import logging
import os
import pty
import re
import sys
import threading
import tty
from contextlib import redirect_stdout, suppress
from tempfile import TemporaryFile
from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.cli import terminal
from gsym.cli.dropins.addr2line import main as addr2line_main
from gsym.cli.dropins.gsymutil import main as gsymutil_main
from gsym.cli.dropins.symbolizer import main as symbolizer_main
from gsym.cli.main import main as gsym_main
from gsym.cli.terminal_guard import GuardedStream
from gsym.modules.key import Attempt, ModuleKey
from gsym.profiles.model import Frame, Mapping, ProfileBuilder, Thread
from gsym.profiles.outputs import write_form
from gsym.store.directory import Store
from gsym.store.sources.negative_cache import NegativeCache
from gsym.symbfile.columns import LineTableRow, Range
from gsym.symbfile.format import encode
from tests.companions import debug_link
from tests.fxt.traces import APP, kernel_object
from tests.inputs.elf import Elf, Symbol, code_section
from tests.inputs.fxt import Words, inline, stream
from tests.markup_modules import BUILD_ID, CONTEXT
from tests.profiles.profiles import TYPES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.no_engine

MAIN = {
    "gsym": gsym_main,
    "gsymutil": gsymutil_main,
    "gsym-addr2line": addr2line_main,
    "gsym-symbolizer": symbolizer_main,
}
# A window title, a line end, CSI as a byte and in UTF-8, right-to-left text.
EVIL = "e\x1b]0;pwned\x07\nforged;\udc9b31m\x9b\x7f\u202e"
START = 0x1000
SIZE = 0x40

# `{d}` is the folder of the files, `{e}` a path in it that ends with `EVIL`; `<` comes
# before standard input.
COMMANDS = """
gsym lookup {d}/app.gsym 0x1008
gsym lookup --json {d}/app.gsym 0x1008
gsym lookup --merged-functions {d}/app.gsym 0x1008
gsym lookup -C --stdin {d}/app.gsym < 0x1008
gsym lookup {d}/none{e} 0x1008
gsym lookup {e}.gsym x{e}
gsym dump {d}/app.gsym
gsym dump --json {d}/app.gsym
gsym stats {d}/app.gsym
gsym stats --json {e}.gsym
gsym verify {e}.gsym
gsym verify {e}.gsym --against {e}
gsym verify {e}
gsym convert {e} -o {e}.out
gsym convert -v {e}.sym -o {e}.out
gsym convert {e}.gsym --keep-functions {e} -o {e}.out
gsym convert {d}/none{e}
gsym merge {e}.gsym {d}/app.gsym -o {e}.out
gsym export --to breakpad {e}.gsym -o {e}.out
gsym embed {e}.gsym {e} -o {e}.out
gsym extract {e}.embedded -o {e}.out
gsym store add --store {d}/new {e}.sym {e}.gsym {d}/none{e}
gsym store list --store {d}/store
gsym store info --store {d}/store {e}.sym/0123456789ABCDEF0123456789ABCDEF0
gsym store get --store {d}/store {e}
gsym store verify --store {e}.store
gsym store export --store {d}/store -o {e}.tree
gsym store misses --store {d}/store
gsym store prefetch --store {d}/store {d}/none{e}
gsym store import --store {d}/store {d}/none{e}
gsym symbolicate --store {d}/store {e}.json
gsym filter --color=never --gsym-dir {d} {d}/app.log
gsym filter --gsym-dir {d} --style=llvm --color=never {d}/app.log
gsym filter --gsym-dir {d} --to=json {d}/app.log
gsym filter {d}/none{e}
gsym serve --source {d}/none{e}
gsym symbfile dump {e}.symbfile
gsym symbfile dump --json {e}.symbfile
gsym symbfile stats --json {e}.symbfile
gsym symbfile verify {e}.symbfile
gsym symbfile lookup {e}.symbfile 0x1008
gsym symbfile convert {e}.symbfile -o {e}.out
gsym symbfile extract {e}.gsym -o {e}.out
gsym symbfile id {e}
gsym symbfile push --dry-run {d}/new --url http://127.0.0.1:9 -e {e}
gsym trace info {e}.fxt
gsym trace stats {e}.fxt
gsym trace dump {e}.fxt
gsym trace blobs {e}.fxt
gsym trace convert --to chrome {e}.fxt
gsym trace convert --to collapsed {e}.pprof
gsym trace convert --to collapsed --roots process,thread {e}.pprof
gsym trace convert --to speedscope {e}.pprof
gsym trace convert --to firefox {e}.pprof
gsym trace symbolize --to collapsed {e}.pprof
gsym trace top {e}.pprof
gsym trace top --by line {e}.pprof
gsym trace top --by module {e}.pprof
gsym trace flame {e}.pprof --diff {d}/other.pprof -o {e}.diff.html
gsym trace flame {e}.pprof -o {e}.out
gsymutil {d}/app.gsym
gsymutil {d}/app.gsym --address=0x1008
gsymutil {d}/app.gsym --address=0x1008 --verbose
gsymutil {d}/app.gsym --address=0x1008 --merged-functions
gsymutil --addresses-from-stdin < 0x1008 {d}/app.gsym
gsymutil --addresses-from-stdin < 0x1008 {d}/none\x1b[2Jpwned
gsymutil --statistics {e}.gsym
gsymutil {d}/none{e}
gsymutil --convert {e} --symtab-file {e} --out-file {e}.out
gsym-addr2line -a -f -i -e {d}/app.gsym 0x1008
gsym-addr2line -C -p -f -s -i -e {d}/app.gsym 0x1008
gsym-addr2line -C -f -i -e {d}/app.gsym < 0x1008
gsym-addr2line -e {d}/none{e} 0x1008
gsym-symbolizer --obj={d}/app.gsym 0x1008
gsym-symbolizer --obj={d}/app.gsym --verbose 0x1008
gsym-symbolizer --obj={d}/app.gsym --no-demangle < 0x1008
gsym-symbolizer --obj={d}/app.gsym --output-style=GNU --pretty-print < 0x1008
gsym-symbolizer --obj={d}/app.gsym --output-style=JSON 0x1008
gsym-symbolizer --obj={e} < DATA 0x1000
gsym-symbolizer --obj={d}/none{e} 0x1008
gsym-symbolizer --filter-markup --color=never --debug-file-directory {d} < {log}
"""


UTF8 = EVIL.replace("\udc9b", "")
MODULE = "0123456789ABCDEF0123456789ABCDEF0"


def gsym_bytes() -> bytes:
    path = f"/{EVIL}/{EVIL}.c"
    call = gsym.InlineInfo(EVIL, path, 4, (gsym.Range(START + 8, START + 16),))
    root = gsym.InlineInfo(EVIL, "", 0, (gsym.Range(START, START + SIZE),), (call,))
    function = gsym.FunctionInfo(
        *(START, SIZE, EVIL),
        (gsym.LineEntry(START, path, 3), gsym.LineEntry(START + 8, path, 8)),
        root,
        (gsym.FunctionInfo(START, SIZE, f"_ZN{EVIL}"),),
        (gsym.CallSite(9, 1, (EVIL,)),),
    )
    with gsym.Creator(uuid=BUILD_ID) as creator:
        creator.add(function)
        return creator.to_bytes()


def profile_bytes(name: str) -> bytes:
    builder = ProfileBuilder(TYPES)
    module = builder.mapping(Mapping(START, 2 * START, path=name, build_id="ab"))
    known, unknown = (builder.location(START + at, module) for at in (0, 8))
    locations = builder.profile.locations
    frames = (Frame(name, name, f"/{name}.c", 3),)
    locations[known] = locations[known]._replace(frames=frames)
    thread = builder.thread(Thread(1, 10, name, name))
    builder.sample(builder.stack([unknown, known]), (1, 100), thread=thread)
    return write_form(builder.profile, "pprof")


def write_files(folder: Path) -> None:
    """Write files of every kind, with `EVIL` as their names and the names in them."""
    line = EVIL.replace("\n", "")
    ranges = [Range(START, SIZE, UTF8, UTF8, line_table=(LineTableRow(0, 3),))]
    job = {
        "memoryMap": [["app", MODULE]],
        "stacks": [[[0, START]]],
    }
    words = Words("little")
    binary = Elf(
        [code_section(START, SIZE), debug_link(UTF8, b"")],
        symbols=[Symbol(UTF8, START, SIZE)],
        build_id=BUILD_ID,
    )
    contents: dict[str, bytes | str] = {
        "": binary.to_bytes(),
        ".gsym": gsym_bytes(),
        ".cut": gsym_bytes()[:-40],
        ".sym": f"MODULE Linux x86_64 {MODULE} {line}\nFILE 0 {line}\n"
        f"FUNC 1000 40 0 {line}\n1000 40 3 0\nFUNC {line}\n",
        ".symbfile": b"".join(encode(ranges)),
        ".fxt": words.magic()
        + words.provider_info(3, UTF8.encode())
        + kernel_object(words, 1, APP, UTF8.encode())
        + words.record(5, inline(UTF8.encode()) << 16, stream(UTF8.encode())),
        ".pprof": profile_bytes(UTF8),
        ".json": json.dumps({"jobs": [job]}),
    }
    for ending, content in contents.items():
        data = os.fsencode(content) if isinstance(content, str) else content
        (folder / f"{EVIL}{ending}").write_bytes(data)
    (folder / ".build-id/ab").mkdir(parents=True)
    (folder / ".build-id/ab/cdef.gsym").write_bytes(gsym_bytes())
    (folder / "app.gsym").write_bytes(gsym_bytes())
    log = f"{{{{{{module:0:{line}:elf:abcdef}}}}}}\n"
    log += "{{{mmap:0x1000:0x100:load:0:rx:0x1000}}}\n{{{bt:0:0x1008:pc}}}\n"
    log += f"{{{{{{bt:1:0x5008:pc}}}}}} {line}\n"
    (folder / "other.pprof").write_bytes(profile_bytes("main"))
    (folder / "other.symbfile").write_bytes(b"".join(encode(())))
    (folder / "app.log").write_bytes(os.fsencode(log))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("files")
    write_files(path)
    Store(path / "store")
    missing = ModuleKey(debug_file=UTF8, debug_id=MODULE[::-1])
    misses = NegativeCache(str(path / "store/.misses"))
    misses.remember(missing, [Attempt(UTF8, "missing", UTF8)])
    evil = f"{path}/{EVIL}"
    with redirect_stdout(io.TextIOWrapper(io.BytesIO())):
        gsym_main(["store", "add", "--store", f"{path}/store", f"{evil}.sym"])
        gsym_main(["embed", f"{evil}.gsym", evil, "-o", f"{evil}.embedded"])
    return path


def run(words: list[str], given: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The output of a command on its terminal, of both streams."""
    ours, theirs = pty.openpty()
    tty.setraw(theirs)
    pieces: list[bytes] = []

    def read() -> None:
        with suppress(OSError):  # the terminal is closed
            while piece := os.read(ours, 1 << 16):
                pieces.append(piece)

    reader = threading.Thread(target=read)
    reader.start()
    with (
        monkeypatch.context() as patch,
        TemporaryFile("w+", errors="surrogateescape") as stdin,
    ):
        stdin.write(given)
        stdin.seek(0)
        with os.fdopen(theirs, "w", encoding="utf-8") as terminal:
            for name in ("stdout", "stderr"):
                patch.setattr(sys, name, terminal)
            patch.setattr(sys, "stdin", stdin)
            with suppress(SystemExit):
                MAIN[words[0]](words[1:])
            terminal.flush()
    reader.join()
    os.close(ours)
    return b"".join(pieces).decode("utf-8", "surrogateescape")


def verb_of(command: str) -> str:
    first, second, *_ = command.split()
    return f"{first} {second}" if first == "gsym" else first


@pytest.fixture
def kept_logs() -> Iterator[None]:
    """Take away the handlers that `gsym serve` adds, whose stream is closed."""
    loggers = [logging.getLogger(name) for name in ("gsym", "uvicorn", None)]
    before = [(each.handlers[:], each.level, each.propagate) for each in loggers]
    yield
    for logger, (handlers, level, propagates) in zip(loggers, before, strict=True):
        logger.handlers[:] = handlers
        logger.setLevel(level)
        logger.propagate = propagates


@pytest.mark.usefixtures("kept_logs")
@pytest.mark.parametrize(
    "verb", sorted({verb_of(each) for each in COMMANDS.strip().splitlines()})
)
def test_no_control_character_reaches_a_terminal(
    verb: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("GSYM_STORE", f"{folder}/none")
    monkeypatch.setenv("GSYM_CACHE_DIR", f"{folder}/cache")
    monkeypatch.setattr(terminal, "_SHOW_AFTER", 600)  # a bar moves the cursor
    log = f"{CONTEXT.decode()}{{{{{{bt:0:0x1008:pc}}}}}} {EVIL}".replace("\nforged", "")
    places = {"d": str(folder), "e": f"{folder}/{EVIL}", "log": log}
    for line in COMMANDS.strip().splitlines():
        if verb_of(line) != verb:
            continue
        command, _, given = line.partition(" < ")
        words = [word.format(**places) for word in command.split()]
        seen = run(words, f"{given.format(**places)}\n", monkeypatch)
        assert re.search("pwned|u202e", seen), f"{line} does not show the name"
        wrong = "[\0-\x08\x0b-\x1f\x7f-\x9f\udc80-\udcff\u202e]"
        assert not re.search(wrong, seen), line
        assert not re.search("^forged", seen, re.MULTILINE), line


def test_colours_of_a_log_reach_a_terminal_and_those_of_names_do_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    red = "\x1b[31m"
    with gsym.Creator(uuid=BUILD_ID) as creator:
        creator.add(gsym.FunctionInfo(8, 8, f"{red}name"))
        creator.save(tmp_path / "app.gsym")
    log = f"{CONTEXT.decode()}{red}log\r\n{{{{{{bt:0:0x1008:pc}}}}}}\n\x1b[2J"
    words = ["gsym", "filter", f"--gsym-dir={tmp_path}"]
    seen = run(words, log, monkeypatch)
    assert f"{red}log\r\n" in seen
    assert "\\x1b[31mname" in seen
    assert "\\x1b[2J" in seen


def test_a_character_that_is_cut_at_the_end_is_written() -> None:
    terminal = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    guarded = GuardedStream(terminal)
    guarded.buffer.write(b"a\xc3")
    guarded.close()
    assert terminal.buffer.getvalue() == b"a\xc3"
