"""`make demo`: from C source to a symbolized address, printing each step.

Needs only the C compiler that built the engine; uses a C++ compiler if there is one.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import gsym

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
BUILD = Path("build/demo")
GSYM = str(Path(sys.executable).with_name("gsym"))


def run(*command: str) -> None:
    """Show a command as a user would type it, then run it."""
    shown = [Path(command[0]).name if command[0] == GSYM else command[0], *command[1:]]
    print(f"\n$ {shlex.join(shown)}", flush=True)
    subprocess.run(command, check=True)


def compiler(variable: str, names: tuple[str, ...]) -> list[str] | None:
    """The compiler named by the environment, or the first that is installed."""
    chosen = shlex.split(os.environ.get(variable, ""))
    if chosen and shutil.which(chosen[0]):
        return chosen
    return next(([name] for name in names if shutil.which(name)), None)


def inline_depths(root: gsym.InlineInfo) -> Iterator[tuple[int, int]]:
    """(depth, first address) of each call inlined below *root*."""
    for child in root.children:
        yield 1, child.ranges[0].start
        for depth, address in inline_depths(child):
            yield depth + 1, address


def telling_addresses(path: Path, source: str) -> list[int]:
    """Start and deepest inlined call of the function of *source* that has most."""
    best = (0, [0])
    with gsym.open(str(path)) as reader:
        for info in reader.functions():
            rows = info.line_table or ()
            if any(row.path.endswith(source) for row in rows):
                inlined = () if info.inline is None else inline_depths(info.inline)
                deepest = max(inlined, default=(0, info.start))
                addresses = sorted({info.start, deepest[1]})
                best = max(best, (1 + deepest[0], addresses))
    return best[1]


def show(compile_command: list[str], source: str) -> Path:
    """Compile, convert and look up; return the GSYM file."""
    program = BUILD / Path(source).stem
    finished = program.with_suffix(".gsym")
    run(*compile_command, "-g", "-O2", "-o", str(program), f"tools/demo/{source}")
    run(GSYM, "convert", str(program), "-o", str(finished))
    addresses = telling_addresses(finished, source)
    run(GSYM, "lookup", str(finished), *(hex(address) for address in addresses))
    return finished


def main() -> int:
    """Run the demo; return the exit code."""
    os.chdir(ROOT)
    BUILD.mkdir(parents=True, exist_ok=True)
    c_compiler = compiler("CC", ("cc", "gcc", "clang"))
    if c_compiler is None:
        print("no C compiler found; set CC", file=sys.stderr)
        return 1
    finished = show(c_compiler, "stairs.c")
    cxx_compiler = compiler("CXX", ("g++", "clang++", "c++"))
    if cxx_compiler is None:
        print("\n(no C++ compiler found: skipping the C++ program)")
    else:
        finished = show(cxx_compiler, "shapes.cc")
    binary = os.path.relpath(Path(sys.executable).parent)
    print(
        f"\nNext, with your own binary, built with -g:\n"
        f"  {binary}/gsym convert BINARY           # writes BINARY.gsym\n"
        f"  {binary}/gsym lookup BINARY.gsym ADDRESS...\n"
        f"  {binary}/gsym dump {finished}\n"
        f"  {binary}/gsym stats {finished}\n"
        f"  {binary}/gsym --help\n"
        f"From Python (start {binary}/python):\n"
        f"  import gsym\n"
        f"  with gsym.open({str(finished)!r}) as reader:\n"
        f"      print(reader.lookup(ADDRESS))\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
