"""`gsym filter`, as a command."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import re
import signal
import subprocess
import sys
import zlib
from html.parser import HTMLParser
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple

import pytest
from hypothesis import given, strategies as st

from gsym.cli.main import main
from gsym.markup.filter import MarkupFilter
from gsym.markup.html_output import HTML_END, HtmlOutput
from gsym.markup.json_output import JsonOutput
from gsym.store.directory import Store
from tests import store_modules
from tests.markup_modules import CONTEXT, SUMMARY, Modules, write_module

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.long

COMMAND = [sys.executable, "-m", "gsym", "filter"]
FRAME = b"{{{bt:0:0x1011:pc}}}\n"
SHOWN = b"    #0    0x0000000000001011 first() /src/a.c:3 (a.o+0x11)\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A folder with the module; no store anywhere."""
    monkeypatch.setenv("GSYM_STORE", str(tmp_path / "none"))
    monkeypatch.setenv("GSYM_CACHE_DIR", str(tmp_path / "cache"))
    write_module(tmp_path / "symbols/.build-id/ab/cdef.gsym")
    return str(tmp_path / "symbols")


class Printed(NamedTuple):
    status: int
    out: bytes
    err: bytes


class Run:
    """Runs the command in this process on a log in a file."""

    def __init__(self, folder: str, capture: pytest.CaptureFixture[bytes]) -> None:
        self.path = str(Path(folder).parent / "app.log")
        self._capture = capture
        self._folder = folder

    def __call__(self, log: bytes, *options: str) -> Printed:
        Path(self.path).write_bytes(log)
        return self.again(*options)

    def again(self, *words: str) -> Printed:
        """On the log that is there."""
        status = main(["filter", f"--gsym-dir={self._folder}", *words, self.path])
        return Printed(status, *self._capture.readouterr())


@pytest.fixture
def run(folder: str, capfdbinary: pytest.CaptureFixture[bytes]) -> Run:
    return Run(folder, capfdbinary)


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        (["--functions", "short"], b"second[/src/b.h:8]"),
        (["-f=none"], b"[/src/b.h:8]"),
        (["--color", "never", "-s", "--relativenames"], b"second[/src/b.h:8]"),
        (["--relativenames", "--basenames"], b"second[b.h:8]"),
        (["--style=llvm", "--functions=short"], b"second[/src/b.h:8]"),
        (["--style=llvm"], b"first()[/src/b.h:8]"),
        (["--style=llvm", "-f"], b"first()[/src/b.h:8]"),
        (["-fnone"], b"[/src/b.h:8]"),
        (["-iCs"], b"second[b.h:8]"),
        (["-sf=none"], b"[b.h:8]"),
        (["-sf", "none"], b"[b.h:8]"),
        (["--style", "llvm", "-aspf=none"], b"<invalid>[b.h:8]"),
        (
            ["--style=llvm", "--obj", "x", "-e", "y", "-f=none"],
            b"<invalid>[/src/b.h:8]",
        ),
    ],
    ids=repr,
)
def test_names_and_paths_in_other_forms(
    run: Run, options: list[str], shown: bytes
) -> None:
    done = run(CONTEXT + b"{{{pc:0x1019:ra}}}\n", "--context=elide", *options)
    assert done.out == shown + b"\n"
    is_told = options[-1] == "--relativenames"
    assert (b"GSYM files have complete paths" in done.err) == is_told


@pytest.mark.parametrize("option", ["-f", "--functions", "-if"])
def test_in_style_llvm_a_value_is_not_the_next_word(run: Run, option: str) -> None:
    log = CONTEXT + b"{{{pc:0x1019:ra}}}\n"
    whole = run(log, "--style=llvm")
    assert run(log, "--style=llvm", option, "linkage") == whole
    done = run(log, "--style=llvm", option, "none")
    assert done.out == whole.out
    assert done.err == whole.err


@pytest.mark.parametrize(
    "option", ["-a", "--verbose", "-e=x", "--adjust-vma=1", "--filter-markup"]
)
def test_options_of_llvm_symbolizer_are_accepted_in_its_style(
    run: Run, option: str
) -> None:
    assert run(FRAME, option).status == 2
    assert run(FRAME, option, "--style=llvm").status == 0


def test_default_input_is_standard_input() -> None:
    done = subprocess.run(
        COMMAND, input=b"a {{{symbol:_Z1fv}}}\n", capture_output=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"a f()\n", b"")


@pytest.mark.parametrize("rest", [b"a {{{pc:0", b"{{{hexdict: a: 0x1\nb"])
def test_nothing_is_lost_where_the_next_log_cannot_be_read(
    rest: bytes, run: Run, tmp_path: Path
) -> None:
    log = tmp_path / "first.log"
    log.write_bytes(b"a\n" + CONTEXT + rest)
    run.path = str(tmp_path / "none.log")
    done = run.again(str(log))
    assert (done.status, done.out) == (1, b"a\n" + SUMMARY + rest)
    assert b"none.log: No such file" in done.err


@pytest.mark.parametrize("readable", [b" here", b""])
def test_a_page_is_whole_where_the_next_log_cannot_be_read(
    readable: bytes, run: Run, tmp_path: Path
) -> None:
    log, run.path = tmp_path / "first.log", str(tmp_path / "second.log")
    log.write_bytes(CONTEXT + FRAME + b"{{{pc:0x1080:pc}}}\n{{{pc:0")
    if readable:
        Path(run.path).write_bytes(gzip.compress(readable)[:-9])
    done = run.again(str(log), "--to=html")
    assert done.status == 1
    assert done.out.endswith(b"{{{pc:0" + readable + HTML_END)
    summary, reason = done.err.splitlines()
    assert summary.startswith(b"gsym: 1 unresolved in 'a.o'")
    assert reason.startswith(b"gsym: error: ")
    assert b"second.log" in reason


def test_combined_colours_are_removed_and_shown_like_others(
    run: Run,
) -> None:
    log = b"\x1b[1;31ma {{{symbol:x}}}\x1b[m b \x1b[01mc\x1b[0m\n"
    assert run(log, "--color=never").out == b"a x b c\n"
    page = run(log, "--to=html").out.decode()
    assert '<span class="s c1 bold">a </span>' in page
    assert ' b <span class="bold">c</span>\n' in page


def test_the_options_of_llvm_symbolizer(run: Run) -> None:
    log = CONTEXT + b"{{{pc:0x1019:ra}}}{{{pc:x}}}\n"
    done = run(log, "--style=llvm", "--no-demangle", "-s", "-f", "--inlines")
    assert done.out == SUMMARY + b"_Z5firstv[b.h:8]\n"
    assert done.err.startswith(b"error: expected address; found 'x'\n")
    done = run(log, "--style=llvm", "--functions=none", "--color")
    assert b"\x1b[0;32m<invalid>\x1b[0;34m[" in done.out
    assert b"\x1b" not in run(log, "--color=never").out


@pytest.mark.parametrize("style", ["spec", "fuchsia", "llvm"])
def test_colours_of_the_log_are_removed_on_request(style: str, run: Run) -> None:
    log = CONTEXT + b"\x1b[31mred {{{symbol:\x1b[1mx}}} {{{pc:0x1041:pc}}}\x1b[0m\n"
    options = [f"--style={style}", "--context=elide"]
    shown = run(log, "--color=never", *options).out
    assert shown == b"red \x1b[1mx %s\n" % (
        b"bare[<invalid>:0]" if style == "llvm" else b"bare"
    )
    page = run(log, "--color=never", "--to=html", *options).out
    assert b'class="s' not in page
    if style != "llvm":  # without the option, the log is not changed
        assert run(log, *options).out.startswith(b"\x1b[31mred ")


@pytest.mark.parametrize(
    "options",
    [
        ["--style=gnu"],
        ["--to=xml"],
        ["--color=red"],
        ["--hexdict=no"],
        ["--demux=("],
        ["--join=("],
        ["--json", "--to=html"],
        ["--debuginfod"],
        ["--source=gopher://x"],
        ["-x"],
        ["-sx"],
        ["--style=llvm", "-fnone"],
    ],
    ids=repr,
)
def test_a_wrong_command_line(
    run: Run, monkeypatch: pytest.MonkeyPatch, options: list[str]
) -> None:
    monkeypatch.setenv("DEBUGINFOD_URLS", "")
    done = run(b"", *options)
    assert done.status == 2
    assert done.err.startswith(b"gsym filter: error: ")


def test_compressed_logs_one_behind_the_other(
    folder: str, capfdbinary: pytest.CaptureFixture[bytes], tmp_path: Path
) -> None:
    first, second = tmp_path / "1.log.gz", tmp_path / "2.log"
    first.write_bytes(gzip.compress(CONTEXT + FRAME[:5]))
    second.write_bytes(FRAME[5:])
    assert main(["filter", "--gsym-dir", folder, str(first), str(second)]) == 0
    assert capfdbinary.readouterr().out == SUMMARY + SHOWN
    first.write_bytes(gzip.compress(CONTEXT)[:-9])
    assert main(["filter", str(first)]) == 1
    assert b"what is compressed is damaged" in capfdbinary.readouterr().err


def lz4(data: bytes) -> bytes:
    """A frame with one stored block, without the hash of its header."""
    block = (len(data) | 1 << 31).to_bytes(4, "little") + data
    return b"\x04\x22\x4d\x18\x60\x40\0" + block + bytes(4)


def zstd(data: bytes) -> bytes:
    module = pytest.importorskip("backports.zstd")
    packed: bytes = module.compress(data)
    return packed


def pzstd(data: bytes) -> bytes:
    """As pzstd writes it: a skippable frame comes first."""
    return b"\x50\x2a\x4d\x18\4\0\0\0size" + zstd(data)


@pytest.mark.parametrize(
    "compress", [gzip.compress, lzma.compress, bz2.compress, lz4, zstd, pzstd]
)
def test_a_compressed_log(run: Run, compress: Callable[[bytes], bytes]) -> None:
    assert run(compress(CONTEXT + FRAME)).out == SUMMARY + SHOWN


def test_an_archive_is_no_log(run: Run) -> None:
    done = run(b"PK\3\4")
    assert (done.status, done.out) == (1, b"")
    assert "a zip archive: unpack it first" in done.err.decode()


@pytest.mark.parametrize("form", ["text", "html", "json"])
def test_the_name_of_a_missing_module_need_not_be_text(run: Run, form: str) -> None:
    log = CONTEXT.replace(b"a.o", b"a\xff.o").replace(b"abcdef", b"12") + 9 * FRAME
    done = run(log, f"--to={form}")
    assert done.status == 0
    assert done.out.count(b"+0x11") == 9 or form == "json"


def test_a_module_of_the_store(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    store = Store(str(tmp_path / "store"))
    store_modules.put(store, 7)
    build_id = store_modules.build_id(7).hex()
    log = tmp_path / "a.log"
    log.write_text(
        f"{{{{{{module:0:lib7.so:elf:{build_id}}}}}}}\n"
        "{{{mmap:0x0:0x8000:load:0:rx:0x0}}}\n{{{pc:0x1004:pc}}}\n"
    )
    status = main(["filter", "--store", store.path, "--context=elide", str(log)])
    assert (status, capfdbinary.readouterr().out) == (0, b"f7_1\n")


def test_a_debug_file_is_converted_and_has_variables(
    compiler: str,
    tmp_path: Path,
    capfdbinary: pytest.CaptureFixture[bytes],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GSYM_CACHE_DIR", str(tmp_path / "cache"))
    source = tmp_path / "a.c"
    source.write_text("int counter[4] = {1};\nint f(int x) { return x + *counter; }\n")
    path = tmp_path / "symbols/.build-id/ab/cdef.debug"
    path.parent.mkdir(parents=True)
    flags = ["-g", "-shared", "-fPIC", "-Wl,--build-id=0xabcdef"]
    subprocess.run([compiler, *flags, "-o", path, source], check=True)
    listed = subprocess.run(["nm", path], check=True, capture_output=True, text=True)
    at = {
        line.split()[2]: int(line.split()[0], 16)
        for line in listed.stdout.splitlines()
        if len(line.split()) == 3
    }
    log = tmp_path / "a.log"
    log.write_bytes(
        b"{{{module:0:a.so:elf:abcdef}}}\n{{{mmap:0x0:0x100000:load:0:rwx:0x0}}}\n"
        b"{{{data:0x%x}}} {{{pc:0x%x:pc}}}\n" % (at["counter"] + 4, at["f"])
    )
    folder = tmp_path / "symbols"
    options = ["--debug-file-directory", str(folder), "--context=elide", str(log)]
    assert main(["filter", *options]) == 0
    shown = capfdbinary.readouterr().out
    assert shown == b"counter+0x4 f[%s:2]\n" % bytes(source)
    assert list((tmp_path / "cache").rglob("*.gsym"))


def test_missing_folder_option_is_explained(
    run: Run, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    hint = (
        b"gsym: use --gsym-dir DIR to name folders of binaries, debug files or GSYM "
        b"files\n"
    )
    assert hint not in run(CONTEXT + b"{{{pc:0x1080:pc}}}\n").err
    main(["filter", run.path])
    assert capfdbinary.readouterr().err.endswith(hint)
    main(["filter", "--no-summary", run.path])
    assert capfdbinary.readouterr().err == b""


def test_unresolved_addresses_are_summarized_at_the_end(run: Run) -> None:
    log = b"{{{module:0:x:elf:12}}}\n{{{mmap:0:0x10:load:0:r:0}}}\n{{{pc:0x1}}}\n" * 1
    done = run(log, "--debug-file-directory=/nowhere")
    assert done.err.startswith(b"gsym: 1 unresolved in 'x' (build id 12): ")
    assert b"/nowhere: is not a folder" in done.err
    assert b"symbols: has no file with this build id" in done.err
    assert run(log, "--no-summary").err == b""


# ---- streams


def read_all(stream: IO[bytes], size: int) -> bytes:
    """As many bytes of a stream without a buffer, in however many pieces they come."""
    data = b""
    while len(data) < size and (piece := stream.read(size - len(data))):
        data += piece
    return data


def test_a_line_is_answered_before_the_next_one_comes(folder: str) -> None:
    with subprocess.Popen(
        [*COMMAND, "--gsym-dir", folder],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        bufsize=0,
    ) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(CONTEXT)
        assert read_all(process.stdout, len(SUMMARY)) == SUMMARY  # when nothing comes
        process.stdin.write(b"text\n" + FRAME[:9])
        assert read_all(process.stdout, 5) == b"text\n"
        process.stdin.write(FRAME[9:])
        assert read_all(process.stdout, len(SHOWN)) == SHOWN
        no_end = b"x {{{hexdict: a:0x1\n"
        process.stdin.write(no_end)
        assert read_all(process.stdout, len(no_end)) == no_end
        process.stdin.close()
        assert process.stdout.read() == b""
        assert process.wait() == 0


def flushed_gzip(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=31)
    return packer.compress(data) + packer.flush(zlib.Z_SYNC_FLUSH)


def flushed_zstd(data: bytes) -> bytes:
    packer = pytest.importorskip("backports.zstd").ZstdCompressor()
    return bytes(packer.compress(data, mode=packer.FLUSH_BLOCK))


@pytest.mark.parametrize("pack", [flushed_gzip, flushed_zstd])
def test_a_compressed_line_is_answered_before_the_next_one_comes(
    folder: str, pack: Callable[[bytes], bytes]
) -> None:
    with subprocess.Popen(
        [*COMMAND, "--gsym-dir", folder],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
    ) as process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        process.stdin.write(pack(CONTEXT))
        assert read_all(process.stdout, len(SUMMARY)) == SUMMARY  # when nothing comes
        process.stdin.close()
        assert b"it is truncated" in process.stderr.read()


# A process that was started in the background ignores the signal, and so do its own.
HEEDING_SIGINT = """
import signal, sys
from gsym.cli.main import main
signal.signal(signal.SIGINT, signal.default_int_handler)
raise SystemExit(main(["filter", *sys.argv[1:]]))
"""


def test_interrupted_log_ends_with_its_rest_and_summary(
    folder: str, tmp_path: Path
) -> None:
    dumps = tmp_path / "dumps.json"
    options = ["--gsym-dir", folder, f"--dumpfile-output={dumps}"]
    with subprocess.Popen(
        [sys.executable, "-c", HEEDING_SIGINT, *options],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
    ) as process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        process.stdin.write(CONTEXT + b"{{{dumpfile:a:b}}}\n{{{pc:0x1080:pc}}}\nbegun")
        shown = SUMMARY + b"[[[dumpfile:a:b]]]\na.o+0x80\n"
        assert read_all(process.stdout, len(shown)) == shown
        process.send_signal(signal.SIGINT)
        assert process.stdout.read() == b"begun"
        assert process.stderr.read().startswith(b"gsym: 1 unresolved in 'a.o'")
        assert process.wait() == 130
    assert len(json.loads(dumps.read_text())) == 1


def test_debuginfod_without_servers_is_ignored_in_style_llvm(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEBUGINFOD_URLS", "")
    assert run(CONTEXT + FRAME, "--style=llvm", "--debuginfod").status == 0


def test_a_closed_pipe_is_not_an_error(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_bytes(b"text\n" * 500_000)
    with subprocess.Popen(
        [*COMMAND, str(log)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.read(5)
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() in {0, -signal.SIGPIPE}


def test_lines_of_several_processes(run: Run) -> None:
    other = CONTEXT.replace(b"a.o", b"b.o").replace(b"abcdef", b"12")
    lines = [b"[1] " + line for line in CONTEXT.splitlines(keepends=True)]
    lines += [b"[2] " + line for line in other.splitlines(keepends=True)]
    lines += [b"[2] {{{reset}}}\n", b"[1] {{{pc:0x1011:pc}}}\n", b"no process\n"]
    lines += [b"[2] {{{pc:0x1011:pc}}}\n"]
    done = run(b"".join(lines), r"--demux=^\[(\d+)\]", "--context=elide")
    assert done.out == (
        b"[1] first()[/src/a.c:3]\nno process\n[2] [[[pc:0x1011:pc]]]\n"
    )


PAGE_ONLY = re.compile(rb"<span role=.*?</span>|<[^>]*>", re.DOTALL)


@pytest.mark.parametrize("style", ["spec", "llvm", "fuchsia"])
@pytest.mark.parametrize("form", ["text", "html"])
def test_all_lines_made_from_a_line_name_its_process(
    style: str, form: str, run: Run
) -> None:
    log = (
        b"[1] {{{module:0:a.o:elf:abcdef}}}\n[2] text\n"
        b"[1] {{{mmap:0x1000:0x100:load:0:rx:0x0}}}\n"
        b"[1] {{{bt:0:0x1019}}}\n[1] at {{{bt:1:0x1019}}} end\n"
        b"[1] \t{{{bt:2:0x1019}}} {{{symbol:x}}}\n"
        b"[1] {{{hexdict:A: 0x1018}}}\n[1] {{{reset}}}\n"
    )
    options = [f"--style={style}", f"--to={form}", "--hexdict=notes"]
    out = run(log, *options, r"--demux=^\[(\d+)\]").out.partition(b"<pre>\n")
    shown = out[0] if form == "text" else PAGE_ONLY.sub(b"", out[2])
    lines = shown.decode().strip().splitlines()
    assert [line for line in lines if not line.startswith("[1] ")] == ["[2] text"]
    assert sum("a.o" in line for line in lines) == 8
    assert sum(line.startswith("[1] \t") for line in lines) == 2


def test_streams_of_idle_processes_are_freed() -> None:
    made = MarkupFilter(Modules(), demux=rb"^\d+".decode())
    made.feed(b"0 " + CONTEXT.replace(b"\n", b"\n0 ") + b"\n")
    shown = made.feed(b"".join(b"%d {{{symbol:a}}}\n" % each for each in range(1000)))
    assert shown.count(b" a\n") == 1000
    assert len(made._stream) == 256  # type: ignore[arg-type]  # noqa: SLF001


def test_split_lines_are_joined(run: Run) -> None:
    log = b"{{{symb\r\n> ol:_Z1\n> fv}}}\nplain\n> x"
    assert run(log, "--join=> ").out == b"f()\nplainx"


def test_split_lines_are_joined_between_lines_of_others(run: Run) -> None:
    log = (
        b"[1] {{{symb\n[2] two\n[1]+ol:_Z1\n[2]+ more\n+ and more\n[1]+fv}}}\nnone\n"
        b"[3] {{{symbol:a\n[3]+}}}"
    )
    options = [r"--demux=^\[(\d+)\]", r"--join=(\[\d+\])?\+"]
    shown = b"[1] f()\n[2] two more and more\nnone\n[3] a"
    lines = run(log, *options).out.splitlines()
    assert sorted(lines) == sorted(shown.splitlines())
    shown_at = places(run(log, "--json", *options).out)
    assert shown_at == [(1, 5, "symbol"), (8, 5, "symbol")]


# ---- other forms

# The frames at 0x1018.
SECOND = [
    {"function": "second", "file": "/src/b.h", "line": 8},
    {"function": "first()", "file": "/src/a.c", "line": 4},
]


def test_one_object_for_each_element(run: Run) -> None:
    log = CONTEXT + b"x {{{bt:3:0x1019}}} {{{data:0x1041}}}\n{{{pc:0x9}}}\n"
    records = [json.loads(line) for line in run(log, "--json").out.splitlines()]
    assert [record["element"] for record in records] == (
        ["module", "mmap", "bt", "data", "pc"]
    )
    assert records[0]["build_id"] == "abcdef"
    assert records[2] == {
        "log_line": 3,
        "column": 3,
        "element": "bt",
        "frame": 3,
        "address": "0x1019",
        "kind": "",
        "message": "",
        "looked_up": "0x1018",
        "module": "a.o",
        "build_id": "abcdef",
        "linked_address": "0x18",
        "frames": SECOND,
    }
    assert (records[3]["name"], records[3]["offset"]) == ("bare", 1)
    assert records[4]["reason"] == "not in any module of the log"


def places(out: bytes) -> list[tuple[int, int, str]]:
    records = map(json.loads, out.splitlines())
    return [(each["log_line"], each["column"], each["element"]) for each in records]


def test_objects_have_the_position_of_their_element(run: Run) -> None:
    log = (
        b"text\n\xff\r\n a {{{symbol:a}}}\r\n{{{hexdict:A: 0\n B: 1}}} {{{symbol:b}}}\n"
        b"{{{hexdict:\n{{{symbol:c}}}\n" + b"x" * 70_000 + b"\n{{{symbol:d}}}"
    )
    assert places(run(log, "--json").out) == [
        *((3, 4, "symbol"), (4, 1, "hexdict"), (5, 10, "symbol")),
        *((7, 1, "symbol"), (9, 1, "symbol")),
    ]


def test_objects_name_their_process(run: Run) -> None:
    log = (
        b"[1] {{{symbol:a}}}\n[\xff] {{{pc:1}}}\nnone {{{symbol:b}}}\n"
        b"[1] {{{pc:0x9}}} {{{reset}}}\n[2] {{{hexdict: A: 0\n[1] text\n[2] B: 1}}}\n"
    )
    log += b"".join(b"[3] " + line for line in CONTEXT.splitlines(keepends=True))
    log += b"[3] {{{pc:0x1011:pc}}}\n[1] {{{symbol:a}}}\n"
    out = run(log, "--json", r"--demux=^\[(.+?)\]").out
    processes = [json.loads(line).get("process") for line in out.splitlines()]
    assert processes == ["1", "?", None, "1", "1", "2", "3", "3", "3", "1"]
    assert b"process" not in run(log, "--json").out


ELEMENTS = st.sampled_from(
    [
        *(b"{{{symbol:a}}}", b"{{{symbol}}}", b"{{{pc:0x1011}}}", b"{{{pc:1:2:3}}}"),
        *(b"{{{bt:0:0x1019}}}", b"{{{data:0x9}}}", b"{{{hexdict:A: 0x1011}}}"),
        *(b"{{{dumpfile:a:b}}}", b"{{{dumpfile:a}}}", b"{{{reset}}}", b"{{{reset:x}}}"),
        *(b"{{{module:0:a.o:elf:abcdef}}}", b"{{{mmap:0x1000:100:load:0:rx:0}}}"),
    ]
)
TEXTS = st.sampled_from(
    [b"", b"\n", b" text ", b"{{{other:1}}}", b"{{{", b"}}}", b"\r\n"]
)


@given(st.lists(st.tuples(TEXTS, ELEMENTS)), st.sampled_from(["spec", "fuchsia"]))
def test_each_element_is_one_object(
    pieces: list[tuple[bytes, bytes]], style: str
) -> None:
    made = MarkupFilter(Modules(), style=style, output=JsonOutput())
    log = b"".join(text + element for text, element in pieces)
    records = list(map(json.loads, (made.feed(log) + made.finish()).splitlines()))
    tags = [element[3:-3].partition(b":")[0].decode() for _, element in pieces]
    assert [record["element"] for record in records] == tags
    starts = [0, *(at + 1 for at, byte in enumerate(log) if byte == ord("\n"))]
    for record in records:
        at = starts[record["log_line"] - 1] + record["column"] - 1
        assert log.startswith(b"{{{" + record["element"].encode(), at)


def test_unresolved_element_is_an_object_with_the_reason(run: Run) -> None:
    log = CONTEXT + b"{{{pc:42}}}\n" + CONTEXT
    faults = [json.loads(line) for line in run(log, "--json").out.splitlines()[2:]]
    assert "error" not in faults.pop()  # the same mmap may come again
    assert faults == [
        {
            "log_line": 3,
            "column": 1,
            "element": "pc",
            "text": "{{{pc:42}}}",
            "error": "expected address; found '42'",
        },
        {
            "log_line": 4,
            "column": 1,
            "element": "module",
            "text": "{{{module:0:a.o:elf:abcdef}}}",
            "error": "duplicate module ID",
        },
    ]


class Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, _attrs: object) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def test_page_shows_details(run: Run) -> None:
    log = CONTEXT + FRAME + b"<script>alert(1)</script> & {{{symbol:<b>}}}\n\x1b[31m"
    done = run(log, "--to=html")
    page = Page()
    page.feed(done.out.decode())
    assert "script" not in page.tags
    assert "b" not in page.tags
    assert page.tags.count("span") == 4
    assert "<script>alert(1)</script> & <b>" in page.text
    assert "build id abcdef" in page.text
    unknown = run(CONTEXT + b"{{{pc:0x1080:pc}}}\n", "--to=html").out
    assert (
        b"a.o + 0x80 (rx), build id abcdef\nno symbol at this address</span>" in unknown
    )
    assert b"\x1b" not in done.out
    assert done.out.endswith(HTML_END)


def test_a_page_shows_the_colours_of_the_log_up_to_the_end_of_a_line(run: Run) -> None:
    log = b"a \x1b[31mb\x1b[1m {{{symbol:c}}}\x1b[4m\x1b[38;5;1m d\n\x1b[1me\x1b[0mf\ng"
    out = run(log, "--to=html").out.decode()
    body = out[out.index("<pre>\n") + 6 :]
    assert re.sub(r"<span role=.*?</span>", "", body) == (
        'a <span class="s c1">b</span><span class="s c1 bold"> </span>'
        '<span class="s c1 bold"><span class="e" tabindex="0">c</span></span>'
        '<span class="s c1 bold"> d\n</span><span class="bold">e</span>f\ng'
        "</pre>\n</html>\n"
    )


def test_registers_as_an_object_have_the_frames_of_each_address(run: Run) -> None:
    registers = b"{{{hexdict: RIP: 0x1018 RAX: 0 RIP: 0x10f0 }}}\n"
    log = CONTEXT + registers + b"{{{hexdict:A: 0}}}\n"
    first, second = map(json.loads, run(log, "--json").out.splitlines()[2:])
    assert first["places"] == [
        {
            "key": "RIP",
            "value": "0x1018",
            "module": "a.o",
            "build_id": "abcdef",
            "linked_address": "0x18",
            "frames": SECOND,
        },
        {
            "key": "RIP",
            "value": "0x10f0",
            "module": "a.o",
            "build_id": "abcdef",
            "linked_address": "0xf0",
            "frames": [],
            "reason": "no symbol at this address",
        },
    ]
    assert second == {"log_line": 4, "column": 1, "element": "hexdict", "text": "A: 0"}


def test_every_byte_in_a_page_is_escaped() -> None:
    made = MarkupFilter(Modules(), output=HtmlOutput())
    page = made.feed(bytes(range(256)) * 2) + made.finish()
    text = page.decode().split("<pre>", 1)[1]
    assert "<" not in text
    assert '"' not in text


# ---- dumps

DUMP = CONTEXT + b"{{{dumpfile:sancov:s.1}}}\n"


@pytest.mark.parametrize("option", ["--dumpfile", "--sancov=."])
def test_options_on_dumps_ask_for_them_in_style_llvm(option: str, run: Run) -> None:
    log = b"{{{dumpfile:a:b}}}\n"
    assert run(log, "--style=llvm").out == log
    assert run(log, "--style=llvm", option).out != log


def test_a_dictionary_is_asked_for_in_style_llvm(run: Run) -> None:
    log = CONTEXT + b"{{{hexdict:A: 0x1041}}}\n"
    shown = SUMMARY + b"A: 0x1041\n  A = 0x1041: bare (a.o+0x41)\n"
    assert run(log, "--style=llvm", "--hexdict").out == shown
    assert run(log, "--style=llvm", "--hexdict", "notes").out == shown
    assert b"0x1041 [bare" in run(log, "--style=llvm", "--hexdict=inline").out
    assert run(log, "--hexdict=off").out.endswith(b"{{{hexdict:A: 0x1041}}}\n")


@pytest.mark.parametrize("count", [0, 1, 3])
def test_lists_of_dumps_have_any_length(run: Run, tmp_path: Path, count: int) -> None:
    path = tmp_path / "dumps.json"
    run(b"{{{dumpfile:a:\xff}}}\n" * count, f"--dumpfile-output={path}")
    assert len(json.loads(path.read_text())) == count


def test_a_list_of_dumps(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "dumps.json"
    run(DUMP, f"--dumpfile-output={path}")
    (dump,) = json.loads(path.read_text())
    assert dump["segments"] == [
        {"mod": 0, "vaddr": 4096, "size": 256, "flags": "rx", "mod_rel_addr": 0}
    ]


def test_coverage_is_symbolized(run: Run, tmp_path: Path) -> None:
    addresses = (0x1011, 0x1041, 0x1080, 0x9)
    data = (0xC0BFFFFFFFFFFF64).to_bytes(8, "little")
    data += b"".join(address.to_bytes(8, "little") for address in addresses)
    (tmp_path / "s.1").write_bytes(data)
    done = run(DUMP, f"--sancov={tmp_path}")
    assert b"[[[sancov: 4 points in " in done.out
    assert (tmp_path / "s.1.txt").read_text() == (
        "0x1011 first() /src/a.c:3\n0x1041 bare ??:0\n0x1080 a.o+0x80\n0x9\n"
    )


@pytest.mark.parametrize("name", ["../s.1", "/etc/passwd", "..", "", "none", "a\0b"])
def test_a_dump_is_read_from_its_folder_only(
    name: str, run: Run, tmp_path: Path
) -> None:
    (tmp_path / "d").mkdir()
    before = sorted((tmp_path / "d").iterdir())
    done = run(b"{{{dumpfile:sancov:%s}}}\n" % name.encode(), f"--sancov={tmp_path}/d")
    assert done.out == b"[[[dumpfile:sancov:%s]]]\n" % name.encode()
    assert done.err
    assert sorted((tmp_path / "d").iterdir()) == before


def test_a_file_of_another_build_is_not_used(run: Run, folder: str) -> None:
    write_module(Path(folder) / "abcdee.gsym")
    log = CONTEXT.replace(b"elf:abcdef", b"elf:abcdee") + FRAME
    done = run(log, "--context=elide")
    assert done.out == b"    #0    0x0000000000001011 (a.o+0x11)\n"
    assert b"abcdee.gsym: its build id is abcdef, not abcdee" in done.err
