"""What verbs share that ask sources: which ones, and within which limits."""

from __future__ import annotations

from gsym.cli.options import Option, UsageError
from gsym.net.limits import TransferLimits
from gsym.store.sources.settings import SourceOpener

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gsym.cli.options import Values
    from gsym.store.sources.source import Source

SOURCE = Option(
    "--source",
    "where to look, in order: a folder, http(s)://... of a Breakpad server, "
    "debuginfod+http(s)://..., debuginfod, s3://..., gs://..., az://..., "
    "srv*DIR*URL",
    metavar="SOURCE",
    repeatable=True,
)
TRANSFER_OPTIONS = (
    Option("--timeout", "seconds for one file (default: 300)", metavar="SECONDS"),
    Option("--max-size", "bytes of one file (default: 4 GiB)", metavar="BYTES"),
    Option(
        "--allow-private",
        "let servers redirect to addresses of this machine and its network",
    ),
)


def transfer_limits(values: Values) -> TransferLimits:
    """The limits that the command line sets."""
    limits = TransferLimits()
    return limits._replace(
        total_seconds=values.number("--timeout", minimum=1) or limits.total_seconds,
        most_bytes=values.number("--max-size", minimum=1) or limits.most_bytes,
    )


def source_opener(values: Values) -> SourceOpener:
    """What opens sources within the limits of the command line."""
    return SourceOpener(
        limits=transfer_limits(values), allow_private=values.flag("--allow-private")
    )


def open_sources(values: Values, opener: SourceOpener) -> list[Source]:
    """The sources that the command line names.

    Raises:
        UsageError: One is not understood.
    """
    try:
        return [
            source for text in values.texts(SOURCE.name) for source in opener.open(text)
        ]
    except ValueError as error:
        raise UsageError(f"option '{SOURCE.name}': {error}") from None
