"""The layout of a text of `perf script`: the fields in the first line of a sample.

Which fields perf prints depends on its options, and a line alone does not tell them:
in `pool 2 25649 250000 cycles:` the name of the thread may be `pool` or `pool 2`. All
lines of a text have one layout, so it is the one that fits them all, of several the one
with the most fields. After a time the layout is certain, so that lines with it may lack
the period or the event, as those of tracepoints do.

Source: linux, tools/perf/builtin-script.c, `perf_sample__fprintf_start` and
`process_event`.
"""

from __future__ import annotations

import re
from itertools import product

from gsym.lazy import regex
from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

PERF_EVENT = " PERF_RECORD_"
# Comments, and the bytes and fields of records, which perf script -D prints.
NO_SAMPLE = regex(r"#| ?\.{1,64}(?:\s|$)|0x[0-9a-f]{1,16}@", re.ASCII)

# Every repetition is bounded, so that no line takes long. A name of a thread has 15
# bytes, but may have spaces; processes may be named longer.
_GAP = r"\s{1,64}"
_COMMANDS = (rf"(?P<command>\S(?:.{{0,62}}\S)?){_GAP}", "")
_NUMBERS = (
    r"(?P<process>-?\d{1,10})/(?P<thread>-?\d{1,10})(?:\s{1,64}|$)",
    r"(?P<process>-?\d{1,10})(?:\s{1,64}|$)",
    "",
)
_CPU = rf"(?:\[(?P<cpu>\d{{1,6}})\]{_GAP})?"
# Letters for where the code ran, and numbers of a virtual machine.
_MISC = rf"(?:[A-Za-z]{{1,6}}{_GAP})?(?:VM:\d{{1,10}}{_GAP})?(?:VCPU:\d{{1,10}}{_GAP})?"
_TIME = r"(?P<seconds>\d{1,10})\.(?P<fraction>\d{1,9}):"
_PERIOD = r"(?P<period>\d{1,20})"
_EVENT = r"(?P<event>(?:raw )?\S{1,256}):"
_REST = r"(?:\s+(?P<rest>\S.*))?\s*$"
# By the fields that each must have.
_FORMS = {
    "time event": rf"{_MISC}{_TIME}{_GAP}(?:{_PERIOD}{_GAP})?{_EVENT}{_REST}",
    "time period": rf"{_MISC}{_TIME}{_GAP}{_PERIOD}{_REST}",
    "time": rf"{_MISC}{_TIME}{_REST}",
    "period event": rf"{_PERIOD}{_GAP}{_EVENT}{_REST}",
    "event": rf"{_EVENT}{_REST}",
    "period": rf"{_PERIOD}{_REST}",
    "": r"(?P<rest>\S.*)?$",
}
_ENDS = tuple(_CPU + form for form in _FORMS.values())
# Those that `perf script -F` knows, besides others after the event.
_HEAD_FIELDS = {"comm", "pid", "tid", "cpu", "misc", "time", "period", "event"}
_OTHER_FIELDS = {
    *("trace", "ip", "sym", "dso", "dsoff", "addr", "symoff", "srcline", "iregs"),
    *("uregs", "brstack", "brstacksym", "brstackoff", "brstackinsn", "brstackinsnlen"),
    *("brstackdisasm", "brcntr", "flags", "bpf-output", "callindent", "insn", "disasm"),
    *("insnlen", "synth", "phys_addr", "metric", "srccode", "ipc", "weight", "cgroup"),
    *("data_src", "data_page_size", "code_page_size", "ins_lat", "retire_lat"),
    *("machine_pid", "vcpu"),
}
_WITH_EVENT = frozenset({0, 3, 4})
_TIMED = frozenset({0, 1, 2})
_PADDED = 3  # its period is as wide as perf prints it
_WITHOUT_PERIOD = frozenset({4, 6})  # a period may be taken for the number of a thread
_PERIOD_WIDTH = 10
_WEAK = frozenset({5, 6})  # any words may be a layout without time and event
_MAJORITY = 0.5
_MOST_LINES = 1024

# Printed after the address of a sample.
_AFTER = regex(
    r"\s(?:=>.*|(?:insn|ilen|ABI|IPC|bpf-output):.*"
    r"|0x[0-9a-f]{1,16}(?:\([^)]{0,256}\))?/0x[0-9a-f]{1,16}.*)$",
    re.ASCII,
)
_WORD = regex(r"(?<!\S)(?P<address>[0-9a-f]{1,16})(?:\s(?P<what>.*))?$", re.ASCII)
_ADDRESS = regex(r"(?<!\S)[0-9a-f]{1,16}(?!\S)", re.ASCII)
_SURE = regex(r"(?:(?<=  )|(?=[0-9a-f]{8}))", re.ASCII)
# As wide as perf prints one: no word of a name or a tracepoint has as many blanks.
_WIDE = r"(?:(?<=   )|(?=[1-9a-f][0-9a-f]{15}(?!\S)))"
_SURELY = regex(_WIDE, re.ASCII)
_PLAIN = regex(r"\S+\+0x[0-9a-f]{1,16}|", re.ASCII)
# The line below an address: file and line, or module and offset.
_PLACE = regex(r"  \S.*(?::\d{1,9}|\[[0-9a-f]{1,16}\])$", re.ASCII)
_UNKNOWN = "[unknown]"
# An address as perf prints it, of 16 digits with blanks in place of the first zeros.
_PRINTED = regex(r"\t(?=[ 0-9a-f]{16}(?: |$)) {0,15}[0-9a-f]{1,16}(?: |$)")
# The same in the line of a sample; other tools print 0 in place of the blanks.
_PRINTED_INLINE = regex(r" (?=[ 0-9a-f]{16} \S) {0,8}[1-9a-f][0-9a-f]{7,15} ")
_MODULE = regex(r"(?:\([/[].*\)|\(inlined\)|\[unknown\])\s*$")
FRAME = regex(r"\s{0,64}(?P<address>[0-9a-f]{1,16})(?:\s(?P<what>.*))?$", re.ASCII)


class InlineFrame(NamedTuple):
    """The address in the line of a sample."""

    address: int
    what: str
    others: bool


def inline_frame(rest: str) -> InlineFrame | None:
    """The only address of a sample in the text after its event; None without any.

    Before it may be an address of data, with the name of that, and values; after it the
    target of a branch, bytes of the instruction, or other branches. After a tracepoint
    its fields are printed.
    """
    # An empty field at the end of a line lost its blanks.
    text = _AFTER.sub("", f" {rest}").rstrip()
    first = len(text) - len(text.lstrip())
    words = list(_ADDRESS.finditer(text))
    # As perf prints addresses: long, or with blanks before them.
    sure = [
        each
        for each in words
        if each.start() == first or _SURE.match(text, each.start())
    ]
    word = next(iter((*sure[-1:], *words)), None)
    found = None if word is None else _WORD.match(text, word.start())
    if found is None:
        return None
    what = (found["what"] or "").strip()
    is_named = (
        what.endswith((")", _UNKNOWN))
        or _PLAIN.fullmatch(what) is not None
        or _SURELY.match(text, found.start()) is not None
    )
    # A text of addresses alone may have fields between bars.
    is_alone = found.start() == first or all(
        _ADDRESS.fullmatch(each) or "|" in each for each in text.split()
    )
    if not is_named or not (what or is_alone):
        return None
    address = int(found["address"], 16)
    is_rest = text.strip() == rest.strip() and found.start() == first
    return InlineFrame(address, what, others=not is_rest)


def inline_text(head: re.Match[str]) -> str:
    """The text after the event of a sample, with the blanks before it."""
    if not head["rest"]:
        return ""
    return head.string[len(head.string[: head.start("rest")].rstrip()) :]


class Layout:
    """The fields of the first lines of samples."""

    def __init__(
        self, command: str, numbers: str, end: int, form: str | None = None
    ) -> None:
        self.end = end
        # Whether samples have no first line, but addresses alone: without blank lines,
        # each line of a text is one.
        self.is_headless: bool = not (command or numbers) and end == len(_ENDS) - 1
        # whether no line of a stack looks like one of these
        self.is_strong: bool = end in _WITH_EVENT | _TIMED
        self.has_numbers: bool = bool(numbers)
        form = _ENDS[end] if form is None else form
        self._form = re.compile(rf"\s{{0,64}}{command}{numbers}{form}", re.ASCII)

    def match(self, line: str) -> re.Match[str] | None:
        """The fields of a line; None if it does not have them."""
        found = self._form.match(line)
        if found is None or self.end in _WITH_EVENT:
            return found
        rest = inline_text(found)
        return found if not rest or inline_frame(rest) is not None else None

    def is_whole(self, line: str) -> bool:
        """Whether a line is a sample, with its address."""
        if line.startswith("\t") and not self.is_headless:
            return False
        found = self._form.match(line)
        return found is not None and inline_frame(inline_text(found)) is not None

    def widths(self, field: str, lines: Iterable[str]) -> Iterator[tuple[int, int]]:
        """Blanks before the numbers in a field, and the width of both."""
        for found in filter(None, map(self._form.match, lines)):
            before = found.string[: found.start(field)]
            blanks = len(before) - len(before.rstrip())
            yield blanks, blanks + len(found[field]) - bool(before.strip())


# Those with the most fields first; a number is rather that of a thread than a period.
LAYOUTS = sorted(
    (
        (command, numbers, end)
        for end, numbers, command in product(range(len(_ENDS)), _NUMBERS, _COMMANDS)
    ),
    key=lambda kind: (
        -bool(kind[0]) - bool(kind[1]) - _ENDS[kind[2]].count("(?P<"),
        _NUMBERS.index(kind[1]),
    ),
)


def layout_of(fields: str) -> Layout:
    """The layout that `perf script -F` with these fields prints.

    Raises:
        ValueError: A name is not known, or is of a time that is not read.
    """
    given = set(fields.split(","))
    unknown = given - _HEAD_FIELDS - _OTHER_FIELDS
    if unknown:
        raise ValueError(f"unknown field of perf script: '{min(unknown)}'")
    ends = (given.issuperset(each.split()) for each in _FORMS)
    forms = {
        "cpu": rf"\[(?P<cpu>\d{{1,6}})\]{_GAP}",
        "misc": _MISC,
        "time": rf"{_TIME}(?:{_GAP}|$)",
        "period": rf"{_PERIOD}(?:{_GAP}|$)",
        "event": rf"{_EVENT}(?=\s|$)",
    }
    head = "".join(form for field, form in forms.items() if field in given)
    command = _COMMANDS["comm" not in given]
    rest = r"\S.*"
    if given & _HEAD_FIELDS == {"comm"}:
        command = rf"(?P<command>\S(?:.{{0,62}}?\S)??)(?:{_GAP}|$)"
        rest = rf"{_WIDE}[0-9a-f]{{1,16}}(?:\s.*)?"
    return Layout(
        command,
        _NUMBERS[2 - len(given & {"pid", "tid"})],
        list(ends).index(True),
        rf"{head}(?:\s*(?P<rest>{rest}))?\s*$",
    )


def find_layout(lines: Sequence[str]) -> tuple[Layout, float]:
    """The layout that fits the most first lines of samples, with the most fields.

    Returns:
        The layout, and the share of the lines that it fits.
    """
    heads = _heads(lines)
    if heads and all(map(_PRINTED.match, heads)):
        return Layout("", "", len(_ENDS) - 1), 1.0  # stacks alone
    best, most = LAYOUTS[0], 0
    has_times = any(re.search(rf"(?<!\S){_TIME}\s", f"{each} ") for each in heads)
    may_have_events = any(":" in each for each in heads)
    for kind in LAYOUTS:
        end = kind[-1]
        if (end in _TIMED) != has_times or (
            end in _WEAK and 3 * most >= len(heads) > 0
        ):
            continue
        if end in _WITH_EVENT and not may_have_events:
            continue
        layout = Layout(*kind)
        count = sum(layout.match(line) is not None for line in heads)
        if end == _PADDED and any(
            blanks == 1 and width < _PERIOD_WIDTH
            for blanks, width in layout.widths("period", heads)
        ):
            continue
        is_alone = kind[1] == _NUMBERS[1] and end in _WITHOUT_PERIOD
        if is_alone and all(
            width >= _PERIOD_WIDTH for _, width in layout.widths("process", heads)
        ):
            continue  # they are periods
        if count > most:
            best, most = kind, count
        if count == len(heads):
            break
    return Layout(*best), most / len(heads) if heads else 0.0


def _heads(lines: Iterable[str]) -> list[str]:
    """Lines that may be the first ones of samples: after blank ones, else all.

    Without blank lines a stack of addresses may follow each of them.
    """
    first: list[str] = []
    others: list[str] = []
    is_first = True
    for line in lines:
        if not line.strip():
            is_first = True
        elif not (PERF_EVENT in line or NO_SAMPLE.match(line) or _PLACE.match(line)):
            if is_first:
                first.append(line)
            elif not line.startswith("\t"):
                others.append(line)
            is_first = False
    if len(first) > 1 or not others:
        return first[:_MOST_LINES]
    return [*first, *others][:_MOST_LINES]


def is_perf_script(lines: Sequence[str]) -> bool:
    """Whether lines are samples or records of perf: several things must agree.

    Of a text without times, addresses with modules tell it from those of other tools.
    """
    layout, share = find_layout(lines)
    if not share:
        return not _heads(lines) and any(PERF_EVENT in line for line in lines)
    if share <= _MAJORITY:
        return False
    if (layout.end == 0 and layout.has_numbers) or any(map(_PRINTED.match, lines)):
        return True
    heads = _heads(lines)
    if _MAJORITY * len(heads) < sum(map(bool, map(_PRINTED_INLINE.search, heads))):
        return True
    if not (layout.has_numbers or layout.end in _TIMED or layout.is_headless):
        return False
    return any(_is_named_frame(line, layout) for line in lines)


def _is_named_frame(line: str, layout: Layout) -> bool:
    """Whether a line is an address with a symbol and a module, alone or in a sample."""
    found = FRAME.match(line)
    if found is None:
        head = layout.match(line)
        inline = inline_frame(inline_text(head)) if head else None
        return inline is not None and bool(inline.what or layout.end in _TIMED)
    what = found["what"] or ""
    is_address = layout.end in _TIMED and not what.strip()
    return _MODULE.search(what) is not None or is_address
