"""Build, strip, upload, crash, answer: the server answers as the binaries do."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

import gsym
from gsym.cli.main import main
from gsym.modules.resolver import Resolver
from gsym.modules.symbolizer import Symbolizer
from gsym.store.directory import Store
from tests.conftest import find_peer
from tests.server.running import RunningServer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from gsym.reading.reader import Reader

pytestmark = [pytest.mark.long, pytest.mark.confined]

SOURCE = """\
static int add(int a) { return *(volatile int *)(long)a + 7; }
__attribute__((noinline)) int deep(int a) { return add(a) * 3; }
__attribute__((noinline)) int middle(int a) { return deep(a) + 1; }
int main(void) { return middle(2); }
int mainCRTStartup(void) { return main(); }
"""
FUNCTIONS = {"deep", "middle", "main"}


class Built(NamedTuple):
    """A program as it is shipped, and the file that knows its functions."""

    program: Path
    debug: Path
    arch: str | None = None


def run(folder: Path, *command: str) -> None:
    subprocess.run([find_peer(command[0]), *command[1:]], check=True, cwd=folder)


def build_elf(folder: Path) -> list[Built]:
    options = ("-g", "-O1", "-nostdlib", "-Wl,-e,main", "-Wl,--build-id")
    run(folder, "clang-19", "--target=x86_64-linux-gnu", *options, "-o", "app", "app.c")
    run(folder, "objcopy", "--only-keep-debug", "app", "app.debug")
    run(folder, "strip", "app")
    return [Built(folder / "app", folder / "app.debug")]


def build_pe(folder: Path) -> list[Built]:
    options = ("-g", "-gcodeview", "-O1", "-nostdlib", "-fuse-ld=lld")
    target = "--target=x86_64-pc-windows-msvc"
    link = ("-Wl,-debug", "-Wl,-entry:mainCRTStartup", "-Wl,-subsystem:console")
    find_peer("lld-link-19")
    run(folder, "clang-19", target, *options, *link, "-o", "app.exe", "app.c")
    return [Built(folder / "app.exe", folder / "app.pdb")]


def build_macho(folder: Path) -> list[Built]:
    """A universal program and its dSYM."""
    built, slices = [], []
    for arch in ("x86_64", "arm64"):
        target = f"--target={arch}-apple-macos11"
        run(folder, "clang-19", target, "-g", "-O1", "-c", "app.c", "-o", f"{arch}.o")
        system = ("-arch", arch, "-platform_version", "macos", "11.0", "11.0")
        output = (f"{arch}.o", "-o", arch, "-e", "_main")
        run(folder, "ld64.lld-19", *system, *output, "-undefined", "dynamic_lookup")
        run(folder, "dsymutil-19", arch, "-o", f"{arch}.dSYM")
        slices.append(arch)
    debug = folder / "app.dSYM/Contents/Resources/DWARF/app"
    debug.parent.mkdir(parents=True)
    parts = [f"{arch}.dSYM/Contents/Resources/DWARF/{arch}" for arch in slices]
    run(folder, "llvm-lipo-19", "-create", *parts, "-output", str(debug))
    run(folder, "llvm-lipo-19", "-create", *slices, "-output", "app")
    run(folder, "llvm-strip-19", "-S", "app")
    for arch in slices:
        shutil.rmtree(folder / f"{arch}.dSYM")
        for path in (folder / arch, folder / f"{arch}.o"):
            path.unlink()
        built.append(Built(folder / "app", debug, arch))
    return built


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RunningServer]:
    folder = tmp_path / "store"
    with RunningServer(
        Symbolizer(Resolver(Store(folder))),
        store=str(folder),
        tokens={"secret": "upload"},
        keep_originals=True,
    ) as running:
        yield running


def expected_frame(reader: Reader, address: int) -> dict[str, Any] | None:
    """The frame of an answer, as the file of the binary has it."""
    found = reader.lookup(address)
    if found is None:
        return None
    *inlined, function = found.frames
    calls = [
        {"function": each.name, "file": each.path, "line": each.line}
        for each in (function, *inlined)
    ]
    return {**calls[0], "inlines": calls[1:]}


def answered_frame(frame: dict[str, Any]) -> dict[str, Any] | None:
    if "function" not in frame:
        return None
    names = ("function", "file", "line")
    inlined = [
        {name: each.get(name) for name in names} for each in frame.get("inlines", [])
    ]
    return {name: frame.get(name) for name in names} | {"inlines": inlined}


@pytest.mark.parametrize("build", [build_elf, build_pe, build_macho])
def test_a_server_answers_as_the_binaries_do(
    tmp_path: Path, server: RunningServer, build: Callable[[Path], list[Built]]
) -> None:
    (folder := tmp_path / "build").mkdir()
    (folder / "app.c").write_text(SOURCE)
    built = build(folder)
    arguments = ["upload", "--server", server.url, "--api-key", "secret", "-q"]
    assert main([*arguments, str(folder)]) == 0
    for program, debug, arch in built:
        gsym.convert(debug, tmp_path / "m.gsym", arch=arch)
        with gsym.open(tmp_path / "m.gsym") as reader:
            names = {each.name.removeprefix("_") for each in reader}
            assert names >= FUNCTIONS
            first = min(each.start for each in reader)
            last = max(each.start + each.size for each in reader)
            base = reader.header.base_address
            module = gsym.identify(program, uuid=reader.uuid if arch else None)
            expected = [expected_frame(reader, at) for at in range(first, last)]
        stacks = [[[0, at - base]] for at in range(first, last)]
        asked = [[module.debug_file, module.debug_id]]
        answer = server.post({"memoryMap": asked, "stacks": stacks})
        (result,) = answer.json["results"]
        found = [answered_frame(frame) for (frame,) in result["stacks"]]
        assert found == expected
        assert sum(bool(each and each["inlines"]) for each in found) > 2
    text = server.ask("GET", f"/{module.debug_file}/{module.debug_id}/{sym(module)}")
    # Of universal programs with a dSYM, the store keeps the dSYM alone.
    assert (b"\nSTACK CFI INIT " in text.body) == (build is not build_macho)


def sym(module: gsym.ModuleKey) -> str:
    return f"{module.debug_file.removesuffix('.pdb')}.sym"


def test_a_crash_is_answered_from_what_was_uploaded(
    tmp_path: Path, server: RunningServer
) -> None:
    """The report is that of the sanitizers, of the stripped program."""
    (folder := tmp_path / "build").mkdir()
    (folder / "app.c").write_text(SOURCE)
    (built,) = build_elf(folder)
    gsym.convert(built.debug, tmp_path / "m.gsym")
    with gsym.open(tmp_path / "m.gsym") as reader:
        addresses = {each.name: each.start + 1 for each in reader}
    arguments = ["upload", "--server", server.url, "--api-key", "secret", "-q"]
    assert main([*arguments, str(folder)]) == 0
    build_id = gsym.identify(built.program).code_id.lower()
    report = "==1==ERROR: AddressSanitizer: SEGV on unknown address 0x000000000002\n"
    for number, name in enumerate(("deep", "middle", "main")):
        place = f"(/opt/app+{addresses[name]:#x}) (BuildId: {build_id})"
        report += f"    #{number} {addresses[name]:#x}  {place}\n"
    answer = server.ask(
        "POST",
        "/symbolicate/report",
        report.encode(),
        {"content-type": "text/plain"},
    )
    (thread,) = answer.json["threads"]
    called = [frame["calls"][-1]["function"] for frame in thread["frames"]]
    assert called == ["deep", "middle", "main"]
