"""Two modules are compared by rules: docs/identity.md."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from gsym.modules.key import (
    OTHER,
    PART,
    SAME,
    UNKNOWN,
    ModuleKey,
    code_id_of,
    compare,
    completed,
    elf_debug_id,
    fits_uuid,
    has_id,
    is_absent,
    key_of_uuid,
    keys_of_text,
)
from gsym.modules.part import (
    FOOTER_SIZE,
    key_text,
    module_part,
    read_key,
    read_module_part,
)
from tests.strategies import builds

pytestmark = pytest.mark.no_engine

BUILD_ID = "2bac11f05e20b9f0c1f5f4b2a0d1c2b3a4958677"
FLIPPED = BUILD_ID[:-1] + "6"  # the last bit, as llvm-bolt does it
LONG = BUILD_ID + "00112233445566778899aabb"
DEBUG_ID = elf_debug_id(bytes.fromhex(BUILD_ID), "little")
GUID = "0905AE80CEE75A33E3CAB61C274274DE"
GO_IDS = [f"{'a' * 20}/{each * 20}" for each in "bc"]


def elf(build_id: str = "", **fields: str) -> ModuleKey:
    debug_id = elf_debug_id(bytes.fromhex(build_id), "little") if build_id else ""
    found = ModuleKey(debug_id=debug_id, code_id=build_id.upper(), os="Linux")
    return found._replace(**fields)


def pe(debug_id: str = "", code_id: str = "") -> ModuleKey:
    return ModuleKey(debug_id=debug_id, code_id=code_id, os="windows")


def mac(uuid: str) -> ModuleKey:
    debug_id = uuid.upper() + "0" if uuid else ""
    return ModuleKey(debug_id=debug_id, code_id=uuid.upper(), os="mac")


@pytest.mark.parametrize(
    ("wanted", "found", "outcome"),
    [
        # build ids
        (ModuleKey(code_id=BUILD_ID.upper()), elf(BUILD_ID), SAME),
        (ModuleKey(code_id=BUILD_ID), elf(BUILD_ID), SAME),
        (ModuleKey(code_id=FLIPPED), elf(BUILD_ID), OTHER),
        (ModuleKey(debug_id=DEBUG_ID, code_id=FLIPPED), elf(BUILD_ID), OTHER),
        (ModuleKey(debug_id=DEBUG_ID), elf(BUILD_ID), PART),
        (ModuleKey(debug_id=DEBUG_ID), elf(BUILD_ID[:32]), SAME),
        (ModuleKey(code_id=BUILD_ID), ModuleKey(debug_id=DEBUG_ID, os="Linux"), PART),
        (ModuleKey(code_id=FLIPPED), ModuleKey(debug_id=DEBUG_ID, os="Linux"), PART),
        (ModuleKey(code_id=BUILD_ID), elf(LONG), PART),
        (ModuleKey(code_id=BUILD_ID[:-2]), elf(LONG), OTHER),
        # half a byte more is no longer build id
        (ModuleKey(code_id=BUILD_ID), ModuleKey(code_id=BUILD_ID + "0"), OTHER),
        (ModuleKey(code_id="ab"), elf("ab"), SAME),
        (ModuleKey(code_id="ab"), elf("ac"), OTHER),
        # a big-endian file whose debug id was printed as that of a little-endian one
        (
            ModuleKey(debug_id=elf_debug_id(bytes.fromhex(BUILD_ID), "big")),
            elf(BUILD_ID),
            OTHER,
        ),
        (
            ModuleKey(
                debug_id=elf_debug_id(bytes.fromhex(BUILD_ID), "big"),
                code_id=BUILD_ID,
            ),
            elf(BUILD_ID),
            SAME,
        ),
        # a debug id made of the first page of the code
        (elf(debug_id=GUID + "0"), elf(debug_id=GUID + "0"), PART),
        (elf(debug_id=GUID + "0"), elf(debug_id=GUID[::-1] + "0"), OTHER),
        # Go
        (elf(go_id=GO_IDS[0]), elf(go_id=GO_IDS[0]), SAME),
        (
            elf(debug_id=GUID + "0", go_id=GO_IDS[0]),
            elf(debug_id=GUID + "0", go_id=GO_IDS[1]),
            OTHER,
        ),
        # what Bazel gives to all programs
        (elf(go_id="redacted"), elf(go_id="redacted"), UNKNOWN),
        # code
        (elf(code_hash="ab"), elf(code_hash="ab"), SAME),
        (elf(BUILD_ID, code_hash="ab"), elf(BUILD_ID, code_hash="cd"), OTHER),
        (elf(BUILD_ID, code_hash="ab"), elf(BUILD_ID), SAME),
        (
            elf(debug_id=GUID + "0", code_hash="ab"),
            elf(debug_id=DEBUG_ID, code_hash="ab"),
            SAME,
        ),
        (elf(debug_id=GUID + "0", code_hash="ab"), elf(BUILD_ID, code_hash="ab"), SAME),
        (elf(BUILD_ID, code_hash="ab"), elf(FLIPPED, code_hash="ab"), OTHER),
        (
            elf(go_id=GO_IDS[0], code_hash="ab"),
            elf(go_id=GO_IDS[1], code_hash="ab"),
            OTHER,
        ),
        (
            pe("", "5F3759DF1000")._replace(code_hash="ab"),
            pe("", "5F3759DF2000")._replace(code_hash="ab"),
            SAME,
        ),
        (
            pe(GUID + "1", "5F3759DF1000")._replace(code_hash="ab"),
            pe(GUID + "1", "5F3759DF2000")._replace(code_hash="ab"),
            SAME,
        ),
        (
            pe(GUID + "1")._replace(code_hash="ab"),
            pe(GUID + "2")._replace(code_hash="ab"),
            OTHER,
        ),
        (
            mac(BUILD_ID[:32])._replace(code_hash="ab"),
            mac(BUILD_ID[8:40])._replace(code_hash="ab"),
            OTHER,
        ),
        # Windows
        (pe(GUID + "1"), pe(GUID + "1"), SAME),
        (pe(GUID + "1"), pe(GUID + "7"), OTHER),
        (pe(GUID + "1"), pe(GUID), PART),
        (pe(GUID + "1", "5F3759DF1000"), pe(GUID + "1", "5F3759DF1000"), SAME),
        (pe(GUID + "1", "5F3759DF1000"), pe(GUID + "1", "5F3759E02000"), PART),
        (pe("", "5F3759DF1000"), pe("", "5F3759DF1000"), SAME),
        (pe("", "5F3759DF1000"), pe("", "5F3759DF2000"), OTHER),
        (pe("", "5F3759DF1000"), pe(GUID + "1", "5F3759E01000"), OTHER),
        (pe("", "000000001000"), pe("", "000000001000"), UNKNOWN),
        (pe("0" * 32 + "1"), pe("0" * 32 + "1"), UNKNOWN),
        (pe("0" * 33, "5F3759DF1000"), pe("0" * 33, "5F3759DF2000"), OTHER),
        # Apple
        (mac(BUILD_ID[:32]), mac(BUILD_ID[:32]), SAME),
        (mac(BUILD_ID[:32]), mac(BUILD_ID[8:40]), OTHER),
        (mac("0" * 32), mac("0" * 32), UNKNOWN),
        (mac(""), mac(BUILD_ID[:32]), UNKNOWN),
        # names decide nothing
        (ModuleKey("a"), ModuleKey("a"), UNKNOWN),
        (ModuleKey("a", code_id=BUILD_ID), elf(BUILD_ID, debug_file="b"), SAME),
    ],
)
def test_two_modules_are_compared(
    wanted: ModuleKey, found: ModuleKey, outcome: str
) -> None:
    result = compare(wanted, found)
    assert result.outcome == outcome
    assert bool(result.reason) == (outcome != SAME)
    assert compare(found, wanted).outcome == outcome


HEX = st.text("0123456789abcdef", max_size=48)
KEYS = builds(
    ModuleKey,
    debug_id=st.sampled_from(["", DEBUG_ID, GUID, GUID + "0", GUID + "1", "0" * 33]),
    code_id=st.one_of(HEX, st.sampled_from([BUILD_ID, FLIPPED, LONG, "000000001000"])),
    os=st.sampled_from(["", "Linux", "mac", "windows"]),
    go_id=st.sampled_from(["", GO_IDS[0], GO_IDS[1]]),
    code_hash=st.sampled_from(["", "ab", "cd"]),
)


@given(KEYS, KEYS)
def test_order_does_not_matter(one: ModuleKey, other: ModuleKey) -> None:
    assert compare(one, other).outcome == compare(other, one).outcome


@given(KEYS)
def test_no_module_is_another_than_itself(key: ModuleKey) -> None:
    outcome = compare(key, key).outcome
    assert outcome != OTHER
    assert (outcome == UNKNOWN) <= (not has_id(key) or key.os == "windows")


@given(KEYS, KEYS)
def test_an_id_that_differs_is_never_outvoted(one: ModuleKey, two: ModuleKey) -> None:
    for name in ("go_id", "code_hash"):
        values = {getattr(one, name), getattr(two, name)}
        if "" not in values and len(values) > 1:
            assert compare(one, two).outcome == OTHER


@given(KEYS, st.text(max_size=20), st.text(max_size=20))
def test_a_key_is_read_as_it_was_written(key: ModuleKey, name: str, path: str) -> None:
    named = key._replace(debug_file=name.replace("\0", ""), path=path)
    if any("\ud800" <= each <= "\udfff" for each in named.debug_file):
        return
    assert read_key(key_text(named)) == named._replace(path="")
    for start in (0, 452, 1 << 20):
        part = module_part(named, start)
        if part:
            assert (start + len(part)) % 512 == 0
            assert read_module_part(part) == named._replace(path="")
        else:
            assert not any(named._replace(path=""))


def test_names_of_later_versions_are_ignored() -> None:
    assert read_key(b"os=Linux\0color=red\0=\0os\0") == ModuleKey(os="")
    assert read_key(b"os=Linux\0color=red\0path=/x\0") == ModuleKey(os="Linux")


@given(st.binary(max_size=80))
def test_other_bytes_are_no_part(data: bytes) -> None:
    if b"GSYMIDEN" not in data:
        assert read_module_part(data) is None


@pytest.mark.parametrize("size", [-1, 1, 1 << 20, (1 << 64) - 1])
def test_a_part_that_does_not_fit_is_none(size: int) -> None:
    text = b"os=Linux\0"
    footer = b"GSYMIDEN" + (size % (1 << 64)).to_bytes(8, "little")
    assert size == 1 or read_module_part(text + footer) is None
    assert read_module_part(footer[-FOOTER_SIZE + 1 :]) is None


def test_zeros_say_nothing() -> None:
    assert all(map(is_absent, ("", "0", "0" * 33, "00000000-0000")))
    assert not is_absent("01")
    assert not is_absent("00000000DEADBEEF")
    assert not has_id(ModuleKey("a", "0" * 33, "b", "0" * 40))


def test_a_build_id_may_begin_with_zeros_and_a_time_stamp_may_not() -> None:
    short, whole = "0000000012345", "00000000DEADBEEF"
    assert code_id_of(elf("00000000dead")) == "00000000DEAD"
    assert code_id_of(ModuleKey(code_id=whole)) == whole
    assert code_id_of(ModuleKey(code_id=short)) == ""
    assert [code_id_of(pe(code_id=each)) for each in (short, whole)] == ["", ""]


def test_an_id_that_is_longer_than_a_build_id_is_none() -> None:
    longest = "ab" * 64
    assert code_id_of(ModuleKey(code_id=longest)) == longest.upper()
    too_long = ModuleKey(code_id=longest + "ab")
    assert code_id_of(too_long) == ""
    assert compare(too_long, too_long).outcome == UNKNOWN
    assert not has_id(too_long)
    assert keys_of_text(longest)
    assert not keys_of_text(longest + "ab")


@pytest.mark.parametrize("text", [GO_IDS[0], GO_IDS[0].encode().hex()])
def test_a_text_may_be_a_build_id_of_go(text: str) -> None:
    assert keys_of_text(text) == [ModuleKey(go_id=GO_IDS[0])]


def test_a_uuid_alone_is_what_is_asked_for() -> None:
    uuid = bytes.fromhex(GUID)
    swapped = key_of_uuid(uuid, "little", pe(elf_debug_id(uuid, "little")[:32] + "7"))
    assert (swapped.os, len(swapped.debug_id)) == ("windows", 32)
    assert key_of_uuid(uuid, "little", mac(GUID)).os == "mac"
    assert key_of_uuid(uuid, "little").os == "Linux"
    assert key_of_uuid(bytes(16), "little").debug_id == ""
    # It is not taken for one of another system, of which nothing could be compared.
    assert compare(elf(BUILD_ID), key_of_uuid(uuid, "little", elf(BUILD_ID))).is_refused
    short = key_of_uuid(b"\xab\xcd\xef", "little", ModuleKey(code_id="ABCDEE"))
    assert compare(ModuleKey(code_id="ABCDEE"), short).is_refused


def test_a_part_must_fit_the_uuid() -> None:
    assert fits_uuid(elf(BUILD_ID), bytes.fromhex(BUILD_ID))
    assert fits_uuid(elf(LONG), bytes.fromhex(BUILD_ID))
    assert not fits_uuid(elf(FLIPPED), bytes.fromhex(BUILD_ID))
    assert fits_uuid(elf(), bytes.fromhex(BUILD_ID))
    assert fits_uuid(pe(GUID + "1"), bytes.fromhex("80AE0509E7CE335AE3CAB61C274274DE"))
    assert not fits_uuid(pe(GUID + "1"), bytes.fromhex(GUID))


def test_what_is_missing_is_filled_in() -> None:
    more = elf(BUILD_ID, architecture="x86_64", debug_file="b")
    assert completed(ModuleKey("a"), more) == more._replace(debug_file="a")


def test_a_value_in_a_file_ends_at_a_zero_byte() -> None:
    named = ModuleKey(debug_file="\0a.pdb", architecture="x\0y", os="windows")
    kept = ModuleKey(architecture="x", os="windows")
    assert read_key(key_text(named)) == kept


# ---- code


def test_hashes_that_are_made_in_another_way_are_not_compared() -> None:
    older, newer = ModuleKey(code_hash="0" * 31 + "1"), ModuleKey(code_hash="0" * 16)
    assert compare(older, newer).outcome == UNKNOWN
    assert compare(newer, newer).outcome == SAME
