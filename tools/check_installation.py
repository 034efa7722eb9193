"""Use an installed gsym as its users do; say what fails.

    python tools/check_installation.py [COMMAND...]

Run by `make wheel`, by cibuildwheel and by the tests of the Debian packages, with the
Python that has gsym. COMMAND prints the options with which a compiler finds libgsym, by
default `python -m gsym.config --cflags --libs`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import gsym

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "tools/demo/stairs.c"
CLIENT = ROOT / "examples/libgsym/c/source_of.c"
COMMANDS = ("gsym", "gsymutil", "gsym-symbolizer", "gsym-addr2line")
BIN = Path(sys.executable).parent
CONFIG = [sys.executable, "-m", "gsym.config", "--cflags", "--libs"]
# macOS has no libgsym.
HAS_LIBRARY = sys.platform == "linux"


def output_of(*command: str | Path) -> str:
    """What a command prints; raises if it fails."""
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout


def expect(condition: object, what: str) -> None:
    """Stop unless a condition holds."""
    if not condition:
        sys.exit(f"{Path(gsym.__file__).parent}: {what}")


def check_commands() -> None:
    """Convert a program and look its `main` up; ask for what is installed."""
    expect(Path(gsym.__file__).parents[1] != ROOT, "is a checkout, not an installation")
    for name in COMMANDS:
        expect(gsym.__version__ in output_of(BIN / name, "--version"), f"{name} is old")
        is_program = (BIN / name).read_bytes().startswith(b"\x7fELF")
        expect(is_program or sys.platform != "linux", f"{name} is no program")
    compiler = os.environ.get("CC", "cc").split()
    output_of(*compiler, "-g", "-O2", SOURCE, "-o", "stairs")
    output_of(BIN / "gsym", "convert", "stairs")
    with gsym.open("stairs.gsym") as reader:
        (main,) = reader.find("main")
    answer = output_of(BIN / "gsym", "lookup", "stairs.gsym", hex(main.start))
    expect("main at " in answer and "stairs.c:" in answer, f"wrong answer: {answer}")
    expect("gsym" in output_of(BIN / "gsym", "doctor"), "gsym doctor says nothing")
    if HAS_LIBRARY:
        flags = output_of(*(sys.argv[1:] or CONFIG)).split()
        output_of(*compiler, CLIENT, "-o", "source_of", *flags)
        output_of("./source_of", "convert", "stairs", "of_c.gsym")
        answer = output_of("./source_of", "lookup", "of_c.gsym", f"{main.start:x}")
        expect("stairs.c:" in answer, f"wrong answer of libgsym: {answer}")


def check_share() -> None:
    """Look for what man, shells and build systems read."""
    share = Path(sys.prefix, "share")
    for pattern in (
        "man/man1/gsym-convert.1*",
        "bash-completion/completions/gsym",
        "zsh/*/_gsym",
        "cmake/GsymConvert/GsymConvertConfig.cmake",
    ):
        expect(list(share.glob(pattern)), f"no {share / pattern}")


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        os.chdir(folder)
        check_commands()
        check_share()
    print(f"{Path(gsym.__file__).parent}: works")
