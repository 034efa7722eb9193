"""What is uploaded of an executable: extracted, or symbfiles that are there already.

All of it stands in files before the first byte is sent: each request tells how many
parts there are.
"""

from __future__ import annotations

import os

from gsym.arguments import paths_of, strings_of
from gsym.containers.mapped_file import map_file
from gsym.errors import EmptyError, FormatError, GsymError, LimitError
from gsym.records import NamedTuple
from gsym.symbfile.calls import holds_code
from gsym.symbfile.extraction import KINDS, extract
from gsym.symbfile.opening import decode, inflated_pieces
from gsym.symbfile.upload import MOST_PARTS, UploadPart
from gsym.writing.atomic_file import AtomicFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from gsym.conversion.report import ConversionReport
    from gsym.symbfile.extraction import ExtractionReport
    from gsym.symbfile.file_id import FileId


class Upload(NamedTuple):
    """What is to be sent of one executable.

    Attributes:
        parts: In the order in which they are sent, of each kind all.
        notes: What these symbols lack, and why.
        losses: What was left out -> how often.
        conversion: The report on the conversion that they come from, with its
            warnings; None for a GSYM file, and for symbfiles.
    """

    parts: tuple[UploadPart, ...]
    notes: tuple[str, ...]
    losses: dict[str, int]
    conversion: ConversionReport | None = None


# Bytes of a part that is extracted: what is lost when one has to be sent again.
PART_SIZE = 16 << 20


def extract_upload(  # noqa: PLR0913 - keywords, each a choice of its own
    executable: str,
    file_id: FileId,
    folder: str,
    *,
    debug_file: str | None = None,
    kinds: Sequence[str] = KINDS,
    part_size: int = PART_SIZE,
    **extraction: Any,
) -> Upload:
    """Write the symbols of an executable as parts.

    Args:
        executable: As it is deployed; return pads are made of its machine code.
        file_id: Of it.
        folder: Where the parts shall be.
        debug_file: Has the symbols of *executable*, where that has none: anything that
            `gsym.convert` takes, or a GSYM file.
        kinds: Of `KINDS`.
        part_size: About so many bytes go into each part.
        extraction: Other keywords of `extract`.

    Raises:
        GsymError: As for `extract`. Also: *executable* has no
            machine code, *debug_file* is of another one, or the parts are too many.
        OSError: A file cannot be read or written.
        ValueError: There is no such style of names.
    """
    kinds = strings_of("kinds", kinds)
    if not holds_code(executable):
        reason = "it has no machine code, and so is not the file that is deployed"
        raise GsymError(reason, path=executable)
    ranges, return_pads = (
        os.path.join(folder, kind) if kind in kinds else None for kind in KINDS
    )
    report = extract(
        executable if debug_file is None else debug_file,
        ranges=ranges,
        return_pads=return_pads,
        binary=executable,
        part_size=part_size,
        **extraction,
    )
    parts: list[UploadPart] = []
    losses: dict[str, int] = {}
    for kind, written in report.kinds.items():
        parts += _numbered(written.outputs, kind, file_id)
        losses.update(written.losses)
    return Upload(tuple(parts), tuple(_notes(report)), losses, report.conversion)


def ready_upload(paths: Sequence[str], file_id: FileId, folder: str) -> Upload:
    """Symbfiles of an executable, each of which becomes a part of its kind.

    Args:
        paths: In the order of the parts.
        file_id: Of the executable.
        folder: Where those go that have to be inflated.

    Raises:
        EmptyError: One holds no record.
        FormatError: One is damaged, or holds records of both kinds.
        LimitError: They are too many.
        OSError: A file cannot be read or written.
    """
    found: dict[str, list[str]] = {kind: [] for kind in KINDS}
    for number, path in enumerate(paths_of("paths", paths)):
        plain = _inflated(path, os.path.join(folder, str(number)))
        found[_kind(path)].append(plain)
    parts = [_numbered(found[kind], kind, file_id) for kind in KINDS]
    return Upload(tuple(part for each in parts for part in each), (), {})


def _notes(report: ExtractionReport) -> Iterator[str]:
    if report.missing:
        yield f"return pads left out: {report.missing}"
    ranges, converted = report.kinds.get("ranges"), report.conversion
    if converted is not None and not converted.functions_debug_info:
        return  # the warnings of the conversion report it
    if ranges is not None and not ranges.counts["line_rows"]:
        yield "no lines: there is no debug information that tells them"


def _numbered(paths: Sequence[str], kind: str, file_id: FileId) -> list[UploadPart]:
    count = len(paths)
    if count > MOST_PARTS:
        reason = f"{count} parts of {kind} are more than {MOST_PARTS}: make them larger"
        raise LimitError(reason)
    return [
        UploadPart(path, os.stat(path).st_size, file_id, kind, number, count)
        for number, path in enumerate(paths)
    ]


def _kind(path: str) -> str:
    decoder = decode(map_file(path), path)
    for _ in decoder.reads():
        pass
    counts = decoder.counts()
    if counts.ranges and counts.return_pads:
        reason = "it holds ranges and return pads, which go to different places"
        raise FormatError(reason, path=path)
    if not counts.ranges and not counts.return_pads:
        raise EmptyError("it holds no records", path=path)
    return KINDS[0] if counts.ranges else KINDS[1]


def _inflated(path: str, target: str) -> str:
    """*path*, or *target* with what it has compressed: bodies are sent plain."""
    data = map_file(path)
    pieces = inflated_pieces(data, path)
    if pieces is None:
        return path
    with AtomicFile(target) as file:
        for piece in pieces:
            file.write(piece)
    return target
