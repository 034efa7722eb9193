"""Collapsed stacks -> `Profile`: `main;work;leaf 12`, one stack a line, from the root.

What flamegraph.pl, inferno, py-spy, async-profiler, heaptrack and `gsym trace convert`
write; two values a line, as difffolded.pl writes; and what austin writes, in which the
process, the thread and the frames have forms of their own. Native frames of austinp
have an address, the nearest symbol that is exported, and the bytes from it.
"""

from __future__ import annotations

import re
from decimal import Decimal
from functools import cache
from itertools import chain, islice

from gsym.errors import FormatError
from gsym.lazy import regex
from gsym.profiles.input_bytes import lines_of, read_pieces
from gsym.profiles.model import (
    MOST_FRAMES,
    SAMPLES,
    SPACE,
    Frame,
    Mapping,
    ProfileBuilder,
    Thread,
    ValueType,
    placed_frame,
    scaled_values,
)
from gsym.profiles.recognition import (
    AUSTIN_THREAD,
    COLLAPSED_STACK,
    COMMENT,
    NUMBER,
    stack_lines,
)

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from gsym.profiles.model import Profile
    from gsym.profiles.opening import ProfileOptions

_AUSTIN_COMMENT = regex(r"#\s*(?P<name>austin|mode)\s*:\s*(?P<value>\S+)")
_AUSTIN_FRAME = regex(r"(?P<path>.*):(?P<name>[^:]+):(?P<line>\d{1,9})")
_AUSTIN_MAP = regex(
    r"#\s*map\s*:\s*(?P<start>[\da-f]{1,16})-(?P<limit>[\da-f]{1,16}) (?P<path>/.*)"
)
_NATIVE_FRAME = regex(r"native@(?P<address>[\da-f]{1,16}):(?P<name>.+):\d{1,9}")
_AUSTIN_VALUES = {
    "wall": (ValueType("wall", "microseconds"),),
    "cpu": (ValueType("cpu", "microseconds"),),
    "memory": (SPACE,),
    "full": (ValueType("wall", "microseconds"), ValueType("idle", "count"), SPACE),
}
_TWO_VALUES = regex(
    rf"(?P<frames>.*\S)[ \t]+(?P<values>{NUMBER}[ \t]+{NUMBER})", re.ASCII
)
_HEAD = 256  # lines that say how many values there are
_BEFORE_AND_AFTER = (ValueType("before", "count"), ValueType("after", "count"))


def read_collapsed(path: str, options: ProfileOptions) -> Profile:
    """The profile in a file of collapsed stacks; other lines are counted."""
    lines = lines_of(read_pieces(path, options.most_bytes))
    first = list(islice(lines, _HEAD))
    reader = _Reader(has_two=all(map(_TWO_VALUES.fullmatch, stack_lines(first))))
    for number, line in enumerate(chain(first, lines), 1):
        text = line.strip()
        if text.startswith(COMMENT):
            reader.comment(text)
        elif text and not reader.add(line.rstrip()):
            reader.builder.profile.lose("lines that are no stack with a value")
        if reader.depth > MOST_FRAMES:
            raise FormatError(f"line {number} has more than {MOST_FRAMES} frames")
    scaled_values(reader.builder, reader.values)
    return reader.builder.profile


class _Reader:
    """Makes samples of lines."""

    def __init__(self, *, has_two: bool) -> None:
        self.builder = ProfileBuilder(_BEFORE_AND_AFTER if has_two else (SAMPLES,))
        self.depth = 0
        self._function = cache(self._read_function)
        self.values: list[list[Decimal]] = []  # of all samples
        self._has_two = has_two
        self._is_austin = False
        self._maps: list[Mapping] = []

    def comment(self, text: str) -> None:
        """Keep what austin says of its values and of mapped modules."""
        if mapped := _AUSTIN_MAP.fullmatch(text):
            start, limit = (int(mapped[each], 16) for each in ("start", "limit"))
            self._add_map(start, limit, mapped["path"])
        found = _AUSTIN_COMMENT.match(text)
        self._is_austin |= found is not None and found["name"] == "austin"
        if found is not None and self._is_austin:
            if found["name"] == "mode" and not self.values:
                kinds = _AUSTIN_VALUES.get(found["value"], (SAMPLES,))
                self.builder.profile.value_types = kinds
            self.builder.profile.comments.append(text[1:].strip())

    def add(self, text: str) -> bool:
        """Add the sample of a line; False if it is none."""
        found = (_TWO_VALUES if self._has_two else COLLAPSED_STACK).fullmatch(text)
        if found is None:
            return False
        # py-spy writes only a blank and a number for samples without functions.
        frames, thread = found["frames"].lstrip(), None
        numbers = found["values"].replace(",", " ").split()
        if len(numbers) != len(self.builder.profile.value_types):
            return False
        known = AUSTIN_THREAD.match(frames)
        if known is not None:
            self._is_austin = True
            numbered = Thread(int(known["process"]), int(known["thread"]))
            thread, frames = self.builder.thread(numbered), frames[known.end() :]
        # heaptrack ends a stack with a semicolon.
        names = [name for name in frames.split(";") if name]
        self.depth = len(names)
        stack = [self._function(name) for name in reversed(names)]
        if names and self._maps:
            stack[0] = self._read_function(names[-1], is_caller=False)
        self.values.append([Decimal(number) for number in numbers])
        self.builder.sample(self.builder.stack(stack), (), thread=thread)
        return True

    def _add_map(self, start: int, limit: int, path: str) -> None:
        # The parts of a module follow each other, the first one has its base.
        last = self._maps[-1] if self._maps else None
        if last is not None and last.path == path and last.limit <= start:
            self._maps[-1] = last._replace(limit=limit)
        else:
            module = Mapping(start, limit, link_start=0, path=path, is_relative=True)
            self._maps.append(module)

    def _read_function(self, name: str, *, is_caller: bool = True) -> int:
        frame = placed_frame(name)
        if self._is_austin and (found := _NATIVE_FRAME.fullmatch(name)):
            address = int(found["address"], 16)
            covers = (
                self.builder.mapping(each)
                for each in self._maps
                if each.start <= address - is_caller < each.limit
            )
            return self.builder.location(
                address,
                next(covers, None),
                is_return=is_caller,
                frames=(Frame(found["name"]),),
                is_named_only=True,
            )
        if self._is_austin and (found := _AUSTIN_FRAME.fullmatch(name)):
            frame = Frame(found["name"], "", found["path"], int(found["line"]))
        return self.builder.function(frame)
