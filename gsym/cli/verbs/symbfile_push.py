"""`gsym symbfile push`: symbols of executables go to a server of profilers."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from functools import partial

from gsym.cli.api_key import API_KEY_OPTIONS, read_api_key
from gsym.cli.options import Command, Operand, Option, UsageError
from gsym.cli.terminal import describe
from gsym.cli.verbs.push_jobs import progress_of, push_jobs
from gsym.cli.verbs.push_report import (
    PushReport,
    error_lines,
    json_report,
    push_lines,
    warning_lines,
)
from gsym.cli.verbs.symbfile_options import CONVERSION_OPTIONS, NAMES
from gsym.errors import GsymError, ServerError
from gsym.net.web_address import read_web_address
from gsym.symbfile.file_id import FileId, kernel_id
from gsym.symbfile.upload import PART_SIZE
from gsym.symbolication.client.symbfile_client import (
    SymbfileClient,
    UploadFolder,
    UploadSettings,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from gsym.cli.options import Values
    from gsym.cli.verbs.push_jobs import Preparation
    from gsym.symbfile.upload import UploadPart

    # Parts of an executable go where they shall; gives fields of its `PushReport`.
    Delivery = Callable[[str, Sequence[UploadPart]], dict[str, Any]]

COMMAND = Command(
    "gsym symbfile push",
    "Send the symbols of executables to a server of profilers",
    (
        Operand(
            "SYMBFILE",
            "of EXECUTABLE, each a part of its kind (default: they are extracted)",
            many=True,
            required=False,
        ),
    ),
    (
        Option(
            "--executable",
            "as it is deployed: the FileID and the machine code are taken from it",
            short="-e",
            metavar="EXECUTABLE",
            repeatable=True,
        ),
        Option(
            "--debug-file",
            "has the symbols of EXECUTABLE: what 'gsym convert' takes, or a GSYM file; "
            "the first one is of the first EXECUTABLE and so on",
            short="-d",
            metavar="FILE",
            repeatable=True,
        ),
        Option("--url", "of the server", short="-u", metavar="URL"),
        *API_KEY_OPTIONS,
        Option("--kind", "ranges, returnpads or both (default)", metavar="KIND"),
        Option(
            "--part-size",
            f"bytes of a part, about (default: {PART_SIZE})",
            metavar="N",
        ),
        Option(
            "--kernel",
            "EXECUTABLE is a Linux kernel or a module of it, whose FileID is made of "
            "its build id",
        ),
        NAMES,
        *CONVERSION_OPTIONS,
        Option(
            "--timeout",
            "seconds in which the server must answer, once it has a part (default: "
            "300)",
            metavar="N",
        ),
        Option(
            "--attempts",
            "so often a part is sent where it may arrive later (default: 8)",
            metavar="N",
        ),
        Option(
            "--dry-run",
            "send nothing: write the requests to a folder, which is empty or made",
            metavar="DIR",
        ),
        Option("--json", "print one JSON object that tells what arrived"),
        Option("--quiet", "print errors only", short="-q"),
    ),
    """\
The exit code is 1 if anything did not arrive. To resume, push again: what arrived is
replaced.""",
)


def run(arguments: list[str]) -> int:
    """Push each executable; the exit code is 1 if a part of one did not arrive."""
    values = COMMAND.parse(arguments)
    started = time.perf_counter()
    url = values.text("--url")
    if url is None:
        raise UsageError("option '--url' is missing: where to push to")
    jobs = list(push_jobs(values))
    settings = _settings(values)
    key, folder = read_api_key(values, os.environ), values.text("--dry-run")
    if folder is not None:
        requests = UploadFolder(folder, url, has_key=bool(key))
        reports = _push_all(
            jobs,
            values,
            lambda _, parts: {"heads": tuple(requests.write(parts))},
            lambda: "",
        )
    else:
        with SymbfileClient(url, key, settings) as client:
            send = partial(_send, client, values)
            reports = _push_all(jobs, values, send, lambda: client.stopped)
    if values.flag("--json"):
        seconds = time.perf_counter() - started
        shown = str(read_web_address(url))
        print(json.dumps(json_report(shown, reports, seconds)))
    return _exit_code(reports)


def _settings(values: Values) -> UploadSettings:
    settings = UploadSettings()
    return settings._replace(
        timeout=values.number("--timeout", minimum=1) or settings.timeout,
        attempts=values.number("--attempts", minimum=1) or settings.attempts,
    )


def _send(
    client: SymbfileClient, values: Values, executable: str, parts: Sequence[UploadPart]
) -> dict[str, Any]:
    with progress_of(f"{executable}: sending", values) as progress:
        return {"outcomes": tuple(client.send(parts, progress))}


def _push_all(
    jobs: list[tuple[str, Preparation]],
    values: Values,
    deliver: Delivery,
    why_stopped: Callable[[], str],
) -> list[PushReport]:
    """What became of each executable, which is told at once."""
    reports: list[PushReport] = []
    for executable, prepare in jobs:
        report = PushReport(executable)
        try:
            if stopped := why_stopped():
                raise ServerError(f"not sent: {stopped}", path=executable)
            file_id = _file_id(executable, values, reports)
            report = report._replace(file_id=file_id)
            with tempfile.TemporaryDirectory(prefix="gsym-") as folder:
                upload = prepare(executable, file_id, folder)
                report = report._replace(
                    notes=upload.notes,
                    losses=upload.losses,
                    conversion=upload.conversion,
                )
                report = report._replace(**deliver(executable, upload.parts))
        except (GsymError, OSError, MemoryError) as error:
            report = report._replace(error=describe(error))
        reports.append(report)
        _tell(report, values)
    return reports


def _file_id(executable: str, values: Values, others: list[PushReport]) -> FileId:
    is_kernel = values.flag("--kernel")
    file_id = kernel_id(executable) if is_kernel else FileId.of_file(executable)
    for other in others:
        if other.file_id == file_id and not other.error:
            reason = f"it has the FileID of {other.executable}"
            raise GsymError(reason, path=executable)
    return file_id


def _tell(report: PushReport, values: Values) -> None:
    if not values.flag("--quiet"):
        for line in () if values.flag("--json") else push_lines(report):
            print(line)
        for line in warning_lines(report):
            print(line, file=sys.stderr)
    for line in error_lines(report):
        print(f"gsym: error: {line}", file=sys.stderr)


def _exit_code(reports: list[PushReport]) -> int:
    """1 if anything is not there, with what that is in all."""
    outcomes = [each for report in reports for each in report.outcomes]
    lost = sum(not each.arrived for each in outcomes)
    failed = sum(bool(report.error) for report in reports)
    if lost:
        what = f"{lost} of {len(outcomes)} parts did not arrive"
        print(f"gsym: error: {what}: push again to resume", file=sys.stderr)
    if failed:
        what = f"nothing was sent of {failed} of {len(reports)} executables"
        print(f"gsym: error: {what}", file=sys.stderr)
    return 1 if lost or failed else 0
