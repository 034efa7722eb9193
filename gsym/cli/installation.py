"""Facts of this installation: packages, servers, and the folders that it uses."""

from __future__ import annotations

import os
import re
import sys

from gsym import __version__
from gsym.cache import cache_root
from gsym.containers import DEBUG_DIRECTORIES
from gsym.conversion.companions.debuginfod_settings import read_settings
from gsym.records import NamedTuple
from gsym.store.layout import default_store

# Extra -> what it is for.
EXTRAS = {
    "arrow": "answers as Arrow tables, gsym batch",
    "engines": "adapters to Spark, Dask, Ray, DuckDB, Polars and DataFusion",
    "net": "servers of debug files, symbols and symbolication",
    "cab": "cabinets (.pd_) of symbol servers",
    "yaml": "call sites in YAML files",
    "server": "gsym serve",
    "cloud": "stores and files in S3, GCS and Azure",
    "asm": "disassembly",
    "demangle": "names of Rust, Swift, D and of Microsoft's compilers",
    "proto": "pprof and OTLP profiles",
    "otlp": "profiles received and sent on by gsym serve",
}
_MOST_FILES = 200_000  # that are counted of a folder
_REQUIREMENT = re.compile(r"([\w.-]+).*\bextra *== *['\"]([\w-]+)['\"]")


class Extra(NamedTuple):
    """An extra: what it is for, and its packages that are not installed."""

    name: str
    purpose: str
    missing: tuple[str, ...]


class Place(NamedTuple):
    """A folder that is used.

    *size* is that of its files in bytes, of the first 200,000 of them; None: it does
    not exist.
    """

    name: str
    path: str
    size: int | None


class Installation(NamedTuple):
    """The facts of this installation."""

    version: str
    engine: str
    python: str
    extras: tuple[Extra, ...]
    debuginfod: tuple[str, ...]
    places: tuple[Place, ...]


def examine() -> Installation:
    """Look at this installation."""
    from gsym.engine import _core

    settings = read_settings(os.environ)
    places = {
        "store": default_store(),
        "cache": cache_root(),
        "debuginfod cache": settings.cache,
        "debug files": DEBUG_DIRECTORIES[0],
    }
    return Installation(
        version=__version__,
        engine=str(_core.__file__),
        python=f"{sys.implementation.name} {sys.version.split()[0]}",
        extras=_extras(),
        debuginfod=settings.servers,
        places=tuple(
            Place(name, path, _size_of(path)) for name, path in places.items()
        ),
    )


def _extras() -> tuple[Extra, ...]:
    from importlib.metadata import PackageNotFoundError, requires, version

    def is_missing(package: str) -> bool:
        try:
            version(package)
        except PackageNotFoundError:
            return True
        return False

    try:
        declared = requires("gsym") or []
    except PackageNotFoundError:  # a checkout that is not installed
        declared = []
    needed: dict[str, list[str]] = {name: [] for name in EXTRAS}
    for line in declared:
        match = _REQUIREMENT.match(line)
        if match and match[2] in needed:
            needed[match[2]].append(match[1])
    return tuple(
        Extra(name, purpose, tuple(filter(is_missing, needed[name])))
        for name, purpose in EXTRAS.items()
    )


def _size_of(folder: str) -> int | None:
    if not os.path.isdir(folder):
        return None
    size, left = 0, _MOST_FILES
    for path, _, names in os.walk(folder):
        size += sum(_size_of_file(os.path.join(path, name)) for name in names[:left])
        left -= len(names)
        if left <= 0:
            break
    return size


def _size_of_file(path: str) -> int:
    try:
        return os.lstat(path).st_size
    except OSError:  # removed meanwhile
        return 0
