"""Where `gsym filter` has its modules from."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from gsym import RemoteSymbolizer, SymbolicationClient
from gsym.cli.main import main
from gsym.markup.filter import MarkupFilter
from gsym.markup.remote_symbols import RemoteSymbols
from gsym.markup.symbols import SymbolOptions
from gsym.modules.finder import find_in
from gsym.modules.key import key_of_build_id
from gsym.modules.open_module import OpenModule
from gsym.modules.symbolizer import Symbolization
from tests import store_modules
from tests.http_server import Reply, Request, Server
from tests.markup_modules import BUILD_ID, CONTEXT, gsym_bytes

pytestmark = pytest.mark.long

FRAME = b"{{{bt:0:0x1019}}}\n"
LAST = (("Connection", "close"),)  # a command leaves what is open to its end
SHOWN = (
    b"    #0.1  0x0000000000001019 second /src/b.h:8 (a.o+0x18)\n"
    b"    #0    0x0000000000001019 first() /src/a.c:4 (a.o+0x18)\n"
)
SOURCE = "int counter[4] = {1};\nint f(int x) { return x + *counter; }\n"


@pytest.fixture(autouse=True)
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No store, no cache and no server that are not the test's own."""
    monkeypatch.setenv("GSYM_STORE", str(tmp_path / "store"))
    monkeypatch.setenv("GSYM_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("DEBUGINFOD_CACHE_PATH", str(tmp_path / "debuginfod"))
    monkeypatch.delenv("DEBUGINFOD_URLS", raising=False)


class Run:
    """Runs the command on a log in a file; the lines on modules are left out."""

    def __init__(self, folder: Path, capture: pytest.CaptureFixture[bytes]) -> None:
        self._path = folder / "app.log"
        self._capture = capture
        self.err = b""

    def __call__(self, log: bytes, *options: str) -> bytes:
        self._path.write_bytes(log)
        self._capture.readouterr()
        assert main(["filter", "--context=elide", *options, str(self._path)]) == 0
        out, self.err = self._capture.readouterr()
        return out


@pytest.fixture
def run(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> Run:
    return Run(tmp_path, capfdbinary)


@pytest.fixture(scope="module")
def binary(compiler: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(compiler, tmp_path_factory.mktemp("binary"))


def build(compiler: str, folder: Path, *more: str) -> Path:
    (folder / "a.c").write_text(SOURCE)
    flags = ["-g", "-shared", "-fPIC", "-Wl,--build-id=0xabcdef", *more]
    subprocess.run([compiler, *flags, "-o", "a.so", "a.c"], check=True, cwd=folder)
    return folder / "a.so"


def log_of(binary: Path) -> bytes:
    """A log with an address of the variable and one of the function."""
    listed = subprocess.run(["nm", binary], check=True, capture_output=True, text=True)
    lines = (line.split() for line in listed.stdout.splitlines())
    at = {words[2]: int(words[0], 16) for words in lines if len(words) == 3}
    return (
        b"{{{module:0:a.so:elf:abcdef}}}\n{{{mmap:0x0:0x100000:load:0:rwx:0x0}}}\n"
        b"{{{data:0x%x}}} {{{pc:0x%x:pc}}}\n" % (at["counter"] + 4, at["f"])
    )


# ---- folders


def test_a_gsym_file_of_any_name_is_found_by_its_uuid(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "symbols/app"
    folder.mkdir(parents=True)
    (folder / "whatever.gsym").write_bytes(gsym_bytes())
    (folder / "notes.txt").write_text("{{{")
    assert run(CONTEXT + FRAME, f"--gsym-dir={tmp_path}/symbols") == SHOWN
    other = CONTEXT.replace(b"abcdef", b"abcdee")
    assert b"(a.o+0x18)" in run(other + FRAME, f"--gsym-dir={tmp_path}/symbols")
    assert b"has no file with this build id" in run.err


def test_a_build_id_longer_than_a_gsym_file_holds(run: Run, tmp_path: Path) -> None:
    whole = bytes(range(1, 33))
    path = store_modules.write_gsym(tmp_path / "long.gsym", 7)
    data = Path(path).read_bytes().replace(store_modules.build_id(7), whole[:20])
    Path(path).write_bytes(data)
    log = CONTEXT.replace(b"abcdef", whole.hex().encode()).replace(
        b":0x0}", b":0x1000}"
    )
    shown = run(log + b"{{{pc:0x1004:pc}}}\n", f"--gsym-dir={tmp_path}")
    assert shown == b"f7_1\n"


def test_a_binary_of_any_name_is_found_by_its_build_id(run: Run, binary: Path) -> None:
    shown = run(log_of(binary), f"--gsym-dir={binary.parent}")
    assert shown == b"counter+0x4 f[%s:2]\n" % bytes(binary.with_name("a.c"))


def test_a_gsym_file_next_to_its_binary_does_not_hide_variables(
    run: Run, binary: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "symbols"
    folder.mkdir()
    shutil.copy(binary, folder / "a.so")
    assert main(["convert", "--quiet", str(folder / "a.so")]) == 0
    code = b"f[%s:2]\n" % bytes(binary.with_name("a.c"))
    assert run(log_of(binary), f"--gsym-dir={folder}") == b"counter+0x4 " + code
    (folder / "a.so").rename(tmp_path / "a.so")
    shown = run(log_of(binary), f"--gsym-dir={folder}")
    assert shown.startswith(b"a.so+0x")
    assert b"no file with variables found (binary, debug file, or GSYM file" in run.err


def test_a_larger_binary_without_functions_does_not_hide_its_debug_file(
    run: Run, compiler: str, tmp_path: Path
) -> None:
    folder = tmp_path / "symbols"
    folder.mkdir()
    binary = build(compiler, folder, "-fvisibility=hidden")
    log = log_of(binary)
    binary.rename(folder / "a.debug")
    subprocess.run(["strip", "-o", binary, folder / "a.debug"], check=True)
    with binary.open("ab") as file:
        file.write(bytes(1 << 16))
    shown = b"counter+0x4 f[%s:2]\n" % bytes(folder / "a.c")
    assert run(log, f"--gsym-dir={folder}") == shown


def test_a_breakpad_file_without_a_code_id_is_found_by_the_build_id(
    run: Run, tmp_path: Path
) -> None:
    folder = tmp_path / "symbols/a.o/00EFCDAB0000000000000000000000000"
    folder.mkdir(parents=True)
    (folder / "a.o.sym").write_text(
        "MODULE Linux x86_64 00EFCDAB0000000000000000000000000 a.o\n"
        "FILE 0 /src/a.c\nFUNC 10 20 0 first()\n10 20 3 0\n"
    )
    shown = run(CONTEXT + b"{{{pc:0x1011:pc}}}\n", f"--gsym-dir={tmp_path}/symbols")
    assert shown == b"first()[/src/a.c:3]\n"


def test_debug_directories_are_not_looked_through(tmp_path: Path) -> None:
    (tmp_path / "any.gsym").write_bytes(gsym_bytes())
    key = key_of_build_id(BUILD_ID)
    assert find_in([], [str(tmp_path)]).open(key).reader is None
    assert find_in([str(tmp_path)], []).open(key).reader is not None


# ---- sources


@pytest.mark.parametrize("style", ["spec", "llvm"])
def test_a_source_fills_the_store(
    run: Run, binary: Path, tmp_path: Path, style: str
) -> None:
    place = tmp_path / "symbols/.build-id/ab/cdef.debug"
    place.parent.mkdir(parents=True)
    place.write_bytes(binary.read_bytes())
    options = [f"--style={style}", f"--source={tmp_path}/symbols", "--functions=short"]
    source = bytes(binary.with_name("a.c"))
    name = {"spec": b"counter+0x4", "llvm": b"counter"}[style]
    assert run(log_of(binary), *options) == name + b" f[%s:2]\n" % source
    place.unlink()  # the store has it now, with its variables
    assert run(log_of(binary), f"--store={tmp_path}/store").startswith(
        b"counter+0x4 f["
    )


def test_debuginfod_is_asked_on_request(
    run: Run, binary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("httpx2")
    with Server(Reply(binary.read_bytes(), headers=LAST)) as server:
        monkeypatch.setenv("DEBUGINFOD_URLS", server.url)
        assert b"counter" not in run(log_of(binary))
        assert not server.requests
        assert run(log_of(binary), "--debuginfod").startswith(b"counter+0x4 f[")
        assert server.paths[0] == "/buildid/abcdef/debuginfo"


@pytest.mark.parametrize(
    ("options", "count"),
    [([], 1), (["--no-debuginfod"], 0), (["--debuginfod"], 1)],
)
def test_the_drop_in_asks_debuginfod_as_llvm_symbolizer_does(
    options: list[str], count: int, binary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("httpx2")
    command = [
        sys.executable,
        "-m",
        "gsym.cli.dropins.symbolizer",
        "--filter-markup",
        *options,
    ]
    with Server(Reply(binary.read_bytes(), headers=LAST)) as server:
        monkeypatch.setenv("DEBUGINFOD_URLS", server.url)
        done = subprocess.run(
            command, input=log_of(binary), capture_output=True, check=True
        )
    assert done.stdout.count(b"\ncounter f[") == count
    assert len(server.requests) == count


# ---- a server


def serve(*names: str) -> Server:
    """A server that knows a function, with names of what is inlined behind its own."""

    def answer(request: Request) -> Reply:
        jobs = json.loads(request.body)["jobs"]
        body = json.dumps({"results": list(map(result, jobs))}).encode()
        return Reply(body, headers=LAST)

    def result(job: dict[str, list[list[list[int]]]]) -> dict[str, object]:
        outer, *inner = names
        frames = [
            {
                "frame": number,
                "module": "a.o",
                "module_offset": hex(offset),
                "function": outer,
                "function_offset": "0x4",
                "file": "a.c",
                "line": offset,
                "inlines": [{"function": name, "line": 3} for name in inner],
            }
            for number, (_, offset) in enumerate(job["stacks"][0])
        ]
        return {"stacks": [frames], "found_modules": {"a.o/X": True}}

    return Server(answer)


def test_a_server_looks_addresses_up(run: Run) -> None:
    pytest.importorskip("httpx2")
    log = CONTEXT + FRAME + b"{{{data:0x1008}}} {{{hexdict: RIP: 0x1010}}}\n"
    with serve("outer", "inner") as server:
        shown = run(log, f"--server={server.url}", "--header=Auth-Token: secret")
        asked = server.requests[0]
        assert len(server.requests) == 1  # for all addresses of the log
    assert shown == (
        b"    #0.1  0x0000000000001019 inner (a.o+0x18)\n"
        b"    #0    0x0000000000001019 outer a.c:24 (a.o+0x18)\n"
        b"outer+0x4  RIP: 0x1010\n"
        b"  RIP = 0x1010: inner inlined in outer a.c:16 (a.o+0x10)\n"
    )
    assert (asked.path, asked.headers["auth-token"]) == ("/symbolicate/v5", "secret")
    (job,) = json.loads(server.bodies[0])["jobs"]
    assert job["memoryMap"] == [["a.o", "00EFCDAB0000000000000000000000000"]]


def test_offsets_count_from_the_lowest_segment_of_a_module(run: Run) -> None:
    pytest.importorskip("httpx2")
    log = (
        b"{{{module:0:/bin/a:elf:abcdef}}}\n{{{mmap:0x2000:0x10:load:0:rx:0x401000}}}\n"
        b"{{{mmap:0x1000:0x10:load:0:r:0x400000}}}\n{{{pc:0x2008:pc}}}\n"
    )
    with serve("outer") as server:
        assert run(log, f"--server={server.url}") == b"outer[a.c:%d]\n" % 0x1008


def test_unreachable_server_is_reported_once(run: Run) -> None:
    pytest.importorskip("httpx2")
    with Server(Reply(status=403, headers=LAST)) as server:
        shown = run(CONTEXT + FRAME * 3, f"--server={server.url}")
    assert shown == b"    #0    0x0000000000001019 (a.o+0x18)\n" * 3
    assert run.err.startswith(b"gsym: 3 unresolved in 'a.o' (build id abcdef): ")
    assert len(server.requests) <= 3  # tries for the first frame


@pytest.mark.parametrize(
    "option", ["--gsym-dir=x", "--store=x", "--source=.", "--debuginfod"]
)
def test_a_server_answers_alone(
    option: str, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert main(["filter", "--server=http://localhost", option, "-"]) == 2
    assert b"option '--server' excludes" in capfdbinary.readouterr().err


def test_the_library_takes_a_client() -> None:
    pytest.importorskip("httpx2")
    with serve("outer") as server, SymbolicationClient(server.url) as client:
        made = MarkupFilter(RemoteSymbolizer(client))
        shown = made.feed(CONTEXT + b"{{{pc:0x1009}}}\n" * 1000)
        assert shown.count(b"outer[a.c:8]\n") == 1000
        assert len(server.requests) == 1


class Elsewhere:
    """Knows a function at each address, and notes what it was asked."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def symbolize_many(self, asked: list[tuple[object, int]]) -> list[Symbolization]:
        self.asked.append(len(asked))
        return [Symbolization(None, "unknown", OpenModule(None, None)) for _ in asked]


@given(st.lists(st.sampled_from([CONTEXT, FRAME, b"{{{reset}}}\n", b"text\n"])))
def test_addresses_are_requested_once_for_each_piece_of_a_log(
    pieces: list[bytes],
) -> None:
    elsewhere = Elsewhere()
    made = MarkupFilter(elsewhere)  # type: ignore[arg-type]
    made.feed(b"".join(pieces))
    made.finish()
    assert len(elsewhere.asked) <= 1


def test_dictionary_in_pieces_is_requested_once() -> None:
    elsewhere = Elsewhere()
    made = MarkupFilter(elsewhere)  # type: ignore[arg-type]
    made.feed(CONTEXT)
    lines = [b"R%d: 0x%x\n" % (each, 0x1000 + each) for each in range(16)]
    for line in (b"{{{hexdict:\n", *lines, b"}}}\n"):
        made.feed(line)
    assert elsewhere.asked == [16]


@pytest.mark.slow
def test_answers_of_a_server_do_not_fill_the_memory() -> None:
    elsewhere = Elsewhere()
    symbols = RemoteSymbols(elsewhere, SymbolOptions())  # type: ignore[arg-type]
    for start in range(0, 200_000, 10_000):
        symbols.ask([(b"\1", start + at) for at in range(10_000)])
    assert len(symbols._answers) <= 1 << 16  # noqa: SLF001
    assert sum(elsewhere.asked) == 200_000


@pytest.mark.slow
def test_a_log_of_a_server_may_have_as_many_modules_as_any() -> None:
    told: list[bytes] = []
    made = MarkupFilter(Elsewhere(), tell=told.append)  # type: ignore[arg-type]
    most = 1 << 16
    made.feed(b"".join(b"{{{module:%d::elf:ab}}}\n" % each for each in range(most)))
    assert not told
    made.feed(b"{{{module:%d::elf:ab}}}\n" % most)
    assert [message.split(b"\n")[0] for message in told] == [b"error: too many modules"]
