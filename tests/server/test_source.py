"""`/source/v1`: the source file of an address, and no other file."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

import gsym
from gsym.api.extensions import SourceRoots
from gsym.modules.key import ModuleKey
from gsym.modules.symbolizer import Symbolizer
from gsym.server.modules import make_symbolizer
from gsym.store.entries import Entry
from tests.server.modules import LIB_ID, KnownModules
from tests.server.running import RunningServer, made_settings

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.long, pytest.mark.no_engine]

LEAVES = ("/build/a/../../../etc/passwd", "/build/../outside.c", "/etc/passwd")


class Sources:
    """A folder of sources, and a module that names files in it and elsewhere."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "src"
        self.root.mkdir()
        (self.root / "a.c").write_text("int a;\n")
        (self.root / "sub").mkdir()
        (self.root / "sub" / "b.h").write_bytes(b"caf\xe9\n")
        (folder / "outside.c").write_text("secret")
        (self.root / "link.c").symlink_to(folder / "outside.c")
        (self.root / "inside.c").symlink_to(self.root / "a.c")
        (self.root / "folder.c").mkdir()
        os.mkfifo(self.root / "pipe.c")
        self.paths = [
            "/build/a.c",
            "/build/sub/b.h",
            "/build/link.c",
            "/build/inside.c",
            "/build/folder.c",
            "/build/pipe.c",
            "/build/absent.c",
            "C:\\build\\sub\\b.h",
            str(self.root / "a.c"),
            str(folder / "outside.c"),
            "/elsewhere/a.c",
            *LEAVES,
        ]
        with gsym.Creator(base_address=0) as creator:
            for number, path in enumerate(self.paths):
                start = 0x1000 + 0x10 * number
                lines = (gsym.LineEntry(start, path, 1),)
                info = gsym.FunctionInfo(start, 0x10, f"f{number}", line_table=lines)
                creator.add(info)
            creator.save(str(folder / "m.gsym"))
        identity = ModuleKey(
            os="Linux",
            architecture="x86_64",
            debug_id=LIB_ID,
            code_id="",
            debug_file="m",
        )
        self.entry = Entry(str(folder / "m.gsym"), identity)

    def serve(self, **settings: Any) -> RunningServer:
        roots = [f"/build={self.root}", f"C:\\build={self.root}", str(self.root)]
        return RunningServer(
            Symbolizer(KnownModules(self.entry)),
            enable_source=True,
            **{"source_roots": roots, **settings},
        )

    def request(self, number: int, file: str = "") -> dict[str, str]:
        return {
            "debugName": "m",
            "debugId": LIB_ID,
            "moduleOffset": hex(0x1000 + 0x10 * number),
            "file": file or self.paths[number],
        }


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Sources:
    return Sources(tmp_path_factory.mktemp("sources"))


@pytest.fixture(scope="module")
def source(sources: Sources) -> Iterator[RunningServer]:
    with sources.serve() as server:
        yield server


def test_a_source_file_is_returned(sources: Sources) -> None:
    with sources.serve() as server:
        for number, text in enumerate(["int a;\n", "caf�\n"]):
            answer = server.post(sources.request(number), "/source/v1")
            assert answer.json == {
                "symbolsLastModified": None,
                "sourceLastModified": None,
                "file": sources.paths[number],
                "source": text,
            }


@pytest.mark.parametrize("is_enabled", [True, False])
def test_files_that_a_module_has_with_it_are_served(
    is_enabled: bool,  # noqa: FBT001 - of the setting
    clang: str,
    tmp_path: Path,
) -> None:
    folder = tmp_path / "modules"
    folder.mkdir()
    path = tmp_path / "a.c"
    text_of_file = "int twice(int x) {\n    return x * 2;\n}\n"
    path.write_text(text_of_file)
    options = ["-g", "-gdwarf-5", "-gembed-source", "-fPIC", "-shared", "-nostdlib"]
    command = [clang, *options, "-Wl,--build-id", "-o", "lib.so", str(path)]
    subprocess.run(command, cwd=tmp_path, check=True)
    path.unlink()
    gsym.convert(tmp_path / "lib.so", folder / "lib.gsym", embedded_sources=True)
    settings: dict[str, Any] = {
        "store": str(tmp_path / "store"),
        "sources": [str(folder)],
        "enable_source": is_enabled,
    }
    with gsym.open(folder / "lib.gsym") as reader:
        key, build_id = reader.module, reader.uuid.hex()
        (start,) = (each.start for each in reader.functions() if each.name == "twice")
    assert key is not None
    symbolizer = make_symbolizer(made_settings(**settings))
    with RunningServer(symbolizer, **settings) as server:
        found = server.ask("GET", f"/buildid/{build_id}/source{path}")
        assert found.status == (200 if is_enabled else 404)
        request = {"debugName": key.debug_file, "debugId": key.debug_id}
        request |= {"moduleOffset": hex(start), "file": str(path)}
        answer = server.post(request, "/source/v1")
        assert answer.status == (200 if is_enabled else 404)
        if is_enabled:
            assert found.body.decode() == answer.json["source"] == text_of_file
        text = f"{{{{{{module:0:lib.so:elf:{build_id}}}}}}}\n"
        text += "{{{mmap:0x10000:0x10000:load:0:rx:0}}}\n"
        text += f"{{{{{{bt:0:{0x10000 + start:#x}}}}}}}\n"
        report = server.ask("POST", "/symbolicate/report?context=1", text.encode())
        (call,) = report.json["threads"][0]["frames"][0]["calls"]
        lines = {"first": 1, "lines": text_of_file.splitlines()[:2], "link": ""}
        assert call.get("source") == (lines if is_enabled else None)
    symbolizer.close()


def test_only_files_of_the_folders_are_read(sources: Sources) -> None:
    readable = []
    with sources.serve() as server:
        for number, path in enumerate(sources.paths):
            answer = server.post(sources.request(number), "/source/v1")
            assert answer.status in {200, 404}, path
            assert "secret" not in answer.body.decode()
            if answer.status == 200:
                readable.append(path)
    assert readable == [
        "/build/a.c",
        "/build/sub/b.h",
        "/build/inside.c",
        "C:\\build\\sub\\b.h",
        str(sources.root / "a.c"),
    ]


def test_only_files_of_the_address_are_readable(sources: Sources) -> None:
    with sources.serve() as server:
        answer = server.post(sources.request(1, "/build/a.c"), "/source/v1")
        nowhere = server.post(
            {**sources.request(0), "moduleOffset": "0x10"}, "/source/v1"
        )
        unknown = server.post({**sources.request(0), "debugId": "1" * 33}, "/source/v1")
    assert answer.status == nowhere.status == unknown.status == 404


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/build/absent.c", "tried 'absent.c', '/build/absent.c' in source folders"),
        ("/build/link.c", "tried 'link.c', '/build/link.c' in source folders"),
        ("/elsewhere/a.c", "tried '/elsewhere/a.c' in source folders"),
    ],
)
def test_a_missing_file_is_told_with_the_paths_that_were_tried(
    sources: Sources, source: RunningServer, path: str, reason: str
) -> None:
    number = sources.paths.index(path)
    answer = source.post(sources.request(number), "/source/v1")
    assert (answer.status, answer.title) == (404, f"no source file '{path}': {reason}")
    assert str(sources.root) not in answer.title


def test_a_file_that_no_frame_names_is_told(
    sources: Sources, source: RunningServer
) -> None:
    other = source.post(sources.request(1, "/build/a.c"), "/source/v1")
    assert other.title == "no frame at this address is in the file '/build/a.c'"
    with sources.serve(source_roots=["/other=/tmp"]) as server:
        answer = server.post(sources.request(0), "/source/v1")
    reason = "no source folder has its prefix"
    assert answer.title == f"no source file '/build/a.c': {reason}"


def test_paths_are_those_that_symbolication_answers(sources: Sources) -> None:
    with sources.serve(source_map=["/build/=git:x:{path}:1"]) as server:
        mapped = server.post(sources.request(0, "git:x:a.c:1"), "/source/v1")
        plain = server.post(sources.request(0), "/source/v1")
    assert mapped.json["source"] == "int a;\n"
    assert plain.status == 404


@pytest.mark.parametrize(("most", "status"), [(7, 200), (6, 413)])
def test_the_size_of_a_source_file_is_limited(
    sources: Sources, most: int, status: int
) -> None:
    with sources.serve(max_source=most) as server:
        assert server.post(sources.request(0), "/source/v1").status == status


def test_without_folders_nothing_is_read(sources: Sources) -> None:
    with sources.serve(source_roots=[]) as server:
        assert server.post(sources.request(0), "/source/v1").status == 404


def test_an_invalid_request_is_refused(sources: Sources, source: RunningServer) -> None:
    changes: list[dict[str, object]] = [
        {"moduleOffset": 16},
        {"moduleOffset": "16"},
        {"file": None},
        {"debugId": "x"},
    ]
    for change in changes:
        answer = source.post({**sources.request(0), **change}, "/source/v1")
        assert answer.status == 400
        assert answer.title


def test_a_linked_source_root_is_resolved(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a.c").write_text("x")
    (tmp_path / "link").symlink_to("real")
    roots = SourceRoots([str(tmp_path / "link")])
    assert roots.read(str(tmp_path / "real" / "a.c"), 10) == b"x"
    assert roots.read(str(tmp_path / "realistic" / "a.c"), 10) is None
    assert roots.read(str(tmp_path / "real" / "a.c\0"), 10) is None
