"""`/asm/v1`: the code of a module, as samply's API gives it."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest

import gsym
from gsym.conversion.identity import identify
from gsym.modules.symbolizer import Symbolizer
from gsym.store.entries import Entry
from tests.inputs import elf
from tests.server.modules import KnownModules
from tests.server.running import RunningServer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [
    pytest.mark.long,
    pytest.mark.no_engine,
    pytest.mark.skipif(find_spec("capstone") is None, reason="no capstone"),
]

BASE, START = 0x400000, 0x1000
BUILD_ID = bytes(range(1, 21))
# push rbp; mov rbp, rsp; call helper; jmp to itself; ret; then helper: nop; ret
X86_64 = bytes.fromhex("55 4889e5 e8 03000000 ebfe c3 90c3")
# stp; bl helper; cbz; ret; helper: ret
AARCH64 = bytes.fromhex("fd7bbfa9 03000094 e0ffffb4 c0035fd6 c0035fd6")
I386 = bytes.fromhex("55 89e5 e8 03000000 ebfe c3 90c3")
THUMB = bytes.fromhex("80b5 00f001f8 80bd 7047")
ARM = bytes.fromhex("00482de9 1eff2fe1 0000a0e1 1eff2fe1")


def binary(code: bytes, machine: int, bits: int, helper: int, **fields: Any) -> bytes:
    address = BASE + START
    symbols = [
        elf.Symbol("_ZN1a5outerEv", address, helper),
        elf.Symbol("helper", address + helper, len(code) - helper),
        *fields.pop("mapping", ()),
    ]
    return elf.Elf(
        sections=(elf.Section(".text", code, flags=elf.CODE, address=address),),
        segments=(elf.Segment(BASE),),
        symbols=symbols,
        build_id=BUILD_ID,
        machine=machine,
        bits=bits,
        **fields,
    ).to_bytes()


class Module:
    """A module, its binary, and a server that has the latter in a folder."""

    def __init__(self, folder: Path, data: bytes) -> None:
        self.folder = folder / "binaries"
        self.folder.mkdir()
        self.path = self.folder / "demo"
        self.path.write_bytes(data)
        self.identity = identify(self.path)
        gsym.convert(self.path, folder / "demo.gsym")
        self.entry = Entry(str(folder / "demo.gsym"), self.identity, BUILD_ID)

    def request(self, start: int, size: int, **fields: object) -> dict[str, object]:
        return {
            "debugName": "demo",
            "debugId": self.identity.debug_id,
            "startAddress": hex(start),
            "size": hex(size),
            **fields,
        }

    def serve(self, **settings: Any) -> RunningServer:
        return RunningServer(
            Symbolizer(KnownModules(self.entry)),
            enable_asm=True,
            binary_dirs=[str(self.folder)],
            **settings,
        )


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> Module:
    data = binary(X86_64, elf.X86_64, 64, 12)
    return Module(tmp_path_factory.mktemp("asm"), data)


@pytest.fixture(scope="module")
def asm(module: Module) -> Iterator[RunningServer]:
    with module.serve(max_code=0x100) as server:
        yield server


WHOLE: dict[str, Any] = {
    "startAddress": "0x1000",
    "size": "0xc",
    "arch": "x86_64",
    "syntax": ["Intel"],
    "instructions": [
        [0, "push rbp"],
        [1, "mov rbp, rsp"],
        [4, "call 0x100c <helper>"],
        [9, "jmp 0x1009 <a::outer()+0x9>"],
        [11, "ret"],
    ],
}


def test_code_comes_as_text_with_the_functions_it_jumps_to(
    asm: RunningServer, module: Module
) -> None:
    answer = asm.post(module.request(START, 12), "/asm/v1")
    assert answer.status == 200
    assert answer.json == WHOLE


def test_the_last_instruction_of_a_range_is_complete(
    asm: RunningServer, module: Module
) -> None:
    answer = asm.post(module.request(START, 5), "/asm/v1")
    assert answer.json["size"] == "0x9"
    assert answer.json["instructions"] == WHOLE["instructions"][:3]


def test_the_range_extends_to_the_end_of_the_function(
    asm: RunningServer, module: Module
) -> None:
    request = module.request(START, 1, continueUntilFunctionEnd=True)
    assert asm.post(request, "/asm/v1").json == WHOLE


def test_the_code_id_is_enough(asm: RunningServer, module: Module) -> None:
    request = module.request(START, 12)
    del request["debugName"], request["debugId"]
    named = {**request, "name": "demo", "codeId": BUILD_ID.hex()}
    assert asm.post(named, "/asm/v1").json["instructions"] == [
        [at, text.partition(" <")[0]] for at, text in WHOLE["instructions"]
    ]


def test_the_binary_is_found_by_its_build_id(module: Module, tmp_path: Path) -> None:
    digits = BUILD_ID.hex()
    place = tmp_path / ".build-id" / digits[:2]
    place.mkdir(parents=True)
    (place / digits[2:]).write_bytes(module.path.read_bytes())
    with RunningServer(
        Symbolizer(KnownModules(module.entry)),
        enable_asm=True,
        binary_dirs=[str(tmp_path)],
    ) as server:
        assert server.post(module.request(START, 12), "/asm/v1").json == WHOLE


def test_the_binary_that_the_store_keeps_is_used(module: Module) -> None:
    kept = module.entry._replace(originals={"debuginfo": str(module.path)})
    with RunningServer(Symbolizer(KnownModules(kept)), enable_asm=True) as server:
        assert server.post(module.request(START, 12), "/asm/v1").json == WHOLE


def test_a_binary_of_another_build_is_not_used(module: Module, tmp_path: Path) -> None:
    other = module.path.read_bytes().replace(BUILD_ID, bytes(20))
    (tmp_path / "demo").write_bytes(other)
    with RunningServer(
        Symbolizer(KnownModules(module.entry)),
        enable_asm=True,
        binary_dirs=[str(tmp_path)],
    ) as server:
        answer = server.post(module.request(START, 12), "/asm/v1")
    assert (answer.status, answer.title) == (404, "no binary of this module found")


def test_a_name_leads_to_no_other_folder(module: Module) -> None:
    empty = Symbolizer(KnownModules())
    folder = module.folder / "inner"
    folder.mkdir(exist_ok=True)
    with RunningServer(empty, enable_asm=True, binary_dirs=[str(folder)]) as server:
        for name in ("../binaries/demo", "/etc/passwd", "..", "a\0b", "."):
            request = {**module.request(START, 12), "debugName": name, "name": name}
            assert server.post(request, "/asm/v1").status == 404


def test_code_without_bytes_in_the_file_is_not_found(tmp_path: Path) -> None:
    data = elf.Elf(
        sections=(elf.code_section(BASE + START, 16),),
        segments=(elf.Segment(BASE),),
        symbols=(elf.Symbol("f", BASE + START, 16),),
        build_id=BUILD_ID,
    ).to_bytes()
    module = Module(tmp_path, data)
    with module.serve() as server:
        answer = server.post(module.request(START, 12), "/asm/v1")
    assert answer.status == 404
    assert "not found in any section" in answer.title


@pytest.mark.parametrize(("size", "status"), [(0x100, 200), (0x101, 413)])
def test_the_amount_of_code_is_limited(
    asm: RunningServer, module: Module, size: int, status: int
) -> None:
    assert asm.post(module.request(START, size), "/asm/v1").status == status


@pytest.mark.parametrize(
    ("change", "title"),
    [
        ({"startAddress": 4096}, "Couldn't parse request"),
        ({"startAddress": "4096"}, "startAddress is not a 0x number"),
        ({"startAddress": "0x"}, "startAddress is not a 0x number"),
        ({"startAddress": "0x-1"}, "startAddress is not a 0x number"),
        ({"startAddress": "0x1_0"}, "startAddress is not a 0x number"),
        ({"startAddress": "0x" + "1" * 17}, "startAddress is not a 0x number"),
        ({"size": "0xzz"}, "size is not a 0x number"),
        ({"debugId": "xyz"}, "not a debug id"),
        ({"debugId": "1" * 100_000}, "1' is not a debug id"),
        ({"debugId": ""}, "debugId or codeId"),
        ({"continueUntilFunctionEnd": 1}, "Couldn't parse request"),
    ],
)
def test_a_faulty_request_is_refused(
    asm: RunningServer, module: Module, change: dict[str, object], title: str
) -> None:
    answer = asm.post({**module.request(START, 12), **change}, "/asm/v1")
    assert answer.status == 400
    assert title in answer.title
    assert len(answer.title) < 200


@pytest.mark.parametrize("start", ["0xffffffffffffffff", "0xffff", "0x0"])
def test_an_address_without_code_is_not_found(
    asm: RunningServer, module: Module, start: str
) -> None:
    request = {**module.request(0, 12), "startAddress": start}
    assert asm.post(request, "/asm/v1").status == 404


@pytest.mark.parametrize("path", ["/asm/v1", "/source/v1"])
def test_it_is_off_by_default(server: RunningServer, path: str) -> None:
    answer = server.post({}, path)
    assert (answer.status, answer.title) == (404, "404 Not Found")


OTHERS: dict[str, tuple[bytes, int, int, int, dict[str, Any], str, list[Any]]] = {
    "i386": (
        I386,
        elf.I386,
        32,
        11,
        {},
        "i686",
        [[0, "push ebp"], [1, "mov ebp, esp"]],
    ),
    "aarch64": (
        AARCH64,
        elf.AARCH64,
        64,
        16,
        {},
        "aarch64",
        [[0, "stp x29, x30, [sp, #-0x10]!"], [4, "bl #0x1010 <helper>"]],
    ),
    "thumb": (
        THUMB,
        elf.ARM,
        32,
        8,
        {},
        "arm",
        [[0, "push {r7, lr}"], [2, "bl #0x1008 <helper>"]],
    ),
    "arm": (
        ARM,
        elf.ARM,
        32,
        8,
        {"mapping": [elf.Symbol("$a.3", BASE + START, kind=elf.NOTYPE)]},
        "arm",
        [[0, "push {fp, lr}"], [4, "bx lr"]],
    ),
}


@pytest.mark.parametrize("case", OTHERS.values(), ids=OTHERS)
def test_other_architectures_are_read(case: tuple[Any, ...], tmp_path: Path) -> None:
    code, machine, bits, helper, fields, arch, begin = case
    module = Module(tmp_path, binary(code, machine, bits, helper, **fields))
    with module.serve() as server:
        answer = server.post(module.request(START, helper), "/asm/v1").json
    assert answer["arch"] == arch
    assert answer["instructions"][:2] == begin


def test_invalid_instructions_are_skipped(tmp_path: Path) -> None:
    module = Module(tmp_path, binary(b"\x06\x90\xc3", elf.X86_64, 64, 2))
    with module.serve() as server:
        answer = server.post(module.request(START, 3), "/asm/v1").json
    assert answer["instructions"] == [
        [0, ".byte 0x06 # Invalid instruction"],
        [1, "nop"],
        [2, "ret"],
    ]


def test_an_unknown_architecture_is_an_error(tmp_path: Path) -> None:
    module = Module(tmp_path, binary(bytes(16), elf.RISCV, 64, 8))
    with module.serve() as server:
        answer = server.post(module.request(START, 8), "/asm/v1")
    assert answer.status == 400
    assert "Unrecognized architecture" in answer.title
