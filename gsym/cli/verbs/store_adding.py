"""`gsym store add`, `import`, `prefetch`: add modules to a store."""

from __future__ import annotations

import sys
from collections import Counter
from functools import partial
from itertools import chain
from string import hexdigits
from tempfile import TemporaryDirectory

from gsym.cli import options
from gsym.cli.grammar import Command, Values, usage_errors
from gsym.cli.program import EXIT_FAILED, EXIT_INCOMPLETE
from gsym.cli.terminal import print_lines, progress_for, tell, warn
from gsym.cli.verbs.store import attempt_lines, entry_record, open_store
from gsym.errors import FormatError
from gsym.lazy import json
from gsym.modules.key import ModuleKey, keys_of_text
from gsym.modules.resolver import Resolver
from gsym.net.buckets import BUCKETS
from gsym.sizes import rounded_size
from gsym.store.adding import add_file
from gsym.store.archives import ArchiveLimits
from gsym.store.bucket import BucketStore
from gsym.store.directory import Store
from gsym.store.importing import import_all, open_import_place
from gsym.store.tree_adding import FileOutcome, add_tree, in_parallel

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from gsym.store.entries import Resolution

KEEP_ORIGINAL = "--keep-original  keep a copy of each file with its module"
_KEYWORDS = ("data_symbols", "debug_file_directories", "debuginfod", "symbol_servers")
_DONE = ("added", "replaced", "kept")


@Command(
    "gsym store add",
    (
        """\
PATH...  binary, dSYM bundle, PDB, Breakpad or GSYM file, compressed or not; .zip or
  .tar archive or package (.deb, .rpm) of these; folder, including all below it""",
        options.STORE_TO_FILL,
        options.convert_options("threads"),
        KEEP_ORIGINAL,
        options.convert_options(*_KEYWORDS),
        options.IDENTITY_OPTIONS,
        """\
--origin TEXT  label of the source (default: the path)
--max-members N  maximum number of files in an archive (default: 1000000)
--max-inflated SIZE  maximum inflated size of an archive or a compressed file (default:
  32GiB)""",
        options.JSON,
        options.QUIET,
    ),
    """\
Of several files of one module, the most complete is kept: with inlined calls before
lines, lines before names, then by the number of functions, then with variables. Files
that are not debug files are skipped. The exit code is 1 if a file failed, or a PATH
that is not a folder was skipped.""",
)
def add(values: Values) -> int:
    """Add the files; print a line for each module, then the counts."""
    url = values.text("--store") or ""
    if not url.startswith(BUCKETS):
        return _add_to(open_store(values), values)
    with usage_errors("option '--store'"):
        bucket = BucketStore(url)
    with TemporaryDirectory(prefix="gsym-") as folder:
        store = Store(folder)
        status = _add_to(store, values)
        for entry in store.entries():
            bucket.publish(entry)
    return status


def _add_to(store: Store, values: Values) -> int:
    paths = values.operands("PATH")
    given, limits = set(paths), ArchiveLimits()
    limits = limits._replace(
        members=values.number("--max-members", minimum=1) or limits.members,
        inflated=values.size("--max-inflated") or limits.inflated,
    )
    counts, skipped = Counter[str](), Counter[str]()
    failures: list[FileOutcome] = []
    with progress_for(store.path, quiet=values.flag("--quiet")) as progress:
        for outcome in add_tree(
            store,
            paths,
            jobs=values.number("--threads", minimum=1, end=257),
            limits=limits,
            progress=progress.callback,
            identity=ModuleKey(**options.module_identity(values)),
            source=values.text("--origin") or "",
            keep_original=values.flag("--keep-original"),
            most_inflated=limits.inflated,
            **options.convert_keywords(values, *_KEYWORDS),
        ):
            progress.clear()
            if outcome.outcome in _DONE:
                counts[outcome.outcome] += 1
            elif outcome.outcome == "skipped" and outcome.path not in given:
                skipped[outcome.reason] += 1
            else:
                failures.append(outcome)
            options.show(values, _add_record(store, outcome), _added(outcome))
    if not values.flag("--quiet") and not values.flag("--json"):
        print(", ".join(f"{counts[kind]} {kind}" for kind in _DONE))
        print_lines(f"{n} skipped: {reason}" for reason, n in sorted(skipped.items()))
    for each in failures:
        tell(f"gsym store add: {each.path}: {each.reason}")
    return EXIT_FAILED if failures else 0


def _added(outcome: FileOutcome) -> Iterator[str]:
    entry = outcome.entry
    if entry is None:
        return
    name = entry.identity.debug_file
    yield (
        f"{outcome.outcome:<8} {name} {entry.identity.debug_id}: "
        f"{entry.quality.functions:,} functions, {rounded_size(entry.size)}"
    )
    if outcome.reason:
        yield f"{'':<8} {outcome.reason}"


def _add_record(store: Store, outcome: FileOutcome) -> dict[str, object]:
    record: dict[str, object] = {"input": outcome.path, "outcome": outcome.outcome}
    if outcome.reason:
        record["reason"] = outcome.reason
    if outcome.entry is None:
        return record
    return {**record, **entry_record(store, outcome.entry)}


@Command(
    "gsym store import",
    (
        "PLACE  folder, other store, or s3://..., gs://..., az://...",
        options.STORE,
        options.TRANSFER_LIMITS,
        options.convert_options("threads"),
        "--again  import all files again",
        KEEP_ORIGINAL,
        options.convert_options("data_symbols"),
        options.JSON,
        options.QUIET,
    ),
    """\
Progress is recorded in the store: if an import was interrupted, run it again to
continue. Files that failed or changed are imported again. The exit code is 1 if a file
failed.""",
)
def import_tree(values: Values) -> int:
    """Import all files; print a line for each new module, then the counts."""
    with usage_errors("PLACE"):
        place = open_import_place(
            values.operand("PLACE"), options.transfer_limits(values)
        )
    counts: Counter[str] = Counter()
    for outcome in import_all(
        open_store(values),
        place,
        jobs=values.number("--threads", minimum=1, end=257),
        is_repeated=values.flag("--again"),
        keep_original=values.flag("--keep-original"),
        data_symbols=values.flag("--data-symbols"),
    ):
        counts[outcome.outcome] += 1
        if outcome.outcome == "failed":
            tell(f"gsym store import: {outcome.path}: {outcome.reason}")
        is_new = outcome.outcome in {"added", "replaced"}
        record = {
            "path": outcome.path,
            "outcome": outcome.outcome,
            "reason": outcome.reason,
            "debug_id": outcome.entry.identity.debug_id if outcome.entry else None,
        }
        lines = [f"{outcome.outcome:<8}  {outcome.path}"] if is_new else []
        options.show(values, record, lines)
    if not values.flag("--quiet") and not values.flag("--json"):
        counted = ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
        print(f"{place.name}: {counted or 'no files'}")
    return EXIT_FAILED if counts["failed"] else 0


_JOBS = 8


@Command(
    "gsym store prefetch",
    (
        """\
LIST  file with lines NAME ID, NAME/ID or ID, or with JSON of a symbolication request; -
  for standard input""",
        options.STORE,
        options.SOURCE,
        options.TRANSFER_LIMITS,
        options.ALLOW_PRIVATE,
        "-j, --threads N  modules at a time (default: 8)",
        options.convert_options("data_symbols"),
        "--retry  request modules again that were not found recently",
        options.STRICT,
        options.JSON,
        options.QUIET,
    ),
    """\
For a module that is not found, the answer of each source is printed. It is not
requested again for a while, also by servers with the same store. Modules that are
already in the store are not changed.""",
)
def prefetch(values: Values) -> int:
    """Resolve all modules; print a line for each, then the counts."""
    modules = read_module_list(_read(values.operand("LIST")))
    store = open_store(values)
    counts, is_unsure = {"there": 0, "fetched": 0, "missing": 0}, False
    jobs = values.number("--threads", minimum=1, end=257) or _JOBS
    is_quiet = values.flag("--quiet")
    with (
        options.source_opener(values) as opener,
        progress_for(store.path, quiet=is_quiet) as progress,
    ):
        add = partial(add_file, data_symbols=values.flag("--data-symbols"))
        resolver = Resolver(store, options.open_sources(values, opener), add=add)
        if values.flag("--retry"):
            for key in chain.from_iterable(modules):
                resolver.misses.forget(key)
        answers = in_parallel(lambda keys: _resolve(resolver, keys), modules, jobs)
        for done, (keys, resolution) in enumerate(answers, 1):
            outcome = "there" if resolution.is_cached else "fetched"
            if resolution.entry is None:
                outcome = "missing"
            counts[outcome] += 1
            progress.clear()
            is_unsure |= bool(resolution.unsure)
            if resolution.unsure and not is_quiet:
                doubt = f"{_name(keys[0])}: {resolution.unsure}"
                warn(f"{doubt}: it may be another build", "gsym store prefetch")
            record = {
                **keys[0]._asdict(),
                "outcome": outcome,
                "path": resolution.entry.path if resolution.entry else None,
                "unsure": resolution.unsure,
                "attempts": [each._asdict() for each in resolution.attempts],
            }
            asked = () if outcome == "there" else resolution.attempts
            lines = [f"{outcome:<7}  {_name(keys[0])}", *attempt_lines(asked, 9)]
            options.show(values, record, lines)
            progress(done, len(modules))
        resolver.misses.close()
    if not is_quiet and not values.flag("--json"):
        counted = ", ".join(f"{count} {outcome}" for outcome, count in counts.items())
        print(f"{len(modules)} modules: {counted}")
    is_complete = not counts["missing"] and not is_unsure
    return 0 if is_complete or not values.flag("--strict") else EXIT_INCOMPLETE


def _read(path: str) -> str:
    if path == "-":
        return sys.stdin.read()
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        return file.read()


def _resolve(resolver: Resolver, keys: list[ModuleKey]) -> Resolution:
    """The first result with a module, or else the first result."""
    found = [resolver.resolve(keys[0])]
    for key in keys[1:]:
        if found[-1].entry is None:
            found.append(resolver.resolve(key))
    return found[-1] if found[-1].entry is not None else found[0]


def _name(key: ModuleKey) -> str:
    name, identifier = key.debug_file or key.code_file, key.debug_id or key.code_id
    return f"{name}/{identifier}" if name else identifier


_COMMENT = "#"
_MAX_PE_DIGITS = 16


def read_module_list(text: str) -> list[list[ModuleKey]]:
    """Possible keys of each different module, the most likely first.

    Args:
        text: Lines `NAME ID`, `NAME/ID` or `ID`, and comments that start with `#`; or
            JSON of a request of the API, version 4 or 5.

    Raises:
        FormatError: It is invalid; the text names the line.
    """
    names = _of_request(text) if text.lstrip().startswith("{") else _of_lines(text)
    found: dict[tuple[str, str], list[ModuleKey]] = {}
    for number, name, code_id in names:
        keys = [key for key in keys_of_text(name) if _is_likely(key)]
        if code_id:  # as well as a debug id: both count
            keys = [key._replace(code_id=code_id) for key in keys if key.debug_id]
        if not keys:
            reason = f"'{name}' is not NAME ID, NAME/ID or ID"
            raise FormatError(f"line {number}: {reason}")
        found[name, code_id] = keys
    return list(found.values())


def _is_likely(key: ModuleKey) -> bool:
    """Whether a key with the name of a binary has a code id of Windows."""
    if not key.code_file:
        return True
    return len(key.code_id) <= _MAX_PE_DIGITS and not key.code_id.strip(hexdigits)


def _of_lines(text: str) -> Iterator[tuple[int, str, str]]:
    for number, line in enumerate(text.splitlines(), 1):
        words = line.strip()
        if not words or words.startswith(_COMMENT):
            continue
        name, _, identifier = words.rpartition(" ")
        yield number, f"{name.strip()}/{identifier}" if name else words, ""


def _of_request(text: str) -> Iterator[tuple[int, str, str]]:
    """The modules with an id in the memory maps of a request."""
    try:
        request: Any = json.loads(text)
        for job in request.get("jobs", [request]):
            modules = job["memoryMap"]
            code_ids = job.get("codeIds") or [""] * len(modules)
            for (name, debug_id), code_id in zip(modules, code_ids, strict=True):
                if debug_id:
                    yield 1, f"{name}/{debug_id}", code_id.upper()
                elif code_id:
                    yield 1, f"{name}/{code_id}", ""
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise FormatError(f"not a request of the API: {error!r}") from None
