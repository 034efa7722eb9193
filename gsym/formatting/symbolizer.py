"""The output styles of llvm-symbolizer: LLVM, GNU and JSON.

Data that a GSYM file lacks is printed as missing: column 0, no start line of functions,
no discriminators.
"""

from __future__ import annotations

from gsym.engine.native import to_bytes
from gsym.formatting.formatter import Style
from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable


class SymbolizerOutput(NamedTuple):
    """The options of an output style."""

    json: bool = False  # print JSON
    gnu: bool = False  # omit what GNU addr2line does not print
    addresses: bool = False  # print the address before each answer
    functions: bool = True  # print function names
    inlines: bool = True  # print all frames; otherwise a single one
    outer_name: bool = True  # the single frame has the name of the outermost function
    pretty: bool = False  # print a frame on one line
    verbose: bool = False  # print a line for each part of a frame
    basenames: bool = False  # print files without their directories
    demangle: bool = True  # demangle function names
    has_source: bool = False  # insert marks for source lines

    @property
    def footer(self) -> str:
        """The end of an answer, except in JSON."""
        return "" if self.gnu else "\n"

    @property
    def path(self) -> str:
        """The field of a path."""
        return "filename" if self.basenames else "path"

    @property
    def frame(self) -> str:
        """The template of one frame."""
        path = self.path
        if self.json:
            return _json_frame(
                f"<{path}>",
                "<name>" if self.functions else "",
                "<line><source>" if self.has_source else "<line>",
                "<frame_start>",
            )
        start = "" if self.gnu else "  Function start address: <frame_start>\n"
        name = self._name("<?name><name><:>??</>", "<?later> (inlined by) </>")
        file = f"<?{path}><{path}><:>??</>"
        return name + self._place(file, "<line>", start) + self._mark

    @property
    def unknown_frame(self) -> str:
        """The text for an unknown frame."""
        if self.json:
            return _json_frame("", "", "0", "")
        return self._name("??", "") + self._place("??", "0", "")

    @property
    def _mark(self) -> str:
        return "<source>" if self.has_source and not self.verbose else ""

    def _name(self, name: str, inlined: str) -> str:
        if not self.functions:
            return ""
        return f"{inlined}{name} at " if self.pretty else f"{name}\n"

    def _place(self, file: str, line: str, start: str) -> str:
        if self.verbose:
            return f"  Filename: {file}\n{start}  Line: {line}\n  Column: 0\n"
        return f"{file}:{line}\n" if self.gnu else f"{file}:{line}:0\n"


def address_style(
    output: SymbolizerOutput,
    module: str,
    escape: Callable[[bytes], bytes] | None = None,
) -> Style:
    """The style of answers to addresses."""
    loop = "*combined" if output.outer_name else "*innermost"
    if output.inlines:
        loop = "*frames"
    if output.json:
        comma = "<?later>,</>"
        name = _json_text(to_bytes(module)).decode().replace("<", "<<")
        template = (
            f'{{"Address":"<address>","ModuleName":"{name}","Symbol":[<?found>'
            f"<{loop}>{comma}{output.frame}</><:>{output.unknown_frame}</>]}}\n"
        )
    else:
        address = "<address>: " if output.pretty else "<address>\n"
        template = (
            f"{address if output.addresses else ''}<?found><{loop}>{output.frame}</>"
            f"<:>{output.unknown_frame}</>{output.footer}"
        )
    return _style(template, output, escape)


def location_style(
    output: SymbolizerOutput, escape: Callable[[bytes], bytes] | None = None
) -> Style:
    """The style of the place of a symbol: nothing where no file is known."""
    template = f"<*combined><?{output.path}>{output.frame}</></>"
    return _style(template, output, escape)


def _style(
    template: str, output: SymbolizerOutput, escape: Callable[[bytes], bytes] | None
) -> Style:
    return Style(
        template,
        json=output.json,
        demangle=output.demangle and output.functions,
        escape=_json_text if output.json else escape,
    )


def _json_frame(file: str, name: str, line: str, start: str) -> str:
    return (
        f'{{"Column":0,"Discriminator":0,"FileName":"{file}","FunctionName":"{name}",'
        f'"Line":{line},"StartAddress":"{start}","StartFileName":"","StartLine":0}}'
    )


def _json_text(raw: bytes) -> bytes:
    """*raw* as JSON string contents; invalid UTF-8 is replaced."""
    import json

    text = json.dumps(raw.decode("utf-8", "replace"), ensure_ascii=False)
    return text[1:-1].encode()
