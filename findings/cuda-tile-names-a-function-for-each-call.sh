#!/usr/bin/env bash
# A function of CUDA Tile has as many names in the line table as there are calls of it.
#
# Guess: two calls of `helper` inlined into a kernel of CUDA Tile are two inlined calls of one
#   function, by one name, as with nvcc.
# Seen: the names are `helper@a:6:1_s0` and `helper@a:6:1_s1`: file, line and column of
#   the definition, then a number that goes up with each call in the kernel. What groups by
#   function, as profilers do, has `helper` once for each call, and a call that is added in
#   front renames all those after it. No name without that suffix is in the file. The kernel's name
#   has the alignment of its arrays and the value of each constant argument.
# Versions: cuda-tile 1.7.0, nvidia-cuda-tileiras 13.4.92 (PyPI); no GPU is needed.
# Source: seen.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install -q --disable-pip-version-check cuda-tile==1.7.0 \
  nvidia-cuda-tileiras==13.4.92 nvidia-cuda-nvcc==13.4.92 nvidia-nvvm==13.4.92 pyelftools==0.33
PATH=$(dirname "$(find "$PWD/venv" -name tileiras | head -1)"):$PATH

cat > a.py <<'PYTHON'
import cuda.tile as ct
from cuda.tile import compilation
from elftools.elf.elffile import ELFFile


def helper(tile):
    return tile * tile + 1.5


@ct.kernel
def kernel(source, target, size: ct.Constant[int]):
    tile = ct.load(source, index=(ct.bid(0),), shape=(size,))
    tile = ct.exp(helper(tile))
    ct.store(target, index=(ct.bid(0),), tile=helper(tile))


array = compilation.ArrayConstraint(
    dtype=ct.float32, ndim=1, index_dtype=ct.int32, stride_lower_bound_incl=0,
    alias_groups=(), may_alias_internally=False, stride_constant=(1,),
    stride_divisible_by=1, shape_divisible_by=1, base_addr_divisible_by=16,
)
convention = compilation.CallingConvention.cutile_python_v1()
for size in (64, 128):
    constant = compilation.ConstantConstraint(size)
    signature = compilation.KernelSignature([array, array, constant], convention)
    options = {"gpu_code": "sm_120", "output_format": "cubin"}
    compilation.export_kernel(kernel, [signature], "a.cubin", **options)
    with open("a.cubin", "rb") as stream:
        file = ELFFile(stream)
        names = file.get_section_by_name(".debug_str").data().decode().split("\0")
        print(*(each.name for each in file.iter_sections() if each.name.startswith(".text.")))
        print(*sorted(filter(None, names)))
PYTHON
seen=$(venv/bin/python a.py)
echo "$seen"
diff - <(echo "$seen") <<'EXPECTED'
.text.kernel_Kt1_A1f32_1t1_p16_A1f32_1t1_p16_I64
helper@a:6:1_s0 helper@a:6:1_s1
.text.kernel_Kt1_A1f32_1t1_p16_A1f32_1t1_p16_I128
helper@a:6:1_s0 helper@a:6:1_s1
EXPECTED
