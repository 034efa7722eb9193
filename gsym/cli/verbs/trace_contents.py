"""`gsym trace info`, `stats` and `dump` of profiles."""

from __future__ import annotations

import os
import sys

from gsym.cli.grammar import UsageError, Values
from gsym.cli.terminal import print_json, print_lines, printable
from gsym.cli.verbs.trace_profile import ProfileInput, report_losses
from gsym.cli.verbs.trace_tables import (
    amount,
    labelled,
    print_table,
    process_lines,
    row_limit,
    share,
    time_text,
)
from gsym.fxt.record_formats import seconds
from gsym.profiles.call_tree import time_range
from gsym.profiles.model import Location, Profile, Sample, resolution
from gsym.profiles.top import top_rows

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from gsym.profiles.opening import RepeatableInput


def _read(source: RepeatableInput, values: Values) -> tuple[ProfileInput, Profile]:
    opened = ProfileInput(source, values)
    profile = opened.read()
    opened.select(profile)
    return opened, profile


def profile_info(source: RepeatableInput, values: Values) -> int:
    """Describe a profile."""
    with source:
        opened, profile = _read(source, values)
        info = _describe(opened, profile)
        if values.flag("--json"):
            print_json(info)
            return opened.exit_code()
        print_lines(_info_lines(info))
        report_losses(profile, source.name)
    return opened.exit_code()


def _describe(source: ProfileInput, profile: Profile) -> dict[str, Any]:
    begin, length = time_range(profile)
    known, _ = resolution(profile)
    return {
        "path": source.name,
        "file_size": os.stat(source.path).st_size,
        "format": source.kind,
        "begin_ns": begin,
        "end_ns": None if begin is None else begin + length,
        "samples": len(profile.samples),
        "stacks": len(profile.stacks),
        "locations": len(profile.locations),
        "known": known,
        "values": [
            {
                "type": each.type,
                "unit": each.unit,
                "total": each.plain(sum(s.values[index] for s in profile.samples)),
            }
            for index, each in enumerate(profile.value_types)
        ],
        "modules": _modules(profile),
        "processes": _processes(profile),
        "comments": profile.comments,
        "losses": profile.losses,
    }


def _modules(profile: Profile) -> list[dict[str, Any]]:
    """The modules, those with the most locations first."""
    counts: dict[tuple[str, str], int] = {}
    for location in profile.locations:
        if location.mapping is not None:
            mapping = profile.mappings[location.mapping]
            key = mapping.path, mapping.build_id
            counts[key] = counts.get(key, 0) + 1
    return [
        {"path": path, "build_id": build_id, "locations": count}
        for (path, build_id), count in sorted(
            counts.items(), key=lambda item: (-item[1], item[0])
        )
    ]


def _processes(profile: Profile) -> list[dict[str, Any]]:
    counts: dict[int | None, int] = {}
    for sample in profile.samples:
        counts[sample.thread] = counts.get(sample.thread, 0) + 1
    found: dict[tuple[int | None, str], dict[str, Any]] = {}
    for index, thread in enumerate(profile.threads):
        process = found.setdefault(
            (thread.process, thread.process_name),
            {"koid": thread.process, "name": thread.process_name, "threads": []},
        )
        row = {"koid": thread.thread, "name": thread.thread_name}
        process["threads"].append({**row, "samples": counts.get(index, 0)})
    return list(found.values())


_MAX_MODULES = 24  # --json has all


def _info_lines(info: dict[str, Any]) -> Iterator[str]:
    yield f"{info['path']}"
    yield labelled("profile", f"{info['format']}, {info['file_size']} bytes")
    yield labelled("time", time_text(info["begin_ns"], info["end_ns"]))
    for value in info["values"]:
        text = f"{value['type']} ({value['unit']})"
        yield labelled("values", f"{text}: {amount(value['total'], value['unit'])}")
    places = f"{info['locations']} locations, {info['known']} with functions"
    yield labelled("samples", f"{info['samples']}, {info['stacks']} stacks, {places}")
    modules = info["modules"]
    for module in modules[:_MAX_MODULES]:
        text = f"{module['path'] or '(unknown)'} {module['build_id']}".rstrip()
        yield labelled("module", f"{text}, {module['locations']} locations")
    if len(modules) > _MAX_MODULES:
        yield labelled("", f"and {len(modules) - _MAX_MODULES} more modules")
    yield from process_lines(info["processes"], "samples")
    for comment in info["comments"]:
        yield labelled("comment", comment)


_GROUPS = ("process", "thread", "module")


def profile_stats(source: RepeatableInput, values: Values) -> int:
    """Sum the samples of a profile."""
    if values.flag("--unmatched"):
        raise UsageError("option '--unmatched' is for traces")
    limit = row_limit(values)
    with source:
        opened, profile = _read(source, values)
        groups = {by: _sums(profile, by) for by in _GROUPS}
        depths = [len(profile.stacks[sample.stack]) for sample in profile.samples]
        whole = [
            sum(sample.values[index] for sample in profile.samples)
            for index in range(len(profile.value_types))
        ]
        if values.flag("--json"):
            sums = {
                by: [{"name": name, "own": _plain(profile, own)} for name, own in rows]
                for by, rows in groups.items()
            }
            print_json(
                {
                    "path": source.name,
                    "samples": len(profile.samples),
                    "deepest": max(depths, default=0),
                    "locations": sum(depths),
                    "values": [
                        {"type": each.type, "unit": each.unit}
                        for each in profile.value_types
                    ],
                    "totals": _plain(profile, whole),
                    **sums,
                }
            )
            return opened.exit_code()
        mean = sum(depths) / len(depths) if depths else 0
        text = f"{len(depths)} samples, {mean:.1f} locations deep on average"
        print(printable(f"{source.name}: {text}, at most {max(depths, default=0)}"))
        for by, rows in groups.items():
            print()
            _print_sums(profile, by, rows, whole, limit)
        report_losses(profile, source.name)
    return opened.exit_code()


def _sums(profile: Profile, by: str) -> list[tuple[str, list[int]]]:
    """The sums of each value by process, thread, or module of the innermost frame."""
    sums: dict[str, list[int]] = {}
    count = len(profile.value_types)
    for index in range(count):
        for row in top_rows(profile, by, value=index):
            sums.setdefault(row.name, [0] * count)[index] = row.own
    found = [(name, own) for name, own in sums.items() if any(own)]
    return sorted(found, key=lambda row: (-row[1][-1], row[0]))


def _plain(profile: Profile, numbers: Sequence[int]) -> list[int | float]:
    """Numbers in the units of the values."""
    pairs = zip(profile.value_types, numbers, strict=True)
    return [kind.plain(number) for kind, number in pairs]


def _print_sums(
    profile: Profile,
    by: str,
    rows: list[tuple[str, list[int]]],
    whole: list[int],
    limit: int | None,
) -> None:
    kinds = profile.value_types
    heads = [text for kind in kinds for text in (kind.type, "")]
    cells = []
    for name, sums in rows:
        texts: list[str] = []
        for number, total, kind in zip(sums, whole, kinds, strict=True):
            texts += (
                amount(kind.plain(number), kind.unit),
                share(number, total),
            )
        cells.append([*texts, name])
    print_table([*heads, by], cells, limit)


def dump_samples(source: RepeatableInput, values: Values) -> int:
    """Print the selected samples in file order."""
    with source:
        opened, profile = _read(source, values)
        stacks: dict[int, Any] = {}
        is_json = values.flag("--json")
        make = _stack_object if is_json else _stack_text
        for sample in profile.samples:
            stack = stacks.get(sample.stack)
            if stack is None:
                stack = stacks[sample.stack] = make(profile, sample.stack)
            if is_json:
                print_json({**_sample_object(profile, sample), "stack": stack})
            else:
                text = printable(_sample_text(profile, sample))
                sys.stdout.write(f"{text}  {stack}\n")
        report_losses(profile, source.name)
    return opened.exit_code()


def _sample_text(profile: Profile, sample: Sample) -> str:
    time = "-" if sample.time is None else seconds(sample.time)
    who = "-"
    if sample.thread is not None:
        thread = profile.threads[sample.thread]
        numbers = thread.process, thread.thread
        who = " ".join("-" if each is None else str(each) for each in numbers)
        who += f" {thread.thread_name}" if thread.thread_name else ""
    values = " ".join(
        f"{kind.type}={value}"
        for kind, value in zip(
            profile.value_types, _plain(profile, sample.values), strict=True
        )
    )
    labels = "".join(f" {key}={value}{unit}" for key, value, unit in sample.labels)
    return f"{time:>14}  {who}  {values}{labels}"


def _stack_text(profile: Profile, stack: int) -> str:
    names = (frame.name for frame in reversed(profile.frames_of(stack)))
    return printable(";".join(names))


def _sample_object(profile: Profile, sample: Sample) -> dict[str, Any]:
    thread = None if sample.thread is None else profile.threads[sample.thread]
    types = (kind.type for kind in profile.value_types)
    return {
        "time_ns": sample.time,
        "thread": None if thread is None else thread._asdict(),
        "values": dict(zip(types, _plain(profile, sample.values), strict=True)),
        "labels": [
            {"key": key, "value": value, "unit": unit}
            for key, value, unit in sample.labels
        ],
    }


def _stack_object(profile: Profile, stack: int) -> list[dict[str, Any]]:
    """The locations, innermost first."""
    locations = (profile.locations[index] for index in profile.stacks[stack])
    return [_location_object(profile, location) for location in locations]


def _location_object(profile: Profile, location: Location) -> dict[str, Any]:
    made: dict[str, Any] = {"address": location.address}
    if location.mapping is not None:
        mapping = profile.mappings[location.mapping]
        made.update(module=mapping.path, build_id=mapping.build_id)
    return {**made, "frames": [frame._asdict() for frame in location.frames]}
