"""`gsym symbfile lookup`: addresses -> the chains that a symbfile has for them."""

from __future__ import annotations

import json

from gsym.cli.options import Command, Operand, Option, parse_number
from gsym.cli.terminal import printable
from gsym.symbfile.address_index import AddressIndex
from gsym.symbfile.format import open_symbfile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gsym.symbfile.address_index import ChainFrame

COMMAND = Command(
    "gsym symbfile lookup",
    "Find the functions, files and lines at addresses",
    (
        Operand("FILE", "symbfile, plain or compressed by zstd"),
        Operand(
            "ADDRESS",
            "link-time address, decimal or hexadecimal with 0x",
            many=True,
        ),
    ),
    (
        Option("--json", "print one JSON object a line for each address"),
        Option("--strict", "exit with 3 when an address has no answer"),
    ),
    """\
Return pads answer for their own addresses, which are those where calls return to, minus
1; ranges for all others. Functions stand innermost first. The file is read whole: for
many addresses convert it first ('gsym symbfile convert').""",
)

EXIT_MISSES = 3


def run(arguments: list[str]) -> int:
    """Print the chain at each address."""
    values = COMMAND.parse(arguments)
    addresses = [parse_number(word, "ADDRESS") for word in values.operands("ADDRESS")]
    index = AddressIndex(open_symbfile(values.operand("FILE")).records())
    missed = False
    for address in addresses:
        chain = index.lookup(address)
        missed |= chain is None
        if values.flag("--json"):
            frames = [frame._asdict() for frame in chain or ()]
            print(json.dumps({"address": address, "frames": frames}))
            continue
        for line in _lines(address, chain or ()):
            print(printable(line))
    return EXIT_MISSES if missed and values.flag("--strict") else 0


def _lines(address: int, chain: tuple[ChainFrame, ...]) -> Iterator[str]:
    head = f"{address:#x}: "
    if not chain:
        yield f"{head}no function covers this address"
    for func, file, line in chain:
        place = f" at {file or '?'}:{line or '?'}" if file or line else ""
        yield f"{head}{func}{place}"
        head = " " * len(head)
