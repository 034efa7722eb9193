"""A file is told by its content."""

from __future__ import annotations

from gsym.containers.compression import INFLATERS
from gsym.containers.recognition import COMPRESSED, recognise

BIG_CLASS = bytes.fromhex("c7a1bad1eebaa94baf20faf66aa4dcb8")
KINDS = [
    (b"\x7fELF\x02\x01\x01", "object"),
    (b"\xcf\xfa\xed\xfe", "object"),
    (b"\xfe\xed\xfa\xce", "object"),
    (b"MZ\x90\x00", "object"),
    (b"MZ".ljust(0x202, b"\0") + b"HdrS", "kernel image"),
    (b"\xca\xfe\xba\xbe\x00\x00\x00\x02", "fat"),
    (b"\xca\xfe\xba\xbf\x00\x00\x00\x02", "fat"),
    (b"\xca\xfe\xba\xbe\x00\x00\x00\x34", "Java class"),
    (b"!<arch>\n", "archive"),
    (b"MODULE Linux x86_64 0 a.out\n", "breakpad"),
    (b"\r\n\nMODULE Linux x86_64 0 a.out\n", "breakpad"),
    (b"MYSG\x01\x00", "gsym"),
    (b"GSYM\x00\x01", "gsym"),
    (b"Microsoft C/C++ MSF 7.00\r\n\x1aDS\0\0\0", "pdb"),
    (b"\x00asm\x01\x00\x00\x00", "object"),
    (b"\x64\x86\x02\0".ljust(20, b"\0"), "object"),
    (b"\x4c\x01\x02\0".ljust(20, b"\0"), "object"),
    (b"\x64\x86\x02\0".ljust(16, b"\0") + b"\xf0\0", ""),
    (b"\x64\x86", ""),
    (b"\0\0\xff\xff".ljust(12, b"\0") + BIG_CLASS, "object"),
    (b"\0\0\xff\xfe".ljust(12, b"\0") + BIG_CLASS, ""),
    (b"", ""),
    (b"FUNC 1000 10 0 main\n", "breakpad"),
    (b"\xef\xbb\xbfFILE 12 a.c\n", "breakpad"),
    (b"STACK CFI INIT 1f10 2a .cfa: $rsp 8 +\n", "breakpad"),
    (b"what is this\nMODULE Linux x86_64 0 a.out\n", "breakpad"),
    (b"\xff\xfeM\x00O\x00D\x00", "UTF-16 text"),
    (b'FILE "track.wav" WAVE\n', ""),
    (b"FUNCTION f\n", ""),
    (b"\x7fEL", ""),
]


def test_the_kind_of_a_file_is_told_by_its_content() -> None:
    assert [recognise(head) for head, _ in KINDS] == [kind for _, kind in KINDS]


def test_each_kind_of_a_compressed_file_has_an_inflater() -> None:
    assert INFLATERS.keys() == COMPRESSED
