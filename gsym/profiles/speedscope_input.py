"""speedscope's own format -> `Profile`.

Source: speedscope's `file-format-spec.ts`, schema of version 0.0.1; the names of
profiles that py-spy writes, and the pairs of profiles of memray.
"""

from __future__ import annotations

from collections import deque

from gsym.lazy import regex
from gsym.profiles import model
from gsym.profiles.json_input import Node, read_node
from gsym.profiles.model import ROOT, Profile, StackTree

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from decimal import Decimal

    from gsym.profiles.opening import ProfileOptions

# Values by the units of the format, and nanoseconds or bytes in one of them.
_UNITS = {
    "none": (model.SAMPLES, 1),
    "bytes": (model.SPACE, 1),
    "nanoseconds": (model.TIME, 1),
    "microseconds": (model.TIME, 1_000),
    "milliseconds": (model.TIME, 1_000_000),
    "seconds": (model.TIME, 1_000_000_000),
}
# The threads of `gsym.profiles.outputs.speedscope_file`, and those of py-spy.
_THREADS = (
    regex(
        r"(?:process|(?P<process>.*) \()(?: ?)(?P<pid>[0-9]{1,19})\)? / "
        r"(?:thread|(?P<thread>.*) \()(?: ?)(?P<tid>[0-9]{1,19})\)?"
    ),
    regex(
        r"(?:Process (?P<pid>[0-9]{1,19}) )?"
        r"Thread (?P<tid>[0-9]{1,19}|0x[0-9A-F]{1,16})"
        r'(?: "(?P<thread>.*)")?(?P<process>)'
    ),
)


def read_speedscope(path: str, options: ProfileOptions) -> Profile:
    """The profile in a file of speedscope, of all its threads."""
    whole = read_node(path, options.most_bytes)
    profiles = list(whole.get("profiles").items())
    units = [profile.get("unit").one_of(_UNITS) for profile in profiles]
    types = tuple(dict.fromkeys(kind for kind, _ in units)) or (model.SAMPLES,)
    builder = model.ProfileBuilder(types)
    functions = []
    for frame in whole.get("shared").get("frames").items():
        line = model.line_of(frame.get("line").value)
        made = frame.get("name").text(), "", frame.get("file").text(), line
        functions.append(builder.function(model.Frame(*made)))
    reader = _Reader(builder, functions)
    names = [profile.get("name").text() for profile in profiles]
    # The only profile may have the name of the whole.
    is_one = names == [whole.get("name").text()]
    threads = [model.NO_THREAD if is_one else _thread(name) for name in names]
    # By value and stacks: the first of the samples that have no such value.
    waiting: dict[tuple[int, str], deque[int]] = {}
    for profile, thread, (kind, factor) in zip(profiles, threads, units, strict=True):
        value = types.index(kind)
        # Two profiles with the same stacks are two values of the same samples.
        stacks = str(profile.get("samples").list()) if len(types) > 1 else "[]"
        if waiting.get((value, stacks)):
            first = waiting[value, stacks].popleft()
            reader.add_values(profile, first, value, factor)
            continue
        for other in range(len(types)):
            if other != value and stacks != "[]":
                waiting.setdefault((other, stacks), deque()).append(len(reader.values))
        index = None if thread == model.NO_THREAD else builder.thread(thread)
        reader.open(index, value, factor)
        if profile.get("type").text() == "evented":
            reader.add_events(profile)
        else:
            reader.add_samples(profile)
    model.scaled_values(builder, reader.values)
    # The view of speedscope begins with the first one unless the file says another.
    if profiles:
        active = whole.get("activeProfileIndex")
        shown = 0 if active.value is None else active.index(len(profiles))
        builder.profile.default_value = types.index(units[shown][0])
    return builder.profile


def _thread(name: str) -> model.Thread:
    """The thread of a profile by its name."""
    for form in _THREADS:
        found = form.fullmatch(name)
        if found is not None:
            process = int(found["pid"]) if found["pid"] else None
            names = found["process"] or "", found["thread"] or ""
            return model.Thread(process, int(found["tid"], 0), *names)
    return model.Thread(None, None, "", name)


def _columns(profile: Node) -> tuple[Node, Node]:
    """The stacks of the samples of a thread, and their weights."""
    stacks, weights = profile.get("samples"), profile.get("weights")
    if len(stacks.list()) != len(weights.list()):
        raise weights.error("not one weight for each sample")
    return stacks, weights


class _Reader:
    """Adds the samples of threads to a profile."""

    def __init__(self, builder: model.ProfileBuilder, functions: list[int]) -> None:
        self._builder = builder
        self._functions = functions
        self._tree = StackTree(builder)
        self._thread: int | None = None
        self._value = 0
        self._factor = 1
        # those of each sample; the samples themselves have none yet
        self.values: list[list[int | Decimal]] = []

    def open(self, thread: int | None, value: int, factor: int) -> None:
        """A thread follows, whose weights are one of the values of the profile."""
        self._thread, self._value, self._factor = thread, value, factor

    def add_samples(self, profile: Node) -> None:
        """Stacks and their weights."""
        stacks, weights = _columns(profile)
        now = self._scaled(profile.get("startValue"))
        known: dict[tuple[object, ...], int] = {}
        for stack, weight in zip(stacks.items(), weights.items(), strict=True):
            frames = tuple(stack.list())
            try:
                node = known[frames]
            except (KeyError, TypeError):  # what is no number has an error below
                node = ROOT
                for frame in stack.items():
                    node = self._tree.child(node, self._function(frame))
                known[frames] = node
            number = self._scaled(weight)
            self._sample(node, now, number)
            now += number

    def add_values(self, profile: Node, first: int, value: int, factor: int) -> None:
        """Another value of samples that are there, from the one with a number on."""
        self._factor = factor
        for at, weight in enumerate(_columns(profile)[1].items(), first):
            self.values[at][value] = self._scaled(weight)

    def add_events(self, profile: Node) -> None:
        """Frames that are opened and closed, in the order of their times."""
        open_nodes = [ROOT]
        now = self._scaled(profile.get("startValue"))
        for event in profile.get("events").items():
            at = self._scaled(event.get("at"))
            if at < now:
                raise event.error("earlier than the event before it")
            if open_nodes[-1] != ROOT and at > now:
                self._sample(open_nodes[-1], now, at - now)
            now = at
            function = self._function(event.get("frame"))
            if event.get("type").text() == "O":
                open_nodes.append(self._tree.child(open_nodes[-1], function))
            elif (
                open_nodes[-1] == ROOT
                or self._tree.location(open_nodes[-1]) != function
            ):
                raise event.error("closes a frame that is not the innermost")
            else:
                open_nodes.pop()
        # Frames that are open at the end last until then.
        end = self._scaled(profile.get("endValue"))
        if open_nodes[-1] != ROOT and end > now:
            self._sample(open_nodes[-1], now, end - now)

    def _function(self, frame: Node) -> int:
        return self._functions[frame.index(len(self._functions))]

    def _scaled(self, node: Node) -> int | Decimal:
        number = (0 if node.value is None else node.number()) * self._factor
        return round(number) if self._factor > 1 else number

    def _sample(self, node: int, time: int | Decimal, number: int | Decimal) -> None:
        types = self._builder.profile.value_types
        values: list[int | Decimal] = [0] * len(types)
        values[self._value] = number
        self.values.append(values)
        is_time = types[self._value] == model.TIME
        self._builder.sample(
            self._tree.stack(node),
            (),
            thread=self._thread,
            time=round(time) if is_time and time >= 0 else None,
        )
