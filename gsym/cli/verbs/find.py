"""`gsym find`: names -> functions."""

from __future__ import annotations

from gsym.cli import options
from gsym.cli.grammar import Command, Values
from gsym.cli.gsym_input import open_gsym
from gsym.cli.program import EXIT_INCOMPLETE
from gsym.cli.terminal import print_json, printable, warn
from gsym.model import FunctionRange, frame_text
from gsym.reading.named_address import Place, functions_named, place_in, split_name

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gsym.reading.reader import Reader


@Command(
    "gsym find",
    (
        options.GSYM_FILE,
        """\
NAME...  name of a function, as the linker knows it or demangled, or FUNCTION+OFFSET""",
        options.ARCH,
        options.JSON,
        options.DEMANGLE,
        options.STRICT,
        options.VERBOSE,
    ),
    """\
A demangled NAME may omit the parameters. If no function is called NAME, it is a
pattern: * matches any text, ? any character, [ab] a or b. A line has the address range,
the name, and the file and line where the function starts, or those of the OFFSET.""",
)
def find(values: Values) -> int:
    """Print the functions of each name; the exit code is 3 for misses under STRICT."""
    missed = False
    show, fields = options.text_names(values), options.json_names(values)
    path, arch = values.operand("FILE"), values.text("--arch")
    with open_gsym(path, values, arch, read_ahead=True) as reader:
        for name in values.operands("NAME"):
            functions, offset = _found(reader, name)
            if not functions:
                missed = True
                warn(f"no function '{name}'", "gsym find")
            for function in functions:
                place = place_in(reader, function, function.start + offset)
                path, line = _line_of(place)
                end = function.start + function.size
                if values.flag("--json"):
                    record = {"start": function.start, "size": function.size}
                    named = fields(function.name)
                    print_json({**named, **record, "path": path, "line": line})
                else:
                    text = frame_text(show(function.name), printable(path), line)
                    print(f"{function.start:#x}-{end:#x} {text}")
    return EXIT_INCOMPLETE if missed and values.flag("--strict") else 0


def _found(reader: Reader, name: str) -> tuple[Sequence[FunctionRange], int]:
    """The functions that a name is of, and the offset in them."""
    found = functions_named(reader, name)
    named = None if found else split_name(name)
    if named is None:
        return found, 0
    offset = named[1]
    inside = functions_named(reader, named[0])
    return [each for each in inside if offset < max(each.size, 1)], offset


def _line_of(place: Place) -> tuple[str, int]:
    found = place.reader.lookup(place.address)
    if found is None or found.function.name != place.function.name:
        return "", 0
    frame = found.frames[-1]
    return frame.path, frame.line
