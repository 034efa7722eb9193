"""Files by build id: of the store and of local sources, as clients ask."""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import zipfile
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

import pytest

from gsym.confined.process import run_confined
from gsym.containers.mapped_file import map_file
from gsym.containers.object_file import ObjectFile
from gsym.server.answers import FileBody
from gsym.server.modules import make_symbolizer
from gsym.store.adding import add_file
from gsym.store.directory import Store
from tests.server.running import RunningServer, made_settings
from tests.symbolizer_runs import LLVM_SYMBOLIZER, run_llvm

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.long, pytest.mark.no_engine]

SOURCE = """\
static int twice(int x) { return 2 * x; }
static void crash(volatile int *place) { *place = 1; }
int main(int argc, char **argv) {
    if (argc > 1) crash((int *)argv[argc]);
    return twice(argc);
}
"""
ODD_NAME = 'a"\r\nX-Odd: \u1234'


class Build(NamedTuple):
    """A stripped program, its debug file and its source, in a build folder."""

    folder: Path
    program: Path
    debug: Path
    source: Path
    build_id: str


def tool(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    folder = tmp_path_factory.mktemp("build")
    source = folder / "src" / "app.c"
    source.parent.mkdir()
    source.write_text(SOURCE)
    program, debug = folder / "app", folder / "app.debug"
    command = [tool("gcc"), "-g", "-Wl,--build-id", "-o", str(program), str(source)]
    subprocess.run(command, check=True)
    objcopy = tool("objcopy")
    odd = f"--add-section={ODD_NAME}={source}"
    subprocess.run([objcopy, "--only-keep-debug", odd, program, debug], check=True)
    subprocess.run([objcopy, "--strip-all", program], check=True)
    notes = subprocess.run(
        [tool("readelf"), "-n", program], capture_output=True, text=True, check=True
    )
    found = re.search("Build ID: ([0-9a-f]+)", notes.stdout)
    assert found
    return Build(folder, program, debug, source, found[1])


@pytest.fixture(scope="module")
def server(build: Build) -> Iterator[RunningServer]:
    settings: dict[str, Any] = {
        "store": str(build.folder / ".store"),
        "sources": [str(build.folder)],
        "enable_source": True,
        "source_roots": [str(build.folder / "src")],
        "fetch_downloads": True,
    }
    symbolizer = make_symbolizer(made_settings(**settings))
    with RunningServer(symbolizer, **settings) as running:
        yield running
    symbolizer.close()


def test_the_debug_file_and_the_stripped_program_are_served(
    server: RunningServer, build: Build
) -> None:
    for kind, path in (("debuginfo", build.debug), ("executable", build.program)):
        answer = server.ask("GET", f"/buildid/{build.build_id}/{kind}")
        assert answer.status == 200
        assert answer.body == path.read_bytes()
        assert int(answer.headers["x-debuginfod-size"]) == len(answer.body)
        head = server.ask("HEAD", f"/buildid/{build.build_id}/{kind}")
        assert head.headers["content-length"] == str(len(answer.body))


@pytest.mark.parametrize("coding", ["identity", "gzip"])
@pytest.mark.parametrize("weak", ["", "W/"])  # as proxies that compress write it
def test_a_file_that_the_client_has_is_not_sent_again(
    server: RunningServer, build: Build, coding: str, weak: str
) -> None:
    path = f"/buildid/{build.build_id}/debuginfo"
    accepted = {"Accept-Encoding": coding}
    tag = server.ask("GET", path, headers=accepted).headers["etag"]
    assert tag.endswith('-gzip"') == (coding == "gzip")
    known = {**accepted, "If-None-Match": f'"other", {weak}{tag}'}
    again = server.ask("GET", path, headers=known)
    assert (again.status, again.headers["etag"]) == (304, tag)


@pytest.mark.parametrize("name", [".text", ".debug_info", ".rodata", ".debug_line"])
def test_sections_are_those_of_the_file_that_has_them(
    name: str, server: RunningServer, build: Build, tmp_path: Path
) -> None:
    path = build.debug if name.startswith(".debug") else build.program
    expected = tmp_path / "section"
    dump = f"--dump-section={name}={expected}"
    subprocess.run([tool("objcopy"), dump, path, os.devnull], check=True)
    answer = server.ask("GET", f"/buildid/{build.build_id}/section/{name}")
    assert answer.status == 200
    assert answer.body == expected.read_bytes()


@pytest.mark.parametrize("form", ["zlib", "zlib-gnu"])
def test_a_compressed_section_is_as_in_the_file(tmp_path: Path, form: str) -> None:
    """With the header that says so, as a client that reads the file has it."""
    program, source = tmp_path / "app", tmp_path / "app.c"
    source.write_text(SOURCE)
    command = [tool("gcc"), "-g", f"-gz={form}", "-Wl,--build-id", "-o", str(program)]
    subprocess.run([*command, str(source)], check=True)
    table = subprocess.run(
        [tool("readelf"), "-SWn", program], capture_output=True, text=True, check=True
    ).stdout
    found = re.search(r"(\.z?debug_info) +PROGBITS +\w+ (\w+) (\w+)", table)
    build_id = re.search("Build ID: ([0-9a-f]+)", table)
    assert found
    assert build_id
    start, size = (int(each, 16) for each in found.groups()[1:])
    settings: dict[str, Any] = {
        "store": str(tmp_path / "s"),
        "sources": [str(tmp_path)],
    }
    symbolizer = make_symbolizer(made_settings(**settings))
    with RunningServer(symbolizer, **settings) as running:
        answer = running.ask("GET", f"/buildid/{build_id[1]}/section/{found[1]}")
    symbolizer.close()
    assert answer.status == 200
    assert answer.body == program.read_bytes()[start : start + size]


@pytest.mark.parametrize(
    "path", ["../build/.//../src/app.c", "/{}/build/..//src/app.c"]
)
def test_a_source_file_has_the_path_that_dwarf_has(tmp_path: Path, path: str) -> None:
    """Unchanged, as clients ask for it, before anything else is asked of the module."""
    (tmp_path / "src").mkdir()
    (tmp_path / "build").mkdir()
    source = tmp_path / "src" / "app.c"
    source.write_text(SOURCE)
    given = path.format(tmp_path)
    command = [tool("gcc"), "-g", "-Wl,--build-id", "-o", "app", given]
    subprocess.run(command, check=True, cwd=tmp_path / "build")
    program = tmp_path / "build" / "app"
    with ObjectFile(map_file(str(program)), "app") as binary:
        build_id = binary.uuid.hex()
    settings: dict[str, Any] = {
        "store": str(tmp_path / "store"),
        "sources": [str(tmp_path / "build")],
        "enable_source": True,
        "source_roots": [str(tmp_path / "src")],
    }
    asked = given if given.startswith("/") else f"{tmp_path}/build/{given}"
    symbolizer = make_symbolizer(made_settings(**settings))
    with RunningServer(symbolizer, **settings) as running:
        environment = os.environ | {
            "DEBUGINFOD_URLS": running.url,
            "DEBUGINFOD_CACHE_PATH": str(tmp_path / "cache"),
        }
        found = subprocess.run(
            [tool("debuginfod-find"), "source", build_id, asked],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        other = running.ask("GET", f"/buildid/{build_id}/source{tmp_path}/build/app")
    symbolizer.close()
    assert found.returncode == 0, found.stderr
    assert Path(found.stdout.strip()).read_text() == SOURCE
    assert other.status == 404


def test_a_section_may_have_any_name(server: RunningServer, build: Build) -> None:
    url = f"/buildid/{build.build_id}/section/{quote(ODD_NAME)}"
    answer = server.ask("GET", url)
    assert (answer.status, answer.body) == (200, SOURCE.encode())
    assert "x-odd" not in answer.headers


def test_a_file_truncated_while_a_section_is_sent_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(1 << 20))
    body = FileBody(FileIO(path), (10, 1 << 20))
    pieces = body.pieces(0, None)
    next(pieces)
    os.truncate(path, 20)
    with pytest.raises(OSError, match="truncated"):
        list(pieces)
    body.close()


@pytest.mark.parametrize(
    "path",
    [
        "section/.nothing",
        "section/..%2f..%2fetc%2fpasswd",
        "source/etc/passwd",
        "source/../../../etc/passwd",
        "other",
    ],
)
def test_what_a_module_does_not_have_is_404(
    path: str, server: RunningServer, build: Build
) -> None:
    assert server.ask("GET", f"/buildid/{build.build_id}/{path}").status == 404


@pytest.mark.parametrize("build_id", ["00" * 20, "abc", "x", "%20"])
@pytest.mark.parametrize(
    "path", ["debuginfo", "executable", "section/.text", "source/a.c"]
)
def test_an_unknown_build_id_is_404(
    build_id: str, server: RunningServer, path: str
) -> None:
    assert server.ask("GET", f"/buildid/{build_id}/{path}").status == 404


def test_a_source_file_is_served_if_the_module_refers_to_it(
    server: RunningServer, build: Build
) -> None:
    other = build.source.with_name("other.c")
    other.write_text("int x;")
    base = f"/buildid/{build.build_id}/source"
    assert server.ask("GET", f"{base}{build.source}").body == SOURCE.encode()
    assert server.ask("GET", f"{base}{other}").status == 404


def test_the_size_of_a_source_file_is_limited(build: Build, tmp_path: Path) -> None:
    settings: dict[str, Any] = {
        "store": str(tmp_path / "store"),
        "enable_source": True,
        "source_roots": [str(build.source.parent)],
    }
    add_file(Store(tmp_path / "store"), build.debug)
    path = f"/buildid/{build.build_id}/source{build.source}"
    for most, status in ((len(SOURCE), 200), (len(SOURCE) - 1, 413)):
        limited = {**settings, "max_source": most}
        symbolizer = make_symbolizer(made_settings(**limited))
        with RunningServer(symbolizer, **limited) as running:
            assert running.ask("GET", path).status == status
        symbolizer.close()


def test_metadata_lists_the_binaries_of_sources(
    server: RunningServer, build: Build
) -> None:
    of_program = {
        "buildid": build.build_id,
        "type": "executable",
        "file": "/app",
    }
    for query in (
        f"key=buildid&value={build.build_id}",
        "key=glob&value=/app*",
    ):
        found = server.ask("GET", f"/metadata?{query}").json
        assert found["complete"] is True
        assert of_program in found["results"]
        assert {each["type"] for each in found["results"]} == {
            "debuginfo",
            "executable",
        }
    found = server.ask("GET", "/metadata?key=file&value=/app").json
    assert found["results"] == [of_program]
    path = f"/metadata?key=file&value={build.program}"
    assert server.ask("GET", path).json["results"] == []
    for query in ("key=x&value=y", f"key=glob&value={'*' * 1025}"):
        assert server.ask("GET", f"/metadata?{query}").status == 400


@pytest.fixture
def client_environment(server: RunningServer, tmp_path: Path) -> dict[str, str]:
    return {
        **os.environ,
        "DEBUGINFOD_URLS": server.url,
        "DEBUGINFOD_CACHE_PATH": str(tmp_path / "cache"),
        "HOME": str(tmp_path),
    }


@pytest.mark.parametrize("kind", ["debuginfo", "executable", "source"])
def test_debuginfod_find_finds_each_kind(
    kind: str, build: Build, client_environment: dict[str, str]
) -> None:
    command = [tool("debuginfod-find"), kind, build.build_id]
    expected = {
        "debuginfo": build.debug,
        "executable": build.program,
        "source": build.source,
    }[kind]
    if kind == "source":
        command.append(str(build.source))
    found = subprocess.run(
        command, env=client_environment, capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stderr
    assert Path(found.stdout.strip()).read_bytes() == expected.read_bytes()


def alone(build: Build, folder: Path) -> Path:
    """The stripped program where nothing lies beside it."""
    return Path(shutil.copy(build.program, folder / "alone"))


def test_gdb_finds_debug_information_and_source(
    build: Build, client_environment: dict[str, str], tmp_path: Path
) -> None:
    command = [tool("gdb"), "-batch", "-nx", "-iex", "set debuginfod enabled on"]
    command += ["-ex", "info line twice", "-ex", "list twice"]
    found = subprocess.run(
        [*command, str(alone(build, tmp_path))],
        env=client_environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert 'Line 1 of "' in found.stdout, found.stderr
    assert "return 2 * x" in found.stdout


@pytest.mark.parametrize("program", ["eu-addr2line", LLVM_SYMBOLIZER])
def test_symbolizers_find_debug_information(
    program: str,
    build: Build,
    client_environment: dict[str, str],
    tmp_path: Path,
) -> None:
    symbols = subprocess.run(
        [tool("nm"), build.debug], capture_output=True, text=True, check=True
    )
    found = re.search("^([0-9a-f]+) t twice", symbols.stdout, re.MULTILINE)
    assert found
    words = ["-f", "-e", str(alone(build, tmp_path)), f"0x{found[1]}"]
    if tool(program).endswith("addr2line"):
        done = subprocess.run(
            [program, *words],
            env=client_environment,
            capture_output=True,
            text=True,
            check=False,
        )
        out, err = done.stdout, done.stderr
    else:
        _, out, err = run_llvm("--debuginfod", *words, environment=client_environment)
    assert "twice" in out, err
    assert "app.c:1" in out


def test_valgrind_finds_debug_information(
    build: Build, client_environment: dict[str, str], tmp_path: Path
) -> None:
    tool("debuginfod-find")  # by which it asks
    done = subprocess.run(
        [tool("valgrind"), str(alone(build, tmp_path)), "crash"],
        env=client_environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "crash (app.c:2)" in done.stderr, done.stderr


def test_curl_fetches_an_executable(
    build: Build, server: RunningServer, tmp_path: Path
) -> None:
    target = tmp_path / "fetched"
    url = f"{server.url}/buildid/{build.build_id}/executable"
    command = [tool("curl"), "-fsS", "--compressed", "-o", str(target), url]
    subprocess.run(command, check=True)
    assert target.read_bytes() == build.program.read_bytes()


def test_uploaded_binaries_are_read_by_confined_processes(
    tmp_path: Path, build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(tmp_path / "store")
    add_file(store, build.debug, keep_original=True)
    (tmp_path / "nothing").mkdir()
    settings: dict[str, Any] = {
        "store": str(tmp_path / "store"),
        "sources": [str(tmp_path / "nothing")],
    }
    tasks = []

    def run(task: str, *rest: Any, **named: Any) -> dict[str, Any]:
        tasks.append(task)
        return run_confined(task, *rest, **named)

    monkeypatch.setattr("gsym.confined.binaries.run_confined", run)
    symbolizer = make_symbolizer(made_settings(**settings))
    with RunningServer(symbolizer, **settings) as server:
        base = f"/buildid/{build.build_id}"
        assert server.ask("GET", f"{base}/debuginfo").body == build.debug.read_bytes()
        assert server.ask("GET", f"{base}/section/.debug_info").status == 200
        assert tasks == ["facts", "facts"]
    symbolizer.close()


def zipped(*files: tuple[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in files:
            archive.writestr(name, data)
    return buffer.getvalue()


@pytest.mark.parametrize("order", ["executable first", "debug file first", "separate"])
def test_an_uploaded_executable_joins_the_module_of_its_debug_file(
    order: str, build: Build, tmp_path: Path
) -> None:
    (tmp_path / "nothing").mkdir()
    settings: dict[str, Any] = {
        "store": str(tmp_path / "store"),
        "sources": [str(tmp_path / "nothing")],
    }
    program = ("app", build.program.read_bytes())
    debug = ("app.debug", build.debug.read_bytes())
    sent = {
        "executable first": [zipped(program, debug)],
        "debug file first": [zipped(debug, program)],
        "separate": [zipped(program), zipped(debug), zipped(program), zipped(debug)],
    }[order]
    symbolizer = make_symbolizer(made_settings(**settings))
    tokens = {"ci": "upload"}
    with RunningServer(symbolizer, tokens=tokens, **settings) as server:
        answers = [
            server.ask("POST", "/upload/", each, {"Auth-Token": "ci"}) for each in sent
        ]
        if order == "separate":
            assert answers[0].status == 400
            assert "the store has no debug file" in answers[0].title
            outcomes = [
                each.json["upload"]["modules"][0]["outcome"] for each in answers[1:]
            ]
            assert outcomes == ["added", "kept", "kept"]
        else:
            assert [each.status for each in answers] == [201]
        base = f"/buildid/{build.build_id}"
        assert server.ask("GET", f"{base}/executable").body == program[1]
        assert server.ask("GET", f"{base}/debuginfo").body == debug[1]
        assert server.ask("GET", f"{base}/section/.text").status == 200
    (entry,) = Store(tmp_path / "store").entries()
    assert entry.quality.level > 0
    assert entry.size == sum(
        Path(each).stat().st_size for each in (entry.path, *entry.originals.values())
    )
    symbolizer.close()
