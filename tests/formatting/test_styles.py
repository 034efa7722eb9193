"""Templates of output styles: the language, its mistakes, any template at all."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, strategies as st

import gsym
from gsym.formatting.formatter import (
    HEX_NUMBERS,
    LLVM_NUMBERS,
    PLAIN_NUMBERS,
    Formatter,
    Style,
)
from gsym.formatting.styles import ascii_text, json_style
from tests import oracle, strategies
from tests.cli.test_lookup import OUTER
from tests.hostile import ADDRESSES, small_file
from tests.views import to_oracle

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.long

BASE = OUTER.start
TWIN = gsym.FunctionInfo(BASE + 0x3000, 8, "twin")
MERGED = gsym.FunctionInfo(BASE + 0x3000, 8, "first", merged=(TWIN, TWIN))


@pytest.fixture(scope="module")
def reader() -> Iterator[gsym.Reader]:
    with gsym.Creator(base_address=0x400000) as creator:
        creator.add(OUTER)
        creator.add(MERGED)
        data = creator.to_bytes()
    with gsym.Reader(data) as opened:
        yield opened


def answer(reader: gsym.Reader, template: str, offset: int) -> str:
    style = Style(template, merged="*functions" in template or "*merged" in template)
    return Formatter(reader, style).one(BASE + offset).decode()


@pytest.mark.parametrize(
    ("template", "offset", "text"),
    [
        ("", 0, ""),
        (
            "a long text, without any field at all",
            0,
            "a long text, without any field at all",
        ),
        ("<<b> <<", 0, "<b> <"),
        ("<address> <address8>", 0, "0x401000 0x00401000"),
        ("<address16> <address_decimal>", 0, "0x0000000000401000 4198400"),
        ("<function> <start> <size>", 0x12, "outer 4198400 64"),
        ("<function><start><size>", 0x40, ""),
        ("<?found>yes<:>no</>", 0, "yes"),
        ("<?found>yes<:>no</>", 0x40, "no"),
        ("<*frames><?later>, </><name></>", 0x12, "inner, outer"),
        ("<*innermost><name> <line></>", 0x12, "inner 3"),
        ("<*combined><name> <line></>", 0x12, "outer 3"),
        ("<*frames><directory>|<filename>|<path> </>", 0, "/src|a.c|/src/a.c "),
        ("<*frames><frame_start> + <offset>;</>", 0x12, "0x401010 + 2;0x401000 + 18;"),
        ("<*frames><?inlined>i<:>o</></>", 0x12, "io"),
        ("<*frames><?offset>+<:>0</></>", 0, "0"),
        ("<*frames><source></>", 0, "\0/src/a.c\x0010\0"),
        ("<?patterns><*patterns><?later>, </><pattern></></>", 0x18, "callee, other"),
        (
            "<*frames><*patterns><pattern> </><name>;</>",
            0x18,
            "callee other inner;callee other outer;",
        ),
        ("ab<*frames><?later>\n<indent></>x</>", 0x12, "abx\n  x"),
        ("<count><?several>s</><?merged>m</>", 0, "1"),
        ("<count><?several>s</><?merged>m</><*merged></>", 0x3000, "3sm"),
        ("<*functions><function><?more>, </></>", 0x3000, "first, twin, twin"),
        ("<*merged><?later>, </><function></><function>", 0x3000, "twin, twin"),
    ],
)
def test_a_template_formats_an_answer(
    reader: gsym.Reader, template: str, offset: int, text: str
) -> None:
    assert answer(reader, template, offset) == text


@pytest.mark.parametrize(
    ("template", "complaint"),
    [
        ("x<odd>", "unknown tag at '<odd>'"),
        ("<>", "unknown tag at '<>'"),
        ("<name", "tag without > at '<name'"),
        ("<name>", "misplaced tag at '<name>'"),
        ("<*patterns><name></>", "misplaced tag at '<name></>'"),
        ("<*frames><pattern></>", "misplaced tag at '<pattern></>'"),
        ("<*frames><*frames></></>", "misplaced tag at '<*frames></></>'"),
        ("<*frames><*merged></></>", "misplaced tag at '<*merged></></>'"),
        ("<:>", "<:> outside a condition at '<:>'"),
        ("<*frames><:></>", "<:> outside a condition at '<:></>'"),
        ("<?found><:><:></>", "<:> outside a condition at '<:></>'"),
        ("</>", "</> without a beginning at '</>'"),
        ("<?found>", "part without </> at ''"),
        ("<?found>" * 9, "parts nested too deeply"),
        ("x" * ((1 << 20) + 1), "too long"),
    ],
)
def test_a_wrong_template_is_refused(template: str, complaint: str) -> None:
    with pytest.raises(ValueError, match="template: ") as problem:
        Formatter(None, Style(template))
    assert complaint in str(problem.value)


# fmt: off
TAGS = [
    "?found", "?outside", "?damaged", "?several", "?merged", "?patterns", "?later",
    "?more", "?name", "?path", "?filename", "?line", "?offset", "?inlined",
    "*functions", "*merged", "*frames", "*innermost", "*combined", "*patterns",
    "address", "address8", "address16", "address_decimal", "indent", "error",
    "count", "function", "start", "size", "pattern", "name", "path", "directory",
    "filename", "line", "offset", "frame_start", "source", ":", "/", "/",
]
# fmt: on
templates = st.lists(
    st.sampled_from([f"<{tag}>" for tag in TAGS]) | st.text(max_size=40), max_size=30
).map("".join)
nested = st.lists(st.sampled_from([f"<{tag}>" for tag in TAGS]), max_size=8).map(
    lambda tags: "<*functions><*frames>" + "".join(tags) + "</></>"
)
styles = st.builds(
    Style,
    templates | nested,
    st.sampled_from([LLVM_NUMBERS, PLAIN_NUMBERS, HEX_NUMBERS]),
    *(st.booleans() for _ in range(4)),
    st.just(ascii_text),
)
LINES = [b"0x1004\n", b"\n", b" 1004 \n", b"zz\n", b"4100", b"x0x1004y\r\n", b"\0\n"]


@pytest.mark.hostile
@given(
    kind=st.tuples(strategies.versions, strategies.byte_orders),
    changes=st.lists(st.tuples(st.integers(0), st.integers(0, 255)), max_size=3),
    style=styles,
    addresses=st.lists(st.sampled_from(ADDRESSES), max_size=4),
    lines=st.lists(st.sampled_from(LINES), max_size=6).map(b"".join),
    line_size=st.sampled_from([1, 5, 2**64 - 1]),
    keep=st.none() | st.lists(st.booleans(), max_size=3),
)
def test_any_template_and_any_line_is_answered_or_refused(  # noqa: PLR0913, PLR0917
    kind: tuple[int, str],
    changes: list[tuple[int, int]],
    style: Style,
    addresses: list[int],
    lines: bytes,
    line_size: int,
    keep: list[bool] | None,
) -> None:
    file = bytearray(small_file(*kind))
    for at, value in changes:
        file[at % len(file)] = value
    try:
        reader = gsym.Reader(bytes(file))
        text = Formatter(reader, style, suffix=b"y")
    except (gsym.GsymError, ValueError):
        return
    with reader:
        for address in addresses:
            assert text.one(address, keep) == text.one(address, keep)
        used = text.answer(lines, bytes, prefix=b"x", line_size=line_size)
        assert 0 <= used <= len(lines)


@given(
    functions=strategies.function_lists(),
    kind=st.tuples(strategies.versions, strategies.byte_orders),
    data=st.data(),
)
def test_json_has_what_the_reader_answers(
    functions: list[gsym.FunctionInfo], kind: tuple[int, str], data: st.DataObject
) -> None:
    near = [st.integers(max(f.start - 2, 0), f.start + f.size + 2) for f in functions]
    asked = data.draw(st.lists(st.one_of(near), min_size=1))
    asked = [address for address in asked if address < 2**64]
    with gsym.Reader(oracle.encode_file(to_oracle(functions, *kind))) as reader:
        text = Formatter(reader, json_style(demangle=None, merged=True))
        for address in asked:
            found = reader.lookup(address, merged=True)
            wanted: dict[str, Any] = {"address": address}
            if found is None:
                wanted |= {"function": None, "frames": []}
                wanted["reason"] = "no function covers this address"
            else:
                wanted = found.to_dict()
            assert json.loads(text.one(address)) == wanted
