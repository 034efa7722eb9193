"""Build the C engine; everything else stands in pyproject.toml."""

from setuptools import setup

setup(
    cffi_modules=["csrc/build_core.py:ffi"],
    options={"bdist_wheel": {"py_limited_api": "cp310"}},
)
