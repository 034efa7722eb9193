"""The option scanner: what it reads, what it refuses, what the help says."""

from __future__ import annotations

import pytest

from gsym.cli.grammar import (
    GSYM,
    Command,
    HelpRequested,
    Option,
    UsageError,
    Values,
    parse_number,
    scan_getopt,
)
from gsym.cli.options import parse_address
from gsym.cli.verbs import VERBS

COMMAND = Command(
    "tool copy",
    (
        "FROM  what to copy\n[TO...]  where to",
        "-l, --level N  how deep",
        """\
--map A=B...  rename very carefully very carefully very carefully very carefully
  very carefully
-q, --quiet
  say nothing""",
        Option("-v, --verbose  say all"),
    ),
    "That is all.",
)

HELP = """\
usage: tool copy [OPTION]... FROM [TO...]

Copy things.

  FROM                    what to copy
  TO                      where to

options:
  -l, --level N           how deep
  --map A=B               rename very carefully very carefully very carefully
                          very carefully very carefully (repeatable)
  -q, --quiet             say nothing
  -v, --verbose           say all
  -h, --help              show this text
  --version               show the version

That is all.
"""


@pytest.fixture(autouse=True)
def summaries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(VERBS, "tool copy", ("", "Copy things"))


def parse(line: str) -> Values:
    return COMMAND.parse(line.split())


@pytest.mark.parametrize(
    "line",
    [
        "a --level 3",
        "a --level=3",
        "a -l 3",
        "a -l3",
        "--level 1 a -l3",
        "-ql3 a",
    ],
)
def test_a_value_is_read_in_every_spelling(line: str) -> None:
    values = parse(line)
    assert values.text("--level") == "3"
    assert values.number("--level") == 3
    assert values.operand("FROM") == "a"


@pytest.mark.parametrize(
    ("line", "quiet", "verbose"),
    [
        ("a", False, False),
        ("a -q", True, False),
        ("a --verbose", False, True),
        ("-qv a", True, True),
        ("a -q --quiet", True, False),
    ],
)
def test_flags_are_off_until_given(line: str, *, quiet: bool, verbose: bool) -> None:
    values = parse(line)
    assert (values.flag("--quiet"), values.flag("--verbose")) == (quiet, verbose)


def test_a_repeatable_option_keeps_all_values_in_order() -> None:
    assert parse("a --map x=y --map=z=w").texts("--map") == ["x=y", "z=w"]
    assert parse("a").texts("--map") == []


def test_missing_option_has_no_value() -> None:
    values = parse("a")
    assert values.text("--level") is None
    assert values.number("--level") is None


def test_an_empty_value_is_a_value() -> None:
    assert parse("a --level=").text("--level") == ""


@pytest.mark.parametrize(
    ("arguments", "source", "targets"),
    [
        (["a"], "a", []),
        (["a", "b", "-q", "c"], "a", ["b", "c"]),
        (["-q", "--", "-a", "--level"], "-a", ["--level"]),
        (["-", "b"], "-", ["b"]),
    ],
    ids=repr,
)
def test_operands_are_positional(
    arguments: list[str], source: str, targets: list[str]
) -> None:
    values = COMMAND.parse(arguments)
    assert values.operand("FROM") == source
    assert values.operands("TO") == targets


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("", "FROM is missing"),
        ("a --nope", "unknown option '--nope'"),
        ("a --levle 3", "unknown option '--levle'; did you mean '--level'?"),
        ("a -x", "unknown option '-x'"),
        ("a -qx", "unknown option '-x'"),
        ("a --level", "option '--level' needs a value"),
        ("a -l", "option '-l' needs a value"),
        ("a --quiet=yes", "option '--quiet' takes no value"),
    ],
)
def test_a_wrong_command_line_is_refused_with_the_reason(
    line: str, reason: str
) -> None:
    with pytest.raises(UsageError) as refusal:
        parse(line)
    assert str(refusal.value) == reason


def test_an_operand_too_many_is_refused() -> None:
    command = Command("tool", ("ONE  the one",))
    with pytest.raises(UsageError, match="unexpected argument 'b'"):
        command.parse(["a", "b"])


@pytest.mark.parametrize("line", ["--help", "-h", "a -qh", "a --level 3 --help"])
def test_help_has_precedence_over_errors(line: str) -> None:
    with pytest.raises(HelpRequested) as request:
        parse(line)
    assert str(request.value) == HELP


@pytest.mark.parametrize(
    ("text", "number"), [("0", 0), ("12", 12), ("0x1F", 31), ("0b101", 5)]
)
def test_numbers_are_decimal_or_prefixed(text: str, number: int) -> None:
    assert parse_number(text, "N") == number


@pytest.mark.parametrize(
    "text", ["", "x", "1f", "0x", "1.5", "012", "-3", "+3", "1_0", " 3"]
)
def test_invalid_numbers_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"^N: .* is not a number"):
        parse_number(text, "N")


def test_a_number_below_the_minimum_is_refused() -> None:
    with pytest.raises(UsageError, match="option '--level': 0 is less than 1"):
        parse("a -l 0").number("--level", minimum=1)


def test_a_size_is_read_with_its_unit() -> None:
    assert parse("a -l 1.5MiB").size("--level") == 3 << 19


@pytest.mark.parametrize("text", ["5Q", "-1", "0.1", "99999999999T"])
def test_a_refused_size_is_named_with_its_option(text: str) -> None:
    with pytest.raises(UsageError, match=f"option '--level': .*{text}"):
        COMMAND.parse(["a", "-l", text]).size("--level")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("30", 30),
        ("1.5", 1.5),
        ("30s", 30),
        ("250ms", 0.25),
        ("5min", 300),
        ("1h", 3600),
    ],
)
def test_times_have_units(text: str, seconds: float) -> None:
    assert parse(f"a -l {text}").seconds("--level") == pytest.approx(seconds)


@pytest.mark.parametrize(
    "text", ["", "s", "0", "-1s", "5 parsecs", "nan", "inf", "1e999"]
)
def test_invalid_times_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="invalid time"):
        COMMAND.parse(["a", "-l", text]).seconds("--level")


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1f64", 0x1F64),
        ("0x1f64", 0x1F64),
        ("0X1F64", 0x1F64),
        ("0000000000001064", 0x1064),
        ("1064", 1064),
        ("0", 0),
        ("012", 0x12),
        ("0b101", 5),
    ],
)
def test_addresses_are_read_as_nm_prints_them(text: str, number: int) -> None:
    assert parse_address(text, "ADDRESS") == number


@pytest.mark.parametrize("text", ["", "0x", "main", "1_0", "-3", "+3", " 3", "1.5"])
def test_invalid_addresses_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"^ADDRESS: .* is not an address"):
        parse_address(text, "ADDRESS")


CHOICE = Option("-c, --color[=WHEN] {a|b}")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("--color x", "color=a x"),
        ("--color b x", "color=b x"),
        ("--color=c x", "color=c x"),
        ("-c", "color=a"),
        ("-c b x", "color=b x"),
        ("-c=c x", "color=c x"),
    ],
)
def test_values_may_be_optional(line: str, words: str) -> None:
    found = [
        value if option is None else f"{option.name[2:]}={value}"
        for option, value in scan_getopt(line.split(), (CHOICE,), GSYM)
    ]
    assert " ".join(found) == words
