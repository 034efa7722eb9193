"""`gsym trace` on profiles: symbolize, convert, flame, top."""

from __future__ import annotations

import gzip
import io
import json
import sys
from typing import TYPE_CHECKING

import pytest

from gsym.cli.verbs.trace_convert import ALL_FORMS
from gsym.profiles.opening import read_profile
from gsym.profiles.pprof import new_profile, pprof_file
from tests.fxt.traces import LOADED, profile_trace, run
from tests.profiles.loaded_program import Seen, build, run as run_program
from tests.profiles.profiles import small_profile
from tests.profiles.symbols import BASE, BUILD_ID, Modules

if TYPE_CHECKING:
    from pathlib import Path

    Capture = pytest.CaptureFixture[str]

INNER, OUTER, NEXT = 0x1012, 0x102C, 0x1044
"""Within `outer`: in the inlined `inner`, behind it; in `next`. From the mapping on."""
SAMPLES = [
    (1000, 1, (LOADED + INNER, LOADED + NEXT)),
    (2000, 1, (LOADED + INNER, LOADED + NEXT)),
    (3000, 2, (LOADED + NEXT,)),
    (4000, 2, (0x10,)),
]


@pytest.fixture(autouse=True)
def _own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GSYM_STORE", str(tmp_path / "store"))
    monkeypatch.setenv("COLUMNS", "80")


@pytest.fixture
def symbols(tmp_path: Path) -> Path:
    folder = tmp_path / "symbols"
    folder.mkdir()
    Modules(folder)
    return folder


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "profile.fxt"
    path.write_bytes(profile_trace(BUILD_ID, BASE, SAMPLES))
    return path


@pytest.fixture
def pprof(tmp_path: Path) -> Path:
    path = tmp_path / "profile.pb.gz"
    path.write_bytes(pprof_file(small_profile()))
    return path


def output(capsys: Capture, *words: object) -> str:
    assert run(*words) == 0
    return capsys.readouterr().out


def test_samples_of_a_trace_are_symbolized(
    trace: Path, symbols: Path, capsys: Capture
) -> None:
    assert run("symbolize", trace, "--gsym-dir", symbols) == 0
    found = capsys.readouterr()
    assert found.out.splitlines() == [
        "0x10 1",
        "next() 1",
        "next();outer(int);inner() 2",
    ]
    assert found.err.splitlines() == [
        f"{trace}: 3 of 4 addresses have functions",
        "  1 without, of no module: no mapping covers it",
    ]


def test_a_symbolized_trace_keeps_its_events_for_chrome(
    trace: Path, symbols: Path, tmp_path: Path, capsys: Capture
) -> None:
    path, made = tmp_path / "both.fxt", tmp_path / "made.json"
    event = (4 | 4 << 4).to_bytes(8, "little") + bytes(24)  # an instant
    data = trace.read_bytes()
    path.write_bytes(data[:8] + event * 3 + data[8:])
    assert run("symbolize", path, "--gsym-dir", symbols, "-o", made) == 0
    assert "left out" not in capsys.readouterr().err
    events = json.loads(made.read_text())["traceEvents"]
    assert sum(each["ph"] == "i" for each in events) == 3
    found = [(each["name"], each["ph"], each["ts"]) for each in events if "ts" in each]
    for name in ("inner()", "outer(int)"):
        assert {(name, "B", 1.0), (name, "E", 3.0)} <= {*found}


def test_unknown_addresses_keep_module_and_reason(
    trace: Path, tmp_path: Path, capsys: Capture
) -> None:
    words = ["--gsym-dir", tmp_path / "nowhere", "--json"]
    made = json.loads(output(capsys, "symbolize", trace, *words))
    assert (made["locations"], made["known"]) == (4, 0)
    first, second = made["unknown"]
    assert first["module"] == "module.so"
    assert first["locations"] == 3
    assert "nowhere" in first["reason"]
    assert second == {
        "module": "",
        "reason": "no mapping covers it",
        "locations": 1,
    }


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--thread", "worker"], {"0x10", "next()"}),
        (["--process", "nobody"], set()),
        (["--from-time", "2us"], {"0x10", "next()"}),
        (["--to-time", "1us"], {"next();outer(int);inner()"}),
        (["--from-time", "@3000", "--to-time", "@3001"], {"next()"}),
        (["--name", "inner*"], {"next();outer(int);inner()"}),
        (["--category", "module.*"], {"next()", "next();outer(int);inner()"}),
    ],
)
def test_filters_select_samples(
    words: list[str], expected: set[str], trace: Path, symbols: Path, capsys: Capture
) -> None:
    lines = output(capsys, "symbolize", trace, "--gsym-dir", symbols, *words)
    assert {line.rpartition(" ")[0] for line in lines.splitlines()} == expected


def test_pprof_is_symbolized_in_place(
    tmp_path: Path, symbols: Path, trace: Path, capsys: Capture
) -> None:
    bare, made = tmp_path / "bare.pb.gz", tmp_path / "made.pb.gz"
    assert run("convert", trace, "-o", bare) == 0
    assert run("symbolize", bare, "-o", made, "--gsym-dir", symbols) == 0
    assert "3 of 4 addresses" in capsys.readouterr().err
    profile = read_profile(made)
    names = {frame.name for each in profile.locations for frame in each.frames}
    assert names == {"inner()", "outer(int)", "next()"}
    assert len(profile.samples) == len(read_profile(bare).samples) == 3


@pytest.mark.parametrize("form", ALL_FORMS)
def test_a_trace_is_written_in_every_format(
    form: str, trace: Path, tmp_path: Path
) -> None:
    path = tmp_path / "made"
    assert run("convert", trace, "--to", form, "-o", path) == 0
    data = path.read_bytes()
    if form == "pprof":
        assert gzip.decompress(data)
    elif form in {"chrome", "speedscope", "firefox"}:
        assert isinstance(json.loads(data), dict)
    elif form == "fxt":
        assert data[:8] == b"\x10\0\4\x46xT\x16\0"
    else:
        assert data.splitlines()[0].endswith(b" 1")


@pytest.mark.parametrize(
    ("name", "beginning"),
    [
        ("a.json", b'{"displayTimeUnit"'),
        ("a.pb.gz", b"\x1f\x8b"),
        ("a.speedscope.json", b'{"$schema"'),
        ("a.firefox.json", b'{"meta"'),
        ("a.folded", b"0x10 1\n"),
    ],
)
def test_the_suffix_of_the_output_selects_the_format(
    name: str, beginning: bytes, trace: Path, tmp_path: Path
) -> None:
    assert run("convert", trace, "-o", tmp_path / name) == 0
    assert (tmp_path / name).read_bytes().startswith(beginning)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["convert"], "option '--to' is required"),
        (["convert", "--to", "pprof", "--json"], "option '--json' needs '-o FILE'"),
        (["convert", "-o", "x.bin"], "unknown format of 'x.bin'"),
        (["convert", "--to", "svg"], "option '--to': choose chrome or"),
        (["convert", "-o", "x.html"], "unknown format of 'x.html'"),
        (["flame", "--roots", "cpu"], "expected process, thread or both"),
        (["top", "--by", "colour"], "choose function or module"),
        (["top", "--value", "bytes"], "no values 'bytes', only samples (count)"),
        (["top", "--value", "1"], "no values '1'"),
        (["top", "--value", "1" * 5000], "no values '111"),
        (["flame", "--from-time", "soon"], "invalid time 'soon'"),
    ],
)
def test_invalid_command_lines_are_reported(
    words: list[str], complaint: str, trace: Path, capsys: Capture
) -> None:
    assert run(*words, trace) == 2
    assert complaint in capsys.readouterr().err


def test_records_that_a_format_cannot_hold_are_counted(
    tmp_path: Path, capsys: Capture
) -> None:
    path = tmp_path / "both.fxt"
    trace = profile_trace(BUILD_ID, 0, SAMPLES)
    words = trace[:8]
    event = (4 | 4 << 4).to_bytes(8, "little") + bytes(24)
    path.write_bytes(words + event * 3 + trace[8:])
    assert run("convert", path, "--to", "collapsed") == 0
    expected = "left out, not supported by collapsed: instant 3"
    assert expected in capsys.readouterr().err
    assert run("convert", path, "--to", "chrome") == 0
    assert "left out" not in capsys.readouterr().err


def test_samples_of_a_profile_become_durations_of_chrome(
    pprof: Path, tmp_path: Path, capsys: Capture
) -> None:
    path = tmp_path / "made.json"
    assert run("convert", pprof, "--to", "chrome", "-o", path) == 0
    rows = json.loads(output(capsys, "top", path, "--json"))["rows"]
    assert {row["name"][-7:]: row["own"] for row in rows if row["own"]} == {
        "!0x7fff": 50,
        "inner()": 700,
    }


@pytest.mark.parametrize("verb", ["convert", "top"])
def test_a_trace_without_samples_is_reported(
    verb: str, tmp_path: Path, capsys: Capture
) -> None:
    path = tmp_path / "empty.fxt"
    path.write_bytes(profile_trace(BUILD_ID, 0, []))
    words = ["--to", "pprof"] if verb == "convert" else []
    assert run(verb, path, *words) == 1
    assert f"{path}: no samples and no durations" in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["symbolize", "flame"])
def test_an_unrecognized_file_is_reported(
    verb: str, tmp_path: Path, capsys: Capture
) -> None:
    path = tmp_path / "other"
    path.write_bytes(b"\x7fELF" + bytes(100))
    assert run(verb, path) == 1
    told = capsys.readouterr().err
    assert (
        f"{path}: unrecognized profile format (known: pprof, otlp, perf script," in told
    )


def test_convert_reports_its_output_as_json(
    trace: Path, tmp_path: Path, capsys: Capture
) -> None:
    path = tmp_path / "made.folded"
    made = json.loads(output(capsys, "convert", trace, "--json", "-o", path))
    assert made == {
        "input": str(trace),
        "output": str(path),
        "form": "collapsed",
        "samples": 4,
        "left_out": {},
        "losses": {},
        "unsure": [],
    }
    path = tmp_path / "made.json"
    made = json.loads(output(capsys, "convert", trace, "--json", "-o", path))
    assert made["left_out"] == {}


def test_a_flame_graph_has_the_name_of_its_file(
    trace: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(trace.parent)
    made = json.loads(output(capsys, "flame", "--json", trace.name))
    assert made["output"] == "profile.fxt.html"
    assert (trace.parent / "profile.fxt.html").exists()


def test_top_limits_its_rows(pprof: Path, capsys: Capture) -> None:
    found = output(capsys, "top", pprof, "--limit", "1").splitlines()
    assert found[-1] == "and 3 more: --limit 0 shows all"
    assert len(found) == 4
    assert len(output(capsys, "top", pprof, "--limit", "0").splitlines()) == 6


def test_top_sums_the_chosen_values(pprof: Path, capsys: Capture) -> None:
    assert output(capsys, "top", pprof).startswith("3 samples, cpu: 750 ns in all\n")
    told = output(capsys, "top", pprof, "--value", "samples")
    assert told.startswith("3 samples, samples: 8 in all\n")


def test_each_of_several_events_is_an_object_on_a_line(
    tmp_path: Path, capsys: Capture
) -> None:
    path = tmp_path / "perf.txt"
    events = ("cycles", "faults", "cycles")
    samples = (f"app 7 1.00000{at}: 5 {each}: " for at, each in enumerate(events))
    path.write_text("".join(f"{each}\n\t 401000 f (/opt/app)\n\n" for each in samples))
    lines = output(capsys, "top", path, "--json").splitlines()
    found = [json.loads(line) for line in lines]
    assert [each["value"]["type"] for each in found] == ["cycles", "faults"]
    assert [each["total"] for each in found] == [10, 5]


def test_the_last_value_that_is_not_always_0_is_shown(
    tmp_path: Path, capsys: Capture
) -> None:
    # As ddtrace writes it, whose last values are those of a processor without work.
    made = new_profile()
    kinds = (b"count", b"space", b"time", b"bytes", b"nanoseconds")
    made.string_table.extend((b"", *kinds))
    for kind, unit in ((1, 1), (2, 4), (3, 5)):
        made.sample_type.add(type=kind, unit=unit)
    made.location.add(id=1, address=0x10)
    made.sample.add(location_id=[1], value=[3, 5, 0])
    path = tmp_path / "values.pb"
    path.write_bytes(made.SerializeToString())
    assert json.loads(output(capsys, "top", path, "--json"))["total"] == 5
    words = "top", path, "--json", "--value", "time"
    assert json.loads(output(capsys, *words))["total"] == 0


def test_the_first_value_of_speedscope_is_shown(
    tmp_path: Path, capsys: Capture
) -> None:
    one = {"type": "sampled", "name": "", "startValue": 0, "endValue": 5}
    profiles = [
        {**one, "unit": unit, "samples": [[0]], "weights": [weight]}
        for unit, weight in (("none", 3), ("bytes", 5))
    ]
    whole = {"shared": {"frames": [{"name": "f"}]}, "profiles": profiles}
    path = tmp_path / "values.json"
    for shown, total in (({}, 3), ({"activeProfileIndex": 1}, 5)):
        path.write_text(json.dumps({**whole, **shown}))
        assert json.loads(output(capsys, "top", path, "--json"))["total"] == total


def test_a_long_name_is_cut_in_its_middle(
    pprof: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    found = output(capsys, "top", pprof, "--by", "thread").splitlines()
    assert [line for line in found if len(line) > 60] == []


def test_a_profile_is_read_from_standard_input(
    pprof: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = io.TextIOWrapper(io.BytesIO(pprof.read_bytes()))
    monkeypatch.setattr(sys, "stdin", given)
    words = ["convert", "-", "--to", "collapsed", "--value", "samples"]
    assert output(capsys, *words).splitlines() == [
        "main;a.so!0x7fff 1",
        "main;outer(int);inner() 7",
    ]


def test_errors_name_standard_input(
    pprof: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    for data in (b"", pprof.read_bytes()[:-9]):
        given = io.TextIOWrapper(io.BytesIO(data))
        monkeypatch.setattr(sys, "stdin", given)
        assert run("top", "-") == 1
        assert capsys.readouterr().err.startswith("gsym: error: standard input: ")


def test_a_truncated_profile_is_read_to_its_end(trace: Path, capsys: Capture) -> None:
    data = trace.read_bytes()
    trace.write_bytes(data[:-4])
    assert run("top", trace, "--json") == 0
    found = capsys.readouterr()
    assert json.loads(found.out)["samples"] == 4
    assert "at offset 0x" in found.err
    assert run("top", trace, "--strict") == 3
    assert "offset 0x" in capsys.readouterr().err


def perf_text(program: Path, leaf: str, seen: Seen) -> str:
    """Plain `perf script` text of a program, with perf's names of its functions."""
    lines = ["chain 7/7 [001] 10.000001: 250000 cpu-clock:"]
    for address, symbol in zip(
        seen.addresses, (leaf, "middle", "outer", "main"), strict=True
    ):
        offset = address - seen.start + seen.file_offset
        lines.append(f"\t{offset:16x} {symbol}+0x1 ({program})")
    return "\n".join([*lines, "\t 7b7 gone+0x3 (/opt/nowhere)", ""])


def test_lines_of_the_binary_replace_the_symbols_of_perf(
    tmp_path: Path, compiler: str, capsys: Capture
) -> None:
    program = build(tmp_path, compiler)
    text, stale = tmp_path / "perf.txt", tmp_path / "stale.txt"
    seen = run_program(program)
    text.write_text(perf_text(program, "leaf", seen))
    stale.write_text(perf_text(program, "renamed_since", seen))
    words = ["--by", "line", "--json"]
    fitting = json.loads(output(capsys, "top", text, *words))["rows"]
    names = {row["name"].rpartition(":")[0] for row in fitting}
    assert names == {"", str(tmp_path / "chain.c")}  # "gone" is of no file
    assert fitting[0]["name"].endswith("chain.c:5")  # of `here`, which is inlined
    assert json.loads(output(capsys, "top", stale, *words))["rows"][0]["name"] == (
        "renamed_since"
    )


def test_a_table_of_lines_reports_the_share_without_lines(
    tmp_path: Path, capsys: Capture
) -> None:
    text = tmp_path / "perf.txt"
    text.write_text("a 7 cycles:\n\t 7b7 gone+0x3 (/opt/nowhere)\n\n")
    assert run("top", text, "--by", "line") == 0
    expected = "100.0 % of the samples have no known line: their rows are functions"
    assert expected in capsys.readouterr().err
    assert run("top", text) == 0
    assert "no known line" not in capsys.readouterr().err
