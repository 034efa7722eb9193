"""A profile of any format is known by what is in it."""

from __future__ import annotations

import gzip
import io
import json
import struct
import sys
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from gsym.containers.recognition import TRACE_MAGICS as MAGICS
from gsym.errors import FormatError, UnsupportedError
from gsym.fxt.objects import PROCESS
from gsym.fxt.records import KernelObject, LargeBlob
from gsym.fxt.writer import Encoder
from gsym.profiles import opening
from gsym.profiles.input_bytes import MOST_BYTES, Bound
from gsym.profiles.opening import (
    KINDS,
    ProfileOptions,
    read_profile,
)
from gsym.profiles.pprof import pprof_file
from gsym.profiles.recognition import profile_kind
from tests.inputs import perf_data
from tests.profiles import json_profiles, otlp_messages, pprof_messages
from tests.profiles.profiles import small_profile
from tests.profiles.symbols import BUILD_ID

pytestmark = pytest.mark.no_engine

GOLDEN = Path(__file__).parents[1] / "golden" / "profiles"
PERF = b"# ========\n\napp 7/7 1.0:  5 cycles:u:\n\t 10 f+0x1 (/opt/app)\n"
FORMS = {
    "pprof": pprof_messages.message().SerializeToString(),
    "otlp": otlp_messages.message().SerializeToString(),
    "perf script": PERF,
    "perf.data": perf_data.small_file(),
    "addresses": b"\n# two\n0x10\n0x20\n",
    "fxt": MAGICS[0],
    "heap": b"heap_v2/512\n@ 0x10 0x20\n  t*: 1: 2 [0: 0]\n",
    "go": b"mutex profile: total 3\n3 @ 0x10 0x20\n",
    "callgrind": b"version: 1\nevents: Ir\nfn=f\n1 2\n",
    "dhat": b'{"dhatFileVersion":2,"pps":[{"tb":1,"fs":[0]}],"ftbl":["f"]}',
    "gperftools": struct.pack("<11Q", 0, 3, 0, 100, 0, 1, 1, 16, 0, 1, 0),
    "collapsed": b"main;leaf 12\nmain 1\n",
    "chrome": json.dumps(json_profiles.CHROME).encode(),
    "cpuprofile": json.dumps(json_profiles.CPUPROFILE).encode(),
    "heapprofile": json.dumps(json_profiles.HEAPPROFILE).encode(),
    "speedscope": json.dumps(json_profiles.SPEEDSCOPE).encode(),
    "firefox": json.dumps(json_profiles.firefox()).encode(),
}


def written(folder: Path, data: bytes) -> Path:
    path = folder / "profile"
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("kind", FORMS)
def test_a_format_is_recognised_by_its_contents(tmp_path: Path, kind: str) -> None:
    for data in (FORMS[kind], gzip.compress(FORMS[kind])):
        path = written(tmp_path, data)
        assert profile_kind(path) == kind
        assert bool(read_profile(path).samples) == (kind != "fxt")


def test_a_trace_without_a_magic_number_is_recognised(
    tmp_path: Path,
) -> None:
    records = Encoder()
    records.take()  # the magic number
    for name in ("one", "two"):
        records.add(KernelObject(1, PROCESS, name))
    few = records.take()
    assert profile_kind(written(tmp_path, few)) == "fxt"
    records.add(LargeBlob("", "", bytes(2 << 20)))
    # Longer than other profiles may be, which are inflated to tell what they are.
    many = written(tmp_path, few + records.take())
    with many.open("r+b") as file:
        file.truncate(MOST_BYTES.floor + 1)
    assert profile_kind(many) == "fxt"


def test_files_of_other_writers_are_recognised(tmp_path: Path) -> None:
    assert profile_kind(GOLDEN / "go-cpu.pb.gz") == "pprof"
    assert profile_kind(written(tmp_path, pprof_file(small_profile()))) == "pprof"
    assert profile_kind(written(tmp_path, MAGICS[1])) == "fxt"
    older = otlp_messages.message("1.9").SerializeToString()
    assert profile_kind(written(tmp_path, older)) == "otlp"


def test_a_message_truncated_between_fields_is_recognised(tmp_path: Path) -> None:
    # What is looked at ends behind a sample, so that it could be a whole message.
    samples = b"\x0a\x00" + b"\x12\x00" * (1 << 19)
    path = written(tmp_path, samples + b"\x32\x00")
    assert profile_kind(path) == "pprof"


def test_the_first_field_may_exceed_the_inspected_bytes(tmp_path: Path) -> None:
    made = otlp_messages.message()
    profile = otlp_messages.first_profile(made)
    profile.original_payload = bytes(3 << 20)
    path = written(tmp_path, made.SerializeToString())
    assert profile_kind(path) == "otlp"
    assert read_profile(path).losses == {"original payloads": 1}


def test_options_are_passed_to_their_formats(tmp_path: Path) -> None:
    path = written(tmp_path, FORMS["addresses"])
    profile = read_profile(
        path, ProfileOptions(build_id=BUILD_ID, module="/m", return_addresses=True)
    )
    assert profile.mappings[0].build_id == BUILD_ID
    assert profile.locations[0].is_return
    path = written(tmp_path, PERF)
    options = ProfileOptions(build_ids={"/opt/app": "ab"})
    profile = read_profile(path, options)
    assert profile.mappings[0].build_id == "ab"
    path = written(tmp_path, FORMS["pprof"])
    profile = read_profile(path, ProfileOptions(return_addresses=True))
    assert any(location.is_return for location in profile.locations)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "fxt"])
def test_the_size_of_a_file_is_limited(tmp_path: Path, kind: str) -> None:
    size = len(FORMS[kind])
    for stored in (FORMS[kind], gzip.compress(FORMS[kind])):
        path = written(tmp_path, stored)
        assert read_profile(path, ProfileOptions(most_bytes=size)).samples
        with pytest.raises(FormatError, match=f"more than {size - 1} bytes"):
            read_profile(path, ProfileOptions(most_bytes=size - 1))


def test_anything_else_is_refused(tmp_path: Path) -> None:
    for data in (
        b"\x7fELF" + bytes(100),
        b"main;leaf 12\nmain\n",
        b"main 12 \0",
        b"[1, 2]",
        b'{"name": "profile"}',
        b'{"deep": {"traceEvents": []}}',
        b"2024-01-02 a line of a log\n" * 9,
        b"{}",
        b"\0\0",
        b"\x0a\x02\x09\x01",
        b"\x0a\x7f\x08",
        b"\x12\x01",
        b"\xf8\x7f\x01",
        b"\nThe quick brown fox jumps\n" * 9,  # a field of 84 bytes, were it pprof
        b"\n x\n y\n and more words\n" * 9,
        b"\n\n\n\n and more words\n" * 9,  # ... and OTLP
    ):
        path = written(tmp_path, data)
        assert profile_kind(path) == ""
        with pytest.raises(FormatError, match="unrecognized profile format") as caught:
            read_profile(path)
        assert caught.value.path == str(path)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('\ufeff {"displayTimeUnit": "ms", "traceEvents": []}', "chrome"),
        ('[{"name": "a", "args": {"ph": [1]}, "ph": "B"', "chrome"),
        ('[ {"name": "[a]", "ph": "B", "ts": 1', "chrome"),
        ('[{"args": {"ph": "B"}}, 1]', ""),
        ("[]", ""),
        ('{"metadata": {"source": "DevTools"}, "traceEvents": [', "chrome"),
        ('{"total_num_allocations": 1, "metadata": {"pid": 7}}', ""),  # of memray
        ('{"shared": {"frames": [{"name": "}]"}, ', "speedscope"),
        ('{"shared": {"stringArray": ["frames"], ', "firefox"),
        ('{"samples": [1], "nodes": [', "cpuprofile"),
    ],
)
def test_json_is_recognised_by_its_members(
    tmp_path: Path, text: str, kind: str
) -> None:
    assert profile_kind(written(tmp_path, text.encode())) == kind


@pytest.mark.parametrize(
    ("data", "command"),
    [
        (b"Nettrace", "type: dotnet-trace convert {}"),
        (b"FLR\0\0\2", "type: jfrconv -o collapsed {}"),
        (b"JAVA PROFILE 1.0.2\0", "type: jcmd PID JFR.start"),
        (b"SIMPLEPERF\0", "type: stackcollapse.py"),
        (b"MOJ\3\1austin\0", "type: mojo2austin {} stacks.txt"),
        (b"memray\0\1", "type: memray transform speedscope {}"),
        # As gperftools begins, too; then a mark, version 7, its options, and a name.
        (
            struct.pack("<5Q", 0, 3, 0, 990, 0) + b"\5\0\7\4\7cpython\6",
            "type: vmprofshow {} tree",
        ),
        (b"DTiJ\1\0", "it has no samples; type: perf record -k mono"),
        (b"\xfb)\3\xfa\6app.py\xe9\1", "it has no stacks; type: py-spy"),
        (b"gmon\1\0\0\0", "it has no stacks; type: gprof PROGRAM {}"),
        (b"go 1.22 trace\0\0\0", "type: go tool trace -pprof=sched {} > out.pb.gz"),
        (b"\x80\x02cyappi\nYFuncStats\n", "type: yappi -f callgrind -o out PROGRAM"),
        (b"\x80\x05\x95\x84\0\0\0\0\0\0\0\x8c\x1bline", "type: yappi"),
        # Two packets of Perfetto, with a clock and a time.
        (b"\x0a\x02\x40\x05\x0a\x02\x40\x06", "type: traceconv json {}"),
    ],
)
def test_a_binary_format_that_is_not_read_says_what_to_type(
    tmp_path: Path, data: bytes, command: str
) -> None:
    for stored in (data, gzip.compress(data)):
        path = written(tmp_path, stored)
        with pytest.raises(UnsupportedError) as caught:
            read_profile(path)
        assert f"is not read; {command.format(path)}" in caught.value.reason


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("desc: --time-unit=B\ncmd: ./a\nmem_heap_B=1\n", "ms_print {}"),
        ("CPU     ID    FUNCTION:NAME\n  0  1  :tick\n\n libc`f+1\n  4\n", "dtrace"),
        ("Analysis of sampling app (pid 7)\nProcess: app [7]\n", "gsym symbolicate {}"),
        ("Level,Function Name,Number of Calls,X\n0,a,1,2\n", "inferno-collapse-vsprof"),
        ("*version\n3\nclock=dual\n*threads\n1\tmain\n", "open it at profiler"),
        ("@[\n  f+1\n  main+2\n]: 12\n", "stackcollapse-bpftrace"),
        ('<?xml version="1.0"?><!DOCTYPE svg PUBLIC "">\n<svg x="1">', "py-spy -f raw"),
        ("v8-version,11,3,244,8,-node.38,0\nv8-platform,linux\n", "node --cpu-prof"),
        ("goroutine 1 [running]:\nmain.main()\n", "gsym symbolicate {}"),
        ("\t\t\tCall graph\n\n\ngranularity: each sample\n", "gprof2dot {}"),
        ("Functions sorted by metric: Exclusive Total CPU Time\n\n", "perf record -g"),
        ("Functions Call Tree. Metric: Attributed Total CPU Time\n", "perf record -g"),
        (
            '{"type": "attached_probes", "data": {"probes": 1}}\n',
            "without -f json: bpftrace",
        ),
        ("-----BEGIN MICRODUMP-----\nV x\n", "gsym symbolicate {}"),
        ('{"snapshot": {"meta": {}}, "nodes": [1]}', "run node --heap-prof"),
        ('{"version": 1.2, "samples": 3, "gc_samples": 0}', "stackprof"),
        ('{"linux-perf-json-version": 1, "samples": []}', "perf.data itself"),
        ('{"alloc_samples": 0, "combined_stacks": []}', "type: jq -r '.stacks[] |"),
    ],
)
def test_a_text_that_is_not_read_says_what_to_type(
    tmp_path: Path, text: str, command: str
) -> None:
    path = written(tmp_path, text.encode())
    with pytest.raises(UnsupportedError) as caught:
        read_profile(path)
    assert "is not read; " in caught.value.reason
    assert command.replace("{}", str(path)) in caught.value.reason


@pytest.mark.parametrize("codec", ["utf-8-sig", "utf-16"])
def test_texts_may_have_the_mark_of_the_order_of_bytes(
    tmp_path: Path, codec: str
) -> None:
    for kind in ("collapsed", "perf script"):
        path = written(tmp_path, FORMS[kind].decode().encode(codec))
        assert profile_kind(path) == kind
        (name, *_) = (each.frames[0].name for each in read_profile(path).locations)
        assert name in {"leaf", "f"}


@pytest.mark.parametrize("name", ["app.trace", "app.etl", "test.1.er"])
def test_formats_known_by_their_names_say_what_to_type(
    tmp_path: Path, name: str
) -> None:
    path = tmp_path / name
    if not name.endswith(".etl"):
        path.mkdir()
    else:
        path.write_bytes(b"\x12\x01")
    with pytest.raises(UnsupportedError, match="is not read; "):
        read_profile(path)


def test_a_device_of_no_known_format_is_read_no_further_than_its_head() -> None:
    with pytest.raises(FormatError, match="/dev/zero: unrecognized profile format"):
        read_profile("/dev/zero")


def test_a_pipe_of_a_known_format_is_read_to_its_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(opening, "MOST_BYTES", Bound(1 << 20, 0))
    for text, count in ((b"main;leaf 1\n", 1 << 18), (PERF, 1 << 15)):
        given = io.TextIOWrapper(io.BytesIO(text * count))
        monkeypatch.setattr(sys, "stdin", given)
        assert len(read_profile("-").samples) == count


def test_a_pipe_is_read_to_its_end_if_its_fields_are_given(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(opening, "MOST_BYTES", Bound(1, 0))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(PERF * (1 << 15))))
    options = ProfileOptions(fields="comm,tid,pid,time,period,event,ip,sym,symoff,dso")
    assert len(read_profile("-", options).samples) == 1 << 15


def test_an_empty_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="empty"):
        read_profile(written(tmp_path, b""))


@given(data=st.binary(min_size=1, max_size=64), kind=st.sampled_from(KINDS))
def test_arbitrary_bytes_after_a_prefix_are_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, kind: str
) -> None:
    path = written(tmp_path_factory.getbasetemp(), FORMS[kind][:12] + data)
    try:
        read_profile(path)
    except (FormatError, UnsupportedError) as error:
        known = error.reason
    else:
        known = "read"
    assert known
