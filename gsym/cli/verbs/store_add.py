"""`gsym store add`: files, folders and archives -> modules of a store."""

from __future__ import annotations

import json
import sys

from gsym.cli.options import Command, Operand, Option, UsageError
from gsym.cli.search_options import SEARCH_OPTIONS, search_options
from gsym.cli.terminal import printable, progress_for
from gsym.cli.verbs.store_options import (
    DATA_SYMBOLS,
    STORE,
    entry_record,
    open_store,
    size_text,
)
from gsym.conversion.identity import ModuleIdentity, read_debug_id
from gsym.store.archives import ArchiveLimits
from gsym.store.tree_adding import add_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gsym.cli.options import Values
    from gsym.store.directory import Store
    from gsym.store.tree_adding import FileOutcome

COMMAND = Command(
    "gsym store add",
    "Put the modules of files, folders and archives into a store",
    (
        Operand(
            "PATH",
            "binary, dSYM bundle, Breakpad or GSYM file, compressed or not; .zip or "
            ".tar archive of such; folder, with all below it",
            many=True,
        ),
    ),
    (
        STORE,
        Option(
            "--jobs", "convert N files at a time (default: one a core)", metavar="N"
        ),
        Option("--keep-original", "keep a copy of each file with its module"),
        DATA_SYMBOLS,
        Option("--name", "name of the module", metavar="NAME"),
        Option("--os", "operating system: Linux, mac, windows", metavar="NAME"),
        Option("--arch", "architecture: x86_64, arm64, ...", metavar="NAME"),
        Option(
            "--debug-id",
            "debug id of the module, of which a GSYM file holds a part at most",
            metavar="ID",
        ),
        Option("--source", "where it is from (default: the path)", metavar="TEXT"),
        Option(
            "--max-members",
            "files that an archive may hold (default: 1000000)",
            metavar="N",
        ),
        Option(
            "--max-inflated",
            "bytes that an archive or a compressed file may hold (default: 32 GiB)",
            metavar="N",
        ),
        *SEARCH_OPTIONS,
        Option("--json", "print one JSON object a file"),
        Option("--quiet", "print errors only", short="-q"),
    ),
    """\
Of several files of one module the richest stays: inlined calls before lines, lines
before names, then the number of functions, then variables. Files that are no debug
files are skipped. The exit code is 1 if a file failed, or a PATH that is no folder was
skipped.""",
)

EXIT_FAILED = 1
_IDENTITY = {
    "debug_file": "--name",
    "os": "--os",
    "architecture": "--arch",
    "debug_id": "--debug-id",
}
_DONE = ("added", "replaced", "kept")


def run(arguments: list[str]) -> int:
    """Add the files; a line for each module, then the counts."""
    values = COMMAND.parse(arguments)
    store, paths = open_store(values), values.operands("PATH")
    most_inflated = values.number("--max-inflated", minimum=1)
    limits = _limits(values.number("--max-members", minimum=1), most_inflated)
    search = search_options(values)
    quiet = values.flag("--quiet") or values.flag("--json")
    progress = None if values.flag("--quiet") else progress_for(store.path)
    outcomes = add_tree(
        store,
        paths,
        jobs=values.number("--jobs", minimum=1, end=257),
        limits=limits,
        progress=progress,
        identity=_identity(values),
        source=values.text("--source") or "",
        keep_original=values.flag("--keep-original"),
        data_symbols=values.flag(DATA_SYMBOLS.name),
        most_inflated=limits.inflated,
        debug_directories=search.debug_directories,
        debuginfod=search.debuginfod,
    )
    tally = _Tally(paths)
    for outcome in outcomes:
        if progress is not None:
            progress.clear()
        tally.count(outcome)
        if values.flag("--json"):
            print(json.dumps(_record(store, outcome)))
        elif not quiet:
            _tell(outcome)
    if progress is not None:
        progress.clear()
    if not quiet:
        sys.stdout.writelines(f"{line}\n" for line in tally.lines())
    for path, reason in tally.failures:
        print(f"gsym store add: {printable(f'{path}: {reason}')}", file=sys.stderr)
    return EXIT_FAILED if tally.failures else 0


def _limits(members: int | None, inflated: int | None) -> ArchiveLimits:
    limits = ArchiveLimits()
    return limits._replace(
        members=members or limits.members, inflated=inflated or limits.inflated
    )


def _identity(values: Values) -> ModuleIdentity:
    """What the command line says of the module."""
    given = {field: values.text(option) or "" for field, option in _IDENTITY.items()}
    if given["debug_id"]:
        try:
            given["debug_id"] = read_debug_id(given["debug_id"])
        except ValueError as error:
            raise UsageError(f"option '--debug-id': {error}") from None
    return ModuleIdentity(**given)


class _Tally:
    """How many files came to which end."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._paths = set(paths)
        self._counts = dict.fromkeys(_DONE, 0)
        self._skipped: dict[str, int] = {}
        self.failures: list[tuple[str, str]] = []

    def count(self, outcome: FileOutcome) -> None:
        if outcome.outcome in self._counts:
            self._counts[outcome.outcome] += 1
        elif outcome.outcome == "skipped" and outcome.path not in self._paths:
            count = self._skipped.get(outcome.reason, 0)
            self._skipped[outcome.reason] = count + 1
        else:
            self.failures.append((outcome.path, outcome.reason))

    def lines(self) -> Iterable[str]:
        yield ", ".join(f"{count} {kind}" for kind, count in self._counts.items())
        for reason, count in sorted(self._skipped.items()):
            yield printable(f"{count} skipped: {reason}")


def _tell(outcome: FileOutcome) -> None:
    entry = outcome.entry
    if entry is None:
        return
    identity = entry.identity
    name = printable(identity.debug_file)
    print(
        f"{outcome.outcome:<8} {name} {identity.debug_id}: "
        f"{entry.quality.functions:,} functions, {size_text(entry.size)}"
    )


def _record(store: Store, outcome: FileOutcome) -> dict[str, object]:
    record = {"input": outcome.path, "outcome": outcome.outcome}
    if outcome.entry is None:
        return {**record, "reason": outcome.reason}
    return {**record, **entry_record(store, outcome.entry)}
