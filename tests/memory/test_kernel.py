"""Kernel addresses, in made-up trees of /proc, /sys and /lib/modules."""

from __future__ import annotations

import lzma
import struct
import subprocess
from pathlib import Path

import pytest

import gsym
from gsym.cli.main import main
from tests.symbolizer_runs import run_llvm

RELEASE = "6.1.0-test"
BIAS = 0x1E000000
VMLINUX = """\
    .globl _text, schedule, panic
    .type schedule, @function
    .type panic, @function
_text:
schedule: nop; nop; ret
    .size schedule, . - schedule
panic: nop; ret
    .size panic, . - panic
"""
MODULE = """\
    .section .init.text, "ax"
    .type nft_init, @function
nft_init: nop; ret
    .size nft_init, . - nft_init
    .text
    .type nft_eval, @function
nft_eval: nop; nop; nop; ret
    .size nft_eval, . - nft_eval
"""


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GSYM_CACHE_DIR", str(tmp_path / "cache"))


def write(path: Path, contents: str | bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(contents.encode() if isinstance(contents, str) else contents)


def symbols(path: Path) -> dict[str, int]:
    output = subprocess.run(["nm", path], check=True, capture_output=True, text=True)
    lines = [line.split() for line in output.stdout.splitlines()]
    return {words[-1]: int(words[0], 16) for words in lines}


class Tree:
    """A root with a kernel at a random place, and a module."""

    def __init__(self, root: Path, compiler: str) -> None:
        self.root = root
        self.vmlinux = root / "boot" / f"vmlinux-{RELEASE}"
        write(root / "vmlinux.s", VMLINUX)
        write(root / "module.s", MODULE)
        self.vmlinux.parent.mkdir()
        subprocess.run(
            [
                *(compiler, "-nostdlib", "-static", "-g", "-Wl,--build-id=sha1"),
                *("-Wl,-Ttext=0xffffffff81000000,-e,_text", "-mcmodel=kernel"),
                *("-o", self.vmlinux, root / "vmlinux.s"),
            ],
            check=True,
        )
        self.object = root / "nf_tables.o"
        subprocess.run(
            [compiler, "-g", "-c", "-o", self.object, root / "module.s"], check=True
        )
        self.symbols = {
            name: at + BIAS
            for name, at in symbols(self.vmlinux).items()
            if name in {"_text", "schedule", "panic"}
        }
        self.build_id = gsym.identify(self.vmlinux).code_id
        note = struct.pack("<III4s", 4, len(self.build_id) // 2, 3, b"GNU\0")
        write(root / "sys/kernel/notes", note + bytes.fromhex(self.build_id))
        write(root / "proc/sys/kernel/osrelease", RELEASE + "\n")
        self.list()

    def list(self, extra: str = "", *, hidden: bool = False) -> None:
        """Write the list of symbols, the addresses of which may be hidden."""
        lines = [
            f"{0 if hidden else at:016x} T {name}\n"
            for name, at in self.symbols.items()
        ]
        write(self.root / "proc/kallsyms", "".join(lines) + extra)

    def load(self, file: str, contents: bytes) -> None:
        """Load the module, the file of which is below /lib/modules."""
        folder = f"lib/modules/{RELEASE}"
        write(self.root / folder / "modules.dep", f"{file}: other.ko\nother.ko:\n")
        write(self.root / folder / file, contents)
        write(
            self.root / "proc/modules",
            "nf_tables 8192 1 - Live 0xffffffffc0201000\nhidden 8 0 - Live 0x0\n",
        )
        sections = self.root / "sys/module/nf_tables/sections"
        write(sections / ".text", "0xffffffffc0201040\n")
        write(sections / ".init.text", "0xffffffffc0202000\n")


@pytest.fixture
def tree(tmp_path: Path, compiler: str) -> Tree:
    try:
        return Tree(tmp_path, compiler)
    except subprocess.CalledProcessError:
        pytest.skip("needs an assembler of x86-64")


def test_vmlinux_is_found_and_its_load_bias_subtracted(tree: Tree) -> None:
    with gsym.Kernel(root=tree.root) as kernel:
        found = kernel.lookup(tree.symbols["panic"] + 1)
        assert found is not None
        assert found.frames[0].name == "panic"
        assert found.frames[0].line == 7
        assert found.function.start == tree.symbols["panic"]
        place = kernel.module_at(tree.symbols["panic"])
        assert place is not None
        assert (place.name, place.path) == ("vmlinux", str(tree.vmlinux))
        assert place.address == tree.symbols["panic"] - BIAS
        assert place.build_id == tree.build_id.lower()


@pytest.mark.usefixtures("llvm_symbolizer")
def test_answers_are_those_of_llvm_symbolizer(tree: Tree) -> None:
    first, last = tree.symbols["_text"], tree.symbols["panic"] + 1
    linked = [hex(each - BIAS) for each in range(first, last + 1)]
    printed = run_llvm("-e", str(tree.vmlinux), "--functions=linkage", *linked)
    with gsym.Kernel(root=tree.root) as kernel:
        found = kernel.lookup_each(range(first, last + 1))
    answers = [each.frames[0] for each in found if each is not None]
    assert [f"{each.name}\n{each.path}:{each.line}:0" for each in answers] == [
        *printed.out.strip().split("\n\n")
    ]


def test_a_base_replaces_hidden_addresses(tree: Tree) -> None:
    tree.list(hidden=True)
    with pytest.raises(gsym.GsymError, match=r"kallsyms: it has no addresses .*kptr"):
        gsym.Kernel(root=tree.root)
    with gsym.Kernel(root=tree.root, base=tree.symbols["_text"]) as kernel:
        found = kernel.lookup(tree.symbols["schedule"])
        assert found is not None
        assert found.frames[0].name == "schedule"


def test_a_vmlinux_of_another_build_is_not_used(tree: Tree) -> None:
    note = struct.pack("<III4s", 4, 4, 3, b"GNU\0") + b"else"
    write(tree.root / "sys/kernel/notes", note)
    with gsym.Kernel(root=tree.root) as kernel:
        found = kernel.lookup(tree.symbols["panic"] + 1)
    assert found is not None
    assert str(found) == f"{tree.symbols['panic'] + 1:#x}: panic + 1"


@pytest.mark.parametrize("notes", [b"", bytes(36)])
def test_files_of_a_kernel_without_an_id_are_found_by_name_alone(
    tree: Tree, notes: bytes
) -> None:
    write(tree.root / "sys/kernel/notes", notes)
    tree.load("nf_tables.ko", tree.object.read_bytes())
    text = "panic+0x1/0x2\n nft_eval+0x2/0x4 [nf_tables]\n"
    with gsym.Kernel(root=tree.root) as kernel:
        report = gsym.symbolicate(text, maps=kernel)
    assert [bool(each.calls) for each in report.frames()] == [True, True]
    by_name = "found by its name alone"
    assert [each.unsure for each in report.modules] == [by_name, by_name]


def test_vmlinux_is_found_in_a_folder_by_its_build_id(
    tree: Tree, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("symbols")
    tree.vmlinux.rename(folder / "some-kernel")
    with gsym.Kernel(root=tree.root, source=folder) as kernel:
        found = kernel.lookup(tree.symbols["panic"])
    assert found is not None
    assert found.frames[0].line == 7


@pytest.mark.parametrize("suffix", ["", ".xz"])
def test_modules_are_answered_by_their_files(tree: Tree, suffix: str) -> None:
    data = tree.object.read_bytes()
    contents = lzma.compress(data) if suffix else data
    tree.load(f"kernel/net/nf-tables.ko{suffix}", contents)
    with gsym.Kernel(root=tree.root) as kernel:
        found = kernel.lookup_each([0xFFFFFFFFC0201042, 0xFFFFFFFFC0202001, 0x1234])
    assert [each and str(each.frames[0]).partition(" at ")[0] for each in found] == [
        *("nft_eval + 2", "nft_init + 1", None)
    ]


def test_modules_without_a_file_are_answered_by_the_list(tree: Tree) -> None:
    tree.load("kernel/net/other.ko", b"")
    tree.list(
        "ffffffffc0201040 t nft_eval\t[nf_tables]\n"
        "ffffffffc0300000 t bpf_prog_6deef7357e7b4530_count\t[bpf]\n"
        "ffffffffc0300100 d data\t[bpf]\n"
    )
    with gsym.Kernel(root=tree.root) as kernel:
        found = kernel.lookup_each([0xFFFFFFFFC0201041, 0xFFFFFFFFC0300010])
        place = kernel.module_at(0xFFFFFFFFC0300010)
    assert [each and each.function.name for each in found] == [
        *("nft_eval", "bpf_prog_6deef7357e7b4530_count")
    ]
    assert place is not None
    assert place.name == "bpf"


def test_functions_that_an_oops_names_are_answered(tree: Tree) -> None:
    text = (
        "RIP: 0010:panic+0x1/0x2\n [<ffffffff9f000001>] 0xffffffff9f000001\n"
        " nft_eval+0x2/0x4 [nf_tables]\n"
    )
    tree.load("nf_tables.ko", tree.object.read_bytes())
    with gsym.Kernel(root=tree.root) as kernel:
        answered = str(gsym.symbolicate(text, maps=kernel)).splitlines()
    assert answered[0].startswith(f"RIP: 0010:panic + 1 at {tree.root}/vmlinux.s:7 (")
    assert "schedule + 1 at " in answered[1]
    assert answered[2].startswith(f" nft_eval + 2 at {tree.root}/module.s:")


def test_the_command_answers_for_the_running_kernel(
    capsys: pytest.CaptureFixture[str],
) -> None:
    try:
        gsym.Kernel().close()
    except gsym.GsymError:
        assert main(["symbolicate", "--kernel", "0x10"]) == 1
        assert "kallsyms: it has no addresses" in capsys.readouterr().err
        return
    listed = Path("/proc/kallsyms").read_text().splitlines()
    address, _, name, *_ = next(each for each in listed if " T panic" in each).split()
    assert main(["symbolicate", "--kernel", address]) == 0
    assert f"0x{address}: {name}" in capsys.readouterr().out
