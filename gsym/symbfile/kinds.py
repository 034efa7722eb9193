"""The two kinds of symbfiles of one binary, made of one conversion."""

from __future__ import annotations

from os import fspath

from gsym.conversion.companions.dsym import open_fitting
from gsym.errors import UnsupportedError
from gsym.records import NamedTuple
from gsym.symbfile.calls import can_find_calls, holds_code
from gsym.symbfile.extraction import extract_ranges
from gsym.symbfile.input_image import open_image
from gsym.symbfile.joint_extraction import extract_together
from gsym.symbfile.names import NameTexts
from gsym.symbfile.return_pads import NoCallsError, calls_of, extract_return_pads

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Callable
    from typing import Any

    from gsym.conversion.report import ConversionReport
    from gsym.symbfile.extraction import ExtractionReport
    from gsym.symbfile.return_pads import ReturnPadReport


class KindReports(NamedTuple):
    """What was written of each kind.

    Attributes:
        written: The report on each kind of which there is a symbfile.
        missing: Why return pads that were asked for cannot be made; else "".
        conversion: The report on the conversion of the input, with its warnings;
            None for a GSYM file.
    """

    written: dict[str, ExtractionReport | ReturnPadReport]
    missing: str
    conversion: ConversionReport | None


# As the paths of the protocol for uploads have them.
KINDS = ("ranges", "returnpads")


def extract_kinds(  # noqa: PLR0913 - keywords, each a choice of its own
    source: str | os.PathLike[str],
    outputs: dict[str, str],
    *,
    binary: str | os.PathLike[str] | None = None,
    names: str = "symblib",
    part_size: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    **conversion: Any,
) -> KindReports:
    """Write the ranges, the return pads or both of a binary.

    Return pads that cannot be made are an error only where they alone are asked for.

    Args:
        source: What `gsym.convert` takes, or a GSYM file.
        outputs: The file to write for each of the kinds that is wanted.
        binary: Has the machine code of *source*; by default *source* itself. Another
            one than *source* is of is refused, whatever is wanted.
        names: As for `extract_ranges`.
        part_size: Likewise.
        progress: Called now and then with (work done, work in all).
        conversion: Other keywords of `gsym.convert`.

    Raises:
        GsymError: As for `extract_ranges` and `extract_return_pads`; its kinds, too.
        OSError: A file cannot be read or written.
        ValueError: There is no such style of names.
    """
    if "returnpads" in outputs and binary is None and holds_code(source):
        binary = source
    conversion["call_sites"] = "returnpads" in outputs and (
        binary is None or not can_find_calls(binary)
    )
    options: dict[str, Any] = {"names": NameTexts(names), "part_size": part_size}
    options["progress"] = progress
    missing = ""
    with open_image(source, progress, **conversion) as (reader, converted):
        if binary is not None:
            with open_fitting(fspath(binary), reader.uuid):
                pass  # it is the one
        if "ranges" not in outputs:
            pads = extract_return_pads(
                reader, outputs["returnpads"], binary=binary, **options
            )
            return KindReports({"returnpads": pads}, "", converted)
        calls = None
        try:
            calls = calls_of(reader, binary) if "returnpads" in outputs else None
        except (NoCallsError, UnsupportedError) as error:
            missing = error.reason
        if calls is None:
            ranges = extract_ranges(reader, outputs["ranges"], **options)
            return KindReports({"ranges": ranges}, missing, converted)
        targets = [outputs[kind] for kind in KINDS]
        threads = conversion.get("threads")
        both = extract_together(reader, calls, *targets, threads=threads, **options)
    return KindReports(dict(zip(KINDS, both, strict=True)), missing, converted)
