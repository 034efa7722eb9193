"""A profile in the file format of speedscope: one profile of samples for each thread.

Source: speedscope's `file-format-spec.ts`, schema of version 0.0.1.
"""

from __future__ import annotations

from gsym.trace.profiles.call_stacks import thread_frames

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gsym.trace.profiles.model import Frame, Profile, Sample

_SCHEMA = "https://www.speedscope.app/file-format-schema.json"
# Units by those of pprof; speedscope shows others as bare numbers.
_UNITS = {
    "bytes": "bytes",
    "microseconds": "microseconds",
    "milliseconds": "milliseconds",
    "nanoseconds": "nanoseconds",
    "seconds": "seconds",
}


def speedscope_file(
    profile: Profile, value: int = 0, name: str = "profile"
) -> dict[str, Any]:
    """The file, ready for JSON.

    Args:
        profile: Whose samples it has, in the order of their times where all have one.
        value: Which of its value types is the weight, counted from 0. Weights below 0,
            which the format does not have, are left out.
        name: Of the whole.
    """
    frames = _FrameTable()
    stacks = [
        [frames.index(frame) for frame in reversed(profile.frames_of(stack))]
        for stack in range(len(profile.stacks))
    ]
    unit = _UNITS.get(profile.value_types[value].unit, "none")
    by_thread: dict[int | None, list[Sample]] = {}
    for sample in profile.samples:
        by_thread.setdefault(sample.thread, []).append(sample)
    profiles = []
    for thread, samples in by_thread.items():
        if all(sample.time is not None for sample in samples):
            samples.sort(key=lambda sample: sample.time or 0)
        kept = [sample for sample in samples if sample.values[value] >= 0]
        weights = [sample.values[value] for sample in kept]
        profiles.append(
            {
                "type": "sampled",
                "name": name if thread is None else _thread_name(profile, thread),
                "unit": unit,
                "startValue": 0,
                "endValue": sum(weights),
                "samples": [stacks[sample.stack] for sample in kept],
                "weights": weights,
            }
        )
    return {
        "$schema": _SCHEMA,
        "shared": {"frames": frames.entries},
        "profiles": profiles,
        "name": name,
        "activeProfileIndex": 0,
        "exporter": "gsym",
    }


class _FrameTable:
    """Frames by their indexes; those that look the same in speedscope are one."""

    def __init__(self) -> None:
        self.entries: list[dict[str, Any]] = []
        self._indexes: dict[tuple[str, str, int], int] = {}

    def index(self, frame: Frame) -> int:
        """The index of a frame."""
        key = (frame.name, frame.path, frame.line)
        found = self._indexes.get(key)
        if found is None:
            found = self._indexes[key] = len(self.entries)
            entry: dict[str, Any] = {"name": frame.name}
            if frame.path:
                entry["file"] = frame.path
            if frame.line:
                entry["line"] = frame.line
            self.entries.append(entry)
        return found


def _thread_name(profile: Profile, thread: int) -> str:
    found = thread_frames(profile.threads[thread], ("process", "thread"))
    return " / ".join(frame.name for frame in found)
