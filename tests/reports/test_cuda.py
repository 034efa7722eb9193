"""From a kernel that nvcc compiles and a report of compute-sanitizer to its lines."""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

import gsym

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.slow, pytest.mark.no_engine]  # runs a compiler

SOURCE = """\
__device__ __forceinline__ void put(float *p, const int *at) {
  p[*at] = 1.0f;
}
__global__ void scale(float *p, const int *at) {
  put(p, at + threadIdx.x);
}
__global__ void scale(double *p) {
  p[threadIdx.x] *= 3.0;
}
"""


def test_a_report_of_compute_sanitizer_has_lines(tmp_path: Path) -> None:
    if shutil.which("nvcc") is None:
        pytest.skip("nvcc is not installed")
    (tmp_path / "k.cu").write_text(SOURCE)
    command = ["nvcc", "-cubin", "-lineinfo", "-arch=sm_90", "k.cu", "-o", "k.cubin"]
    subprocess.run(command, cwd=tmp_path, check=True)
    gsym.convert(tmp_path / "k.cubin", tmp_path / "k.gsym")
    with gsym.open(tmp_path / "k.gsym") as reader:
        (kernel,) = reader.find("scale(float *, const int *)")
        lines = {
            offset: [each.line for each in found.frames]
            for offset in range(0, kernel.size, 16)
            if (found := reader.lookup(kernel.start + offset))
        }
    offset = next(at for at, of in lines.items() if of == [2, 5])
    report = (
        "========= Invalid __global__ write of size 4 bytes\n"
        f"=========     at scale(float *, const int *)+{offset:#x}\n"
        "=========     by thread (0,0,0) in block (0,0,0)\n"
    )
    answer = gsym.symbolicate(report, module="k.cubin", source=tmp_path / "k.cubin")
    (frame,) = answer.frames()
    assert [each.line for each in frame.calls] == [2, 5]
    assert re.search(r"put.* at \S+k\.cu:2 \[inlined\]\n", str(answer))
