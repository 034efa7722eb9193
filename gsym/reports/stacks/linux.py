"""Stacks in logs of the kernel, of systemd and of Android."""

from __future__ import annotations

from gsym.patterns import regex
from gsym.reports.stacks.line_forms import (
    ADDRESS,
    HEX,
    NUMBER,
    OFFSET,
    FrameForm,
    ImageForm,
)

# `#00 pc 0000000000012345  /lib/libfoo.so (foo+1) (BuildId: ab)`
_ANDROID = regex(
    rf"#{NUMBER} +pc +(?P<shown>(?:0x)?(?P<offset>{HEX})[ \t]+(?P<module>\S+)"
    r"(?:.*\(BuildId: (?P<build_id>[0-9a-fA-F]{2,128})\))?(?:.*\S)?)\s*$"
)

# `app[1]: segfault at 0 ip 000055d1c0ffe189 sp .. error 4 in app[55d1c0ffe000+1000]`,
# newer: `in app[1189,55d1c0ffe000+1000]`; `traps: .. ip:55.. sp:.. error:0 in app[..]`
_WHY = (
    r"(?P<reason>segfault at [0-9a-f]+|general protection(?: fault)?|trap [\w ]{1,40})"
)
_FAULT = regex(
    rf"(?:{_WHY})? (?P<shown>ip[: ](?P<address>{HEX})) sp[: ]{HEX}"
    r" error[: ][0-9a-f]+(?= in )"
)
_FAULT_IMAGE = regex(
    rf" ip[: ]{HEX} sp[: ]{HEX} error[: ][0-9a-f]+ in (?P<module>[^\[\]]+)"
    rf"\[(?P<start>{HEX})\+(?P<size>[0-9a-f]+)\]"
)
_FAULT_OFFSET = regex(
    rf"(?:{_WHY})? (?P<shown>ip[: ]{HEX}) sp[: ]{HEX} error[: ][0-9a-f]+"
    r" in (?P<module>[^\[\]]+)"
    rf"\[(?P<offset>[0-9a-f]{{1,16}}),{HEX}\+[0-9a-f]+\]"
)
# `RIP: 0010:panic+0x12/0x34`, `? f+0x12/0x34 [nf_tables]`, `[<0>] wait+0x1b5/0x2c0`
_KERNEL = regex(
    rf"(?P<shown>(?<![\w.$])(?P<symbol>[A-Za-z_.][\w.$]*)\+(?P<plus>0x{HEX})"
    rf"/0x(?P<function_size>{HEX})"
    r"(?: \[(?P<module>[\w-]+)(?: (?P<build_id>[0-9a-f]{40}))?\])?)"
)
# SystemTap: ` 0x4005a6 : main+0x26/0x30 [/opt/app]`, ` 0x4005a6 [/opt/app+0x5a6/0x50]`
_SYSTEMTAP = regex(
    rf"^\s*{ADDRESS} (?P<shown>: (?P<symbol>[^\s+]+)\+(?P<plus>0x{HEX})/0x{HEX}"
    r" \[(?P<module>[^\[\]]+)\])"
)
_SYSTEMTAP_OFFSET = regex(
    rf"^\s*{ADDRESS} (?P<shown>\[(?P<module>/[^\[\]+]+)\+{OFFSET}/0x{HEX}\])"
)
_RIP = regex(rf"(?:RIP|PC is at|pc :|epc :|NIP \[).{{0,64}}?{_KERNEL.pattern}")
# ftrace: ` => do_syscall_64`, ` => /opt/app[+0x1189] <000055d1c0ffe189>`
_FTRACE = regex(rf"^ =>\s+(?P<shown>(?P<module>/\S+)\[\+{OFFSET}\](?: <{HEX}>)?)")
_FTRACE_NAME = regex(r"^ =>\s+(?P<shown>(?P<symbol>[A-Za-z_][\w.]*))\s*$")
_FTRACE_ADDRESS = regex(rf"^ =>\s+(?P<shown><(?P<address>{HEX})>)")
# systemd-coredump: `#1  0x00007f... n/a (libc.so.6 + 0x3d98a)`
_COREDUMP = regex(
    rf"^[^#]*#(?P<number>\d{{1,6}})\s+0x(?P<address>{HEX}) (?P<shown>(?P<symbol>\S.*?) "
    rf"\((?P<module>\S+) \+ 0x(?P<offset>{HEX})\))"
)
_COREDUMP_ID = regex(
    r"Module (?P<module>\S+) with build-id (?P<build_id>[0-9a-f]{8,64})"
)

FRAMES = (
    FrameForm("Android backtrace", " pc ", _ANDROID, returns="none", base="link"),
    FrameForm(
        "kernel segfault line", " sp", _FAULT_OFFSET, base="file", returns="none"
    ),
    FrameForm("kernel segfault line", " sp", _FAULT, returns="none"),
    FrameForm("ftrace", "=>", _FTRACE, base="executable"),
    FrameForm("ftrace", "=>", _FTRACE_NAME),
    FrameForm("ftrace", "=>", _FTRACE_ADDRESS),
    FrameForm("systemd-coredump", " + 0x", _COREDUMP, base="image"),
    FrameForm("SystemTap", "/0x", _SYSTEMTAP),
    FrameForm("SystemTap", "/0x", _SYSTEMTAP_OFFSET),
    FrameForm("kernel stack", "+0x", _RIP, returns="none", module="vmlinux"),
    FrameForm("kernel stack", "+0x", _KERNEL, returns="all", module="vmlinux"),
)
IMAGES = (
    ImageForm(" sp", _FAULT_IMAGE, base="executable", has_frame=True),
    ImageForm("build-id", _COREDUMP_ID),
    ImageForm("/0x", _SYSTEMTAP_OFFSET, has_frame=True),
)
