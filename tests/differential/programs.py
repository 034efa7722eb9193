"""Small programs in many flavours of debug information, built on the spot."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import NamedTuple

SOURCES = Path(__file__).parent / "sources"


class Flavour(NamedTuple):
    """How a program is built: compiler, source and options."""

    compiler: str
    source: str
    options: str
    linker: str = ""

    @property
    def title(self) -> str:
        """A name for reports, also usable as a file name."""
        words = [self.compiler, *self.options.split(), *self.linker.split()]
        return "".join(words).replace("/", "").replace("=", "").replace(",", "")


_LLD = "-fuse-ld=lld-19"
FLAVOURS = (
    *(
        Flavour("gcc", "shapes.c", f"-O2 -gdwarf-{n} -gstrict-dwarf")
        for n in range(2, 6)
    ),
    Flavour("gcc", "shapes.c", "-O2 -gdwarf-5 -gdwarf64"),
    Flavour("gcc", "shapes.c", "-O2 -gdwarf-4 -gdwarf64"),
    Flavour("gcc", "shapes.c", "-O0 -g"),
    Flavour("gcc", "shapes.c", "-Os -g -ffunction-sections", "-Wl,--gc-sections"),
    Flavour("gcc", "shapes.c", "-O2 -g -flto"),
    Flavour("gcc", "shapes.c", "-O2 -g -gz=zlib"),
    Flavour("gcc", "shapes.c", "-O2 -g -gz=zlib-gnu"),
    Flavour("clang-19", "shapes.c", "-O2 -gdwarf-4"),
    Flavour("clang-19", "shapes.c", "-O2 -gdwarf-5"),
    Flavour("clang-19", "shapes.c", "-O2 -gline-tables-only"),
    Flavour("clang-19", "shapes.c", "-O2 -g -gz=zstd", _LLD),
    Flavour("g++", "shapes.cc", "-O2 -gdwarf-2 -gstrict-dwarf"),
    Flavour("g++", "shapes.cc", "-O2 -gdwarf-4 -fdebug-types-section"),
    Flavour("g++", "shapes.cc", "-O2 -gdwarf-5"),
    Flavour("g++", "shapes.cc", "-O2 -gdwarf-5 -std=c++11"),
    Flavour("g++", "shapes.cc", "-O0 -g"),
    Flavour("g++", "shapes.cc", "-O2 -g -flto"),
    Flavour("clang++-19", "shapes.cc", "-O2 -gdwarf-4"),
    Flavour("clang++-19", "shapes.cc", "-O2 -gdwarf-5 -std=c++20"),
    Flavour("clang++-19", "shapes.cc", "-O0 -g"),
    Flavour("clang++-19", "shapes.cc", "-O2 -g -gsimple-template-names"),
    Flavour(
        "clang++-19", "shapes.cc", "-O2 -g -ffunction-sections", f"{_LLD} -Wl,--icf=all"
    ),
)


def build(flavour: Flavour, output: Path) -> Path:
    """Compile and link *flavour* to *output*.

    The folder of the sources is left out of the debug information, so that a
    report reads the same in every checkout.

    Raises:
        FileNotFoundError: The compiler is not installed.
        subprocess.CalledProcessError: The compiler refused; `stderr` says why.
    """
    subprocess.run(
        [
            flavour.compiler,
            *flavour.options.split(),
            f"-ffile-prefix-map={SOURCES}=sources",
            str(SOURCES / flavour.source),
            *flavour.linker.split(),
            "-o",
            str(output),
        ],
        check=True,
        capture_output=True,
        text=True,
    )
    return output
