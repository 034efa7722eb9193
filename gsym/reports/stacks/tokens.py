"""Tokens of a line: numbers, modules, functions with offsets, ranges, ids.

What is around them does not matter: prefixes of logs, quotes, brackets, columns.
"""

from __future__ import annotations

import re

from gsym.engine.native import ffi, lib
from gsym.lazy import regex
from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

MAY_HAVE_ADDRESS = regex(
    r"0[xX][0-9a-fA-F]|\+ ?[0-9]|(?<![\w.$])\$?[0-9a-fA-F`]{6,17}(?!\w)"
)
"""Found in each line that has an address or an offset."""

KERNEL_ADDRESS = r"(?:[fF]{4}[0-9a-fA-F]{4}|[9cC]0000000)[0-9a-fA-F]{8}"
"""An address of the Linux kernel of 64 bits; of LoongArch and PowerPC, too."""

_OF_KERNEL = regex(rf"{KERNEL_ADDRESS}(?!\w)")

BARE = regex(r"(?<![\w.$])[0-9a-fA-F]{6,16}(?!\w)")
"""A number that may be anything."""

BREAKS = frozenset({r"\r\n", r"\n", "#012", "\r", r"\t", "#011"})
"""Line ends, and tabs after them, as other programs write them within a line."""

_LINE_BREAK = regex(r"(\\r\\n|\\n|#012)")
_TAB = regex(r"\\t|#011")
_IS_JSON = regex(r"[\[{]\s*\"|\"\s*:\s*\"|\w=\"")  # or the fields of logfmt
# No group of single characters: `re` keeps a state for each time that a group matches.
_TEXT = regex(
    r"(?<=[\[:,=])(\s*\")([^\"]*(?:(?<=\\)\"[^\"]*)*)(?=\"\s*(?:[\],}]|\w+=|$))"
)
# All of a line, as gdb's interface for programs writes it
_QUOTED = regex(r"((?:[^\"]*[~&@])?\")([^\"]*(?:(?<=\\)\"[^\"]*)*)(\"\s*)$")
_RETURN = regex(r"(\r(?!\n|$))")
_ITEM = regex(r"(?=\{\")")
_FEW_OBJECTS = 2  # of JSON, which may be about one frame
_DRIVE = regex(r"(?<![\w])[A-Za-z]:\\(?!\\)")
_OBJECT = regex(r"(?=[{}]+)(?<![{}])")
_ELEMENT = regex(r"(?<=/>)|(?<=>)(?=\s*<[\w:.-]+>\s*<\w)")
_PLUS = regex(
    r"\+ ?(?P<value>0[xX][0-9a-fA-F]{1,16}|[0-9a-fA-F]{1,16})(?![\w.])"
    r"(?:/(?P<size>0x[0-9a-fA-F]{1,8}))?"
)
_NUMBER = regex(
    r"(?<![\w.])(?:0[xX]|\$)[0-9a-fA-F]{1,16}(?!\w)"
    r"|(?<![\w.])[0-9a-fA-F]{8}`[0-9a-fA-F]{8}(?!\w)"
    r"|(?<![\w.\-/])[0-9a-fA-F]{6,16}(?![\w-])(?!\.\w)"
)
_SUFFIX = (
    r"(?:so(?:\.\d+)*|dll|exe|dylib|sys|ko|drv|pyd|node|elf|axf|oat|odex|efi|bin|out"
    r"|pdb|sym)"
)
# A folder of npm or Homebrew: `@img/`, `openssl@3/`
_AT_FOLDER = r"@(?!0x)(?=[\w.+~@-]{1,128}[\\/])"
# Words before a `/` that belongs to a path, if `_AFTER_BLANKS` comes after it
_BLANK = r" (?=(?:[\w.&'+~-]{1,64} ){0,8}[\w.&'+~-]{1,64}[\\/])"
_IS_OPEN = regex(r"[(\[][^()\[\]]*$")  # before a `)`
_AFTER_BLANKS = regex(r"\+0x|![A-Za-z_]|\((?:[\w.$@]*\+0x|\) ?\[0x)|(?P<closed>[)\]])")
# An archive's member belongs to its path: `/data/app/base.apk!lib/arm64/libapp.so`.
_END = (
    r"(?=\+ ?(?:0x[0-9a-fA-F]+|[0-9a-fA-F]+(?!/))(?!\w)|\+\(|=0x"
    rf"|[\s()\[\]<>\"'|;,{{}}`:!]|(?!{_AT_FOLDER})@|$)"
)
_PATH = regex(
    r"\"(?P<quoted>(?:[A-Za-z]:\\|\.{0,2}/)(?:[^\"()<>\[\]+]|\(x86\))+)\""
    rf"|(?<![\w./\\~-])(?P<path>(?:[A-Za-z]:[\\/]|\\\\|\.{{0,2}}/)"
    rf"(?:[^\s()\[\]<>\"'|;,{{}}@`:!=]|=(?!0x)|(?<=apk)!|(?<=jar)!|(?<==)@|{_AT_FOLDER}|{_BLANK})+?)"
    rf"(?!{_BLANK}){_END}"
    rf"|(?<![\w./\\])(?P<file>[\w.+~-]{{1,200}}?\.{_SUFFIX}(?:/[0-9a-fA-F]{{33,40}})?){_END}",
    re.IGNORECASE,
)
SOURCE = regex(
    r"(?:\.(?:[chm]|cc|cpp|cxx|c\+\+|hh|hpp|hxx|inl|inc|mm|rs|go|s|asm|d|f90|f|pas|adb|zig"
    r"|cuh?|cl|hip|swift|kt|java|scala|py|js|ts|rb|php|cs|fs|nim|cr|log|txt|json|xml|html|conf|pid"
    r"|core|dmp)|[\\/])$",
    re.IGNORECASE,
)
"""Found in the path of a source file, or another that is no module."""
_CLOSING_TAG = regex(r"</[\w:-]+>")
_TAG = regex(r"^<[\w-]+>(?=\w)|^.*\d:(?!:)")
_WORD = r"(?P<word>[A-Za-z_](?:[\w.-]|\+(?=[+.-])|(?<=\+)\+){0,127})"
# Characters of which a line has one; what finds a word that is a module.
_GUESSES = (
    ("!`@", rf"(?<![\w/\\.]){_WORD}(?=[!`@])"),
    ("", rf"(?<![\w/\\.]){_WORD}(?=[ \t]+(?:0x)?[0-9a-fA-F]{{6,16}}(?!\w))"),
    ("", rf"\b(?:in|from|of|at) \(?{_WORD}(?=[\s),:(]|$)"),
    ("([", rf"[(\[]{_WORD}[)\]]"),
    ("", rf"- ?0x[0-9a-fA-F]{{6,16}}[ \t]{{1,8}}\+?{_WORD}"),  # after a range
    # The C library takes the title of a process for its file: `redis-server *:6379(`.
    ("(", rf"(?<![\w/\\.]){_WORD}(?=(?: \*:\d{{1,5}}| )?\((?:[\w.]+)?\+0x|\(\) ?\[)"),
    # The same of PostgreSQL: `postgres: user database [local] SELECT(`.
    ("(", rf"^\s*{_WORD}(?=: [^()]{{1,512}}\([\w.]*\+0x[0-9a-f]{{1,16}}\) \[0x)"),
    # Of a program that is never moved, of a function that is not exported
    ("[", rf"(?<![\w/\\.]){_WORD}(?=\[0x[0-9a-f]{{4,16}}\]\s*$)"),
    ("(", rf"(?<![\w/\\.]){_WORD}(?=: \S[^()]{{0,512}}(?:\([^()]{{0,512}}\))? \(\+0x)"),
    (
        ":=",
        (
            r"(?i)\b(?:module|image|library|object|binary|application|program|file)"
            rf"(?: (?:name|path))?[ \t]*[:=][ \t]*\"?{_WORD}"
        ),
    ),
)
_GUESS_PATTERNS = [(frozenset(hints), regex(pattern)) for hints, pattern in _GUESSES]
_DIGITS = regex(r"0x.*|(?=.{0,64}[0-9])[0-9a-fA-F]{4,64}")  # of a number
_NO_WORDS = frozenset(
    {
        *("unknown", "null", "nil", "inlined", "inline", "unavailable", "none"),
        *("in", "at", "from", "of", "pc", "lr", "ip", "ra", "sp", "fp", "frame", "to"),
        *("address", "offset", "thread", "clone", "the", "to", "and", "libc", "tid"),
    }
)
_ID = regex(
    r"(?<!\w)(?:[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}[0-9a-fA-F]?"
    # LLDB prints build ids as UUIDs, of any size.
    r"(?:-[0-9A-F]{8})?|[0-9A-F]{8}-[0-9A-F]{32}|[0-9a-fA-F]{32,64})(?![\w-])"
)
# Of a path with blanks: ` App/Contents/My App`, and no words after a path
_REST_OF_PATH = regex(r"(?=.*\w[/\\])(?: [^\s()\[\]<>=/\\][^\s()\[\]<>=]*)+\s*$")
_HEX = r"(?:0[xX])?([0-9a-fA-F]{8}`[0-9a-fA-F]{8}|[0-9a-fA-F]{6,16})"
_TO = r"[ \t]*(?:[-:/]|\.\.|to)[ \t]*"
_NO_SIZE = r"(?<![\w.])(?!(?!0[xX])\w+[ \t]+0[xX])"  # of `796000 0x4A4610B`
_RANGE = regex(rf"{_NO_SIZE}{_HEX}(?:{_TO}|(?<=000)[ \t]+){_HEX}(?!\w)")
_MAY_BE_RANGE = regex(rf"(?<![\w.]){_HEX}(?:{_TO}|[ \t]+){_HEX}(?!\w)")
_MODE = regex(r"(?<![\w-])[r-][w-][xs-][\w-]?[ \t]+(?:0x)?([0-9a-fA-F]{1,16})\s")
_BEFORE = regex(r"([\w/]+)\)?(?!@)[ \t]*[:=]?[ \t]*[(\[<\"'@]*[ \t]*$")
_AFTER_WORD = " \t\n)([<\"'@:="  # all that `_BEFORE` has there
_WORDS = regex(r"[\w/]+")
# Registers whose contents are no code address that a stack has.
_REGISTER = regex(
    r"[er]?[abcd]x|[er]?[sd]il?|[er]?[sb]p|[rxwqdvf]\d{1,2}|[astk]\d{1,2}|fp|gp|tp|ssp"
    r"|[cdefgs]s|[cd]r\d|[er]?flags|pstate|[ac]?psr|ps|sar|exc\w+|l(?:count|beg|end)"
    r"|si_addr|frame|cfa|esr|far|badaddr|cause|status|psp|msp|[fo]rig_\w+|handle|tid"
    r"|thread|size|bias|gsbase|fsbase",
    re.IGNORECASE,
)
_COUNTER = frozenset({"pc", "rip", "eip", "epc", "nip", "psw", "at", "counter", "era"})
_LINK = frozenset({"lr", "ra"})  # registers with a return address
_NO_NAME = regex(r"(?:\?+|<[\w ]+>|\((?:null|unknown)\)|\[unknown\]|n/a)$")
_OF_MODULE = regex(r"[!`@]|:(?!:)")  # between a module and its function
# `main.c:12`, and a time, after which the time zone is.
_PLACE = regex(r":\d{1,9}(?:[.,]\d{1,9})?$")
_IDENTIFIER = regex(r"[\w.$@~-]+$")
_NAMED = regex(
    r"[\s:>)\]\"-]*(?:in |: |- |<)?(?P<name>[A-Za-z_~][^\s()<>\"'|;,{}]*"
    r"(?:\([^()]*(?:\([^()]*\)[^()]*)*\))?)"
)
_OPEN, _CLOSE = frozenset("(<[{"), frozenset(")>]}")
_ENDS_NAME = frozenset("\"'|;,=\t")
# Of Icinga: `libfoo.so: app::run() (+0x1d)`
_BESIDE_NAME = regex(r": (?P<name>[^\s:/.]\S*(?: \S+)?) \($")
# CmBacktrace and RT-Thread print it, with addresses that have no prefix.
_COMMAND = "addr2line -e "
_LONGEST_NAME = 2_048
_LEAST = 0x100  # bytes of a module
_MOST_BESIDE = 256  # characters before an offset in brackets
_new = tuple.__new__


class Mention(NamedTuple):
    """A module that a line names; *is_sure* if it can be nothing else."""

    start: int
    end: int
    path: str
    is_sure: bool

    def of(self, text: str) -> Mention:
        """The mention at the same place of a text of the same shape."""
        start = self.start + (text[self.start] == '"')
        path = text[start : start + len(self.path)]
        return self if path == self.path else self._replace(path=path)


class Number(NamedTuple):
    """A number that may be an address.

    Attributes:
        start: Where it begins.
        end: Where it ends.
        value: As hexadecimal digits.
        is_marked: Whether it has a prefix, or as many digits as an address has.
        is_prefixed: Whether it is written as an address is: `0x1189`, `$1189`.
        word: What is before it, in lower case: the name of a register.
    """

    start: int
    end: int
    value: int
    is_marked: bool
    is_prefixed: bool
    word: str

    def of(self, text: str) -> Number:
        """The number at the same place of a text of the same shape."""
        digits = text[self.start : self.end]
        if "`" in digits or "$" in digits:
            digits = digits.replace("`", "").removeprefix("$")
        return _new(Number, (*self[:2], int(digits, 16), *self[3:]))

    @property
    def is_counter(self) -> bool:
        """Whether the line says that it is the program counter."""
        return any(each in _COUNTER for each in self.word.split("/"))

    @property
    def is_link(self) -> bool:
        """Whether the line says that it is a return address."""
        return self.word in _LINK


class Offset(NamedTuple):
    """An offset after a plus sign.

    Attributes:
        start: Where its name begins, or the offset.
        end: Where it ends.
        values: It may be one of these: hexadecimal, decimal.
        name: What is before it, or "".
        size: Of the function, or None.
        base: The number that is before it, or None.
        module: Index of the mention that is before it, or -1.
        plus: Where the plus sign is.
    """

    start: int
    end: int
    values: tuple[int, ...]
    name: str = ""
    size: int | None = None
    base: Number | None = None
    module: int = -1
    plus: int = 0

    def of(self, text: str) -> Offset:
        """The offset at the same place of a text of the same shape."""
        found = _PLUS.match(text, self.plus)
        if found is None:
            return self
        values, size = _offset_values(found)
        name = self.name and text[self.start : self.start + len(self.name)]
        base = None if self.base is None else self.base.of(text)
        return _new(Offset, (*self[:2], values, name, size, base, *self[6:]))

    def digits(self, text: str) -> tuple[tuple[int, int], tuple[int, int]]:
        """Start and end of its value in its text, and of the size."""
        found = _PLUS.match(text, self.plus)
        if found is None:
            return (self.end, self.end), (self.end, self.end)
        return found.span("value"), found.span("size")

    @property
    def is_word(self) -> bool:
        """Whether its name may be that of a module: these have no size."""
        return self.size is None and _IDENTIFIER.match(self.name) is not None


class Tokens(NamedTuple):
    """The tokens of a line or of a part of it, in order.

    Attributes:
        text: The text.
        mentions: The modules that it names.
        numbers: Numbers that may be addresses.
        offsets: Offsets.
        id_at: Where an id is.
        has_range: Whether it may have a range of addresses.
    """

    text: str
    mentions: tuple[Mention, ...]
    numbers: tuple[Number, ...]
    offsets: tuple[Offset, ...]
    id_at: tuple[int, int]
    has_range: bool

    def of(self, text: str) -> Tokens:
        """The tokens of a text that only differs in the values of its numbers."""
        return Tokens(
            text,
            tuple([each.of(text) for each in self.mentions]),
            tuple([each.of(text) for each in self.numbers]),
            tuple([each.of(text) for each in self.offsets]),
            *self[4:],
        )

    def range(self) -> tuple[Mention, int, int, int] | None:
        """Module, start, end and place in the file of what a line says to be mapped."""
        if not (self.has_range and self.mentions):
            return None
        found = _RANGE.search(self.text)
        if found is None:
            return None
        start, end = (int(each.replace("`", ""), 16) for each in found.groups())
        at = _MODE.search(self.text, found.end())
        after = (each for each in self.mentions if each.start >= found.end())
        mention = next(after, self.mentions[0])
        place = int(at[1], 16) if at else 0
        return (mention, start, end, place) if end - start >= _LEAST else None

    def whole_path(self, mention: Mention) -> str:
        """The path of a module that a line places; blanks belong to the last one."""
        is_last = all(each.end <= mention.start for each in self.numbers)
        if is_last and mention.is_sure and _REST_OF_PATH.match(self.text, mention.end):
            return self.text[mention.start :].rstrip()
        return mention.path

    def identifier(self) -> str:
        """The id that a line has, or ""."""
        return self.text[slice(*self.id_at)]

    def name_of(self, number: Number) -> tuple[str, int | None]:
        """The function that a line names for a number, and the offset in it."""
        named = [each for each in self.offsets if each.name]
        if len(named) == 1:
            return named[0].name, named[0].values[0]
        found = _NAMED.match(self.text, number.end)
        name = "" if found is None else found["name"]
        return ("" if _NO_NAME.match(name) else name), None


def is_written(text: str) -> bool:
    """Whether a text may have a number that is written as an address is."""
    line = encoded(text)
    hit = lib.gsym_text_find_address(line, len(line), 0, ffi.NULL, 0, ffi.NULL)
    may_be_of_kernel = b"ffff" in line or b"FFFF" in line or b"0000000" in line
    may_be_of_kernel = may_be_of_kernel and bool(_OF_KERNEL.search(text))
    return hit < len(line) or may_be_of_kernel or _COMMAND in text


def encoded(text: str) -> bytes:
    """The bytes of a text, also of one that no UTF-8 has."""
    return text.encode("utf-8", "surrogatepass")


def pieces(lines: Sequence[str]) -> Sequence[str]:
    """Lines, cut where other programs wrote several as one, and what is between."""
    text = "".join(lines)
    if not any(each in text for each in ("#01", "\\", "\r", '"')):
        return lines
    return [piece for line in lines for piece in _pieces(line)]


def _pieces(line: str) -> Iterator[str]:
    for part in _RETURN.split(line) if "\r" in line else (line,):
        at = 0
        if quoted := _QUOTED.match(part):
            yield quoted[1]
            yield from _lines(quoted[2])
            yield quoted[3]
            continue
        for found in _TEXT.finditer(part) if _IS_JSON.search(part) else ():
            if " " in found[2] and MAY_HAVE_ADDRESS.search(found[2]):
                yield part[at : found.end(1)]
                yield from _lines(found[2])
                at = found.end()
        rest = part[at:]
        for piece in _ITEM.split(rest) if rest.count('{"') > _FEW_OBJECTS else (rest,):
            yield from _lines(piece)


def _lines(part: str) -> Iterator[str]:
    if "#01" in part or ("\\" in part and not _DRIVE.search(part)):
        lines = _LINE_BREAK.split(part)
        for piece in lines if lines[-1] else lines[:-1]:
            at = 0
            while found := _TAB.match(piece, at):
                at = found.end()
                yield found[0]
            yield piece[at:]
    else:
        yield part


def objects(line: str) -> Iterator[tuple[int, str]]:
    """The parts of a line with their places: an object of JSON, an element of XML."""
    at = 0
    for found in (_OBJECT if '{"' in line else _ELEMENT).finditer(line):
        yield at, line[at : found.start()]
        at = found.start()
    yield at, line[at:]


def tokens(text: str) -> Tokens:
    """The tokens of a text."""
    mentions = [*_mentions(text)]
    taken = _taken(text, (each for each in mentions if each.is_sure))
    numbers = [
        _number(found, text)
        for found in _NUMBER.finditer(text)
        if not taken[found.start()]
    ]
    offsets = [
        offset
        for found in _PLUS.finditer(text)
        if not taken[found.start()]
        and (offset := _offset(found, text, mentions, numbers)) is not None
    ]
    taken = _taken(text, offsets)
    bases = {each.base for each in offsets}
    numbers = [
        each
        for each in numbers
        if not taken[each.start]
        and each not in bases
        # Of CUDA `Host Frame: [0x480aa6]`, and no register
        and (not _REGISTER.fullmatch(each.word) or text[each.start - 1] == "[")
    ]
    found = _ID.search(text)
    return Tokens(
        text,
        tuple(mentions),
        tuple(numbers),
        tuple(offsets),
        found.span() if found else (0, 0),
        _MAY_BE_RANGE.search(text) is not None,
    )


def _taken(text: str, tokens: Iterable[Mention | Offset]) -> bytearray:
    """For each character whether it belongs to one of the tokens."""
    taken = bytearray(len(text))
    for each in tokens:
        taken[each.start : each.end] = b"\1" * (each.end - each.start)
    return taken


def _mentions(text: str) -> Iterator[Mention]:
    found = False
    for each in _PATH.finditer(text):
        path, end = each["quoted"] or each["path"] or each["file"], each.end()
        if each["path"] and " " in path:
            after = _AFTER_BLANKS.match(text, end)
            is_open = _IS_OPEN.search(text[: each.start()])
            if after is None or (after["closed"] and not is_open):
                path = path.partition(" ")[0]
                end = each.start() + len(path)
        if SOURCE.search(path) or _CLOSING_TAG.match(text, each.start() - 1):
            continue
        found = True
        yield _new(Mention, (each.start(), end, path, True))
    if found:
        return
    seen: set[str] = set()
    for hints, pattern in _GUESS_PATTERNS:
        if hints and hints.isdisjoint(text):
            continue
        for each in pattern.finditer(text):
            word = each["word"].rstrip(".+-")
            is_other = word.lower() in _NO_WORDS or _REGISTER.fullmatch(word)
            if is_other or word in seen or _DIGITS.fullmatch(word):
                continue
            seen.add(word)
            start = each.start("word")
            end = start + len(word)
            yield Mention(start, end, word, text.startswith("(+0x", end))


def _number(found: re.Match[str], text: str) -> Number:
    digits = found[0].lower().replace("`", "").removeprefix("$")
    is_marked = len(digits) >= 8 or digits.startswith("0x") or "`" in found[0]  # noqa: PLR2004
    is_prefixed = found[0][:2] in {"0x", "0X"} or not found[0].isalnum()
    is_prefixed |= _COMMAND in text[: found.start()]
    text = text[max(found.start() - 48, 0) : found.start()]
    rest = text.rstrip(_AFTER_WORD)  # a search would begin at each character
    words = _WORDS.findall(rest)
    before = words and _BEFORE.match(text, len(rest) - len(words[-1]))
    word = before[1].lower() if before else ""
    if word in _COUNTER and words[-2:-1] == ["saved"]:
        word = "ra"
    value = int(digits, 16)
    return _new(Number, (*found.span(), value, is_marked, is_prefixed, word))


def _offset(
    found: re.Match[str],
    text: str,
    mentions: list[Mention],
    numbers: list[Number],
) -> Offset | None:
    values, size = _offset_values(found)
    left = len(text[: found.start()].rstrip(" "))
    made = _new(Offset, (*found.span(), values, "", size, None, -1, found.start()))
    for number, each in enumerate(mentions):
        if each.is_sure and each.end == left:
            return made._replace(start=each.start, module=number)
    for base in numbers:
        if base.end == left:
            return made._replace(start=base.start, base=base)
    name = _TAG.sub("", _name_before(text[:left]), 1)
    places = [
        (each.start, each.end)
        for each in mentions
        if each.is_sure or _OF_MODULE.match(text, each.end)
    ]
    places += [(each.start, each.end) for each in numbers]
    for start, end in places:  # `app:(+0x1189)[0x55d1c0ffe189] + 0x10`
        if left - len(name) <= start < left:
            name = text[end:left].lstrip(" :!@`")
    if name.startswith(("]", ")")) or _PLACE.search(name):
        return None
    if not name:
        return _named_beside(made, text, left)
    has_letter = name.lower() != name.upper() or not name.isascii()
    if _NO_NAME.search(name) or _DIGITS.fullmatch(name) or not has_letter:
        return made
    return made._replace(start=left - len(name), name=name)


def _named_beside(offset: Offset, text: str, left: int) -> Offset:
    """An offset in brackets, with the function that is before them."""
    if not text.endswith(" (", 0, left):
        return offset
    beside = _BESIDE_NAME.search(text, max(left - _MOST_BESIDE, 0), left)
    if beside is None or _NO_NAME.match(beside["name"]):
        return offset
    start, end = beside.start("name"), offset.end + text.startswith(")", offset.end)
    return offset._replace(start=start, end=end, name=beside["name"])


def _offset_values(found: re.Match[str]) -> tuple[tuple[int, ...], int | None]:
    """Values that an offset may have, and the size of the function."""
    digits, size = found.groups()
    value = int(digits, 16)
    # "+ 4735" is decimal in most reports.
    values = (int(digits), value) if digits.isdigit() else (value,)
    return values, int(size, 16) if size else None


def _name_before(text: str) -> str:
    """The name at the end of a text, from where its brackets are balanced on."""
    depth, at = 0, len(text)
    while at > max(len(text) - _LONGEST_NAME, 0):
        each = text[at - 1]
        if each in _CLOSE and text[at - 2 : at] != "->":
            depth += 1
        elif each in _OPEN:
            if depth == 0:
                break
            depth -= 1
        elif depth == 0 and (each in _ENDS_NAME or _is_end(text, at)):
            break
        at -= 1
    return text[at:].strip(" ")


def _is_end(text: str, at: int) -> bool:
    """Whether a name cannot go on before a place."""
    if text[at - 1] != " ":
        return False
    before = text[: at - 1]
    if before.endswith((" ", "\t", ":", "-", ">", " at", " in", "=>")):
        return True
    word = next(reversed(before.rsplit(None, 1)), "")
    return _NUMBER.fullmatch(word) is not None or word.isdigit()
