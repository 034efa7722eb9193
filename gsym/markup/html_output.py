"""A log as a self-contained page, with details of each element on hover."""

from __future__ import annotations

from html import escape

from gsym.engine.native import to_bytes
from gsym.lazy import regex
from gsym.markup.colours import ANY_SGR
from gsym.markup.outputs import Output
from gsym.markup.parser import Element, HexDict, Token

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Buffer

    from gsym.markup.answers import Answer

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
pre { font: 13px/1.45 ui-monospace, monospace; white-space: pre-wrap;
  overflow-wrap: anywhere }
.e { color: light-dark(#0550ae, #79c0ff); cursor: help }
.s .e { color: inherit }
.e > span { display: none; position: absolute; z-index: 1; left: 1em;
  min-width: min(20em, 80vw); max-width: calc(100vw - 4em); width: max-content;
  padding: .4em .7em; font-weight: normal;
  color: CanvasText; background: Canvas; border: 1px solid; border-radius: 4px;
  pointer-events: none }
.e:hover > span, .e:focus > span { display: block }
@media (hover: hover) { .e:focus > span { pointer-events: auto } }
.bold { font-weight: bold }
.c0 { color: light-dark(#000, #999) } .c1 { color: light-dark(#b00, #f77) }
.c2 { color: light-dark(#060, #5c5) } .c3 { color: light-dark(#740, #dc5) }
.c4 { color: light-dark(#04b, #8af) } .c5 { color: light-dark(#909, #e7e) }
.c6 { color: light-dark(#066, #5cc) } .c7 { color: light-dark(#666, #eee) }
</style>
<pre>
"""
# Closes the page.
HTML_END = b"</pre>\n</html>\n"

_COLOURS = frozenset(b"%d" % number for number in range(30, 38))
_OF_MANY = frozenset({b"38", b"48"})  # followed by the number of a colour
# Changes of colour; the end of a line resets them.
_LOOK = regex(ANY_SGR.pattern + rb"|\n")


class HtmlOutput(Output):
    """The log in a `pre` element, escaped, with its colours."""

    form = "html"

    def __init__(self, write: Callable[[Buffer], object] | None = None) -> None:
        super().__init__(write)
        self.put(_BEGIN.encode("ascii"))
        self._colour = ""  # of text, as class names
        self._bold = ""

    @staticmethod
    def quoted(text: bytes) -> bytes:
        """A text, escaped for HTML."""
        return _escaped(text).encode()

    def text(self, text: bytes) -> None:
        """Text of the log."""
        at = 0
        if self._colour or self._bold or b"\x1b" in text:
            for code in _LOOK.finditer(text):
                is_end = code[0] == b"\n"
                end = code.end() if is_end else code.start()
                self._put_styled(_escaped(text[at:end]))
                self._change_look(b"0" if is_end else code[0][2:-1])
                at = code.end()
        self._put_styled(_escaped(text[at:]))

    def element(
        self, token: Token, element: Element, shown: bytes, answer: Answer | None
    ) -> None:
        """The text of an element, with details on hover and on tap."""
        if not isinstance(element, HexDict):
            self._put_styled(_marked(shown, _detail(token.text, answer)))
            return
        at = 0
        # The offsets of values are valid if nothing was inserted between them.
        is_plain = shown == to_bytes(element.text)
        for value in answer.values if answer is not None and is_plain else ():
            self.text(shown[at : value.start])
            self._put_styled(_marked(shown[value.start : value.end], value.place))
            at = value.end
        self.text(shown[at:])

    def _change_look(self, numbers: bytes) -> None:
        for number in numbers.split(b";"):
            significant = number.lstrip(b"0")
            if significant in _OF_MANY:
                return
            if not significant:
                self._colour = self._bold = ""
            elif significant == b"1":
                self._bold = " bold"
            elif significant in _COLOURS:
                self._colour = f" s c{significant[1:].decode()}"

    def _put_styled(self, text: str) -> None:
        look = self._colour + self._bold
        if text and look:
            text = f'<span class="{look[1:]}">{text}</span>'
        self.put(text.encode())


def _escaped(text: bytes) -> str:
    shown = text.decode("utf-8", "replace")
    # The test costs a tenth of the replacement.
    if text.translate(None, _SPECIAL) == text:
        return shown
    return escape(shown).translate(_CONTROLS)


# Browsers may misinterpret these, or show nothing.
_CONTROLS = {
    code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\t\n\r"
}

_SPECIAL = bytes(_CONTROLS) + b"&<>\"'"


def _marked(text: bytes, detail: bytes) -> str:
    return (
        f'<span class="e" tabindex="0">{_escaped(text)}'
        f'<span role="tooltip">{_escaped(detail)}</span></span>'
    )


def _detail(element: bytes, answer: Answer | None) -> bytes:
    """The tooltip of an element, which is given as in the log."""
    if answer is None or answer.segment is None:
        return element
    module = answer.segment.module
    lines = [
        element,
        b"%s + %#x (%s), build id %s"
        % (
            module.name,
            answer.linked,
            answer.segment.mode,
            module.build_id.hex().encode("ascii"),
        ),
    ]
    lines += [b"%s %s:%d" % frame for frame in answer.frames]
    if answer.symbols is not None and (unsure := answer.symbols.module.unsure):
        lines.append(to_bytes(f"{unsure}: it may be another build"))
    if not answer.frames and not answer.variable:
        lines.append(to_bytes(answer.reason))
    return b"\n".join(lines)
