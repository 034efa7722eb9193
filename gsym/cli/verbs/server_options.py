"""What verbs share that ask a symbolication server: which one, and what to send."""

from __future__ import annotations

from gsym.cli.options import Option, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gsym.cli.options import Values

SERVER = Option("--server", "URL of the symbolication server", metavar="URL")
HEADER = Option(
    "--header",
    "header to send, such as a token; @FILE has one a line",
    metavar="NAME:VALUE",
    repeatable=True,
)


def read_headers(values: Values) -> tuple[tuple[str, str], ...]:
    """(name, value) of each header that the command line has.

    Raises:
        OSError: A file of headers cannot be read.
        UsageError: One has no colon.
    """
    headers = []
    for line in _lines(values.texts(HEADER.name)):
        name, colon, value = line.partition(":")
        if not colon or not name.strip():
            raise UsageError("option '--header': what is given has no NAME:VALUE")
        headers.append((name.strip(), value.strip()))
    return tuple(headers)


def _lines(texts: list[str]) -> Iterator[str]:
    for text in texts:
        if not text.startswith("@"):
            yield text
            continue
        with open(text[1:], encoding="latin-1") as file:
            yield from (line for line in file.read().splitlines() if line.strip())
