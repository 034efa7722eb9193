"""`gsym upload`: send debug files to a symbol server."""

from __future__ import annotations

import os
from collections import Counter
from functools import partial

from gsym.api.client.upload_client import StoredModule, UploadClient
from gsym.cli.grammar import Command, Values
from gsym.cli.options import API_KEY_OPTIONS, JSON, QUIET, read_api_key
from gsym.cli.program import EXIT_FAILED
from gsym.cli.terminal import (
    Progress,
    describe,
    print_json,
    printable,
    progress_for,
    tell,
)
from gsym.containers.recognition import recognise_file
from gsym.conversion.companions.macho import bundle_member
from gsym.conversion.many import is_folder
from gsym.conversion.module_file import modules_in
from gsym.conversion.tree import files_below, has_modules
from gsym.errors import GsymError, ServerError
from gsym.model import detail_level
from gsym.reading.statistics import measure_file
from gsym.records import NamedTuple
from gsym.store.binary_facts import facts_of

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gsym.modules.key import ModuleKey

_LINES = 1  # the level of a file with debug information, which may have more
# These concern the server or the token, not the file.
_STOPPING = frozenset({0, 401, 403, 404, 405, 507})


@Command(
    "gsym upload",
    (
        """\
PATH...  file that 'gsym convert' reads, or a folder with such files
--server URL  URL of the server (required)""",
        API_KEY_OPTIONS,
        """\
--all  also send what the server has already
--dry-run  send nothing; list what would be sent""",
        JSON,
        QUIET,
    ),
    """\
Of a folder, these are sent: programs, libraries and kernel modules, debug files, dSYM
bundles, PDBs, Breakpad files and GSYM files; object files and archives are not. The
server is asked first which of them it lacks, so a second run sends what the first did
not. The API key is a token with the right to upload.

The exit code is 1 if a file was refused or did not arrive.""",
)
def upload(values: Values) -> int:
    """Send what the server lacks; the exit code is 1 if a file did not arrive."""
    url = values.required("--server")
    token = read_api_key(values, os.environ)
    with UploadClient(url, token) as client:
        uploading = _Uploading(client, values)
        files = [*uploading.described(values.operands("PATH"))]
        return uploading.send(sorted(files, key=lambda each: each.is_code))


class _File(NamedTuple):
    """A file to send."""

    path: str  # the path
    name: str  # the name of its module if the file does not contain it
    keys: tuple[ModuleKey, ...]  # its modules
    level: int  # as of `StoredModule`: the detail that it has at least
    # whether it is a program or library without debug information, which the server
    # takes after the debug file of its module
    is_code: bool

    def is_lacking(self, stored: StoredModule | None) -> bool:
        """Whether a server with *stored* of one of the modules lacks this."""
        if stored is None:
            return True
        if self.is_code:
            return "executable" not in stored.files
        return stored.level < self.level


class _Uploading:
    """Sends files and prints what becomes of them."""

    def __init__(self, client: UploadClient, values: Values) -> None:
        self._client = client
        self._values = values
        self._is_quiet = values.flag("--quiet") or values.flag("--json")
        self._outcomes: list[dict[str, str]] = []

    def described(self, paths: list[str]) -> Iterator[_File]:
        """The files to send; what cannot be read is noted as failed."""
        for path in _paths(paths):
            try:
                yield _described(path)
            except (GsymError, OSError) as error:  # noqa: PERF203 - others are sent
                self._fail(path, describe(error))

    def send(self, files: list[_File]) -> int:
        """Send the files in order; the exit code."""
        total = sum(os.path.getsize(each.path) for each in files)
        done, stopped = 0, ""
        for each in files:
            if stopped:
                self._fail(each.path, f"{each.path}: not sent: {stopped}")
                continue
            with progress_for(each.path, quiet=self._is_quiet) as progress:
                try:
                    self._send(each, partial(_report, progress, done, total))
                except ServerError as error:
                    progress.clear()
                    stopped = error.reason if error.status in _STOPPING else ""
                    self._fail(each.path, f"{each.path}: {describe(error)}")
                except (GsymError, OSError) as error:
                    progress.clear()
                    self._fail(each.path, describe(error))
            done += os.path.getsize(each.path)
        return self._finish()

    def _fail(self, path: str, reason: str) -> None:
        self._outcomes.append({"path": path, "outcome": "failed", "reason": reason})
        tell(f"gsym: error: {reason}")

    def _send(self, file: _File, report: Callable[[int], object]) -> None:
        stored = [self._client.stored(key) for key in file.keys]
        is_lacking = any(map(file.is_lacking, stored)) or not stored
        if not is_lacking and not self._values.flag("--all"):
            self._note(file, "present")
        elif self._values.flag("--dry-run"):
            self._note(file, "lacking")
        else:
            modules = self._client.send(file.path, file.name, report)
            if not modules:
                self._note(file, "kept")
            for each in modules:
                self._note(file, each.outcome, f"{each.debug_file} {each.debug_id}")

    def _note(self, file: _File, outcome: str, module: str = "") -> None:
        self._outcomes.append({"path": file.path, "outcome": outcome, "module": module})
        if not self._is_quiet:
            shown = f" as {module}" if module else ""
            print(printable(f"{file.path}: {outcome}{shown}"))

    def _finish(self) -> int:
        counts = Counter(each["outcome"] for each in self._outcomes)
        if self._values.flag("--json"):
            print_json({"files": self._outcomes, "counts": counts})
        elif not self._is_quiet and len(self._outcomes) > 1:
            print(", ".join(f"{count} {name}" for name, count in counts.items()))
        return EXIT_FAILED if counts["failed"] else 0


def _report(progress: Progress, before: int, total: int, sent: int) -> None:
    """Draw the progress of all files, given that of one."""
    progress(before + sent, total)


def _paths(given: list[str]) -> Iterator[str]:
    """The files to send; of a folder those that are for a server."""
    for path in given:
        if not is_folder(path):
            yield path
            continue
        yield from (file for file, _ in files_below(path) if _is_for_server(file))


def _is_for_server(path: str) -> bool:
    if os.path.isdir(path):
        return True  # a bundle
    try:
        return has_modules(path, recognise_file(path))
    except (GsymError, OSError):
        return True  # `_described` says what is wrong with it


def _described(path: str) -> _File:
    """A file with its modules and detail."""
    member = bundle_member(path)
    keys = tuple(each.identity for each in modules_in(path))
    name = os.path.basename(path.rstrip(os.sep)).removesuffix(".dSYM")
    kind, level, is_code = recognise_file(member), _LINES, False
    if kind == "gsym":
        size = measure_file(member).own
        level = detail_level(size.line_table, size.inline_info)
        name = name.removesuffix(".gsym")
    elif kind == "object":
        is_code = "debuginfo" not in facts_of(member).kinds
    return _File(member, name, keys, level, is_code)
