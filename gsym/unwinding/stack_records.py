"""Unwind information of a binary as STACK records of Breakpad.

ELF: `.eh_frame`, `.debug_frame`. Mach-O: `__unwind_info`, and what it leaves to
`__eh_frame`; `__debug_frame`. PE: `.pdata` of x86-64, `.debug_frame`.
"""

from __future__ import annotations

from struct import error as StructError  # noqa: N812 - an exception

from gsym.containers.fat import list_slices
from gsym.containers.mapped_file import map_file
from gsym.containers.object_file import ObjectFile
from gsym.errors import GsymError
from gsym.unwinding import pe_frames
from gsym.unwinding.compact_unwind import CompactUnwind, MachoParts, macho_parts
from gsym.unwinding.frame_info import CallFrames, FrameSection, Row
from gsym.unwinding.images import read_image
from gsym.unwinding.machines import AARCH64, ARM, X86, X86_64, Machine

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gsym.unwinding.pe_frames import UnwindPart

_BLOCK = 1 << 16

# The registers by their numbers in DWARF, as minidump-stackwalk calls them.
_X86_64 = *(f"${each}" for each in X86_64.names), *(f"$xmm{each}" for each in range(16))
_X86 = tuple(f"${each}" for each in X86.names)
_AARCH64 = *AARCH64.names, *("",) * 32, *(f"v{each}" for each in range(32))
_POWER = (*(f"{kind}{each}" for kind in "rf" for each in range(32)), *("", "lr", "ctr"))
_MIPS = (
    *("$zero", "$at", "$v0", "$v1"),
    *(f"$a{each}" for each in range(4)),
    *(f"$t{each}" for each in range(8)),
    *(f"$s{each}" for each in range(8)),
    *("$t8", "$t9", "$k0", "$k1", "$gp", "$sp", "$fp", "$ra"),
)
_REGISTERS = {
    **dict.fromkeys(("x86_64", "x86_64h"), _X86_64),
    **dict.fromkeys(("i386", "i686"), _X86),
    **dict.fromkeys(("aarch64", "arm64", "arm64e", "arm64_32"), _AARCH64),
    **dict.fromkeys(("arm", "armv6", "armv7", "armv7s", "armv7k"), ARM.names),
    **dict.fromkeys(("powerpc", "powerpc64", "powerpc64le"), _POWER),
    **dict.fromkeys(("mips", "mipsel", "mips64", "mips64el"), _MIPS),
}
# By their numbers in the processor.
_PE_REGISTERS = [_X86_64[each] for each in pe_frames.REGISTERS]


class StackRecords:
    """The STACK records of a module.

    Args:
        paths: Its binaries, which are opened now; the first one that has unwind
            information is used.
        base: What addresses are relative to.
        uuid: Chooses the slice of a fat file.

    Attributes:
        count: The records so far.
        left_out: The rules so far that the format cannot say.
    """

    def __init__(self, paths: Iterable[str], base: int, uuid: bytes) -> None:
        self._files = [(path, map_file(path)) for path in paths]
        self._base = base
        self._uuid = uuid
        self.count: int = 0
        self.left_out: int = 0

    def blocks(self) -> Iterator[bytes]:
        """The text in blocks."""
        for path, data in self._files:
            lines: list[str] = []
            size = 0
            for line in self._lines(path, data):
                lines.append(line)
                size += len(line)
                self.count += 1
                if size > _BLOCK:
                    yield "".join(lines).encode()
                    lines, size = [], 0
            yield "".join(lines).encode()
            if self.count:
                return

    def _lines(self, path: str, data: memoryview) -> Iterator[str]:
        try:
            for part in list_slices(data, path):
                piece = data[part.offset : part.offset + part.size]
                with ObjectFile(piece, path) as file:
                    if self._uuid in {b"", file.uuid} or len(piece) == len(data):
                        yield from self._lines_of(file)
        except (GsymError, StructError):
            return  # a damaged section has no more records

    def _lines_of(self, file: ObjectFile) -> Iterator[str]:
        registers = _REGISTERS.get(file.architecture)
        if registers is None or file.is_relocatable:
            return
        machine = Machine(8 if file.is_64 else 4, -1, -1, order=file.byteorder)
        places = {each.name: each.address for each in file.loaded_sections()}
        sections = []
        for name in (".debug_frame", ".eh_frame"):
            held = file.section(name.encode())
            if held and (file.is_elf or "debug" in name):
                is_debug = "debug" in name
                sections.append(FrameSection(held, places.get(name, 0), is_debug))
        encoded: dict[int, bool] = {}  # starts; whether there are rules
        if file.is_macho:
            parts = macho_parts(file.data)
            sections += filter(None, [parts.frames])
            for start, end, row in _compact(file, parts):
                encoded[start] = row is not None
                if row is not None and start >= self._base:
                    yield from self._of_function(end, [(start, row)], registers)
        frames = CallFrames(machine, lambda _address, _size: b"", 0, sections)
        for end, rows in frames.functions():
            if rows and self._base <= rows[0][0] < end and not encoded.get(rows[0][0]):
                yield from self._of_function(end, rows, registers)
        if not (file.is_elf or file.is_macho):
            yield from self._of_pe(file.data)

    def _of_function(
        self, end: int, rows: list[tuple[int, Row]], registers: tuple[str, ...]
    ) -> Iterator[str]:
        """The records of a function.

        Where a rule cannot be said, what was said before would go on to hold. There a
        record ends, and the next one begins with the next rules that can be said.
        """
        runs: list[list[tuple[int, dict[str, str]]]] = [[]]
        ends = []
        for start, row in rows:
            rules, unsaid = self._rules(row, registers)
            if runs[-1] and (not rules or unsaid & set(runs[-1][-1][1])):
                ends.append(start)
                runs.append([])
            if rules:
                runs[-1].append((start, rules))
        for run, last in zip(runs, (*ends, end), strict=True):
            known: dict[str, str] = {}
            for start, rules in run:
                head = f"STACK CFI {start - self._base:x}"
                if not known:
                    size = last - start
                    head = f"STACK CFI INIT {start - self._base:x} {size:x}"
                # A register has the value that it has where nothing else is said.
                now = {**rules, **{name: name for name in known if name not in rules}}
                texts = (
                    f" {name}: {rule}"
                    for name, rule in now.items()
                    if known.get(name) != rule
                )
                if text := "".join(texts):
                    yield f"{head}{text}\n"
                known = now

    def _rules(
        self, row: Row, registers: tuple[str, ...]
    ) -> tuple[dict[str, str], set[str]]:
        """The rules of a row by register, and registers whose rules cannot be said.

        There are no rules where the frame or the return address cannot be said.
        """

        def name_of(register: int) -> str:
            is_known = 0 <= register < len(registers)
            return registers[register] if is_known else ""

        back = row.return_register
        if isinstance(row.frame, bytes) or not name_of(row.frame[0]):
            self.left_out += 1
            return {}, set()
        register, offset = row.frame
        rules = {".cfa": f"{name_of(register)} {offset} +"}
        if back not in row.rules and registers not in {_X86, _X86_64}:
            rules[".ra"] = name_of(back)
        unsaid = set()
        for register, (kind, operand) in row.rules.items():
            name = ".ra" if register == back else name_of(register)
            rule = ""
            if kind in {"offset", "value"}:
                rule = f".cfa {operand!r} +" + " ^" * (kind == "offset")
            elif kind == "register" and isinstance(operand, int):
                rule = name_of(operand)
            if name and rule:
                rules[name] = rule
            elif name:
                unsaid.add(name)
                self.left_out += kind != "undefined"
                if name == ".ra" and kind != "undefined":
                    return {}, unsaid
        return rules, unsaid

    def _of_pe(self, data: memoryview) -> Iterator[str]:
        """A record for each entry of `.pdata`: the rules after its prologue."""
        image, table = pe_frames.pe_image(data)
        if table is None:
            return

        def read(address: int, size: int) -> bytes:
            return read_image(image, data, address, size)

        for start, end, information in pe_frames.functions_of(table, read):
            if start < end:
                try:
                    parts = list(pe_frames.unwind_parts(read, table.base, information))
                except StructError:
                    continue
                rules = _pe_rules(parts)
                first = table.base + start - self._base
                yield f"STACK CFI INIT {first:x} {end - start:x} {rules}\n"


def _compact(
    file: ObjectFile, parts: MachoParts
) -> Iterator[tuple[int, int, Row | None]]:
    """Functions of a Mach-O file and their rules, by `__unwind_info`."""
    machine = {"x86_64": X86_64, "arm64": AARCH64}.get(file.architecture)
    image = parts.image
    if machine is None or not parts.unwind or not image.segments:
        return iter(())

    def read(address: int, size: int) -> bytes:
        return read_image(image, file.data, address, size)

    base = min(each.address for each in image.segments)
    return CompactUnwind(machine, parts.unwind, base, read).functions()


def _pe_rules(parts: list[UnwindPart]) -> str:
    """The rules after all prologues of a function."""
    size, frame, saved, is_interrupted = 8, "", [], False
    for part in parts:
        pointer = _PE_REGISTERS[part.frame]
        for each in reversed(part.operations):
            name = _PE_REGISTERS[each.register]
            if each.kind == pe_frames.PUSH:
                size += 8
                saved.append(f"{name}: .cfa {size} - ^")
            elif each.kind == pe_frames.ALLOCATE:
                size += each.number
            elif each.kind == pe_frames.SET_FRAME:
                frame = f".cfa: {pointer} {size - part.frame_offset} +"
            elif each.kind == pe_frames.SAVE and part.frame:
                place = each.number - part.frame_offset
                saved.append(f"{name}: {pointer} {place} + ^")
            elif each.kind == pe_frames.SAVE:
                saved.append(f"{name}: .cfa {size - each.number} - ^")
            elif each.kind == pe_frames.INTERRUPTED:
                saved += f"$rsp: .cfa {size + 16} - ^", f".ra: .cfa {size + 40} - ^"
                size += 40 + each.number
                is_interrupted = True
    if not is_interrupted:
        saved.append(".ra: .cfa 8 - ^")
    return " ".join((frame or f".cfa: $rsp {size} +", *saved))
