"""A log as a page by itself: what stands in place of an element shows its details."""

from __future__ import annotations

from html import escape

from gsym._native import to_bytes, to_str
from gsym.formats.markup_elements import HexDict

__all__ = ["HTML_END", "HtmlOutput"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gsym.formats.markup import Fault, Token
    from gsym.formats.markup_elements import Element
    from gsym.markup_filter.answers import Answer

_BEGIN = """\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; style-src 'unsafe-inline'">
<title>Log</title>
<style>
:root { color-scheme: light dark }
pre { font: 13px/1.45 ui-monospace, monospace; white-space: pre-wrap }
.e { position: relative; color: light-dark(#0550ae, #79c0ff); cursor: help }
.e > span { display: none; position: absolute; z-index: 1; left: 0; top: 1.5em;
  min-width: 20em; max-width: 90vw; width: max-content; padding: .4em .7em;
  color: CanvasText; background: Canvas; border: 1px solid; border-radius: 4px }
.e:hover > span, .e:focus > span { display: block }
</style>
<pre>
"""
# Closes the page.
HTML_END = b"</pre>\n</html>\n"


class HtmlOutput:
    """The log in a `pre`, every byte of it escaped."""

    run = None

    def __init__(self) -> None:
        self._parts = [_BEGIN]

    def begin_line(self, number: int, line: bytes) -> None:
        """Lines need no numbers."""

    def text(self, text: bytes) -> None:
        """Text of the log."""
        self._parts.append(_escaped(text))

    def element(
        self, token: Token, element: Element, shown: bytes, answer: Answer | None
    ) -> None:
        """What stands in place of an element; details on hover, and on a tap."""
        if not isinstance(element, HexDict):
            self._parts.append(_marked(shown, _detail(token, answer)))
            return
        at = 0
        # The places of values are right where nothing was put between them.
        is_plain = shown == to_bytes(element.text)
        for value in answer.values if answer is not None and is_plain else ():
            self._parts.append(_escaped(shown[at : value.start]))
            detail = to_str(value.place)
            self._parts.append(_marked(shown[value.start : value.end], detail))
            at = value.end
        self._parts.append(_escaped(shown[at:]))

    def context(self, token: Token, element: Element) -> None:
        """The line on the module says all."""

    def malformed(self, token: Token, fault: Fault) -> None:
        """It is told elsewhere."""

    def take(self) -> bytes:
        """What has come since the last time."""
        text = "".join(self._parts)
        self._parts.clear()
        return text.encode("utf-8", "replace")


def _escaped(text: bytes) -> str:
    return escape(text.decode("utf-8", "replace")).translate(_CONTROLS)


# A browser may take these for something else, or show nothing.
_CONTROLS = {
    code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\t\n\r"
}


def _marked(text: bytes, detail: str) -> str:
    """Text that shows a detail."""
    return (
        f'<span class="e" tabindex="0">{_escaped(text)}'
        f'<span role="tooltip">{_escaped(to_bytes(detail))}</span></span>'
    )


def _detail(token: Token, answer: Answer | None) -> str:
    lines = [token.text.decode("utf-8", "replace")]
    if answer is not None and answer.segment is not None:
        module = answer.segment.module
        lines.append(
            f"{to_str(module.name)} + {answer.linked:#x}"
            f" ({to_str(answer.segment.mode)}), build id {module.build_id.hex()}"
        )
        lines += [
            f"{to_str(frame.function)} {to_str(frame.file)}:{frame.line}"
            for frame in answer.frames
        ]
    return "\n".join(lines)
