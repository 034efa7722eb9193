"""The binaries that benchmarks read, downloaded from Debian's packages.

    python -m benchmarks.corpus DIR [--input NAME]...

Makes DIR/big/NAME for each input below; existing files are kept. `.debug` is a debug
file as in the package, `.plain` the same with decompressed sections. DIR/packages.tsv
has the versions. Needs apt-get, dpkg-deb and llvm-objcopy-22; downloads 2 GB and stores
4 GB.
"""

from __future__ import annotations

import argparse
import csv
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.report import output_of
from gsym.containers.mapped_file import map_file
from gsym.containers.object_file import ObjectFile
from gsym.conversion.companions.elf import installed_paths

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

OBJCOPY = "llvm-objcopy-22"
# The user of apt may not write to a folder of somebody else, and says so at length.
DOWNLOAD = ("apt-get", "download", "-qq", "-o", "APT::Sandbox::User=root")


class Source(NamedTuple):
    """Where an input comes from.

    Attributes:
        package: That holds the file, or the debug file of it.
        pattern: Finds the file, or the binary in *binary_package*.
        binary_package: That holds the binary; "" where the file has its DWARF inside.
        inflate: Whether the debug sections are inflated.
    """

    package: str
    pattern: str
    binary_package: str = ""
    inflate: bool = False


class Package(NamedTuple):
    """What a package was when it was fetched."""

    name: str
    version: str


KERNEL = "linux-image-amd64-dbg"  # depends on the package of the current version
_KERNELS = re.compile(r"linux-image-\d.*-amd64-dbg")
_LIBC = Source("libc6-dbg", "libc.so.6", "libc6")
_JVM = Source("openjdk-17-dbg", "server/libjvm.so", "openjdk-17-jre-headless")
_CEPH = Source("ceph-osd-dbg", "bin/ceph-osd", "ceph-osd")
SOURCES = {
    "libc.plain": _LIBC._replace(inflate=True),
    "libpython3.11d.so": Source("libpython3.11-dbg", "libpython3.11d.so.1.0"),
    "libjvm.debug": _JVM,
    "libjvm.plain": _JVM._replace(inflate=True),
    "ceph-osd.debug": _CEPH,
    "ceph-osd.plain": _CEPH._replace(inflate=True),
    "vmlinux": Source(KERNEL, "vmlinux-*"),
    "amdgpu.ko": Source(KERNEL, "amdgpu.ko*"),
}


class Corpus:
    """A folder of inputs.

    Args:
        folder: Is made if need be.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._unpacked = folder / "unpacked"

    def provide(self, names: Iterable[str]) -> None:
        """Make the inputs of these names, those that are not there."""
        missing = [name for name in names if not (self._folder / "big" / name).exists()]
        if not missing:
            return
        for tool in ("apt-get", "apt-cache", "dpkg-deb", OBJCOPY):
            if shutil.which(tool) is None:
                raise FileNotFoundError(f"not installed: {tool}")
        (self._folder / "big").mkdir(parents=True, exist_ok=True)
        for name in missing:
            print(f"{name} ...", file=sys.stderr)
            self._make(self._folder / "big" / name, SOURCES[name])

    def files(self, package: str, pattern: str) -> list[Path]:
        """Those of a package that match, the small ones first."""
        found = self._package(package).rglob(pattern)
        files = [path for path in found if path.is_file() and not path.is_symlink()]
        return sorted(files, key=lambda path: (path.stat().st_size, path))

    def _make(self, path: Path, source: Source) -> None:
        root = self._package(source.package)
        if source.binary_package:
            binary = _find(self._package(source.binary_package), source.pattern)
            found = _debug_file(root, binary)
        else:
            found = _find(root, source.pattern)
        command = [OBJCOPY, "--decompress-debug-sections"]
        if source.inflate:
            _whole(path, lambda part: _run(*command, str(found), str(part)))
        else:
            _whole(path, lambda part: shutil.copyfile(found, part))

    def _package(self, name: str) -> Path:
        """The folder that a package is unpacked in."""
        if name == KERNEL:
            fetched = (each.name for each in self.packages())
            name = next(filter(_KERNELS.fullmatch, fetched), "") or _dependency(name)
        root = self._unpacked / name
        if not root.exists():
            root.parent.mkdir(parents=True, exist_ok=True)
            _whole(root, lambda part: self._fetch(name, part))
        return root

    def _fetch(self, name: str, root: Path) -> None:
        with tempfile.TemporaryDirectory(dir=self._folder) as temporary:
            subprocess.run([*DOWNLOAD, name], cwd=temporary, check=True)
            (archive,) = Path(temporary).glob("*.deb")
            _run("dpkg-deb", "-x", str(archive), str(root))
            version = output_of("dpkg-deb", "-f", str(archive), "Version").strip()
        with self._list.open("a", encoding="utf-8", newline="") as stream:
            csv.writer(stream, "excel-tab").writerow(Package(name, version))

    @property
    def _list(self) -> Path:
        return self._folder / "packages.tsv"

    def packages(self) -> list[Package]:
        """Those that were fetched for this folder."""
        if not self._list.exists():
            return []
        with self._list.open(encoding="utf-8", newline="") as stream:
            return [Package(*row) for row in csv.reader(stream, "excel-tab")]


def _run(*command: str) -> None:
    subprocess.run(command, check=True)


def _whole(path: Path, make: Callable[[Path], object]) -> None:
    """Make a file or folder that is complete or not there."""
    part = path.with_name(f".{path.name}.part")
    if part.is_dir():
        shutil.rmtree(part)
    make(part)
    part.rename(path)


def _dependency(name: str) -> str:
    """The package that a name without a version stands for."""
    found = re.search(r"Depends: (\S+)", output_of("apt-cache", "depends", name))
    if found is None:
        raise LookupError(f"{name} depends on no package")
    return found[1]


def _find(root: Path, pattern: str) -> Path:
    """The one file whose path ends so."""
    for path in sorted(root.rglob(pattern.rpartition("/")[2])):
        is_file = path.is_file() and not path.is_symlink()
        if is_file and path.match(pattern):
            return path
    raise FileNotFoundError(f"no {pattern} below {root}")


def _debug_file(root: Path, binary: Path) -> Path:
    """The debug file of a binary in an unpacked package."""
    with ObjectFile(map_file(str(binary)), str(binary)) as opened:
        uuid = opened.uuid
    for path in installed_paths(uuid, (f"{root}/usr/lib/debug",)):
        if Path(path).exists():
            return Path(path)
    raise FileNotFoundError(f"no debug file of {binary} below {root}")


def main() -> None:
    """Make the inputs, and say what they come from."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("corpus", type=Path, help="folder that gets big/")
    parser.add_argument("--input", action="append", choices=SOURCES)
    arguments = parser.parse_args()
    corpus = Corpus(arguments.corpus.resolve())
    try:
        corpus.provide(arguments.input or SOURCES)
    except (OSError, LookupError, subprocess.CalledProcessError) as problem:
        sys.exit(f"the corpus is not complete: {problem}")
    for package in corpus.packages():
        print(*package)


if __name__ == "__main__":
    main()
