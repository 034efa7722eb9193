"""The ways in which a module is asked for, and what each answers for two builds.

Run as a program, this writes all answers into tests/golden/answers_of_modules.md, with
the summary that docs/identity.md shows.
"""

from __future__ import annotations

import os
import re
import warnings
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING
from unittest import mock

import gsym
from benchmarks.markdown import with_region
from gsym.conversion.module_file import modules_in
from gsym.errors import GsymError
from gsym.memory.report_modules import ReportModules
from gsym.memory.stack_parts import StackModule
from gsym.modules.binary_lookup import BinarySearch, find_gsym
from gsym.modules.key import ModuleKey
from gsym.modules.symbolizer import Symbolizer
from gsym.profiles.binaries import Binaries
from gsym.profiles.model import Mapping, module_key, read_module_id
from gsym.store.adding import add_file
from gsym.store.directory import Store
from tests.conftest import REPOSITORY
from tests.modules.builds import CASES, KINDS, TWINS, Cell, Kind, cell

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from gsym.reading.reader import Reader

# What a door answers. The last one is what must not be.
NOTHING, ANSWER, UNSURE, GUESS, BOTH, WRONG = (
    *("nothing", "answer", "answer, unsure", "other build, unsure", "both named"),
    "OTHER BUILD",
)


def key_of(data: bytes) -> ModuleKey:
    """The key of a binary that is not kept."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "app")
        path.write_bytes(data)
        (found,) = modules_in(path)
        return found.identity


def outcome(reader: Reader | None, unsure: object, reason: str = "") -> str:
    """The word of the table for an answer."""
    names = {each.name.lstrip("_") for each in reader} if reader is not None else set()
    if not names & {"alpha", "bravo"}:
        return BOTH if reason.count("alpha") and reason.count("bravo") else NOTHING
    return word(is_right="bravo" in names, is_sure=not unsure)


def word(*, is_right: bool, is_sure: bool) -> str:
    """That for an answer of a build, which is the right one or the other one."""
    if is_sure:
        return ANSWER if is_right else WRONG
    return UNSURE if is_right else GUESS


def _write(folder: Path, cell: Cell, number: int, name: str = "") -> Path:
    """A file of a cell. It is named for its build only where names are of no matter."""
    data = cell.files[number]
    path = folder / (name or f"{_build(data)}{cell.kind.suffix}")
    path.write_bytes(data)
    return path


def _build(data: bytes) -> str:
    return "alpha" if b"alpha" in data else "bravo"


def _stored(cell: Cell, folder: Path) -> Symbolizer:
    store = Store(folder / "store")
    for number in range(len(cell.files)):
        with suppress(GsymError):
            add_file(store, _write(folder, cell, number))
    return Symbolizer(store)


def _ask(cell: Cell, folder: Path, key: ModuleKey) -> str:
    symbolizer = _stored(cell, folder)
    found = symbolizer.open(key._replace(code_hash="", os="", architecture=""))
    return outcome(found.reader, found.unsure, found.reason)


def by_debug_id(cell: Cell, folder: Path) -> str:
    """Symbolication API, `.sym` paths: name and debug id."""
    wanted = cell.wanted
    return _ask(cell, folder, ModuleKey(debug_file="app", debug_id=wanted.debug_id))


def by_code_id(cell: Cell, folder: Path) -> str:
    """Build id: debuginfod, markup, `store get`; of Windows name and code id."""
    name = "bravo.dll" if cell.wanted.os == "windows" else ""
    key = ModuleKey(code_file=name, code_id=cell.wanted.code_id)
    return _ask(cell, folder, key)


def by_all_ids(cell: Cell, folder: Path) -> str:
    """Both ids: minidump, symbolication API with `codeIds`."""
    return _ask(cell, folder, cell.wanted._replace(debug_file="app", code_file="app"))


def for_binary(cell: Cell, folder: Path) -> str:
    """`gsym lookup BINARY`, with a store."""
    _stored(cell, folder)
    environment = {"GSYM_STORE": str(folder / "store")}
    with mock.patch.dict(os.environ, environment):
        return _lookup(cell, folder, BinarySearch(store=True, cache=str(folder / "c")))


def _lookup(cell: Cell, folder: Path, search: BinarySearch) -> str:
    home = folder / "home"
    home.mkdir(exist_ok=True)
    binary = home / f"app{cell.kind.suffix}"
    if not binary.exists():
        binary.write_bytes(cell.binary)
        os.utime(binary, (0, 0))  # the GSYM file was made after it
    found = find_gsym(str(binary), search)
    return outcome(found.reader, found.unsure)


def beside(cell: Cell, folder: Path) -> str:
    """`gsym lookup BINARY`, with `BINARY.gsym` beside it."""
    return _beside(cell, folder, has_part=True)


def beside_old(cell: Cell, folder: Path) -> str:
    """The same, made by `llvm-gsymutil` or an older version of gsym."""
    return _beside(cell, folder, has_part=False)


def _beside(cell: Cell, folder: Path, *, has_part: bool) -> str:
    home = folder / "home"
    home.mkdir()
    target = home / f"app{cell.kind.suffix}.gsym"
    gsym.convert(_write(folder, cell, 0), target, identity=has_part)
    return _lookup(cell, folder, BinarySearch(cache=str(folder / "c")))


def cached(cell: Cell, folder: Path) -> str:
    """`gsym lookup BINARY` twice; in between another build takes its place.

    The new one has the same size and time.
    """
    search = BinarySearch(beside=False, cache=str(folder / "c"))
    home = folder / "home"
    home.mkdir()
    path = _write(home, cell, 0, f"app{cell.kind.suffix}")
    before = find_gsym(str(path), search)
    assert before.reader is not None
    status = path.stat()
    own = cell.kind.write("bravo", _own_id(cell), has_symbols=True)
    path.write_bytes(own)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    found = find_gsym(str(path), search)
    return outcome(found.reader, found.unsure)


def _own_id(cell: Cell) -> object:
    return cell.kind.ids.zeros if cell.case == "zeros" else cell.kind.ids.own


def in_folder(cell: Cell, folder: Path) -> str:
    """Crash report with `--source FOLDER`."""
    place = folder / "files"
    place.mkdir()
    for number in range(len(cell.files)):
        _write(place, cell, number)
    return _report(cell, folder, ModuleKey(), source=str(place))


def at_path(cell: Cell, folder: Path) -> str:
    """Crash report with the path of a file that is there."""
    place = folder / "files"
    place.mkdir()
    path = _write(place, cell, 0, f"app{cell.kind.suffix}")
    return _report(cell, folder, ModuleKey(path=str(path)))


def _report(cell: Cell, folder: Path, place: ModuleKey, source: str = "") -> str:
    wanted = cell.wanted._replace(code_hash="")
    name = f"bravo{cell.kind.suffix}"
    key = wanted._replace(debug_file=name, code_file=name, path="")
    named = StackModule(name, key, path=place.path)
    sources = (source,) if source else ()
    with ReportModules(sources, store=str(folder / "none")) as modules:
        module = modules.open(named)
    return outcome(module.reader, module.unsure, module.reason)


def in_profile(cell: Cell, folder: Path) -> str:
    """Profile of perf or pprof: build id and path."""
    path = f"/opt/bravo{cell.kind.suffix}"
    symbolizer = _stored(cell, folder)
    found = symbolizer.open(module_key(_mapping(cell, path)))
    return outcome(found.reader, found.unsure, found.reason)


def _mapping(cell: Cell, path: str) -> Mapping:
    """What the profile has of a module: one id, of Windows the debug id."""
    wanted = cell.wanted
    if wanted.os == "windows":
        known = ModuleKey(debug_id=wanted.debug_id, code_id=wanted.code_id)
        return Mapping(0, 1 << 40, 0, 0, path, module=known)
    build_id, module = read_module_id(wanted.go_id or wanted.code_id.lower())
    return Mapping(0, 1 << 40, 0, 0, path, build_id, module=module)


def segments(cell: Cell, folder: Path) -> str:
    """Profile with file offsets: the binary at the path of a mapping."""
    place = folder / "files"
    place.mkdir()
    path = _write(place, cell, 0, f"app{cell.kind.suffix}")
    mapping = _mapping(cell, str(path))
    binaries = Binaries()
    if not binaries.segments(mapping):
        return NOTHING
    is_right = _build(cell.files[0]) == "bravo"
    return word(is_right=is_right, is_sure=not binaries.unsure(mapping))


DOORS: tuple[Callable[[Cell, Path], str], ...] = (
    by_debug_id,
    by_code_id,
    by_all_ids,
    for_binary,
    beside,
    beside_old,
    cached,
    in_folder,
    at_path,
    in_profile,
    segments,
)


_OF_ONE_FILE = frozenset({beside, beside_old, at_path, segments})


def outcomes(kind: Kind, door: Callable[[Cell, Path], str]) -> Iterator[str]:
    """What a door answers in each of the cases; "-": there is no such case."""
    for case in CASES:
        made = cell(kind, case, key_of)
        if made is None or (case == TWINS and door in _OF_ONE_FILE):
            yield "-"
            continue
        with TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            places = {
                "GSYM_CACHE_DIR": f"{folder}/cache",
                "GSYM_STORE": f"{folder}/none",
            }
            with mock.patch.dict(os.environ, places):
                yield door(made, Path(folder))


def title(door: Callable[[Cell, Path], str]) -> str:
    """What the table calls a door: the first line of its description."""
    assert door.__doc__ is not None
    return door.__doc__.partition("\n")[0].rstrip(".")


def table(kinds: Iterable[Kind] = KINDS) -> Iterator[str]:
    """The lines of the table."""
    for kind in kinds:
        yield f"## {str(kind)[:1].upper()}{str(kind)[1:]}"
        yield ""
        yield f"| asked for by | {' | '.join(CASES)} |"
        yield "|---" * (len(CASES) + 1) + "|"
        for door in DOORS:
            yield f"| {title(door)} | {' | '.join(outcomes(kind, door))} |"
        yield ""


RECORD = REPOSITORY / "tests/golden/answers_of_modules.md"
_SHORT = {ANSWER: "yes", UNSURE: "unsure", NOTHING: "-"}


def summary(answers: dict[Kind, dict[str, list[str]]]) -> str:
    """The table of the manual: is the right file found, and is another one used?

    Kinds with the same answers share a column.
    """
    columns: dict[tuple[str, ...], list[str]] = {}
    for kind, rows in answers.items():
        cells = tuple(_SHORT[row[0]] for row in rows.values())
        columns.setdefault(cells, []).append(str(kind))
    names = list(next(iter(answers.values())))
    head = [" or ".join(kinds) for kinds in columns.values()]
    lines = [
        f"| asked for by | {' | '.join(head)} | another build, unsure |",
        "|---" * (len(head) + 2) + "|",
    ]
    for number, name in enumerate(names):
        guesses = [
            case
            for place, case in enumerate(CASES)
            if any(rows[name][place] == GUESS for rows in answers.values())
        ]
        found = (cells[number] for cells in columns)
        last = ", ".join(guesses) or "-"
        lines.append(f"| {name} | {' | '.join(found)} | {last} |")
    return "\n".join(lines)


def recorded() -> str:
    """All answers, as they were written last."""
    return RECORD.read_text(encoding="utf-8")


def shown(kind: Kind) -> dict[str, list[str]]:
    """The recorded rows of a kind."""
    heading = f"## {str(kind)[:1].upper()}{str(kind)[1:]}\n"
    part = re.split(r"\n(?:## |<!-- )", recorded().partition(heading)[2])[0]
    lines = [line for line in part.splitlines() if line.startswith("| ")]
    rows = [line.removeprefix("| ").removesuffix(" |").split(" | ") for line in lines]
    return {row[0]: row[1:] for row in rows[1:]}


def with_summary(record: str) -> str:
    """The record, with the summary of its answers."""
    rows = {kind: shown(kind) for kind in KINDS}
    return with_region(record, "summary", summary(rows))


if __name__ == "__main__":
    RECORD.write_text("\n".join(table()), "utf-8")
    RECORD.write_text(with_summary(recorded()), "utf-8")
