"""Build the C engine, the module in cpython/, libgsym, manual pages, completions.

All else is in pyproject.toml.
"""

from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from os import cpu_count, environ
from pathlib import Path
from shutil import which
from subprocess import check_output, run
from sys import executable, platform
from sysconfig import get_config_var

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext  # isort: split

from distutils.command.install_data import install_data  # which setuptools contains


def is_current(compiled: Path) -> bool:
    """Whether nothing changed since that an object file was made of.

    The compiler lists that, headers included, in a rule for make beside it.
    """
    rule = compiled.with_suffix(".d")
    if not compiled.exists() or not rule.exists():
        return False
    sources = rule.read_text("utf-8").replace("\\\n", " ").split()[1:]
    made = compiled.stat().st_mtime_ns
    return all(
        path.exists() and path.stat().st_mtime_ns < made for path in map(Path, sources)
    )


class BuildEngine(build_ext):
    """Compile those files of the engine that changed, one per core at the same time."""

    def build_extensions(self) -> None:
        """Build all extensions."""
        # They are not linked with libpython, whose path on this machine is of no use.
        linker = self.compiler.linker_so
        linker[:] = [word for word in linker if not word.startswith("-Wl,-rpath")]
        one = self.compiler.compile

        def compile_all(
            sources: list[str],
            output_dir: str,
            extra_postargs: list[str],
            **options: object,
        ) -> list[str]:
            def compile_one(source: str) -> list[str]:
                objects = self.compiler.object_filenames(
                    [source], output_dir=output_dir
                )
                if not self.force and is_current(Path(objects[0])):
                    return objects
                flags = [*extra_postargs, "-MMD"]
                return one([source], output_dir, extra_postargs=flags, **options)

            with ThreadPoolExecutor(cpu_count()) as pool:
                return list(chain(*pool.map(compile_one, sources)))

        self.compiler.compile = compile_all
        super().build_extensions()

    def run(self) -> None:
        """Build the engine; for a wheel also the libgsym that `gsym.config` names."""
        if not self.inplace and platform == "linux":
            # Python itself was mostly compiled with -g, and so are extensions.
            for ext in self.extensions:
                ext.extra_link_args.append("-s")
        super().run()
        if self.inplace or platform != "linux" or which("make") is None:
            return
        package = Path(self.build_lib, "gsym").resolve()
        values = (
            f"BUILD={Path(self.build_temp, 'libgsym').resolve()}",
            f"LIBDIR={package / 'lib'}",
            f"INCLUDEDIR={package / 'include'}",
            f"CFLAGS=-O2 {environ.get('GSYM_CFLAGS', '')}",
        )
        command = ("make", "-s", f"-j{cpu_count()}", "-C", "libgsym", "install-static")
        run([*command, *values], check=True)  # noqa: S603 - our own Makefile


class WriteShared(install_data):
    """Let the built package write what its commands are to shells and man."""

    def run(self) -> None:
        """Write the files of share/."""
        super().run()
        built = Path(self.get_finalized_command("build").build_lib)
        folder = Path(self.install_dir, "share").absolute()
        command = [executable, "-m", "gsym.cli.shells", str(folder)]
        written = check_output(command, cwd=built, text=True)  # noqa: S603 - own
        self.outfiles += written.splitlines()


# One binary is for all versions of Python from 3.10 on, but for those without the
# interpreter lock, which have no limited API: they get wheels of their own.
IS_LIMITED = not get_config_var("Py_GIL_DISABLED")


def extension(name: str, source: str) -> Extension:
    """A module in C, for the versions of Python that the engine is for."""
    return Extension(
        name,
        [source],
        define_macros=[("Py_LIMITED_API", "0x030A0000")] if IS_LIMITED else [],
        extra_compile_args=["-std=c11", "-O2", *environ.get("GSYM_CFLAGS", "").split()],
        extra_link_args=environ.get("GSYM_LDFLAGS", "").split(),
        libraries=["dl"],
        py_limited_api=IS_LIMITED,
    )


setup(
    ext_modules=[
        extension("gsym.server._bus_errors", "cpython/bus_errors.c"),
    ],
    cmdclass={"build_ext": BuildEngine, "install_data": WriteShared},
    # WriteShared adds to it.
    data_files=[
        ("share/cmake/GsymConvert", ["integrations/GsymConvertConfig.cmake"]),
        ("share/gsym", [*map(str, Path("integrations").glob("[!G]*"))]),
    ],
    cffi_modules=["csrc/build_core.py:ffi"],
    options={"bdist_wheel": {"py_limited_api": "cp310"}} if IS_LIMITED else {},
)
