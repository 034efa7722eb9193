"""Small programs in many flavours of debug information, built on the spot."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tests.differential.peers import run

if TYPE_CHECKING:
    from collections.abc import Callable

SOURCES = Path(__file__).parent / "sources"


class Edit(NamedTuple):
    """A change to the assembly that GCC annotates, for what no compiler here emits."""

    title: str
    pattern: str
    replacement: str


class Flavour(NamedTuple):
    """How a program is built; the paths in it start with *prefix*.

    A program of two halves is built from its source twice, once with -DOTHER. What is
    built goes through *finish*.
    """

    compiler: str
    source: str
    options: str
    linker: str = ""
    edit: Edit | None = None
    prefix: str = "sources"
    has_halves: bool = False
    finish: Callable[[Path], None] | None = None

    @property
    def title(self) -> str:
        """A name for reports, also usable as a file name."""
        source = "" if self.source.startswith("shapes") else self.source
        words = [self.compiler, source, *self.options.split(), *self.linker.split()]
        words.append(self.edit.title if self.edit else "")
        words.append("" if self.prefix == "sources" else "-root")
        words.append(f"-{self.finish.__name__}" if self.finish else "")
        return "".join(words).translate(str.maketrans("", "", "/=,:"))


TRY_BLOCKS = Edit(
    "-try-blocks",
    r"\.uleb128 0xb(\t# \(TAG: DW_TAG_lexical_block\))",
    r".uleb128 0x32\1",
)
CXX20 = Edit("-language-c++20", r"\.byte\t0x21(\t# DW_AT_language)", r".byte\t0x2b\1")
# The first range of a split function lies outside of the code, as if discarded.
BAD_RANGE = Edit(
    "-bad-range",
    r"(\.LLRL\d+:\n)(\t\.byte\t0x7\t# DW_RLE_start_length)",
    r"\1\t.byte\t0x7\n\t.quad\t0x10\n\t.uleb128 0x8\n\2",
)
# An instruction without a row stands at the start of the cold half of a function.
LATE_ROWS = Edit("-late-rows", r"(\.LFSB\d+:\n)", r"\1\tnop\n")


def without_dwo(output: Path) -> None:
    """Lose the files that the split units went to."""
    files = list(output.parent.glob(f"{output.name}*.dwo"))
    assert files
    for file in files:
        file.unlink()


def optimized_by_bolt(output: Path) -> None:
    """Move blocks and functions of the linked program."""
    options = ("-reorder-blocks=reverse", "-split-functions", "-split-all-cold")
    update = ("--update-debug-sections", "-o", f"{output}.bolt")
    run("llvm-bolt-19", *options, *update, str(output))
    Path(f"{output}.bolt").replace(output)


_LLD = "-fuse-ld=lld-19"
FLAVOURS = (
    *(
        Flavour("gcc", "shapes.c", f"-O2 -gdwarf-{n} -gstrict-dwarf")
        for n in range(2, 6)
    ),
    Flavour("gcc", "shapes.c", "-O2 -gdwarf-5 -gdwarf64"),
    Flavour("gcc", "shapes.c", "-O2 -gdwarf-4 -gdwarf64"),
    Flavour("gcc", "shapes.c", "-O0 -g"),
    Flavour("gcc", "shapes.c", "-O0 -g", prefix=""),
    Flavour("gcc", "shapes.c", "-Os -g -ffunction-sections", "-Wl,--gc-sections"),
    Flavour("gcc", "shapes.c", "-O2 -g -flto"),
    Flavour("gcc", "shapes.c", "-O2 -g -gz=zlib"),
    Flavour("gcc", "shapes.c", "-O2 -g -gz=zlib-gnu"),
    Flavour("gcc", "shapes.c", "-O2 -gdwarf-5", edit=BAD_RANGE),
    Flavour("gcc", "shapes.c", "-O2 -g -ffunction-sections", edit=LATE_ROWS),
    Flavour("clang-19", "shapes.c", "-O2 -gdwarf-4"),
    Flavour("clang-19", "shapes.c", "-O2 -gdwarf-5"),
    Flavour("clang-19", "shapes.c", "-O2 -gline-tables-only"),
    Flavour("clang-19", "shapes.c", "-O2 -g -gz=zstd", _LLD),
    Flavour("g++", "shapes.cc", "-O2 -gdwarf-2 -gstrict-dwarf"),
    Flavour("g++", "shapes.cc", "-O2 -gdwarf-4 -fdebug-types-section"),
    Flavour("g++", "shapes.cc", "-O2 -gdwarf-5"),
    Flavour("g++", "shapes.cc", "-O2 -gdwarf-5", edit=TRY_BLOCKS),
    Flavour("g++", "shapes.cc", "-O2 -gdwarf-5", edit=CXX20),
    Flavour("g++", "shapes.cc", "-O2 -gdwarf-5 -std=c++11"),
    Flavour("g++", "shapes.cc", "-O0 -g"),
    Flavour("g++", "shapes.cc", "-O2 -g -flto"),
    Flavour("g++", "twins.cc", "-O2 -g", has_halves=True),
    Flavour("clang++-19", "shapes.cc", "-O2 -gdwarf-4"),
    Flavour("clang++-19", "shapes.cc", "-O2 -gdwarf-5 -std=c++20"),
    Flavour("clang++-19", "shapes.cc", "-O0 -g"),
    Flavour("clang++-19", "shapes.cc", "-O2 -g -gsimple-template-names"),
    Flavour("clang++-19", "twins.cc", "-O2 -g -gdwarf-4", has_halves=True),
    Flavour(
        "clang++-19", "shapes.cc", "-O2 -g -ffunction-sections", f"{_LLD} -Wl,--icf=all"
    ),
)


def build(flavour: Flavour, output: Path) -> Path:
    """Compile and link *flavour* to *output*.

    The folder of the sources is left out of the debug information, so that a
    report reads the same in every checkout.

    Raises:
        FileNotFoundError: A tool is not installed; `filename` is its name.
        subprocess.CalledProcessError: The compiler refused; `stderr` says why.
        ValueError: There was nothing to edit.
    """
    source = SOURCES / flavour.source
    options = [*flavour.options.split(), *_own_options(flavour, output)]
    if flavour.edit:
        assembly = output.with_suffix(".s")
        run(flavour.compiler, *options, "-S", "-dA", str(source), "-o", str(assembly))
        text, count = re.subn(
            flavour.edit.pattern, flavour.edit.replacement, assembly.read_text("utf-8")
        )
        if not count:
            raise ValueError(f"nothing to edit for {flavour.edit.title} in {assembly}")
        assembly.write_text(text, "utf-8")
        source, options = assembly, []
    inputs = [str(source)]
    if flavour.has_halves:
        half = output.with_suffix(".o")
        run(flavour.compiler, *options, "-DOTHER", "-c", str(source), "-o", str(half))
        inputs.append(str(half))
    linker = flavour.linker.split()
    equals = {"nim": ("-o:{}",), "ldc2": ("-of={}",)}
    target = [
        word.format(output) for word in equals.get(flavour.compiler, ("-o", "{}"))
    ]
    words = [flavour.compiler]
    if flavour.compiler in {"go", "nim"}:
        words.append(options.pop(0))
    # Its binder writes into the working directory.
    folder = output.parent if flavour.compiler == "gnatmake" else None
    run(*words, *options, *linker, *target, *inputs, folder=folder)
    if flavour.finish:
        flavour.finish(output)
    return output


def _own_options(flavour: Flavour, output: Path) -> tuple[str, ...]:
    """How a compiler is told of the paths in the program, and where to put the rest."""
    paths = f"{SOURCES}={flavour.prefix}"
    folder = output.parent
    others: dict[str, tuple[str, ...]] = {
        "gfortran-12": (f"-ffile-prefix-map={paths}", f"-J{folder}"),
        "gnatmake": (f"-ffile-prefix-map={paths}", "-D", str(folder)),
        "go": (),
        "ldc2": (f"-od={folder}",),
        "nim": (f"--nimcache:{output}.nim",),
        "rustc": (f"--remap-path-prefix={paths}",),
    }
    return others.get(flavour.compiler, (f"-ffile-prefix-map={paths}",))
