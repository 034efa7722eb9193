"""Compile csrc/ into gsym.engine._core; the marked part of gsym/gsym.h is the cdef."""

from __future__ import annotations

import os
from pathlib import Path

from cffi import FFI

CSRC = Path(__file__).resolve().parent
CONTRACT = (CSRC / "include/gsym/gsym.h").read_text(encoding="utf-8")
BEGIN, END = "/* cffi: begin */", "/* cffi: end */"

ffi = FFI()
ffi.cdef(CONTRACT.partition(BEGIN)[2].partition(END)[0])
ffi.set_source(
    "gsym.engine._core",
    "#include <gsym/gsym.h>",
    sources=sorted(f"csrc/{path.relative_to(CSRC)}" for path in CSRC.rglob("*.c")),
    depends=sorted(f"csrc/{path.relative_to(CSRC)}" for path in CSRC.rglob("*.h")),
    include_dirs=["csrc/include"],
    extra_compile_args=[
        "-std=c11",
        "-iquote",
        "csrc",
        "-O2",
        "-Wall",
        "-Wextra",
        "-fvisibility=hidden",
        *os.environ.get("GSYM_CFLAGS", "").split(),
    ],
    extra_link_args=os.environ.get("GSYM_LDFLAGS", "").split(),
    py_limited_api=True,
)
