"""`gsym symbfile push`: upload symbols of executables for profilers."""

from __future__ import annotations

import os
import sys
import time
from functools import partial
from itertools import zip_longest

from gsym.api.client.symbfile_client import (
    PartOutcome,
    SymbfileClient,
    UploadFolder,
    UploadSettings,
)
from gsym.cli.grammar import Command, UsageError, Values
from gsym.cli.options import API_KEY_OPTIONS, JSON, QUIET, read_api_key
from gsym.cli.program import EXIT_FAILED
from gsym.cli.terminal import describe, print_json, print_lines, progress_for, tell
from gsym.cli.verbs import symbfile_extract
from gsym.conversion import report_text as conversion_report
from gsym.errors import GsymError, ServerError
from gsym.lazy import tempfile
from gsym.net.web_address import read_web_address
from gsym.records import NamedTuple
from gsym.sizes import exact_size
from gsym.symbfile.file_id import FileId, kernel_id
from gsym.symbfile.upload import (
    PART_SIZE,
    Upload,
    UploadPart,
    extract_upload,
    ready_upload,
)

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    Delivery = Callable[[str, Sequence[UploadPart]], dict[str, Any]]
    Preparation = Callable[[str, FileId, str], Upload]


@Command(
    "gsym symbfile push",
    (
        """\
[SYMBFILE...]  parts to send for EXECUTABLE (default: extracted from it)
-e, --executable EXECUTABLE...  executable as deployed: the source of FileID and machine
  code
-d, --debug-file FILE...  symbols of EXECUTABLE: input of 'gsym convert', or a GSYM
  file; one for each EXECUTABLE, in the same order
-u, --url URL  URL of the server""",
        API_KEY_OPTIONS,
        f"""\
--kind KIND {{ranges|returnpads|both}}  ranges, returnpads or both (default)
--part-size SIZE  approximate size of a part (default: {exact_size(PART_SIZE)})
--kernel  EXECUTABLE is a Linux kernel or kernel module, whose FileID is made from its
  build id""",
        symbfile_extract.NAMES,
        symbfile_extract.CONVERSION_OPTIONS,
        """\
--timeout TIME  time for the server to respond to a part (default: 300s)
--attempts N  maximum attempts to send a part after temporary failures (default: 8)
--dry-run DIR  send nothing: write the requests to a new or empty folder""",
        JSON,
        QUIET,
    ),
    """\
The exit code is 1 if a part did not arrive. To resume, push again: parts that arrived
are replaced.""",
)
def push(values: Values) -> int:
    """Push each executable; the exit code is 1 if a part of one did not arrive."""
    started = time.perf_counter()
    url = values.required("--url")
    jobs = list(push_jobs(values))
    settings = UploadSettings()
    settings = settings._replace(
        timeout=values.seconds("--timeout") or settings.timeout,
        attempts=values.number("--attempts", minimum=1) or settings.attempts,
    )
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
        print_json(json_report(shown, reports, seconds))
    return _exit_code(reports)


def _send(
    client: SymbfileClient, values: Values, executable: str, parts: Sequence[UploadPart]
) -> dict[str, Any]:
    label = f"{executable}: sending"
    with progress_for(label, quiet=values.flag("--quiet")) as progress:
        return {"outcomes": tuple(client.send(parts, progress.callback))}


def _push_all(
    jobs: list[tuple[str, Preparation]],
    values: Values,
    deliver: Delivery,
    why_stopped: Callable[[], str],
) -> list[PushReport]:
    """Push each executable; the report on each is printed at once."""
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
                report = report._replace(upload=upload)
                report = report._replace(**deliver(executable, upload.parts))
        except (GsymError, OSError, MemoryError) as error:
            report = report._replace(error=describe(error))
        reports.append(report)
        if not values.flag("--quiet"):
            print_lines(() if values.flag("--json") else push_lines(report))
            print_lines(warning_lines(report), sys.stderr)
        for line in error_lines(report):
            tell(f"gsym: error: {line}")
    return reports


def _file_id(executable: str, values: Values, others: list[PushReport]) -> FileId:
    is_kernel = values.flag("--kernel")
    file_id = kernel_id(executable) if is_kernel else FileId.of_file(executable)
    for other in others:
        if other.file_id == file_id and not other.error:
            reason = f"same FileID as {other.executable}"
            raise GsymError(reason, path=executable)
    return file_id


def _exit_code(reports: list[PushReport]) -> int:
    """1 if a part did not arrive, with a summary on standard error."""
    outcomes = [each for report in reports for each in report.outcomes]
    lost = sum(not each.arrived for each in outcomes)
    failed = sum(bool(report.error) for report in reports)
    if lost:
        what = f"{lost} of {len(outcomes)} parts did not arrive"
        tell(f"gsym: error: {what}: push again to resume")
    if failed:
        what = f"nothing was sent for {failed} of {len(reports)} executables"
        tell(f"gsym: error: {what}")
    return EXIT_FAILED if lost or failed else 0


def push_jobs(values: Values) -> Iterator[tuple[str, Preparation]]:
    """Each executable, and the function that makes its parts."""
    executables = values.texts("--executable")
    debug_files = values.texts("--debug-file")
    symbfiles = values.operands("SYMBFILE")
    part_size = values.size("--part-size")
    kinds = symbfile_extract.RECORD_KINDS[values.choice("--kind") or "both"]
    extraction = symbfile_extract.extraction_options(values)
    if not executables:
        raise UsageError("option '--executable' is required")
    if debug_files and len(debug_files) != len(executables):
        raise UsageError("give one '--debug-file' for each '--executable', or none")
    if symbfiles:
        if len(executables) > 1:
            raise UsageError("SYMBFILE needs exactly one '--executable'")
        if debug_files or part_size or values.texts("--kind"):
            raise UsageError(
                "SYMBFILE is sent unchanged: remove the extraction options"
            )
        yield (
            executables[0],
            lambda _, file_id, folder: ready_upload(symbfiles, file_id, folder),
        )
        return

    def extraction_of(debug_file: str | None) -> Preparation:
        def extract(executable: str, file_id: FileId, folder: str) -> Upload:
            with progress_for(executable, quiet=values.flag("--quiet")) as progress:
                return extract_upload(
                    executable,
                    file_id,
                    folder,
                    debug_file=debug_file,
                    kinds=kinds,
                    part_size=part_size or PART_SIZE,
                    progress=progress.callback,
                    **extraction,
                )

        return extract

    for executable, debug_file in zip_longest(executables, debug_files):
        yield executable, extraction_of(debug_file)


class PushReport(NamedTuple):
    """The result for one executable."""

    executable: str  # its path
    file_id: FileId | None = None  # None if it could not be read
    outcomes: tuple[PartOutcome, ...] = ()  # of each part; empty after an error
    # of a dry run, the files with the headers of the requests
    heads: tuple[str, ...] = ()
    upload: Upload = Upload((), (), {})  # what its parts were made of
    error: str = ""  # why there are no parts, or ""


def push_lines(report: PushReport) -> Iterator[str]:
    """The parts of an executable that arrived."""
    if report.file_id is not None:
        yield f"{report.executable}: FileID {report.file_id.base64}"
    for head in report.heads:
        yield f"  {head}"
    for kind in dict.fromkeys(each.part.kind for each in report.outcomes):
        parts = [each for each in report.outcomes if each.part.kind == kind]
        arrived = [each for each in parts if each.arrived]
        size = sum(each.part.size for each in arrived)
        again = sum(max(each.attempts - 1, 0) for each in parts)
        resent = f", {again} sent again" if again else ""
        yield f"  {kind}: {len(arrived)} of {len(parts)} arrived, {size} bytes{resent}"


def warning_lines(report: PushReport) -> Iterator[str]:
    """Warnings about data that is not in the symbfiles."""
    _, notes, losses, conversion = report.upload
    if conversion is not None:
        yield from conversion_report.input_warning_lines(conversion)
    yield from symbfile_extract.loss_lines(report.executable, losses)
    for note in notes:
        yield f"{report.executable}: warning: {note}"


def error_lines(report: PushReport) -> Iterator[str]:
    """The parts that did not arrive, and why."""
    if report.error:
        yield report.error
    for each in report.outcomes:
        if not each.arrived:
            part = f"{each.part.kind}, part {each.part.file_part}"
            times = f", sent {each.attempts} times" if each.attempts > 1 else ""
            log = f" (uuid {each.uuid})" if each.uuid else ""
            reason = f"did not arrive{times}: {each.reason}{log}"
            yield f"{report.executable}: {part}: {reason}"


def json_report(url: str, reports: list[PushReport], seconds: float) -> dict[str, Any]:
    """The report as JSON."""
    outcomes = [each for report in reports for each in report.outcomes]
    return {
        "url": url,
        "arrived": sum(each.arrived for each in outcomes),
        "not_arrived": sum(not each.arrived for each in outcomes),
        "seconds": seconds,
        "executables": [_executable(report) for report in reports],
    }


def _executable(report: PushReport) -> dict[str, Any]:
    file_id, upload = report.file_id, report.upload
    return {
        "executable": report.executable,
        "file_id": file_id and {"hex": file_id.hex(), "base64": file_id.base64},
        "parts": [_part(each) for each in report.outcomes],
        "heads": list(report.heads),
        "notes": list(upload.notes),
        "losses": upload.losses,
        "conversion": upload.conversion and upload.conversion.to_dict(),
        "error": report.error or None,
    }


def _part(outcome: PartOutcome) -> dict[str, Any]:
    part = outcome.part
    return {
        "kind": part.kind,
        "file_part": part.file_part,
        "file_parts": part.file_parts,
        "size": part.size,
        "arrived": outcome.arrived,
        "attempts": outcome.attempts,
        "status": outcome.status or None,
        "reason": outcome.reason or None,
        "uuid": outcome.uuid or None,
    }
