"""A symbolized paste as HTML, for browsers without JavaScript."""

from __future__ import annotations

from html import escape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gsym.symbolication.page_records import CallShown
    from gsym.symbolication.paste_answer import FrameAnswer, PasteAnswer

_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>gsym: {form}</title>
<link rel="stylesheet" href="page/files/page.css">
<body>
<main>
<h1>{form}</h1>
<p><a href="./">Another paste</a></p>
{notes}<pre class="plain">{stack}</pre>
</main>
</body>
</html>
"""


def answer_page(answer: PasteAnswer) -> str:
    """The whole page; each text is escaped."""
    names = [module.name for module in answer.modules]
    parts = [
        escape(part) if isinstance(part, str) else _frame(answer.frames[part], names)
        for part in answer.parts
    ]
    missing = [
        f"{module.name}: {module.reason}" for module in answer.modules if module.reason
    ]
    notes = "".join(f"<p>{escape(note)}</p>\n" for note in [*answer.notes, *missing])
    return _PAGE.format(form=escape(answer.form), notes=notes, stack="".join(parts))


def _frame(frame: FrameAnswer, names: list[str]) -> str:
    if not frame.calls:
        return escape(frame.text)
    *inlined, function = frame.calls
    place = f"{names[frame.module]}+{frame.address}"
    text = f"<b>{escape(function.function)}</b>{_place(function)} {escape(place)}"
    if not inlined:
        return text
    rows = "\n".join(f"    {escape(c.function)}{_place(c)}" for c in inlined)
    return (
        f"<details><summary>{text} ({len(inlined)} inlined)</summary>{rows}</details>"
    )


def _place(call: CallShown) -> str:
    if not call.file:
        return ""
    return escape(f" {call.file}:{call.line}" if call.line else f" {call.file}")
