"""Reports that packaged programs have written of their crashes, shortened."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.containers.machine_code import MachineCode

if TYPE_CHECKING:
    from pathlib import Path

# Redis 7.0.15: its title is taken for its file.
REDIS = """\
16020:M 29 Nov 2026 13:27:41.042 # Redis 7.0.15 crashed by signal: 11, si_code: 0
------ STACK TRACE ------
EIP:
/lib/x86_64-linux-gnu/libc.so.6(epoll_wait+0x56)[0x7f8e4df26f36]

Backtrace:
/lib/x86_64-linux-gnu/libc.so.6(+0x3c050)[0x7f8e4de5a050]
redis-server *:7777(aeMain+0x1d)[0x562b7d6059ed]
redis-server *:7777(main+0x316)[0x562b7d601216]
"""
# Xorg's servers, here Xvfb 21.1.7.
XVFB = """\
(EE) Backtrace:
(EE) 2: /lib/x86_64-linux-gnu/libc.so.6 (epoll_wait+0x13) [0x7f72e4a30ef3]
(EE) 4: Xvfb (aeMain+0x1d) [0x5653eeec55a3]
(EE) 6: Xvfb (main+0x316) [0x5653eee76234]
"""


@pytest.mark.parametrize(("name", "text"), [("redis-server", REDIS), ("Xvfb", XVFB)])
def test_the_program_is_known_by_its_name(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / f"{name}.sym").write_text(
        f"MODULE Linux x86_64 0123456789ABCDEF0123456789ABCDEF0 {name}\nFILE 0 a.c\n"
        "FUNC 1000 100 0 aeMain\n1000 100 1 0\nFUNC 2000 400 0 main\n2000 400 2 0\n"
    )
    report = gsym.symbolicate(text, source=tmp_path, store=str(tmp_path / "none"))
    own = [each for each in report.frames() if report.modules[each.module].name == name]
    assert [(each.calls[0].name, each.offset) for each in own] == [
        ("aeMain", 0x101D),
        ("main", 0x2316),
    ]
    assert "".join(report.originals()) == text


def test_addresses_outside_of_a_module_have_no_code(tmp_path: Path) -> None:
    (tmp_path / "app.sym").write_text(
        "MODULE Linux x86_64 0123456789ABCDEF0123456789ABCDEF0 app\nFILE 0 a.c\n"
        "FUNC 1000 100 0 f\n1000 100 1 0\n"
    )
    text = "Backtrace:\n/x/app(f+0x10)[0x7f0000001010]\n/x/app[0x500000]\n"
    text += "/x/app[0xffffffffffffffff]\n"
    report = gsym.symbolicate(text, source=tmp_path, store=str(tmp_path / "none"))
    assert [each.calls[0].name for each in report.frames() if each.calls] == ["f"]
    assert "".join(report.originals()) == text
    code = MachineCode()
    for address in (-1, 1 << 64):
        assert (code.is_known(address), code.may_return(address)) == (False, True)
