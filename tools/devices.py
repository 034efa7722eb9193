"""Compare answers for code of devices with those of the tools of each target.

    python -m tools.devices [--write]

Programs are compiled by clang (BPF, WebAssembly, AMD GPUs), nvcc (CUDA), zig, SDCC and
all gcc for other processors, as far as these are here. Every function is asked each 4
bytes. The oracle is llvm-symbolizer; of CUDA `nvdisasm -gi`, at the instructions for
which it prints lines; of BTF the DWARF of the same object before it is stripped; of gcc
the addr2line of its own binutils; of SDCC the rows that readelf decodes. --write keeps
the table in tests/differential/RESULTS.md.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import gsym
from benchmarks.markdown import table
from gsym.containers.mapped_file import map_file
from gsym.containers.object_file import ObjectFile
from tests.differential import record

HEADING = """\
## Code of devices

Small programs, the lines of all frames every 4 bytes, beside those of the target's own
tool. `nvdisasm -gi` prints no line where only the callers change, so addresses are
compared where it prints one.

"""
Lines = list[int]  # of the frames, innermost first

C = """\
int sink;
__attribute__((noinline)) static int slow(int n) {
  int s = 0;
  for (int i = 0; i < n; ++i)
    s += i ^ *(volatile int *)&sink;
  return s;
}
static inline __attribute__((always_inline)) int quick(int a, int b) {
  return slow(a * b) +
         17;
}
int first(int n) {
  return quick(n, 3);
}
int second(int n) {
  return first(n) + quick(n, 7);
}
"""
SDCC_C = """\
volatile int sink;
static int slow(int n) {
  int s = 0;
  int i;
  for (i = 0; i < n; ++i)
    s += i ^ sink;
  return s;
}
int first(int n) {
  return slow(n) +
         17;
}
int second(int n) { return first(n) + slow(n + 7); }
int tail(int n) { return second(n); }
void main(void) { sink = second(3) + tail(2); }
"""
CUDA = """\
template <int N> __device__ __forceinline__ float power(float x) {
  return x *
    power<N / 2>(x) + N;
}
template <> __device__ __forceinline__ float power<0>(float x) { return x - 2.0f; }
__device__ __noinline__ float cold(float x) { return sinf(power<5>(x)); }
__global__ void scale(float *p, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    p[i] = power<9>(p[i]) / p[i + 1];
}
__global__ void other(float *p) {
  p[0] = cold(p[1]);
}
"""
CLANG = {
    "BPF": ["-target", "bpf", "-c"],
    "WebAssembly": ["--target=wasm32", "-nostdlib", "-Wl,--no-entry,--export-all"],
    "AMD GPU (gfx942)": ["-target", "amdgcn-amd-amdhsa", "-mcpu=gfx942", "-nogpulib"],
}

GCC = ("-g", "-O1", "-fno-builtin", "-fPIC", "-shared", "-nostdlib")
BARE = (
    "-gdwarf-4",
    "-O1",
    "-fno-builtin",
    "-nostdlib",
    "-nostartfiles",
    "-Wl,-e,first",
)
COLUMNS = (
    *("Target", "functions", "with lines", "with inlined calls"),
    *("Tool", "addresses", "different"),
)
SDCC = ("stm8", "hc08", "s08")
ZIG = (
    *("aarch64", "aarch64_be", "arm", "loongarch64", "mips", "mips64el", "powerpc"),
    *("powerpc64", "powerpc64le", "riscv32", "riscv64", "s390x", "x86", "x86_64"),
)
ZIG_OPTIONS = ("-g", "-O1", "-fno-builtin", "-fno-sanitize=undefined", "-nostdlib")


class Row(NamedTuple):
    """A row of the table: counts of functions, and of addresses that were compared."""

    target: str
    functions: int
    with_lines: int
    with_inlined_calls: int
    oracle: str
    compared: int
    different: int


def compare(target: str, path: Path, oracle: str, expected: dict[int, Lines]) -> Row:
    """A row with the differences of the answers for *path* from those of the oracle."""
    output = path.with_suffix(".gsym")
    made = gsym.convert(path, output)
    counts = made.functions, made.functions_with_lines, made.functions_with_inlines
    different = 0
    with gsym.open(output) as reader:
        for address, wanted in expected.items():
            found = reader.lookup(address)
            frames = [] if found is None else [each.line or 0 for each in found.frames]
            if frames != wanted:
                print(f"{target}: {address:#x} {frames}, not {wanted}", file=sys.stderr)
                different += 1
    return Row(target, *counts, oracle, len(expected), different)


def joined(target: str, rows: list[Row]) -> list[Row]:
    """One row for several; none for none."""
    if not rows:
        return []
    total = [sum(counts) for counts in zip(*(each[1:4] for each in rows), strict=True)]
    compared = sum(each.compared for each in rows)
    different = sum(each.different for each in rows)
    return [
        Row(target, total[0], total[1], total[2], rows[0].oracle, compared, different)
    ]


def addresses(path: Path) -> list[int]:
    """Those of the functions of a file, 4 bytes apart."""
    output = path.with_suffix(".asked")
    gsym.convert(path, output)
    with gsym.open(output) as reader:
        return [
            address
            for each in reader.functions()
            for address in range(each.start, each.start + each.size, 4)
        ]


def by_symbolizer(path: Path) -> dict[int, Lines]:
    """The lines that llvm-symbolizer gives."""
    asked = addresses(path)
    words = "".join(f"{address:#x}\n" for address in asked)
    answer = run("llvm-symbolizer", "-e", path, words=words)
    blocks = answer.strip().split("\n\n")
    return {
        address: [int(place.split(":")[-2]) for place in block.splitlines()[1::2]]
        for address, block in zip(asked, blocks, strict=True)
    }


def by_addr2line(tool: str, path: Path) -> dict[int, Lines]:
    """The lines that addr2line gives."""
    asked = addresses(path)
    words = "".join(f"{address:#x}\n" for address in asked)
    found: dict[int, Lines] = {}
    for text in run(tool, "-a", "-i", "-e", path, words=words).splitlines():
        if text.startswith("0x"):
            lines = found[int(text, 16)] = []
        else:
            number = text.rpartition(":")[2].partition(" ")[0]
            lines.append(int(number) if number.isdigit() else 0)
    return found


def by_nvdisasm(path: Path) -> dict[int, Lines]:
    """The lines that nvdisasm gives; it passes over a change of the callers alone."""
    with ObjectFile(map_file(str(path)), str(path)) as file:
        places = {name: start for name, start, _ in file.code_sections()}
    found: dict[int, Lines] = {}
    start: int | None = None
    lines: Lines = []
    is_new = False
    for text in run("nvdisasm", "-gi", "-c", path).splitlines():
        if section := re.match(r"\s*//-+ (\S+)", text):
            start, lines = places.get(section[1]), []
        elif place := re.match(r'\s*//## File "[^"]*", line (\d+)', text):
            lines = [*(lines if is_new else ()), int(place[1])]
            is_new = True
        elif (row := re.match(r"\s*/\*([0-9a-f]{4,})\*/", text)) and start is not None:
            if is_new:
                found[start + int(row[1], 16)] = lines
            is_new = False
    return found


def run(*command: object, words: str | None = None) -> str:
    """The output of a program that reads *words*."""
    return subprocess.run(
        list(map(str, command)), input=words, capture_output=True, text=True, check=True
    ).stdout


def rows_of_clang(folder: Path, clang: str) -> list[Row]:
    """Rows of the targets of clang that it has."""
    source = folder / "a.c"
    source.write_text(C)
    rows = []
    for target, options in CLANG.items():
        path = folder / f"{target.split()[0].lower()}.bin"
        try:
            run(clang, "-g", "-O1", "-fno-builtin", *options, source, "-o", path)
        except subprocess.CalledProcessError as error:
            print(f"{target}: {error.stderr}", file=sys.stderr)
            continue
        expected = by_symbolizer(path)
        rows.append(compare(target, path, "llvm-symbolizer", expected))
        if target == "BPF":
            stripped = folder / "btf.bin"
            run("llvm-objcopy", "--strip-debug", path, stripped)
            # BTF has no rows for line 0: the line before goes on.
            own = {at: lines[:1] for at, lines in expected.items() if lines[0]}
            rows.append(compare("BPF, BTF alone", stripped, "its DWARF", own))
    return rows


def rows_of_gcc(folder: Path) -> list[Row]:
    """Rows of the compilers for other processors that are on PATH."""
    source = folder / "a.c"
    source.write_text(C)
    places = os.environ.get("PATH", "").split(os.pathsep)
    found = {
        path.name.removesuffix("-gcc")
        for place in places
        for path in Path(place).glob("*-gcc")
        if path.with_name(path.name.removesuffix("gcc") + "addr2line").exists()
    }
    rows = []
    for triple in sorted(found):
        path = folder / f"{triple}.so"
        try:
            options = GCC if "-linux-" in triple else BARE
            run(f"{triple}-gcc", *options, source, "-o", path)
        except subprocess.CalledProcessError as error:
            print(f"{triple}: {error.stderr}", file=sys.stderr)
            continue
        expected = by_addr2line(f"{triple}-addr2line", path)
        rows.append(compare(f"GCC, {triple}", path, "its addr2line", expected))
    return joined(f"GCC for {len(rows)} processors", rows)


def rows_of_zig(folder: Path) -> list[Row]:
    """Rows of the processors of zig, whose programs have no system."""
    source = folder / "a.c"
    source.write_text(C)
    caches = {f"ZIG_{kind}_CACHE_DIR": str(folder) for kind in ("LOCAL", "GLOBAL")}
    rows = []
    for processor in ZIG:
        path = folder / f"zig-{processor}.elf"
        options = (f"{processor}-freestanding-none", *ZIG_OPTIONS, "-Wl,-e,first")
        command = [sys.executable, "-m", "ziglang", "cc", "-target", *options]
        made = subprocess.run(
            [*command, str(source), "-o", str(path)],
            env=os.environ | caches,
            capture_output=True,
            text=True,
            check=False,
        )
        if made.returncode:
            print(f"zig {processor}: {made.stderr}", file=sys.stderr)
            continue
        expected = by_symbolizer(path)
        rows.append(compare(f"zig {processor}", path, "llvm-symbolizer", expected))
    return joined(f"zig for {len(rows)} processors", rows)


def by_readelf(path: Path) -> dict[int, Lines]:
    """The lines of the rows that readelf decodes; of an address the last one."""
    rows: list[tuple[int, int]] = []
    found: dict[int, Lines] = {}
    for text in run("readelf", "--debug-dump=decodedline", path).splitlines():
        row = re.match(r"\S+ +(\d+|-) +0x([0-9a-f]+)\b", text)
        if row is None:
            continue
        address = int(row[2], 16)
        if row[1] != "-":
            rows.append((address, int(row[1])))
            continue
        for (start, line), (end, _) in pairwise([*rows, (address, 0)]):
            found |= {at: [line] for at in range(start, end)}
        rows.clear()
    return found


def rows_of_sdcc(folder: Path) -> list[Row]:
    """Rows of the processors of SDCC for which it writes ELF files."""
    source = folder / "s.c"
    source.write_text(SDCC_C)
    rows = []
    for processor in SDCC:
        path = folder / f"{processor}.elf"
        options = ("--debug", "--out-fmt-elf", f"-m{processor}", "-o", path)
        subprocess.run(
            ["sdcc", *map(str, options), str(source)],
            cwd=folder,
            capture_output=True,
            check=True,
        )
        target = f"SDCC {processor}"
        rows.append(compare(target, path, "readelf", by_readelf(path)))
    return joined(f"SDCC {', '.join(SDCC)}", rows)


def rows_of_cuda(folder: Path) -> list[Row]:
    """Rows of CUDA for three processors."""
    source = folder / "k.cu"
    source.write_text(CUDA)
    rows = []
    processors = ("sm_80", "sm_90", "sm_100")
    for processor in processors:
        path = folder / f"{processor}.cubin"
        run("nvcc", "-cubin", "-lineinfo", f"-arch={processor}", source, "-o", path)
        target = f"CUDA {processor} -lineinfo"
        rows.append(compare(target, path, "nvdisasm -gi", by_nvdisasm(path)))
    return joined(f"CUDA {', '.join(processors)}", rows)


def main() -> int:
    """Print the table; return the exit code."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        clang = next(filter(shutil.which, ("clang", "clang-19")), None)
        if clang is not None:
            rows += rows_of_clang(Path(folder), clang)
        rows += rows_of_gcc(Path(folder))
        if find_spec("ziglang") is not None:
            rows += rows_of_zig(Path(folder))
        if shutil.which("sdcc"):
            rows += rows_of_sdcc(Path(folder))
        if shutil.which("nvcc") and shutil.which("nvdisasm"):
            rows += rows_of_cuda(Path(folder))
    cells = [list(map(str, row)) for row in rows]
    text = table(COLUMNS, cells)
    print(text)
    if "--write" in sys.argv[1:]:
        record.keep_region(record.DEVICES, HEADING + text)
    return int(any(row.different for row in rows))


if __name__ == "__main__":
    sys.exit(main())
