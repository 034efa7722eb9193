"""Compile csrc/ into gsym.engine._core; parts of its public headers are the cdef."""

from __future__ import annotations

import os
import re
from pathlib import Path

from cffi import FFI

CSRC = Path(__file__).resolve().parent
INCLUDE = CSRC / "include"
BEGIN, END = "/* cffi: begin */", "/* cffi: end */"
# gsym.h includes each header after those that it depends on.
HEADERS = re.findall(r"#include <(.+)>", (INCLUDE / "gsym/gsym.h").read_text("utf-8"))
CONTRACT = "".join(
    (INCLUDE / name).read_text("utf-8").partition(BEGIN)[2].partition(END)[0]
    for name in HEADERS
)

ffi = FFI()
ffi.cdef(CONTRACT)
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
