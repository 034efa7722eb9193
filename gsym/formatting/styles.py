"""The output styles of `gsym lookup`, GNU addr2line and llvm-symbolizer.

In the style of llvm-symbolizer, data that a GSYM file lacks is printed as missing:
column 0, no start line of functions, no discriminators.
"""

from __future__ import annotations

from gsym.engine.native import lib, to_bytes, to_str
from gsym.formatting.formatter import (
    HEX_NUMBERS,
    PLAIN_NUMBERS,
    Style,
    command_template,
)
from gsym.lazy import json
from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

OUTSIDE = "not an address of this module"


def text_style(
    *,
    escape: Callable[[bytes], bytes],
    demangle: bool,
    merged: bool,
    oneline: bool = False,
) -> Style:
    """The style of `gsym lookup`, a line for each frame, or one for each address."""
    style = lib.GSYM_STYLE_ONELINE if oneline else lib.GSYM_STYLE_LOOKUP
    return Style(
        command_template(style, merged * lib.GSYM_STYLE_MERGED),
        numbers=PLAIN_NUMBERS,
        escape=escape,
        demangle=demangle,
        merged=merged,
    )


def ascii_text(raw: bytes) -> bytes:
    """*raw* as ASCII JSON string contents; invalid UTF-8 becomes surrogates."""
    return json.dumps(to_str(raw))[1:-1].encode()


def json_style(*, demangle: bool | None, merged: bool, unsure: str = "") -> Style:
    """The style for programs: a JSON object on a line for each address.

    Where *demangle* is None, a field `demangled` follows each name.
    """
    reason = command_template(lib.GSYM_STYLE_REASON)
    end = ""
    if unsure:
        end = f', "unsure": {json.dumps(unsure)}'.replace("<", "<<")
    answer = (
        '"function": {"name": "<function>", "start": <start>, "size": <size>}, '
        '"frames": [<*frames><?later>, </>{"name": "<name>", '
        '"path": "<path>", "directory": "<directory>", "filename": "<filename>", '
        '"line": <line>, "offset": <offset>, "inlined": <?inlined>true<:>false</>}</>]'
        '<?patterns>, "call_site_patterns": '
        '[<*patterns><?later>, </>"<pattern>"</>]</>'
    )
    others = f'<?merged>, "merged": [<*merged><?later>, </>{{{answer}}}</>]</>'
    return Style(
        f'{{"address": <address_decimal>, <?found>{answer}{others if merged else ""}'
        f'<:>"function": null, "frames": [], "reason": "{reason}"</>{end}}}\n',
        numbers=PLAIN_NUMBERS,
        json=True,
        escape=ascii_text,
        demangle=demangle is not False,
        separator=b'", "demangled": "' if demangle is None else b"",
        merged=merged,
    )


def unanswered(
    shown: bytes, asked: Mapping[str, object], reason: str, style: Style, unsure: str
) -> bytes:
    """The answer to what the engine is not asked, as a text and as members of JSON."""
    if not style.json:
        return b"%b: ?? (%b)\n" % (shown, reason.encode())
    answer = {**asked, "function": None, "frames": [], "reason": reason}
    return json.dumps(answer | ({"unsure": unsure} if unsure else {})).encode() + b"\n"


def addr2line_style(  # noqa: PLR0913 - a flag for each of addr2line's
    *,
    addresses: bool = False,
    functions: bool = False,
    inlines: bool = False,
    pretty: bool = False,
    basenames: bool = False,
    demangle: bool = False,
    is_64: bool = True,
    escape: Callable[[bytes], bytes] | None = None,
) -> Style:
    """The style of GNU addr2line for a set of its options.

    Unknown parts are `??`, an unknown line is `?`; `??:0` means no answer.
    """
    flags = (
        addresses * lib.GSYM_STYLE_ADDRESSES
        | (not is_64) * lib.GSYM_STYLE_NARROW
        | functions * lib.GSYM_STYLE_FUNCTIONS
        | inlines * lib.GSYM_STYLE_INLINES
        | pretty * lib.GSYM_STYLE_PRETTY
        | basenames * lib.GSYM_STYLE_BASENAMES
    )
    return Style(
        command_template(lib.GSYM_STYLE_ADDR2LINE, flags),
        numbers=HEX_NUMBERS,
        demangle=demangle and functions,
        escape=escape,
    )


class SymbolizerOutput(NamedTuple):
    """The options of an output style of llvm-symbolizer: LLVM, GNU and JSON."""

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
    """The style of llvm-symbolizer's answers to addresses."""
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
    text = json.dumps(raw.decode("utf-8", "replace"), ensure_ascii=False)
    return text[1:-1].encode()
