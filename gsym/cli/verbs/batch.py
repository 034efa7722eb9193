"""`gsym batch`: symbolize the rows of Parquet, Arrow, CSV and NDJSON files."""

from __future__ import annotations

import time

from gsym.cli import grammar
from gsym.cli.options import QUIET
from gsym.cli.program import EXIT_INCOMPLETE
from gsym.cli.terminal import Progress, progress_for, warn

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from typing import Any

_MILLION = 1_000_000
_MINUTE = 60


@grammar.Command(
    "gsym batch",
    (
        """\
FILE...  rows: .parquet; .arrow, .feather, .ipc or .arrows; .csv; .ndjson or .jsonl
-o, --output OUT  folder for the parts
--modules PLACE  a store, a folder of GSYM or debug files, or the URL of a server or
  bucket
--answers SHAPE {stack|frames|ids}  stack: a list of frames in each row (default);
  frames: a row for each frame; ids: numbers of frames, which are in OUT/frames
--to FORMAT {parquet|arrow} | --format  format of the parts: parquet (default) or arrow,
  which are streams
--module COLUMN  column of modules (default: build_id)
--address COLUMN  column of addresses (default: address)
--return-address[=COLUMN]  column that says whether an address is a return address;
  without COLUMN: all are
--base BASE  column of the load addresses of modules, or one number for all (default:
  addresses are link-time addresses)
-j, --threads N | --jobs  worker threads (default: one per core)
--resume  add the parts that a stopped run did not write
--max-open N  maximum number of open modules (default: 256)
--memory SIZE  maximum total size of open modules (default: 512MB)
--strict  stop at a module that is not found; exit with 3 if one may be another
  build""",
        QUIET,
    ),
    """\
Row groups and record batches, and ranges of 64 MiB of text, become parts of their own,
which are renamed into place when they are complete: a run that was stopped in any way
loses and repeats no row when it is resumed. Columns of the input are kept, in CSV as
text, in NDJSON with the types of its first 64 MiB. A module is a build id as binary; or
as text a build id, a debug id, NAME/CODEID or a name. Addresses are integers, lists of
them (stacks), or text as 0x1f64.""",
)
def batch(values: grammar.Values) -> int:
    """Symbolize the rows of files into a folder of parts."""
    from gsym.arrow.batch_job import BatchJob
    from gsym.arrow.modules import Modules
    from gsym.engine.workers import core_count

    output, place = values.required("--output"), values.required("--modules")
    with grammar.usage_errors("option '--modules'"):
        modules = Modules(
            place,
            max_open=values.number("--max-open", minimum=1) or 256,
            memory=values.size("--memory") or "512MB",
            missing="raise" if values.flag("--strict") else "null",
        )
    job = BatchJob(
        values.operands("FILE"),
        output,
        modules,
        _options(values),
        values.text("--to") or "parquet",
    )
    is_quiet = values.flag("--quiet")
    with progress_for("batch", quiet=is_quiet) as progress:
        report = job.run(
            values.number("--threads", minimum=1, end=257) or core_count(),
            resume=values.flag("--resume"),
            progress=_Drawing(progress),
        )
    if not is_quiet:
        kept = f", {report.kept} of them kept" if report.kept else ""
        print(f"{report.rows:,} rows in {report.parts} parts{kept}: {output}")
        for name, reason in modules.unsure.items():
            warn(f"it may be another build: {reason}", name)
        for name, reason in modules.damaged.items():
            warn(f"damaged record: {reason}", name)
    return EXIT_INCOMPLETE if values.flag("--strict") and modules.unsure else 0


def _options(values: grammar.Values) -> dict[str, Any]:
    options: dict[str, Any] = {"output": values.text("--answers") or "stack"}
    for name in ("module", "address"):
        if (column := values.text(f"--{name}")) is not None:
            options[name] = column
    returns = values.text("--return-address")
    if returns is not None:
        options["return_address"] = returns or True
    base = values.text("--base")
    if base is not None:
        try:
            options["base"] = grammar.parse_number(base, "base")
        except grammar.UsageError:
            options["base"] = base
    return options


class _Drawing:
    """Draws the progress with the rate and the time left."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._started = time.monotonic()

    def __call__(self, done: int, total: int, rows: int) -> None:
        seconds = time.monotonic() - self._started
        note = f" {rows / max(seconds, 1e-9) / _MILLION:.2f} M rows/s"
        if done:
            left = int(seconds * (total - done) / done)
            minutes, rest = divmod(left, _MINUTE)
            note += f", {minutes}:{rest:02} left"
        self._progress(done, total, note)
