"""`gsym extract`: the GSYM file that a binary holds, as a file of its own."""

from __future__ import annotations

from gsym.cli.options import Command, Operand, Option, UsageError
from gsym.cli.terminal import printable
from gsym.embedding.transfer import extract
from gsym.writing.atomic_file import is_same_file

COMMAND = Command(
    "gsym extract",
    "Take the GSYM file out of a binary that holds one",
    (Operand("BINARY", "ELF or Mach-O file or dSYM bundle that holds one"),),
    (
        Option(
            "--output",
            "file to write (default: BINARY.gsym)",
            short="-o",
            metavar="OUT",
        ),
        Option("--quiet", "print errors only", short="-q"),
    ),
    """\
OUT has the bytes of the file that was embedded; strings that it shares with the binary
are copied, and then it says the same in other bytes. BINARY stays as it is.""",
)


def run(arguments: list[str]) -> int:
    """Write one file and say how large it is."""
    values = COMMAND.parse(arguments)
    binary = values.operand("BINARY")
    output = values.text("--output")
    if output is None:
        output = binary + ".gsym"
    if is_same_file(binary, output):
        raise UsageError(f"the output would replace '{binary}'")
    size = extract(binary, output)
    if not values.flag("--quiet"):
        print(printable(f"{binary} -> {output}"))
        print(f"  {size} bytes")
    return 0
