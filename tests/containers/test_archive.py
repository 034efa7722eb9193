"""Static archives: names, places and times of what is in them."""

from __future__ import annotations

import pytest

import gsym
from gsym.containers.archive import Member, list_members
from tests.inputs.archive import header, member

LONG = "a_name_of_more_than_fifteen_letters.o"


def list_of(data: bytes) -> list[Member]:
    return list(list_members(memoryview(data), "x.a"))


def settle(data: bytes) -> list[Member] | None:
    """The members, or None where the archive is refused."""
    try:
        return list_of(data)
    except gsym.FormatError:
        return None


def contents(data: bytes) -> dict[str, bytes]:
    return {each.name: data[each.offset :][: each.size] for each in list_of(data)}


GNU = (
    b"!<arch>\n"
    + member("/", b"index")
    + member("//", f"{LONG}/\nother_long_name.o/\n".encode())
    + member("a.o/", b"odd")
    + member("/0", b"first")
    + member(f"/{len(LONG) + 2}", b"second")
    + member("with space.o/", b"")
)
BSD = (
    b"!<arch>\n"
    + member("__.SYMDEF SORTED", b"index")
    + member("#1/40", LONG.encode().ljust(40, b"\0") + b"first")
    + member("a.o", b"odd")
)


def test_names_of_gnu_tools() -> None:
    assert contents(GNU) == {
        "a.o": b"odd",
        LONG: b"first",
        "other_long_name.o": b"second",
        "with space.o": b"",
    }


def test_names_of_bsd_tools() -> None:
    assert contents(BSD) == {LONG: b"first", "a.o": b"odd"}
    assert [each.mtime for each in list_of(BSD)] == [7, 7]


def test_a_thin_archive_names_files_elsewhere() -> None:
    names = f"dir/{LONG}/\n"
    data = b"!<thin>\n" + member("//", names.encode()) + header("/0", 1000)
    assert list_of(data) == [Member(f"dir/{LONG}", 0, 1000, 7)]


def test_a_name_is_as_long_as_a_path_may_be() -> None:
    """PATH_MAX of Linux, 4096 bytes with the NUL."""
    path = "/".join(["d" * 255] * 16)
    assert len(path) == 4095
    data = b"!<thin>\n" + member("//", f"{path}/\n".encode()) + header("/0", 1000)
    assert list_of(data) == [Member(path, 0, 1000, 7)]


@pytest.mark.parametrize("data", [GNU, BSD], ids=["GNU", "BSD"])
def test_every_prefix_ends_in_an_answer(data: bytes) -> None:
    whole = list_of(data)
    for size in range(8, len(data)):
        found = settle(data[:size])
        assert found is None or found == whole[: len(found)]


@pytest.mark.parametrize(
    "data",
    [
        header("a.o/", 1),
        header("a.o/", 9999999999),
        header("a.o/", 0)[:-1] + b"x",
        b"?" * 60,
    ],
)
def test_a_damaged_member_is_refused(data: bytes) -> None:
    with pytest.raises(gsym.FormatError, match="archive"):
        list_of(b"!<arch>\n" + data)


@pytest.mark.parametrize("name", ["/99", "/", "//", "#1/x", "#1/99", "/-1", "/²"])
def test_names_that_cannot_be_read_stop_nothing(name: str) -> None:
    data = b"!<arch>\n" + header(name, 2) + b"xx" + member("a.o/", b"data")
    assert contents(data)["a.o"] == b"data"


def test_indexes_of_all_tools_are_no_members() -> None:
    names = ["/", "/", "//", "/SYM64/", "__.SYMDEF", "__.SYMDEF_64", "/<ECSYMBOLS>/"]
    data = b"!<arch>\n" + b"".join(member(name, b"xy") for name in names)
    bsd = member("#1/20", b"__.SYMDEF SORTED\0\0\0\0table")
    assert contents(data + bsd + member("a.o/", b"data")) == {"a.o": b"data"}


def test_padding_at_the_end_is_not_a_member() -> None:
    assert contents(GNU + b"\n\n") == contents(GNU + b"\0" * 59) == contents(GNU)
    with pytest.raises(gsym.FormatError, match="damaged"):
        list_of(GNU + b"\0" * 60)


def test_a_thin_archive_of_archives_is_refused() -> None:
    names = member("//", b"inner.a/\n")
    with pytest.raises(gsym.UnsupportedError, match="thin archive of other archives"):
        list_of(b"!<thin>\n" + names + header("/0:100", 7))


@pytest.mark.slow
def test_many_long_names_take_time_in_proportion() -> None:
    name = b"x" * 2_000_000
    many = b"".join(header("/0", 0) for _ in range(50_000))
    data = b"!<arch>\n" + member("//", name) + many
    assert len({each.name for each in list_of(data)}) == 1
