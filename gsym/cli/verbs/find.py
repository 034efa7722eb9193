"""`gsym find`: names -> functions."""

from __future__ import annotations

from gsym.cli.grammar import Command, Operand, Values
from gsym.cli.gsym_input import open_gsym
from gsym.cli.options import (
    ARCH,
    DEMANGLE,
    GSYM_FILE,
    JSON,
    STRICT,
    VERBOSE,
    json_names,
    text_names,
)
from gsym.cli.program import EXIT_INCOMPLETE
from gsym.cli.terminal import print_json, printable, warn
from gsym.model import frame_text

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from gsym.model import FunctionRange, Lookup


@Command(
    "gsym find",
    (
        GSYM_FILE,
        Operand(
            "NAME", "name of a function, as the linker knows it or demangled", many=True
        ),
    ),
    (ARCH, JSON, *DEMANGLE, STRICT, VERBOSE),
    """\
A demangled NAME may omit the parameters. If no function is called NAME, it is a
pattern: * matches any text, ? any character, [ab] a or b. A line has the address range,
the name, and the file and line where the function starts.""",
)
def find(values: Values) -> int:
    """Print the functions of each name; the exit code is 3 for misses under STRICT."""
    missed = False
    show, fields = text_names(values), json_names(values)
    path, arch = values.operand("FILE"), values.text(ARCH.name)
    with open_gsym(path, values, arch, read_ahead=True) as reader:
        for name in values.operands("NAME"):
            functions = reader.find(name)
            if not functions:
                missed = True
                warn(f"no function '{name}'", "gsym find")
            for function in functions:
                found = reader.lookup(function.start)
                path, line = _place(found, function)
                end = function.start + function.size
                if values.flag("--json"):
                    record = {"start": function.start, "size": function.size}
                    named = fields(function.name)
                    print_json({**named, **record, "path": path, "line": line})
                else:
                    text = frame_text(show(function.name), printable(path), line)
                    print(f"{function.start:#x}-{end:#x} {text}")
    return EXIT_INCOMPLETE if missed and values.flag("--strict") else 0


def _place(found: Lookup | None, function: FunctionRange) -> tuple[str, int]:
    if found is None or found.function.name != function.name:
        return "", 0
    frame = found.frames[-1]
    return frame.path, frame.line
