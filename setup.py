"""Build the C engine; everything else is in pyproject.toml."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import chain
from os import cpu_count

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext


class BuildEngine(build_ext):
    """Compile the files of the engine at the same time, one per core."""

    def build_extension(self, ext: Extension) -> None:
        """Build an extension."""
        one = self.compiler.compile

        def compile_all(sources: list[str], **options: object) -> list[str]:
            with ThreadPoolExecutor(cpu_count()) as pool:
                compile_one = partial(one, **options)
                return list(chain(*pool.map(compile_one, zip(sources))))

        self.compiler.compile = compile_all
        super().build_extension(ext)


setup(
    cmdclass={"build_ext": BuildEngine},
    cffi_modules=["csrc/build_core.py:ffi"],
    options={"bdist_wheel": {"py_limited_api": "cp310"}},
)
