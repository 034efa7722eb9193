"""What became of a push, told to people and to programs."""

from __future__ import annotations

from gsym.cli import conversion_report
from gsym.cli.terminal import printable
from gsym.cli.verbs.extraction_text import loss_lines
from gsym.records import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from gsym.conversion.report import ConversionReport
    from gsym.symbfile.file_id import FileId
    from gsym.symbolication.client.symbfile_client import PartOutcome


class PushReport(NamedTuple):
    """What became of one executable.

    Attributes:
        executable: Its path.
        file_id: None where it could not be read.
        outcomes: Of each part; none where there is an error.
        heads: Of a dry run, the files with the heads of the requests.
        notes: What its symbols lack, and why.
        losses: What was left out -> how often.
        conversion: The report on the conversion of its symbols, if there was one.
        error: Why there are no parts; else "".
    """

    executable: str
    file_id: FileId | None = None
    outcomes: tuple[PartOutcome, ...] = ()
    heads: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    losses: dict[str, int] | None = None
    conversion: ConversionReport | None = None
    error: str = ""


def push_lines(report: PushReport) -> Iterator[str]:
    """What arrived of an executable."""
    if report.file_id is not None:
        yield printable(f"{report.executable}: FileID {report.file_id.base64}")
    for head in report.heads:
        yield printable(f"  {head}")
    for kind in dict.fromkeys(each.part.kind for each in report.outcomes):
        parts = [each for each in report.outcomes if each.part.kind == kind]
        arrived = [each for each in parts if each.arrived]
        size = sum(each.part.size for each in arrived)
        again = sum(max(each.attempts - 1, 0) for each in parts)
        resent = f", {again} sent again" if again else ""
        yield f"  {kind}: {len(arrived)} of {len(parts)} arrived, {size} bytes{resent}"


def warning_lines(report: PushReport) -> Iterator[str]:
    """What is not in the symbfiles."""
    if report.conversion is not None:
        yield from conversion_report.input_warning_lines(report.conversion)
    yield from loss_lines(report.executable, report.losses or {})
    for note in report.notes:
        yield printable(f"{report.executable}: warning: {note}")


def error_lines(report: PushReport) -> Iterator[str]:
    """What did not arrive, and why."""
    if report.error:
        yield printable(report.error)
    for each in report.outcomes:
        if not each.arrived:
            part = f"{each.part.kind}, part {each.part.file_part}"
            times = f", sent {each.attempts} times" if each.attempts > 1 else ""
            log = f" (uuid {each.uuid})" if each.uuid else ""
            reason = f"did not arrive{times}: {each.reason}{log}"
            yield printable(f"{report.executable}: {part}: {reason}")


def json_report(url: str, reports: list[PushReport], seconds: float) -> dict[str, Any]:
    """All that is known, for programs."""
    outcomes = [each for report in reports for each in report.outcomes]
    return {
        "url": url,
        "arrived": sum(each.arrived for each in outcomes),
        "not_arrived": sum(not each.arrived for each in outcomes),
        "seconds": seconds,
        "executables": [_executable(report) for report in reports],
    }


def _executable(report: PushReport) -> dict[str, Any]:
    file_id = report.file_id
    return {
        "executable": report.executable,
        "file_id": file_id and {"hex": file_id.hex(), "base64": file_id.base64},
        "parts": [_part(each) for each in report.outcomes],
        "heads": list(report.heads),
        "notes": list(report.notes),
        "losses": report.losses or {},
        "conversion": report.conversion
        and conversion_report.json_report(report.conversion),
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
