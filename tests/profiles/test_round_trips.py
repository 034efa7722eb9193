"""What is written in a format is read again with the same stacks and sums."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from hypothesis import given

from gsym.fxt.chrome_json import ChromeJson
from gsym.profiles.model import Profile, ValueType
from gsym.profiles.opening import read_profile
from gsym.profiles.outputs import FORMS, write_form
from gsym.profiles.recognition import profile_kind
from gsym.profiles.sample_events import sample_events
from tests.profiles import json_profiles
from tests.profiles.profiles import profiles, small_profile

if TYPE_CHECKING:
    from pathlib import Path

VALUE = 1  # nanoseconds, which all forms can have


def sums_of(profile: Profile, value: int = -1) -> Counter[tuple[str, ...]]:
    """The sum of each stack that has one."""
    sums: Counter[tuple[str, ...]] = Counter()
    for sample in profile.samples:
        names = (frame.name for frame in profile.frames_of(sample.stack))
        sums[tuple(names)] += sample.values[value]
    return +sums


def known_profile() -> Profile:
    """A profile all of whose locations have functions, and are apart in time."""
    profile = small_profile()
    profile.samples = [
        sample._replace(time=None)
        for sample in profile.samples
        if all(profile.locations[at].frames for at in profile.stacks[sample.stack])
    ]
    return profile


@pytest.mark.parametrize("form", FORMS)
def test_a_written_profile_is_read_again(tmp_path: Path, form: str) -> None:
    profile = known_profile()
    data = write_form(profile, form, value=VALUE)
    path = tmp_path / "profile"
    for stored in (data, data if form == "pprof" else gzip.compress(data)):
        path.write_bytes(stored)
        assert profile_kind(path) == form
        assert sums_of(read_profile(path)) == sums_of(profile, VALUE)


def test_a_profile_as_chrome_json_is_read_again(tmp_path: Path) -> None:
    profile = known_profile()
    path = tmp_path / "profile.json"
    records = sample_events(profile, VALUE)
    path.write_text("".join(ChromeJson().pieces(records)))
    assert profile_kind(path) == "chrome"
    assert sums_of(read_profile(path)) == sums_of(profile, VALUE)


@pytest.mark.parametrize(
    "made", [json_profiles.CHROME, json_profiles.CPUPROFILE, json_profiles.SPEEDSCOPE]
)
@pytest.mark.parametrize("form", FORMS)
def test_what_was_read_is_written_and_read_again(
    tmp_path: Path, made: dict[str, object], form: str
) -> None:
    path = tmp_path / "first"
    path.write_text(json.dumps(made))
    first = read_profile(path)
    path.write_bytes(write_form(first, form, value=len(first.value_types) - 1))
    assert sums_of(read_profile(path)) == sums_of(first)


@pytest.mark.parametrize("form", ["speedscope", "firefox"])
def test_threads_and_times_survive(tmp_path: Path, form: str) -> None:
    path = tmp_path / "profile"
    path.write_bytes(write_form(small_profile(), form))
    threads = read_profile(path).threads
    assert [(each.process, each.thread) for each in threads] == [(1, 10), (1, 11)]
    assert [each.process_name for each in threads] == ["app", "app"]
    if form == "firefox":
        times = [sample.time for sample in read_profile(path).samples]
        assert times == [1000, 2000, 3000, 1500]


@given(profile=profiles())
def test_any_profile_keeps_its_sum(
    tmp_path_factory: pytest.TempPathFactory, profile: Profile
) -> None:
    profile.value_types = (ValueType("samples", "count"), ValueType("space", "bytes"))
    path = tmp_path_factory.getbasetemp() / "profile"
    for form in ("pprof", "speedscope", "firefox"):
        path.write_bytes(write_form(profile, form, value=VALUE))
        assert sum(sample.values[-1] for sample in read_profile(path).samples) == sum(
            sample.values[VALUE] for sample in profile.samples
        )
