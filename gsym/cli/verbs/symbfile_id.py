"""`gsym symbfile id`: the FileID of executables."""

from __future__ import annotations

import json

from gsym.cli.options import Command, Operand, Option
from gsym.cli.terminal import printable
from gsym.symbfile.file_id import FileId, kernel_id

COMMAND = Command(
    "gsym symbfile id",
    "Print the FileID of executables",
    (Operand("FILE", "executable as it is deployed", many=True),),
    (
        Option(
            "--kernel",
            "FILE is a Linux kernel or a module of it, whose FileID is made of its "
            "build id",
        ),
        Option("--kernel-debug", "FILE is the debug file of one"),
        Option("--json", "print one JSON object for each file"),
    ),
    "A line has the FileID in hexadecimal, as base64 for headers, and the file.",
)


def run(arguments: list[str]) -> int:
    """Print a line for each file."""
    values = COMMAND.parse(arguments)
    is_debug = values.flag("--kernel-debug")
    is_kernel = is_debug or values.flag("--kernel")
    for path in values.operands("FILE"):
        if is_kernel:
            found = kernel_id(path, debug_file=is_debug)
        else:
            found = FileId.of_file(path)
        if values.flag("--json"):
            forms = {"file": path, "hex": found.hex(), "base64": found.base64}
            print(json.dumps(forms))
        else:
            print(f"{found.hex()} {found.base64} {printable(path)}")
    return 0
