"""`gsym store list`, `info`, `get`, `export`: the modules in a store."""

from __future__ import annotations

import os
import sys
import time
from fnmatch import fnmatchcase
from glob import escape as glob_escape

from gsym.cli.grammar import Command, UsageError, Values
from gsym.cli.options import JSON, QUIET, STORE, show
from gsym.cli.program import EXIT_FAILED
from gsym.cli.terminal import (
    describe,
    print_json,
    print_lines,
    printable,
    table_lines,
    tell,
)
from gsym.errors import FormatError, GsymError
from gsym.modules.key import Attempt, keys_of_text
from gsym.sizes import rounded_size
from gsym.store.directory import Store
from gsym.store.layout import default_store
from gsym.store.tree_export import copy_file, export_modules

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from gsym.store.entries import Entry

NAMES = "[NAME...]  only modules with a matching name; `*` matches any characters"
MODULE = "MODULE  NAME/ID, a debug id, a build id, or the name of one module"
_LEVELS = ("names", "lines", "inlined calls")


def open_store(values: Values) -> Store:
    """The store named on the command line, or the default one."""
    path = values.text("--store") or default_store()
    if "://" in path:
        raise UsageError(
            f"option '--store': '{path.partition('?')[0]}' is not a folder; gsym "
            "store add, filter, symbolicate and trace take a URL"
        )
    return Store(path)


def existing_store(values: Values) -> Store:
    """The store of `open_store`, which must exist."""
    store = open_store(values)
    if store.exists():
        return store
    is_there = os.path.exists(store.path)
    reason = "not a store" if is_there else "no such store; 'gsym store add' creates it"
    raise GsymError(reason, path=store.path)


def find_entry(store: Store, text: str, *, is_use: bool = True) -> tuple[Entry, str]:
    """The module named by *text*; counts as a use of it if *is_use*.

    The text is NAME/ID, a debug id, a build id, or the name of a single module.

    Returns:
        The module, and why it may be another one; "" if it is certain.

    Raises:
        GsymError: The store does not have it, or several that *text* names.
    """
    keys = keys_of_text(text)
    for key in keys:
        entry = store.get(key, is_use=is_use)
        if entry is not None:
            return entry, entry.compare(key).reason
    named = [] if keys else [*selected_entries(store, [glob_escape(text)], [])]
    if len(named) > 1:
        ids = ", ".join(sorted(each.identity.debug_id for each in named))
        raise GsymError(f"several modules {printable(text)}: {ids}", path=store.path)
    for entry in named:
        found = store.get(entry.identity, is_use=is_use)
        if found is not None:
            return found, ""
    raise GsymError(f"no module {printable(text)}", path=store.path)


def selected_entries(
    store: Store, patterns: list[str], problems: list[FormatError]
) -> Iterator[Entry]:
    """The modules of a store with matching names; all if *patterns* is empty."""
    lower = [pattern.lower() for pattern in patterns]
    for entry in store.entries(damaged=problems.append):
        names = {entry.identity.debug_file.lower(), entry.identity.code_file.lower()}
        if not lower or any(
            fnmatchcase(name, pattern) for name in names for pattern in lower
        ):
            yield entry


def entry_record(store: Store, entry: Entry) -> dict[str, Any]:
    """A module in the output of `--json`."""
    return {
        **entry.identity._asdict(),
        "uuid": entry.uuid.hex(),
        "functions": entry.quality.functions,
        "detail": _LEVELS[entry.quality.level],
        "size": entry.size,
        "added": entry.added,
        "last_used": store.last_used(entry),
        "source": entry.source,
        "path": entry.path,
        "originals": entry.originals,
        "missing": list(entry.missing),
        "code_ids": list(entry.code_ids),
    }


def attempt_lines(attempts: Iterable[Attempt], indent: int) -> Iterator[str]:
    """A line for the answer of each source, after *indent* blanks."""
    for each in attempts:
        yield f"{'':{indent}}{each.source}: {each.outcome}: {each.detail}"


_NUMBERS = {"FUNCTIONS", "SIZE"}
_TITLES = ("NAME", "DEBUG ID", "OS", "ARCH", "FUNCTIONS", "SIZE", "LAST USED", "SOURCE")
_LEFT_ALIGNED = {at for at, title in enumerate(_TITLES) if title not in _NUMBERS}


@Command(
    "gsym store list",
    (NAMES, STORE, JSON),
    "Modules are sorted by name. The exit code is 1 if a module is damaged.",
)
def list_modules(values: Values) -> int:
    """Print a line for each module."""
    store = existing_store(values)
    problems: list[FormatError] = []
    entries = list(selected_entries(store, values.operands("NAME"), problems))
    entries.sort(key=lambda entry: (entry.identity.debug_file.lower(), entry.identity))
    if values.flag("--json"):
        for entry in entries:
            print_json(entry_record(store, entry))
    else:
        rows = [_TITLES, *(_row(store, entry) for entry in entries)]
        print_lines(table_lines(rows, left=_LEFT_ALIGNED))
    for problem in problems:
        tell(f"gsym store list: {describe(problem)}")
    return EXIT_FAILED if problems else 0


def _row(store: Store, entry: Entry) -> tuple[str, ...]:
    identity = entry.identity
    used = time.strftime("%Y-%m-%d %H:%M", time.localtime(store.last_used(entry)))
    return (
        identity.debug_file or "-",
        identity.debug_id,
        identity.os or "-",
        identity.architecture or "-",
        f"{entry.quality.functions:,}",
        rounded_size(entry.size),
        used,
        entry.source or "-",
    )


_LABELS = {
    "debug_file": "name",
    "code_file": "binary",
    "debug_id": "debug id",
    "code_id": "code id",
    "uuid": "identifier",
    "go_id": "Go build id",
    "code_hash": "hash of code",
    "os": "OS",
    "architecture": "architecture",
    "functions": "functions",
    "detail": "detail",
    "size": "size",
    "added": "added",
    "last_used": "last used",
    "source": "source",
    "path": "file",
}
_TIMES = {"added", "last_used"}


@Command("gsym store info", (MODULE, STORE, JSON))
def show_module(values: Values) -> int:
    """Print the properties of one module."""
    store = existing_store(values)
    entry, unsure = find_entry(store, values.operand("MODULE"), is_use=False)
    record = entry_record(store, entry)
    if unsure and not values.flag("--json"):
        tell(f"gsym store info: perhaps another build: {unsure}")
    lines = table_lines(_lines(record), left={0})
    show(values, {**record, "unsure": unsure}, lines)
    return 0


def _lines(record: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for field, label in _LABELS.items():
        value = record[field]
        if field in _TIMES:
            value = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(value))
        elif field == "size":
            value = f"{rounded_size(value)} ({value:,} bytes)"
        elif field == "functions":
            value = f"{value:,}"
        if value:
            yield label, value
    for text in record["code_ids"]:
        yield "code id", text
    for text in record["missing"]:
        yield "missing", text
    for kind, path in record["originals"].items():
        yield f"kept {kind}", path


@Command(
    "gsym store get",
    (
        MODULE,
        STORE,
        """\
-o, --output OUT  copy the file to OUT
--original KIND  the stored file that the module was made from: sym, ranges or
  debuginfo""",
        JSON,
    ),
    """\
Prints the path of the file, which is valid until the module is replaced or removed.
The exit code is 1 if the store does not have the module.""",
)
def get_file(values: Values) -> int:
    """Print the path of the file, or copy it."""
    store = existing_store(values)
    entry, unsure = find_entry(store, values.operand("MODULE"))
    path = _file(entry, values.text("--original"))
    output = values.text("--output")
    if output is not None:
        copy_file(path, output)
    if values.flag("--json"):
        print_json({**entry_record(store, entry), "unsure": unsure})
        return 0
    if unsure:
        tell(f"gsym store get: perhaps another build: {unsure}")
    if output is None:
        sys.stdout.write(f"{path}\n")
    return 0


def _file(entry: Entry, original: str | None) -> str:
    if original is None:
        return entry.path
    if original not in entry.originals:
        kept = ", ".join(entry.originals) or "none"
        reason = f"no original of kind {original}; kept: {kept}"
        raise GsymError(reason, path=entry.path)
    return entry.originals[original]


_KINDS = {"breakpad": "sym", "gsym": "gsym"}


@Command(
    "gsym store export",
    (
        NAMES,
        STORE,
        """\
-o, --output OUT  folder, or archive (.zip, .tar, .tar.gz, .tar.xz) to write; or s3, gs
  or az URL to publish at
--to FORMAT {breakpad|gsym}  format: .sym files of breakpad (default), or gsym""",
        QUIET,
    ),
    """\
Files are laid out as on symbol servers: NAME/DEBUGID/NAME.sym. A Breakpad file that was
kept with its module is copied, with its unwind records; others are generated from the
GSYM file. In a bucket, GSYM files are published as a store; a module that is there is
kept. The exit code is 1 if a module could not be written.""",
)
def export_files(values: Values) -> int:
    """Write the modules and print a line for each."""
    output = values.required("--output")
    kind = _KINDS[values.chosen("--to")]
    problems: list[FormatError] = []
    store = existing_store(values)
    entries = selected_entries(store, values.operands("NAME"), problems)
    is_complete = True
    for module in export_modules(entries, output, kind=kind):
        if module.reason:
            is_complete = False
            tell(f"gsym store export: {module.path}: {module.reason}")
        elif not values.flag("--quiet"):
            print(printable(module.path))
    for problem in problems:
        tell(f"gsym store export: {describe(problem)}")
    return 0 if is_complete and not problems else EXIT_FAILED
