"""Convert a large PDB beside symbolic: `python -m benchmarks.pdb FOLDER [UNITS]`.

Generates a C++ program of UNITS units (36 make a PDB of more than 100 MB), compiles it
with clang-19 for Windows, links it with lld-link-19, both of which need no SDK, and
converts the PDB in turn. What is in FOLDER already is not made again.
"""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median

from benchmarks.process import column, measure, measure_pairs, median_ratio

CLASSES = 900  # of a unit
UNITS = 36
ROUNDS = 3
COMPILER = (
    *("clang-19", "--target=x86_64-pc-windows-msvc", "-O0", "-g", "-gcodeview"),
    *("-fno-exceptions", "-mno-stack-arg-probe", "-std=c++17", "-w", "-c"),
)
LINKER = (
    *("lld-link-19", "/nologo", "/debug", "/nodefaultlib", "/entry:mainCRTStartup"),
    "/subsystem:console",
)
HEAD = """\
extern volatile int sink;
#define NOINLINE __attribute__((noinline))
#define INLINE __attribute__((always_inline)) inline
template <class T> INLINE T clamped(T v, T lo, T hi) {
  sink = (int)v;
  if (v < lo) return lo;
  return v > hi ? hi : v;
}
template <class T, int N> INLINE T mixed(T a, T b) {
  T r = a * N + b;
  r = clamped<T>(r, 1, 100 + N);
  sink = (int)(r * 3);
  return r;
}
"""
CLASS = """\
struct Widget@ {
  int a; long b; const char *name; Widget@ *next; int field_@; double weight;
  NOINLINE int compute(int x, const Widget@ &other) const;
  INLINE int helper(int v) const {
    sink = v + a;
    int r = mixed<int, 7>(v, a);
    return r + (int)b;
  }
};
NOINLINE int Widget@::compute(int x, const Widget@ &other) const {
  int total = x;
  for (int i = 0; i < x; ++i) {
    total += helper(i);
    if (total > @) total -= other.helper(x);
  }
  return total + (int)mixed<long, 5>(total, other.b);
}
NOINLINE int function_@(int count, Widget@ *list, const char *const *names) {
  int total = 0;
  while (list) {
    total += list->helper(count);
    sink = total + (names ? 1 : 0);
    list = list->next;
  }
  return mixed<int, 3>(total, count);
}
"""
CALLS = "{ Widget@ w{}; t += w.compute(s, w) + function_@(s, &w, nullptr); }\n"


def numbered(text: str) -> str:
    """*text* for each class."""
    return "".join(text.replace("@", str(number)) for number in range(CLASSES))


def source(unit: int) -> str:
    """A unit."""
    body = numbered(CLASS) + "NOINLINE int all(int s) { int t = 0;\n" + numbered(CALLS)
    return f"{HEAD}namespace unit{unit} {{\n{body}return t; }}\n}}\n"


def main_source(units: int) -> str:
    """What calls the units, and what the compiler expects of a C library."""
    declared = "".join(f"namespace unit{n} {{ int all(int); }}\n" for n in range(units))
    called = "".join(f"  t += unit{n}::all(sink);\n" for n in range(units))
    return (
        'volatile int sink; extern "C" int _fltused = 0;\n'
        'extern "C" void *memset(void *d, int c, unsigned long long n) {\n'
        "  char *p = (char *)d; while (n--) *p++ = (char)c; return d; }\n"
        f'{declared}extern "C" int mainCRTStartup() {{\n  int t = 0;\n'
        f"{called}return t; }}\n"
    )


def compiled(folder: Path, name: str, text: str) -> str:
    """The object file of a source."""
    path = folder / f"{name}.cc"
    path.write_text(text)
    target = str(path.with_suffix(".obj"))
    subprocess.run([*COMPILER, str(path), "-o", target], check=True)
    return target


def build(folder: Path, units: int) -> Path:
    """The PDB of the program."""
    made = folder / f"program{units}.pdb"
    if made.exists():
        return made
    folder.mkdir(parents=True, exist_ok=True)
    texts = {"main": main_source(units)}
    texts |= {f"unit{n}": source(n) for n in range(units)}
    with ThreadPoolExecutor() as pool:
        objects = [*pool.map(lambda each: compiled(folder, *each), texts.items())]
    out = f"/out:{made.with_suffix('.exe')}"
    subprocess.run([*LINKER, out, *objects], check=True)
    return made


def main(folder: str, units: str = str(UNITS)) -> None:
    """Build, convert in turn, print."""
    pdb = build(Path(folder), int(units))
    ours = [
        sys.executable,
        "-m",
        "gsym",
        "convert",
        "-q",
        str(pdb),
        "-o",
        f"{pdb}.gsym",
    ]
    script = [sys.executable, "-m", "benchmarks.symbolic_process"]
    peer = [*script, "convert", str(pdb), f"{pdb}.symcache"]
    runs = measure_pairs(lambda: measure(ours), lambda: measure(peer), ROUNDS)
    print(f"{pdb}: {pdb.stat().st_size / 1e6:.0f} MB")
    for name, measured in zip(("gsym", "symbolic"), runs, strict=True):
        figures = [median(column(measured, each)) for each in ("wall", "cpu", "peak")]
        print("{}: {:.2f} s, {:.2f} s of processor, {:.0f} MiB".format(name, *figures))
    ratios = [median_ratio(runs[1], runs[0], each) for each in ("wall", "cpu", "peak")]
    print("symbolic / gsym: {:.1f}, {:.1f}, {:.1f}".format(*ratios))


if __name__ == "__main__":
    main(*sys.argv[1:])
