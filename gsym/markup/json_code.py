"""Code locations as JSON: what `json` would print, in a fraction of its time."""

from __future__ import annotations

import json

from gsym.engine.native import to_str
from gsym.markup.elements import Backtrace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gsym.markup.address_space import LoadedModule
    from gsym.markup.answers import Answer

_MOST_BYTES = 1 << 22  # of texts that are kept


class CodeText:
    """Makes the text of elements that are frames or code locations."""

    def __init__(self) -> None:
        self._quoted = _Quoted()
        self._module: LoadedModule | None = None
        self._module_text = ""

    def of(self, answer: Answer) -> str:
        """The keys and values of an element, from its tag on.

        Args:
            answer: For a `bt` or a `pc` in a module.
        """
        element, segment = answer.element, answer.segment
        assert segment is not None  # noqa: S101 - the caller says so
        if segment.module is not self._module:
            self._module = segment.module
            self._module_text = (
                f'"module": {self._quoted[segment.module.name]}, '
                f'"build_id": "{segment.module.build_id.hex()}"'
            )
        if isinstance(element, Backtrace):
            begin = f'"element": "bt", "frame": {element.frame}, '
            end = '"message": "", '
        else:
            begin, end = '"element": "pc", ', ""
        return (
            f'{begin}"address": "{element.address:#x}", "kind": "{element.kind}", '  # type: ignore[union-attr]
            f'{end}"looked_up": "{answer.looked_up:#x}", {self._module_text}, '
            f'"linked_address": "{answer.linked:#x}", {self._frames(answer)}'
        )

    def _frames(self, answer: Answer) -> str:
        quoted = self._quoted
        frames = [
            f'{{"function": {quoted[function]}, '
            f'"file": {quoted[file] if file else "null"}, "line": {line or "null"}}}'
            for function, file, line in answer.frames
        ]
        if frames:
            return f'"frames": [{", ".join(frames)}]'
        reason = answer.symbols.reason if answer.symbols is not None else ""
        return (
            f'"frames": [], "reason": {_quote(reason or "no symbol at this address")}'
        )


class _Quoted(dict[bytes, str]):
    """Texts as JSON; forgotten when they are too many."""

    __slots__ = ("_size",)

    def __init__(self) -> None:
        self._size = 0

    def __missing__(self, text: bytes) -> str:
        if self._size > _MOST_BYTES:
            self.clear()
            self._size = 0
        self._size += len(text)
        quoted = self[text] = _quote(to_str(text))
        return quoted


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
