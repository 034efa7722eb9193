"""Conversion of a large PDB: gsym compared with symbolic.

    python -m benchmarks.pdb CORPUS [--units N] [--rounds N] [--write]

Generates a C++ program of N units (36 make a PDB of more than 100 MB), compiles it with
clang-19 for Windows, links it with lld-link-19, both of which need no SDK, and converts
the PDB in turn. The PDB is kept in CORPUS/pdb.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median

from benchmarks.markdown import table
from benchmarks.process import Field, column, measure, measure_pairs, median_ratio
from benchmarks.report import argument_parser, made_by, write_region

CLASSES = 900  # of a unit
FIELDS: tuple[tuple[Field, int], ...] = (("wall", 2), ("cpu", 2), ("peak", 0))
TABLE_HEAD = (
    *("MB", "wall gsym", "wall symbolic", "ratio"),
    *("cpu gsym", "cpu symbolic", "ratio", "peak gsym", "peak symbolic", "ratio"),
    *("file gsym", "file symbolic"),
)
LEGEND = """\
A generated C++ program of {classes} classes in {units} units, compiled by clang for
Windows and linked by lld. Seconds, MiB of peak resident memory and MB of the files (of
symbolic a SymCache), medians of {rounds} pairs of runs. `ratio` is the median of
symbolic / gsym over the pairs."""
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


def main() -> None:
    """Build, convert in turn, print, and with --write keep the table."""
    parser = argument_parser(__doc__)
    parser.add_argument("--units", type=int, default=36)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    pdb = build(arguments.corpus / "pdb", arguments.units)
    with tempfile.TemporaryDirectory() as temporary:
        outputs = [Path(temporary) / name for name in ("ours.gsym", "symcache")]
        ours = [sys.executable, "-m", "gsym", "convert", "-q", str(pdb)]
        ours += ["-o", str(outputs[0])]
        peer = [sys.executable, "-m", "benchmarks.symbolic_process", "convert"]
        peer += [str(pdb), str(outputs[1])]
        runs = measure_pairs(
            lambda: measure(ours), lambda: measure(peer), arguments.rounds
        )
        sizes = [path.stat().st_size / 1e6 for path in outputs]
    row = [f"{pdb.stat().st_size / 1e6:.0f}"]
    for field, digits in FIELDS:
        medians = (median(column(each, field)) for each in runs)
        row += [f"{value:.{digits}f}" for value in medians]
        row.append(f"**{median_ratio(runs[1], runs[0], field):.1f}x**")
    command = f"python -m benchmarks.pdb CORPUS --rounds {arguments.rounds}"
    parts = [
        made_by(command, ["symbolic"]),
        LEGEND.format(
            classes=arguments.units * CLASSES,
            units=arguments.units,
            rounds=arguments.rounds,
        ),
        table(TABLE_HEAD, [[*row, *(f"{size:.1f}" for size in sizes)]]),
    ]
    text = "\n\n".join(parts)
    print(text)
    if arguments.write:
        write_region("pdb", text)


if __name__ == "__main__":
    main()
