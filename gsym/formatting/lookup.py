"""Answers as `gsym lookup` prints them."""

from __future__ import annotations

from gsym.formatting.formatter import PLAIN_NUMBERS, Style

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_OUTSIDE = "not an address of this module"
_REASON = (
    f"<?outside>{_OUTSIDE}<:><?damaged>damaged record: <error>"
    "<:>no function covers this address</></>"
)
_PLACE = "<name><?offset> + <offset></><?path> at <path>:<?line><line><:>?</></>"


def text_style(
    *, escape: Callable[[bytes], bytes], demangle: bool, merged: bool
) -> Style:
    """The style for people: a line for each frame.

    Args:
        escape: Makes names and paths printable.
        demangle: Print names of functions as people write them.
        merged: Show the functions that were merged into one as well.
    """
    frame = f"{_PLACE}<?inlined> [inlined]</>"
    others = (
        "<*merged>\n<indent>same code: "
        f"<*frames><?later>\n<indent>           </>{frame}</></>"
    )
    return Style(
        f"<address>: <?found><*frames><?later>\n<indent></>{frame}</>"
        "<?patterns>\n<indent>calls <*patterns><?later>, </><pattern></></>"
        f"{others if merged else ''}<:>?? ({_REASON})</>\n",
        numbers=PLAIN_NUMBERS,
        escape=escape,
        demangle=demangle,
        merged=merged,
    )


def line_style(
    *, escape: Callable[[bytes], bytes], demangle: bool, merged: bool
) -> Style:
    """The style for line-oriented tools: one line for each address.

    Args:
        escape: Makes names and paths printable.
        demangle: Print names of functions as people write them.
        merged: Show the functions that were merged into one as well.
    """
    frames = f"<*frames><?later> <<- </>{_PLACE}</>"
    others = f"<*merged> = {frames}</>"
    return Style(
        f"<address>: <?found>{frames}{others if merged else ''}<:>?? ({_REASON})</>\n",
        numbers=PLAIN_NUMBERS,
        escape=escape,
        demangle=demangle,
        merged=merged,
    )


def json_style(*, demangle: bool | None, merged: bool) -> Style:
    """The style for programs: a JSON object on a line for each address.

    Args:
        demangle: Print names of functions as people write them; None: in a field
            `demangled` after each name.
        merged: Show the functions that were merged into one as well.
    """
    from gsym.formatting.json_text import ascii_text

    answer = (
        '"function": {"name": "<function>", "start": <start>, "size": <size>}, '
        '"frames": [<*frames><?later>, </>{"name": "<name>", '
        '"directory": "<directory>", "filename": "<filename>", "line": <line>, '
        '"offset": <offset>, "inlined": <?inlined>true<:>false</>}</>]'
        '<?patterns>, "call_site_patterns": '
        '[<*patterns><?later>, </>"<pattern>"</>]</>'
    )
    others = f'<?merged>, "merged": [<*merged><?later>, </>{{{answer}}}</>]</>'
    return Style(
        f'{{"address": <address_decimal>, <?found>{answer}{others if merged else ""}'
        f'<:>"function": null, "frames": [], "reason": "{_REASON}"</>}}\n',
        numbers=PLAIN_NUMBERS,
        json=True,
        escape=ascii_text,
        demangle=demangle is not False,
        separator=b'", "demangled": "' if demangle is None else b"",
        merged=merged,
    )


def outside_answer(address: int, style: Style) -> bytes:
    """The answer to a number of more than 64 bits, which the engine cannot take."""
    if style.json:
        return b'{"address": %d, "function": null, "frames": [], "reason": "%b"}\n' % (
            address,
            _OUTSIDE.encode(),
        )
    return b"%#x: ?? (%b)\n" % (address, _OUTSIDE.encode())
