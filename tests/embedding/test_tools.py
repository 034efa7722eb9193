"""Embedded files and the tools of others: binaries that run, are read and stripped."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING, NamedTuple

import pytest

import gsym
from tests.conftest import find_peer
from tests.differential.peers import zig
from tests.embedding.test_code_signature import verify
from tests.embeddings import functions_of

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.long

SOURCE = """\
#include <cstdio>
#include <map>
#include <string>
struct Shape { virtual double area() const = 0; virtual ~Shape() {} };
struct Square : Shape {
  explicit Square(double side) : side(side) {}
  double area() const override { return side * side; }
  double side;
};
template <typename T> static T twice(const T &value) { return value + value; }
int main(int count, char **words) {
  std::map<std::string, int> seen;
  for (int i = 0; i < count; ++i) seen[words[i]] = i;
  Square square(count);
  std::printf("%.1f %zu\\n", twice(square.area()), seen.size());
}
"""
ANSWER = b"2.0 1\n"
CHANGED = "string table changed, embed again"
GONE = "no embedded GSYM file"


class Program(NamedTuple):
    gsym: Path
    plain: Path  # with the file in it
    shared: Path  # sharing its strings
    original: Path

    def of(self, *, share: bool) -> Path:
        return self.shared if share else self.plain


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory, cxx_compiler: str) -> Program:
    """A C++ program before and after."""
    folder = tmp_path_factory.mktemp("embedded")
    source, original = folder / "program.cc", folder / "program"
    source.write_text(SOURCE)
    subprocess.run([cxx_compiler, "-g", "-O1", source, "-o", original], check=True)
    made = Program(
        *(folder / "program.gsym", folder / "plain", folder / "shared", original)
    )
    gsym.convert(original, made.gsym)
    gsym.embed(made.gsym, original, made.plain)
    gsym.embed(made.gsym, original, made.shared, share_strings=True)
    return made


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    """Without the sanitizers, if the tests have them: gdb never ends with those."""
    env = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    return subprocess.run(command, capture_output=True, text=True, check=True, env=env)


@pytest.mark.parametrize("share", [False, True])
def test_a_program_still_runs(*, share: bool, program: Program) -> None:
    path = program.of(share=share)
    assert subprocess.run([path], capture_output=True, check=True).stdout == ANSWER
    assert functions_of(path) == functions_of(program.gsym)


@pytest.mark.parametrize(
    "command",
    [
        ["readelf", "-aW"],
        ["eu-elflint", "--gnu-ld"],
        ["nm"],
        ["objdump", "-x"],
        ["llvm-objdump-22", "--all-headers"],
        ["llvm-readobj-22", "--all"],
        ["gdb", "-batch", "-ex", "info line main"],
    ],
    ids=lambda command: command[0],
)
def test_tools_for_elf_files_print_no_new_errors(
    command: list[str], program: Program
) -> None:
    find_peer(command[0])
    expected = run(*command, program.original).stderr
    for path in (program.plain, program.shared):
        assert run(*command, path).stderr == expected


def test_symbols_and_debug_information_read_the_same(
    program: Program, llvm_dwarfdump: str
) -> None:
    for command in ([llvm_dwarfdump, "--debug-info"], ["nm", "-S"]):
        find_peer(command[0])
        before, after = run(*command, program.original), run(*command, program.shared)
        first_line = f"{program.shared}:", f"{program.original}:"
        assert after.stdout.replace(*first_line) == before.stdout


# What becomes of a file that has its own strings, and of one that shares them.
REWRITERS = [
    (["objcopy"], "same", "same"),
    (["objcopy", "--only-keep-debug"], "same", "same"),
    (["strip", "--strip-debug"], "same", CHANGED),
    (["strip", "--strip-all"], "same", CHANGED),
    (["strip", "--strip-unneeded"], "same", CHANGED),
    (["objcopy", "--strip-symbol=main"], "same", CHANGED),
    (["objcopy", "--redefine-sym=main=start"], "same", CHANGED),
    (["objcopy", "--remove-section=.gsym"], GONE, GONE),
    (["eu-strip", "--strip-debug"], "same", CHANGED),
    (["eu-strip"], GONE, GONE),
    (["llvm-objcopy-22"], "same", CHANGED),
    (["llvm-strip-22", "--strip-debug"], "same", CHANGED),
    (["llvm-strip-22", "--strip-all-gnu"], "same", CHANGED),
    (["llvm-strip-22", "--strip-all"], GONE, GONE),
    (["llvm-strip-22", "--strip-all", "--keep-section=.gsym"], "same", CHANGED),
]


@pytest.mark.parametrize(
    ("command", "plain", "shared"),
    REWRITERS,
    ids=[" ".join(row[0]) for row in REWRITERS],
)
def test_after_a_tool_the_answers_are_right_or_refused(
    command: list[str], plain: str, shared: str, program: Program, tmp_path: Path
) -> None:
    find_peer(command[0])
    outcomes = []
    for source in (program.plain, program.shared):
        output = tmp_path / f"{source.name}-rewritten"
        if "strip" in command[0]:
            run(*command, "-o", output, source)
        else:
            run(*command, source, output)
        outcomes.append(outcome(output, program.gsym))
        if "--only-keep-debug" not in command:
            output.chmod(0o755)
            done = subprocess.run([output], capture_output=True, check=True)
            assert done.stdout == ANSWER
    assert outcomes == [plain, shared]


def outcome(path: Path, expected: Path) -> str:
    """What opening *path* comes to."""
    try:
        gsym.Reader(path.read_bytes()).close()  # `gsym.open` would convert a binary
        found = functions_of(path)
    except gsym.FormatError as error:
        return error.reason.partition(":")[0]
    return "same" if found == functions_of(expected) else "other answers"


def test_a_stripped_program_takes_a_file_again(
    program: Program, tmp_path: Path
) -> None:
    find_peer("strip")
    stripped = tmp_path / "stripped"
    run("strip", "--strip-debug", "-o", stripped, program.shared)
    gsym.embed(program.gsym, stripped, share_strings=True)
    assert functions_of(stripped) == functions_of(program.gsym)
    run("strip", "--strip-all", stripped)
    gsym.embed(program.gsym, stripped)
    assert functions_of(stripped) == functions_of(program.gsym)
    assert subprocess.run([stripped], capture_output=True, check=True).stdout == ANSWER


def test_a_program_may_be_replaced_while_it_runs(
    program: Program, tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    shutil.copy(program.original, copy)
    find_peer("sleep")
    shutil.copy(shutil.which("sleep") or "", tmp_path / "sleep")
    with subprocess.Popen([tmp_path / "sleep", "60"]) as running:
        try:
            source = tmp_path / "any.gsym"
            with gsym.Creator() as creator:
                creator.add(gsym.FunctionInfo(0x1000, 1, "f"))
                creator.save(source)
            gsym.embed(source, tmp_path / "sleep")
            assert running.poll() is None
        finally:
            running.kill()
    with pytest.warns(UserWarning, match="may be of another build"):
        functions = functions_of(tmp_path / "sleep")
    assert [info.name for info in functions] == ["f"]


# ---- Mach-O ---------------------------------------------------------------------


def check_macho(path: Path, folder: Path) -> None:
    """Embed in every way; what LLVM reads stays the same."""
    source = folder / "file.gsym"
    gsym.convert(path, source)
    for share in (False, True):
        output = folder / f"output-{share}"
        report = gsym.embed(source, path, output, share_strings=share)
        assert functions_of(output) == functions_of(source)
        for options in (
            ["--all-headers"],
            ["--exports-trie", "--rebase", "--bind", "--lazy-bind", "--weak-bind"],
            ["--function-starts", "--data-in-code", "--indirect-symbols"],
        ):
            command = ["llvm-objdump-22", "--macho", *options]
            before, after = run(*command, path), run(*command, output)
            assert after.stderr == before.stderr
            if "--all-headers" not in options:
                assert (
                    after.stdout.partition("\n")[2] == before.stdout.partition("\n")[2]
                )
        assert run("llvm-nm-22", output).stdout == run("llvm-nm-22", path).stdout
        stripped = folder / "stripped"
        run("llvm-strip-22", "-o", stripped, output)
        if share:
            with pytest.raises(gsym.FormatError, match=CHANGED):
                gsym.open(stripped)
            assert report.section_size < report.gsym_size + 48  # few names
        else:
            assert functions_of(stripped) == functions_of(source)


@pytest.mark.parametrize("name", ["crash", "crash.dSYM/Contents/Resources/DWARF/crash"])
def test_real_mach_o_files_are_read_as_before(
    name: str, fixtures: Path, tmp_path: Path
) -> None:
    find_peer("llvm-objdump-22")
    check_macho(fixtures / "symbolic/macos" / name, tmp_path)


@pytest.mark.parametrize("name", ["crash.dSYM/Contents/Resources/DWARF/crash"])
def test_the_dwarf_of_a_dsym_is_still_read(
    name: str, fixtures: Path, tmp_path: Path, llvm_dwarfdump: str
) -> None:
    path, output = fixtures / "symbolic/macos" / name, tmp_path / "crash"
    gsym.convert(path, tmp_path / "file.gsym")
    gsym.embed(tmp_path / "file.gsym", path, output, share_strings=True)
    before = run(llvm_dwarfdump, "--debug-info", path).stdout
    assert (
        run(llvm_dwarfdump, "--debug-info", output).stdout.split("\n")[1:]
        == (before.split("\n")[1:])
    )
    gsym.convert(output, tmp_path / "again.gsym")
    assert (tmp_path / "again.gsym").read_bytes() == (
        tmp_path / "file.gsym"
    ).read_bytes()


@pytest.mark.parametrize("arch", ["arm64", "x86_64"])
@pytest.mark.parametrize("kind", ["program", "library"])
def test_linked_files_with_chained_fixups_are_read_as_before(
    arch: str, kind: str, tmp_path: Path, clang: str
) -> None:
    linker = find_peer("ld64.lld-22", "ld64.lld-19", "ld64.lld")
    find_peer("llvm-objdump-22")
    code, stub = tmp_path / "code.c", tmp_path / "libSystem.tbd"
    code.write_text(
        "int printf(const char *, ...);\nint number = 5, *place = &number;\n"
        'int main(void) { return printf("%d", *place); }\n'
    )
    stub.write_text(
        "--- !tapi-tbd\ntbd-version: 4\ntargets: [ arm64-macos, x86_64-macos ]\n"
        "install-name: '/usr/lib/libSystem.B.dylib'\nexports:\n"
        "  - targets: [ arm64-macos, x86_64-macos ]\n"
        "    symbols: [ _printf, dyld_stub_binder ]\n...\n"
    )
    target = ["-target", f"{arch}-apple-macos13"]
    run(clang, *target, "-g", "-c", code, "-o", tmp_path / "code.o")
    output = tmp_path / kind
    options = ["-dylib"] if kind == "library" else []
    options += ["-arch", arch, "-platform_version", "macos", "13.0", "13.0"]
    options += ["-fixup_chains", "-headerpad", "0x400"]
    run(linker, *options, tmp_path / "code.o", stub, "-o", output)
    check_macho(output, tmp_path)
    chains = run(
        "llvm-objdump-22", "--macho", "--chained-fixups", tmp_path / "output-True"
    )
    assert "(__GSYM)" in chains.stdout


@pytest.mark.slow
def test_signed_programs_of_zig_are_read_as_before(tmp_path: Path) -> None:
    if not zig():
        pytest.skip("not installed: ziglang")
    find_peer("llvm-objdump-22")
    source, output = tmp_path / "program.c", tmp_path / "program"
    source.write_text("int main(void) { return 0; }\n")
    run(zig(), "cc", "-target", "aarch64-macos", source, "-o", output)
    check_macho(output, tmp_path)
    verify((tmp_path / "output-True").read_bytes())
