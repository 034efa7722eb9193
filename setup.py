"""Build the C engine, the module in cpython/, libgsym, the launcher, manual pages.

All else is in pyproject.toml.
"""

import re
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from os import cpu_count, environ, pathsep
from pathlib import Path
from shutil import which
from subprocess import check_output, run
from sys import executable, platform
from sysconfig import get_config_var

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext  # isort: split

from distutils.command.build_scripts import build_scripts  # which setuptools contains
from distutils.command.install_data import install_data
from distutils.errors import CCompilerError

# The commands, and their functions in gsym.cli.commands.
COMMANDS = {
    "gsym": "gsym",
    "gsymutil": "gsymutil",
    "gsym-symbolizer": "gsym_symbolizer",
    "gsym-addr2line": "gsym_addr2line",
}
# Where they are programs that run Python only if they need it.
HAS_LAUNCHER = platform == "linux"
PROGRAMS = (
    {name: f"launcher/{name.removeprefix('gsym-')}.c" for name in COMMANDS}
    if HAS_LAUNCHER
    else {}
)
# A command without its program, as if a linker makes no programs.
PLAIN = """\
#!/bin/sh
exec "$(dirname "$(readlink -f "$0")")/gsym-python" {name} "$@"
"""


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
        if PROGRAMS:
            self._build_programs()

    def _build_programs(self) -> None:
        """Link the programs of the launcher, with the objects of the engine."""
        (engine,) = (each for each in self.extensions if each.name.endswith("._core"))
        objects = self.compiler.object_filenames(
            [each for each in engine.sources if each.startswith("csrc/")],
            output_dir=self.build_temp,
        )
        own = self.compiler.compile(
            [
                str(path)
                for each in ("launcher", "libgsym")
                for path in Path(each).glob("*.c")
            ],
            output_dir=self.build_temp,
            include_dirs=[*engine.include_dirs, "libgsym/include"],
            extra_postargs=engine.extra_compile_args,
        )
        # From an archive, the linker takes what a program needs.
        Path(self.build_temp, "liblauncher.a").unlink(missing_ok=True)
        self.compiler.create_static_lib([*objects, *own], "launcher", self.build_temp)
        folder = Path(self.get_finalized_command("build").build_base, "launcher")
        folder.mkdir(parents=True, exist_ok=True)
        for name, source in PROGRAMS.items():
            (folder / name).unlink(missing_ok=True)
            try:
                self.compiler.link_executable(
                    self.compiler.object_filenames(
                        [source], output_dir=self.build_temp
                    ),
                    name,
                    str(folder),
                    libraries=["launcher", "dl", "pthread"],
                    library_dirs=[self.build_temp],
                    extra_postargs=engine.extra_link_args,
                )
            except CCompilerError as error:
                self.warn(f"{name} will always run Python: {error}")

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


class BuildPrograms(build_scripts):
    """Put the programs of the launcher where scripts are installed from."""

    def run(self) -> None:
        """Copy them; one that could not be built is a script."""
        built = Path(self.get_finalized_command("build").build_base, "launcher")
        Path(self.build_dir).mkdir(parents=True, exist_ok=True)
        for name in PROGRAMS:
            target = Path(self.build_dir, name)
            if (built / name).exists():
                self.copy_file(str(built / name), str(target))
            else:
                target.write_text(PLAIN.format(name=name), encoding="utf-8")
            target.chmod(0o755)


class WriteShared(install_data):
    """Let the built package write what its commands are to shells and man."""

    def run(self) -> None:
        """Write the files of share/."""
        super().run()
        built = Path(self.get_finalized_command("build").build_lib)
        folder = Path(self.install_dir, "share").absolute()
        # The package that was built comes before the one of the sources.
        paths = filter(None, (str(Path.cwd()), environ.get("PYTHONPATH")))
        variables = {**environ, "PYTHONPATH": pathsep.join(paths)}
        command = [executable, "-m", "tools.shared_files", str(folder)]
        written = check_output(command, cwd=built, env=variables, text=True)  # noqa: S603 - own
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


def described() -> str:
    """README.md; its links lead to the place that hosts the project."""
    settings = Path("pyproject.toml").read_text("utf-8")
    (home,) = re.findall(r'^Source = "(.+)"$', settings, re.MULTILINE)
    (version,) = re.findall(r'^version = "(.+)"$', settings, re.MULTILINE)
    text = Path("README.md").read_text("utf-8")
    return re.sub(r"\]\((?!https?:|#)", f"]({home}/blob/v{version}/", text)


setup(
    long_description=described(),
    long_description_content_type="text/markdown",
    ext_modules=[
        extension("gsym.server._bus_errors", "cpython/bus_errors.c"),
    ],
    cmdclass={
        "build_ext": BuildEngine,
        "build_scripts": BuildPrograms,
        "install_data": WriteShared,
    },
    scripts=[*PROGRAMS.values()],
    entry_points={
        "console_scripts": ["gsym-python = gsym.cli.commands:run"]
        if HAS_LAUNCHER
        else [f"{name} = gsym.cli.commands:{each}" for name, each in COMMANDS.items()]
    },
    # WriteShared adds to it.
    data_files=[
        ("share/cmake/GsymConvert", ["integrations/GsymConvertConfig.cmake"]),
        ("share/gsym", [*map(str, Path("integrations").glob("[!G]*"))]),
    ],
    cffi_modules=["csrc/build_core.py:ffi"],
    options={"bdist_wheel": {"py_limited_api": "cp310"}} if IS_LIMITED else {},
)
