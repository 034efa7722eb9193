"""The output styles of `gsym lookup`."""

from __future__ import annotations

from gsym.engine.native import lib, to_str
from gsym.formatting.formatter import PLAIN_NUMBERS, Style, command_template

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
    """The default style, a line for each frame, or one line for each address."""
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
    import json

    return json.dumps(to_str(raw))[1:-1].encode()


def json_style(*, demangle: bool | None, merged: bool, unsure: str = "") -> Style:
    """The style for programs: a JSON object on a line for each address.

    Where *demangle* is None, a field `demangled` follows each name.
    """
    reason = command_template(lib.GSYM_STYLE_REASON)
    end = ""
    if unsure:
        import json

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
    import json

    answer = {**asked, "function": None, "frames": [], "reason": reason}
    return json.dumps(answer | ({"unsure": unsure} if unsure else {})).encode() + b"\n"
