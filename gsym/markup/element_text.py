"""The text that replaces an element, in each style."""

from __future__ import annotations

from gsym.engine.native import to_bytes
from gsym.markup.parser import Backtrace, Data, Token
from gsym.markup.symbols import Location

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from gsym.markup.address_space import LoadedModule, Segment
    from gsym.markup.answers import Answer
    from gsym.markup.colours import Colours
    from gsym.markup.settings import Style

_INVALID = b"<invalid>"
_NOWHERE = Location()
_INDEX_WIDTH = 9  # of a frame in Fuchsia's format


class ElementText:
    """Formats elements."""

    def __init__(self, style: Style, colours: Colours) -> None:
        self._style = style
        self._colours = colours

    def raw(self, token: Token) -> bytes:
        """An unresolved element, in brackets."""
        colours = self._colours
        parts = b":".join(map(colours.value, (token.tag, *token.fields)))
        return b"%s[[[%s]]]%s" % (colours.begin(), parts, colours.end())

    def plain(self, text: bytes) -> bytes:
        """A name that replaces an element."""
        return self._colours.begin() + text + self._colours.end()

    def answer(self, answer: Answer, token: Token, between: bytes) -> bytes:
        """An address that was looked up."""
        element = answer.element
        if isinstance(element, Backtrace):
            return self._backtrace(answer, element, token, between)
        if answer.segment is None:
            return self.raw(token)
        if isinstance(element, Data):
            if self._style.has_columns:
                return self.plain(answer.variable[0] if answer.variable else _INVALID)
            if answer.variable:
                return self.plain(_with_offset(*answer.variable))
            return self.plain(b"%s+0x%x" % (answer.segment.module.name, answer.linked))
        return self._pc(answer, token, answer.segment)

    def place(self, answer: Answer) -> bytes:
        """The symbols at an address in one line; b"" for an address in no segment."""
        if answer.segment is None:
            return b""
        at = b"(%s+0x%x)" % (answer.segment.module.name, answer.linked)
        if answer.frames:
            frames = b" inlined in ".join(map(_source_line, answer.frames))
            return b"%s %s" % (frames, at)
        if answer.variable:
            return b"%s %s" % (_with_offset(*answer.variable), at)
        return at

    def module_begin(self, module: LoadedModule, *, is_new: bool) -> bytes:
        """The beginning of the line about a module; its segments follow."""
        colours = self._colours
        text = b'%s[[[ELF module%s"%s"' % (
            colours.begin(),
            colours.value(b" #0x%x " % module.id),
            colours.value(module.name),
        )
        if not is_new:
            return text + b"; adds"
        build_id = module.build_id.hex().encode("ascii")
        return text + b"; BuildID=" + colours.value(build_id)

    def module_end(self, segments: list[Segment], ending: bytes) -> bytes:
        """The end of that line."""
        colours = self._colours
        listed = b",".join(
            b"[%s-%s](%s)"
            % (
                colours.value(b"0x%x" % segment.start),
                colours.value(b"0x%x" % segment.last),
                colours.value(segment.mode),
            )
            for segment in sorted(segments, key=lambda segment: segment.start)
        )
        space = b" " if listed else b""
        return space + listed + b"]]]" + ending + colours.end()

    def module_base(self, module: LoadedModule, base: int) -> bytes:
        """The line about a module with its load address only."""
        return b'[[[ELF module #0x%x "%s" BuildID=%s 0x%x]]]' % (
            module.id,
            module.name,
            module.build_id.hex().encode("ascii"),
            base,
        )

    def _backtrace(
        self, answer: Answer, element: Backtrace, token: Token, between: bytes
    ) -> bytes:
        if not self._style.lists_segments:
            return _fuchsia_frames(answer, element, between)
        if answer.segment is None:
            return self.raw(token)
        colours, value = self._colours, self._colours.value
        shown = answer.looked_up if self._style.shows_adjusted else element.address
        frames = answer.frames or (_NOWHERE,)
        lines = []
        for at, frame in enumerate(frames, 1):
            number = b"%d" % element.frame
            is_outermost = at == len(frames)
            depth = b"   " if is_outermost else b"." + value(b"%-2d" % at)
            lines.append(
                b"%s#%s%s%s%s(%s+%s)"
                % (
                    b" " * (5 - len(number)),
                    value(number),
                    depth,
                    value(b" 0x%016x " % shown),
                    self._location(frame) if answer.frames else b"",
                    value(answer.segment.module.name),
                    value(b"0x%x" % answer.linked),
                )
            )
        return colours.begin() + between.join(lines) + colours.end()

    def _location(self, frame: Location) -> bytes:
        value = self._colours.value
        if self._style.has_columns:
            return b"%s %s:%s:%s " % (
                value(frame.function or _INVALID),
                value(frame.file or _INVALID),
                value(b"%d" % frame.line),
                value(b"0"),
            )
        text = value(frame.function) + b" " if frame.function else b""
        if frame.file:
            text += b"%s:%s " % (value(frame.file), value(b"%d" % frame.line))
        return text

    def _pc(self, answer: Answer, token: Token, segment: Segment) -> bytes:
        value = self._colours.value
        if not answer.frames:
            if self._style.has_columns:
                return self.raw(token)
            return self.plain(b"%s+0x%x" % (segment.module.name, answer.linked))
        inner = answer.frames[0]
        named = answer.frames[-1] if self._style.pc_is_outermost else inner
        if self._style.has_columns:
            name, file = named.function or _INVALID, inner.file or _INVALID
        elif inner.file:
            name, file = named.function, inner.file
        else:
            return self.plain(value(named.function))
        place = b"%s:%s" % (value(file), value(b"%d" % inner.line))
        return self.plain(b"%s[%s]" % (value(name), place))


def _with_offset(name: bytes, offset: int) -> bytes:
    return b"%s+0x%x" % (name, offset) if offset else name


def _source_line(frame: Location) -> bytes:
    if not frame.file:
        return frame.function
    return b"%s %s:%d" % (frame.function, frame.file, frame.line)


def _fuchsia_frames(answer: Answer, element: Backtrace, between: bytes) -> bytes:
    """Frames as Fuchsia's symbolizer prints them; the innermost counts highest."""
    message = b" " + to_bytes(element.message) if element.message else b""
    address = element.address
    if answer.segment is None:
        text = b"0x%016x is not covered by any module%s" % (address, message)
        return b"   #%-5d%s" % (element.frame, text)
    linked = answer.segment.linked(address)
    location = b"<%s>+0x%x%s" % (answer.segment.module.name, linked, message)
    frames = answer.frames or (_NOWHERE,)
    lines = []
    for at, frame in enumerate(frames):
        depth = len(frames) - 1 - at
        index = b"   #%d.%d" % (element.frame, depth) if depth else b""
        index = index or b"   #%d" % element.frame
        place = _source_line(frame) + b" " if answer.frames else b""
        lines.append(
            b"%s0x%016x in %s%s" % (index.ljust(_INDEX_WIDTH), address, place, location)
        )
    return between.join(lines)
