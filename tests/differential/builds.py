"""Programs of many compilers, languages and options: what lines may come from."""

from __future__ import annotations

from tests.differential.programs import (
    FLAVOURS,
    Flavour,
    optimized_by_bolt,
    without_dwo,
)

_LLD = "-fuse-ld=lld-19"
_ICF = f"{_LLD} -Wl,--icf=all"
_BARE = "-nostdlib -static"


def _each(compiler: str, source: str, *options: str) -> tuple[Flavour, ...]:
    return tuple(Flavour(compiler, source, each) for each in options)


def _split(compiler: str, source: str, *options: str) -> tuple[Flavour, ...]:
    """With the files of the split units, and without them."""
    return tuple(
        Flavour(compiler, source, f"{each} -gsplit-dwarf", finish=finish)
        for each in options
        for finish in (None, without_dwo)
    )


_GCC = (
    *_each("gcc", "shapes.c", "-O1 -g1", "-O2 -g1", "-O3 -g", "-O2 -g -static"),
    *_each("g++", "shapes.cc", "-O1 -g1", "-O3 -g", "-O1 -g -gdwarf-3"),
    *_each("g++", "folded.cc", "-O0 -g", "-O2 -g", "-O2 -g1", "-Os -g", "-O2 -g -flto"),
    *_each("g++", "folded.cc", "-O3 -gdwarf-4", "-O2 -gdwarf-3 -gstrict-dwarf"),
    Flavour("g++", "shapes.cc", "-Os -g -ffunction-sections", "-Wl,--gc-sections"),
    Flavour("gcc", "shapes.c", "-O2 -g", "-Wl,-q", finish=optimized_by_bolt),
    *_split("gcc", "shapes.c", "-O2 -gdwarf-4", "-O2 -gdwarf-5"),
    *_split("g++", "shapes.cc", "-O2 -gdwarf-5"),
)
_LINES = "-gline-tables-only"
_CLANG = (
    *_each("clang-19", "shapes.c", *(f"-O{level} {_LINES}" for level in "013s")),
    *_each("clang-19", "shapes.c", "-O2 -gmlt", "-O2 -gdwarf-2", "-O2 -gdwarf-3"),
    *_each("clang++-19", "folded.cc", f"-O0 {_LINES}", f"-O2 {_LINES}", "-O2 -g"),
    *_each("clang++-19", "shapes.cc", f"-O0 {_LINES}", f"-O2 {_LINES}", "-Os -g"),
    *_each("clang++-19", "shapes.cc", "-O2 -gdwarf-5 -gdwarf64", "-O1 -gdwarf-4"),
    Flavour("clang++-19", "folded.cc", "-O2 -g -ffunction-sections", _ICF),
    Flavour("clang++-19", "folded.cc", f"-O2 {_LINES} -ffunction-sections", _ICF),
    *(
        Flavour("clang++-19", "shapes.cc", options, _LLD)
        for options in (
            *("-O2 -g -flto", "-O2 -g -flto=thin", f"-O2 {_LINES} -flto=thin"),
            *(f"-O2 {level} -fbasic-block-sections=all" for level in ("-g", _LINES)),
        )
    ),
    Flavour("clang++-19", "shapes.cc", "-O2 -g", "-Wl,-q", finish=optimized_by_bolt),
    *_split("clang-19", "shapes.c", "-O2 -gdwarf-4", "-O2 -gdwarf-5"),
    *_split(
        "clang++-19", "shapes.cc", "-O2 -gdwarf-5", "-O2 -g -fsplit-dwarf-inlining"
    ),
)
_ASSEMBLY = (
    *_each("gcc", "by_hand.s", *(f"-gdwarf-{n} {_BARE}" for n in range(2, 6))),
    *_each("clang-19", "by_hand.s", *(f"-gdwarf-{n} {_BARE}" for n in range(2, 6))),
)
_LANGUAGES = (
    *_each("gfortran-12", "shapes.f90", "-O0 -g", "-O2 -g"),
    *_each("gdc-12", "shapes.d", "-O0 -g", "-O2 -g"),
    *_each("ldc2", "shapes.d", "-O0 -g", "-O3 -g"),
    *_each("gnatmake", "shapes.adb", "-q -O0 -g", "-q -O2 -g"),
    *_each("rustc", "shapes.rs", "-g", "-O -g", "-O -Cdebuginfo=1"),
    *_each("go", "shapes.go", "build", "build -gcflags=-l"),
    *_each("nim", "shapes.nim", "c --hints:off --debugger:native"),
    *_each("nim", "shapes.nim", "c --hints:off --debugger:native -d:release"),
)
BUILDS = (*FLAVOURS, *_GCC, *_CLANG, *_ASSEMBLY, *_LANGUAGES)

# One of each kind, of compilers that every developer has.
QUICK = {
    each.title
    for each in (
        *_GCC[:1],
        *_GCC[8:9],
        *_split("gcc", "shapes.c", "-O2 -gdwarf-5"),
        *_CLANG[:1],
        *_CLANG[7:8],
        Flavour("clang++-19", "folded.cc", f"-O2 {_LINES} -ffunction-sections", _ICF),
        Flavour("clang++-19", "shapes.cc", "-O2 -g -fbasic-block-sections=all", _LLD),
        *_ASSEMBLY[3::4],
        *_LANGUAGES[1:8:2],
    )
}
