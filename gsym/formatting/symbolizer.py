"""The output styles of llvm-symbolizer: LLVM, GNU and JSON.

Data that a GSYM file lacks is printed as missing: column 0, no start line of functions,
no discriminators.
"""

from __future__ import annotations

from gsym.engine.native import lib, to_bytes
from gsym.formatting.formatter import Style, command_template
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
    def unknown_frame(self) -> str:
        """The text for an unknown frame."""
        if self.json:
            return _json_frame("", "", "0", "")
        return self.template(lib.GSYM_STYLE_SYMBOLIZER_UNKNOWN)

    @property
    def json_frame(self) -> str:
        """The template of one frame in JSON."""
        return _json_frame(
            f"<{self.path}>",
            "<name>" if self.functions else "",
            "<line><source>" if self.has_source else "<line>",
            "<frame_start>",
        )

    def template(self, style: int) -> str:
        """The template of a style of text."""
        flags = (
            self.gnu * lib.GSYM_STYLE_GNU
            | self.addresses * lib.GSYM_STYLE_ADDRESSES
            | self.functions * lib.GSYM_STYLE_FUNCTIONS
            | self.inlines * lib.GSYM_STYLE_INLINES
            | self.outer_name * lib.GSYM_STYLE_OUTER_NAME
            | self.pretty * lib.GSYM_STYLE_PRETTY
            | self.verbose * lib.GSYM_STYLE_VERBOSE
            | self.basenames * lib.GSYM_STYLE_BASENAMES
            | self.has_source * lib.GSYM_STYLE_SOURCE
        )
        return command_template(style, flags)


def address_style(
    output: SymbolizerOutput,
    module: str,
    escape: Callable[[bytes], bytes] | None = None,
) -> Style:
    """The style of answers to addresses."""
    if not output.json:
        template = output.template(lib.GSYM_STYLE_SYMBOLIZER)
        return _style(template, output, escape)
    loop = "*combined" if output.outer_name else "*innermost"
    if output.inlines:
        loop = "*frames"
    name = _json_text(to_bytes(module)).decode().replace("<", "<<")
    template = (
        f'{{"Address":"<address>","ModuleName":"{name}","Symbol":[<?found>'
        f"<{loop}><?later>,</>{output.json_frame}</><:>{output.unknown_frame}</>]}}\n"
    )
    return _style(template, output, escape)


def location_style(
    output: SymbolizerOutput, escape: Callable[[bytes], bytes] | None = None
) -> Style:
    """The style of the place of a symbol: nothing where no file is known."""
    if output.json:
        template = f"<*combined><?{output.path}>{output.json_frame}</></>"
    else:
        template = output.template(lib.GSYM_STYLE_SYMBOLIZER_LOCATION)
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
