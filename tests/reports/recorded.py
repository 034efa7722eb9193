"""Reports of programs that the test machine lacks, in their shape, with own names.

The shapes are those of real reports in public repositories and of the manuals of the
tools. All modules have the same three functions: `leaf` at 0x1000, `middle` at 0x1100,
`main` at 0x1200, of 0x100 bytes each, with a line for each 16 bytes: `leaf` has lines
100 to 115, `middle` 200 to 215, `main` 300 to 315.
"""

from __future__ import annotations

import json
from typing import NamedTuple

BUILD_ID = "0905ae80cee75a33e3cab61c274274de96049b64"
DEBUG_ID = "80AE0509E7CE335AE3CAB61C274274DE0"
GUID = "44E4EC8C2F41492B9369D6B9A059577C2"
UUID = "41068F5C-74E3-3C98-9256-6A18364FB5BA"
_FUNCTIONS = ("leaf", "middle", "main")


def symbols(system: str, debug_id: str, name: str, code_id: str = "") -> str:
    """A Breakpad file of a module."""
    lines = [f"MODULE {system} x86_64 {debug_id} {name}"]
    if code_id:
        lines.append(f"INFO CODE_ID {code_id.upper()}")
    lines.append("FILE 0 app.c")
    for number, function in enumerate(_FUNCTIONS):
        start = 0x1000 + 0x100 * number
        lines.append(f"FUNC {start:x} 100 0 {function}")
        lines += [
            f"{start + 16 * row:x} 10 {100 * (number + 1) + row} 0" for row in range(16)
        ]
    return "\n".join(lines) + "\n"


MODULES = {
    "linux/app.sym": symbols("Linux", DEBUG_ID, "app", BUILD_ID),
    "linux/libapp.so.sym": symbols(
        "Linux", "1" + DEBUG_ID[1:], "libapp.so", "1" + BUILD_ID[1:]
    ),
    "linux/vmlinux.sym": symbols("Linux", "2" + DEBUG_ID[1:], "vmlinux"),
    "linux/xen-syms.sym": symbols("Linux", "4" + DEBUG_ID[1:], "xen-syms"),
    "linux/nf_tables.sym": symbols("Linux", "3" + DEBUG_ID[1:], "nf_tables"),
    "mac/App.sym": symbols("mac", UUID.replace("-", "") + "0", "App"),
    "windows/winapp.sym": symbols("windows", GUID, "winapp.pdb"),
}


class Recorded(NamedTuple):
    """A report.

    Attributes:
        name: Of the case.
        form: What it is called.
        text: The report.
        expected: For each frame in order its innermost function and line, or "".
        threads: The number of its stacks.
        reason: A part of the reason that it has.
        crashed: The name of the stack that crashed.
    """

    name: str
    form: str
    text: str
    expected: str
    threads: int = 1
    reason: str = ""
    crashed: str = ""


TOMBSTONE = f"""\
*** *** *** *** *** *** *** *** *** *** *** *** *** *** *** ***
Build fingerprint: 'example/device/device:14/AB1C.240101.001/1:user/release-keys'
ABI: 'arm64'
Timestamp: 2026-01-01 12:00:00.000000000+0000
Process uptime: 3s
Cmdline: org.example.demo
pid: 4711, tid: 4712, name: worker  >>> org.example.demo <<<
uid: 10234
signal 11 (SIGSEGV), code 1 (SEGV_MAPERR), fault addr 0x0000000000000000
    x0  0000000000000000  x1  0000007fe0a1b2c8  x2  0000000000001010
    lr  0000007b2c001110  sp  0000007fe0a1b000  pc  0000007b2c001010

backtrace:
      #00 pc 0000000000001010  /data/app/~~x-9Q==/org.example-1/lib/arm64/libapp.so \
(leaf+16) (BuildId: 1{BUILD_ID[1:]})
      #01 pc 000000000000110c  /data/app/~~x-9Q==/org.example-1/base.apk!libapp.so \
(offset 0x3000) (BuildId: 1{BUILD_ID[1:]})
      #02 pc 00000000000c1234  /apex/com.android.runtime/lib64/bionic/libc.so \
(__pthread_start(void*)+208) (BuildId: 00112233445566778899aabbccddeeff)

memory near x1:
    0000007fe0a1b2c0 0000000000001234 0000000000000000  ................
"""

LOGCAT = """\
01-01 12:00:00.021  1107  1107 F DEBUG   : signal 6 (SIGABRT), code -1 (SI_QUEUE)
01-01 12:00:00.021  1107  1107 F DEBUG   : Abort message: 'no such state'
01-01 12:00:00.021  1107  1107 F DEBUG   : backtrace:
01-01 12:00:00.021  1107  1107 F DEBUG   :     #00 pc 0000000000001024  /lib/libapp.so
01-01 12:00:00.022  1107  1107 F DEBUG   :     #01 pc 0000000000001234  /lib/libapp.so
"""

MUSL = """\
0x55d1c0ffe030 <leaf+0x30> at /opt/app
0x55d1c0ffe110 <middle+0x10> at /opt/app
"""

TWO_PROCESSES = """\
/opt/app(leaf+0x20) [0x55d1c0ffe020]
/opt/app(middle+0x10) [0x55d1c0ffe110]
app: restarted
/opt/app(leaf+0x30) [0x56d1c0ffe030]
/opt/app(middle+0x20) [0x56d1c0ffe120]
"""

APPLE = f"""\
Process:               App [4711]
Path:                  /Applications/App.app/Contents/MacOS/App
Identifier:            org.example.App
Code Type:             X86-64 (Native)

Crashed Thread:        0  Dispatch queue: com.apple.main-thread

Exception Type:        EXC_BAD_ACCESS (SIGSEGV)
Exception Codes:       KERN_INVALID_ADDRESS at 0x0000000000000000

Application Specific Backtrace 1:
0   App                           \t0x0000000100001010 0x100000000 + 4112

Thread 0 Crashed:: Dispatch queue: com.apple.main-thread
0   App                           \t0x0000000100001010 0x100000000 + 4112
1   App                           \t0x0000000100001110 0x100000000 + 4368
2   App                           \t0x0000000100001210 main + 16
3   dyld                          \t0x00007fff20388f3d start + 1

Thread 1:
0   libsystem_kernel.dylib        \t0x00007fff20311946 __workq_kernreturn + 10

Thread 0 crashed with X86 Thread State (64-bit):
  rax: 0x0000000000000000  rbx: 0x0000000000001010

Binary Images:
       0x100000000 -        0x10000ffff +org.example.App (1.0 - 1) <{UUID}> \
/Applications/App.app/Contents/MacOS/App
    0x7fff20388000 -     0x7fff203affff  dyld (*) \
<7ebd4941-5978-33ef-98fb-724bb81e92c8> /usr/lib/dyld
"""

IPS = "\n".join(
    (
        json.dumps({"app_name": "App", "bug_type": "309", "os_version": "macOS 14.0"}),
        json.dumps(
            {
                "procName": "App",
                "exception": {"type": "EXC_BAD_ACCESS", "signal": "SIGSEGV"},
                "faultingThread": 1,
                "threads": [
                    {"id": 1, "frames": [{"imageOffset": 0x1010, "imageIndex": 0}]},
                    {
                        "id": 2,
                        "triggered": True,
                        "name": "worker",
                        "frames": [
                            {"imageOffset": 0x1020, "imageIndex": 0},
                            {"imageOffset": 0x1110, "imageIndex": 0},
                            {"imageOffset": 99, "imageIndex": 1, "symbol": "start"},
                        ],
                    },
                ],
                "usedImages": [
                    {"uuid": UUID.lower(), "name": "App", "base": 0x100000000},
                    {"uuid": "7ebd4941-5978-33ef-98fb-724bb81e92c8", "name": "dyld"},
                ],
            },
            indent=2,
        ),
    )
)

SAMPLE = f"""\
Analysis of sampling App (pid 4711) every 1 millisecond
Process:         App [4711]
Load Address:    0x100000000
----

Call graph:
    2593 Thread_1234   DispatchQueue_1: com.apple.main-thread  (serial)
    + 2593 start  (in dyld) + 7184  [0x7fff20389c10]
    +   2593 main  (in App) + 32  [0x100001220]
    +     2593 ???  (in App)  load address 0x100000000 + 0x1110  [0x100001110]
    +       ! 2000 ???  (in App)  load address 0x100000000 + 0x1010  [0x100001010]

Total number in stack (recursive counted multiple, when >=5):

Binary Images:
       0x100000000 -        0x10000ffff +App (0) <{UUID}> /Applications/App
    0x7fff20388000 -     0x7fff203affff  dyld (0) \
<7EBD4941-5978-33EF-98FB-724BB81E92C8> /usr/lib/dyld
"""

SPINDUMP = f"""\
Heaviest stack for the main thread of the target process:
  11  start + 2412 (dyld + 7184) [0x7fff20389c10]
  11  ??? (App + 4624) [0x100001210]
  11  ??? (App + 4112) [0x100001010]

  Binary Images:
       0x100000000 -        0x10000ffff  App (0)  <{UUID}>  /Applications/App
"""

_REGISTERS = """\
    rbx = 0x0000000000000000   rbp = 0x00007fff51cde530
    rip = 0x0000000000000000
    Found by: call frame info
"""

BREAKPAD = f"""\
Operating system: Linux
                  0.0.0 Linux 6.1.0 x86_64
CPU: amd64
     family 6 model 141 stepping 1
     2 CPUs

Crash reason:  SIGSEGV /SEGV_MAPERR
Crash address: 0x0
Process uptime: not available

Thread 0 (crashed)
 0  app + 0x1010
{_REGISTERS} 1  app + 0x1110
{_REGISTERS} 2  app!main + 0x20
{_REGISTERS} 3  libc.so.6 + 0x29d90
{_REGISTERS}
Thread 1
 0  app!poll [poll.c : 29 + 0x5]
{_REGISTERS} 1  app + 0x1120
{_REGISTERS}
Loaded modules:
0x55d1c0ffd000 - 0x55d1c1000fff  app  ???  (main)  \
(WARNING: No symbols, app, {DEBUG_ID})
0x7f077ac23000 - 0x7f077ae09fff  libc.so.6  ???  \
(WARNING: No symbols, libc.so.6, 327430F7B1A837627E77A182B6CC2E530)
"""

PIPES = f"""\
OS|Linux|0.0.0 Linux 6.1.0 x86_64
CPU|amd64|family 6 model 141 stepping 1|2
Crash|SIGSEGV /SEGV_MAPERR|0x0|0
Module|app||app|{DEBUG_ID}|0x55d1c0ffd000|0x55d1c1000fff|1
Module|libc.so.6||libc.so.6|327430F7B1A837627E77A182B6CC2E530|0x7f00|0x7fff|0

0|0|app||||0x1010
0|1|app||||0x1110
0|2|libc.so.6|__libc_start_main|libc-start.c|347|0x3
1|0|app||||0x1200
"""

_MINIDUMP = {
    "status": "OK",
    "crash_info": {
        "type": "EXCEPTION_ACCESS_VIOLATION_READ",
        "address": "0x0000000000000000",
        "crashing_thread": 1,
    },
    "modules": [
        {
            "filename": "winapp.exe",
            "debug_file": "winapp.pdb",
            "debug_id": GUID,
            "code_id": "5F2C0A7E26000",
            "base_addr": "0x00007ff61a2b0000",
            "end_addr": "0x00007ff61a2d0000",
        },
        {"filename": "ntdll.dll", "debug_file": None, "debug_id": None},
    ],
    "threads": [
        {
            "thread_name": "main",
            "frames": [
                {"frame": 0, "module": "ntdll.dll", "module_offset": "0x9d8c4"},
                {"frame": 1, "module": "winapp.exe", "module_offset": "0x120f"},
            ],
        },
        {
            "thread_name": None,
            "frames": [
                {"frame": 0, "module": "winapp.exe", "module_offset": "0x1010"},
                {
                    "frame": 1,
                    "module": "winapp.exe",
                    "module_offset": "0x110f",
                    "function": None,
                },
                {"frame": 2, "module": None, "module_offset": None, "offset": "0x12"},
                "odd",
            ],
        },
    ],
}

SOCORRO_CRASH = {"uuid": "e0000000", "product": "App", "json_dump": _MINIDUMP}

SOCORRO = """\
Crashing Thread (1)
Frame\tModule\tSignature\tSource\tTrust
0  app  app@0x1010    context
1  app  app@0x110f    cfi
2  libc.so.6  libc.so.6@0x29d90    cfi
"""

MOZILLA = """\
#01: ???[/opt/app +0x1010]
#02: ??? (???:???) [/opt/app +0x1110]
"""

COREDUMP = f"""\
           PID: 4711 (app)
        Signal: 11 (SEGV)
    Executable: /opt/app
       Message: Process 4711 (app) of user 1000 dumped core.

                Module app with build-id {BUILD_ID}
                Stack trace of thread 4711:
                #0  0x000055d1c0ffe010 n/a (app + 0x1010)
                #1  0x000055d1c0ffe110 n/a (app + 0x1110)
                #2  0x00007237452594c3 abort (libc.so.6 + 0x244c3)

                Stack trace of thread 4712:
                #0  0x000055d1c0ffe210 main (app + 0x1210)
                ELF object binary architecture: AMD x86-64
"""

JOURNAL = (
    "\n".join(
        f"Jan 01 12:00:00 host systemd-coredump[99]: {line.strip()}"
        for line in COREDUMP.splitlines()
    )
    + "\n"
)

OOPS = """\
[   12.345678] BUG: kernel NULL pointer dereference, address: 0000000000000000
[   12.345679] #PF: supervisor read access in kernel mode
[   12.345680] Oops: 0000 [#1] PREEMPT SMP PTI
[   12.345681] CPU: 1 PID: 4711 Comm: app Tainted: G           OE      6.1.0 #1
[   12.345683] RIP: 0010:leaf+0x10/0x100
[   12.345684] Code: 4d ff ff ff e8 ee a5 09 00 48 89 c5 e9 82 8f fa ff <8b> 07 25
[   12.345685] RSP: 0018:ffffb2b8c0f57d80 EFLAGS: 00010246
[   12.345686] Call Trace:
[   12.345687]  <TASK>
[   12.345688]  middle+0x10/0x100 [nf_tables]
[   12.345689]  ? main+0x20/0x100
[   12.345690]  </TASK>
[   12.345691] Modules linked in: nf_tables
"""

OOPS_ARM = """\
[   12.345678] Unable to handle kernel NULL pointer dereference at virtual address 00
[   12.345679] Internal error: Oops: 0000000096000004 [#1] SMP
[   12.345680] pc : leaf+0x10/0x100
[   12.345681] lr : middle+0x10/0x100
[   12.345682] Call trace:
[   12.345683]  leaf+0x10/0x100
[   12.345684]  middle+0x10/0x100
"""

OOPS_RISCV = """\
[    1.000000] Oops [#1]
[    1.000001] epc : leaf+0x10/0x100
[    1.000002]  ra : middle+0x10/0x100
[    1.000003] [<ffffffff80001110>] middle+0x10/0x100
"""

XEN = """\
(XEN) ----[ Xen-4.17.1  x86_64  debug=n  Not tainted ]----
(XEN) CPU:    2
(XEN) RIP:    e008:[<0000000000001000>] leaf+0/0x100
(XEN) RFLAGS: 0000000000010246   CONTEXT: hypervisor
(XEN) Xen call trace:
(XEN)    [<0000000000001000>] R leaf+0/0x100
(XEN)    [<0000000000001110>] F app.c#middle+0x10/0x100
(XEN)    [<0000000000001210>] F main+0x10/0x100
"""

IMAGEHLP = """\
Fault address:  00401010 01:00000010 C:\\My Games\\winapp.exe
Call stack:
Address   Frame     Logical addr  Module
00401010  0012FF00  0001:00000010 C:\\My Games\\winapp.exe
00401110  0012FF20  0001:00000110 C:\\My Games\\winapp.exe
"""

PROC_STACK = """\
[<0>] leaf+0x10/0x100
[<0>] middle+0x10/0x100
"""

FTRACE = """\
           sleep-19089   [000] d..2. 61095.825060: sched_switch: prev_comm=sleep
           sleep-19089   [000] d..2. 61095.825073: <stack trace>
 => leaf
 => middle
"""

SEGFAULT_OLD = """\
[50042.9] app[13704]: segfault at 0 ip 00007f80905e7010 sp 00007ffefa18bd60 error 4 in \
libm.so.6[7f80905e6000+156000]
"""

BPFTRACE = """\
@[
    leaf+16
    middle+16
    0x7f0a1b2c3d4e
]: 12
"""

BPFTRACE_PERF = """\
@[
	55d1c0ffe010 leaf+16 (/opt/app)
	55d1c0ffe110 middle+16 (/opt/app)
]: 12
"""

BCC = """\
    leaf+0x10 [app]
    middle+0x10 [app]
    main+0x10 [kernel]
    -                app (4711)
        49
"""

FOLDED = """\
app;main;/opt/app+0x1110;/opt/app+0x1010 17
app;[unknown];libapp.so+0x1200 3
"""

PERF_KERNEL = """\
app  4711 61569.832745:    5025125 cpu-clock:
\tffffffff81001010 leaf+0x10 ([kernel.kallsyms])
\tffffffff81001110 middle+0x10 ([kernel.kallsyms])

"""

PERF_OLD = """\
app  4711 61569.832745:    5025125 cpu-clock:
\t    55d1c0ffe010 leaf+0x10 (/opt/app)
\t    55d1c0ffe110 [unknown] (/opt/app)

"""

LLDB = f"""\
* thread #1, queue = 'com.apple.main-thread', stop reason = EXC_BAD_ACCESS (code=1)
  * frame #0: 0x0000000100001010 App`leaf + 16
    frame #1: 0x0000000100001110 App`___lldb_unnamed_symbol2 + 16
    frame #2: 0x00007fff20388f3d libdyld.dylib`start + 1
(lldb) image list
[  0] {UUID} 0x0000000100000000 /Applications/App
[  1] 7EBD4941-5978-33EF-98FB-724BB81E92C8 0x00007fff20387000 /usr/lib/libdyld.dylib
"""

WINDBG = """\
0:000> k
 # Child-SP          RetAddr               Call Site
00 000000d5`1f2ff6b8 00007ff6`1a2b1120     winapp!leaf+0x10
01 000000d5`1f2ff6c0 00007ff6`1a2b1210     winapp+0x1110
02 000000d5`1f2ff700 00007ff9`5b2c7374     winapp!main+0x10 [C:\\src\\app.c @ 22]
0a 000000d5`1f2ff740 00000000`00000000     ntdll!RtlUserThreadStart+0x21
0:000> lm
start             end                 module name
00007ff6`1a2b0000 00007ff6`1a2d0000   winapp     (deferred)
00007ff9`5c7a0000 00007ff9`5c998000   ntdll      (pdb symbols)      c:\\sym\\ntdll.pdb
"""

WINDBG_KB = """\
RetAddr               : Args to Child                                      : Call Site
00007ff6`1a2b1120     : 00000000`1a134682 00000000`0002a000 00000000`00000000 \
00000000`00008664 : winapp!leaf+0x10
00007ff6`1a2b1210     : 00000000`1a134682 00000000`0002a000 00000000`00000000 \
00000000`00008664 : winapp+0x1110
"""

WINDBG_KV = """\
0:000> kv
 # Child-SP          RetAddr               : Args to Child      : Call Site
00 000000a1`b4bff8d8 00007ff6`1a2b1120     : 00000000`00000001 00007ff7`5c4a1113 \
00000000`00000000 00000000`00000000 : winapp!leaf+0x10 [C:\\src\\app.c @ 12]
01 (Inline Function) --------`--------     : --------`-------- --------`-------- \
--------`-------- --------`-------- : winapp!step+0x8 (Inline \
Function @ 00007ff6`1a2b1120)
02 000000a1`b4bff8e0 00007ff6`1a2b1210     : 00000000`00000001 00007ff7`5c4a1113 \
00000000`00000000 00000000`00000000 : winapp+0x1110
"""

WINDBG_X86 = """\
 # ChildEBP RetAddr      Args to Child
00 0019ff2c 00401120     00000001 00000002 00000003 winapp!leaf+0x10 (FPO: [3,0,0])
WARNING: Stack unwind information not available. Following frames may be wrong.
01 0019ff70 00401210     00367000 76f6fa10 0019ffdc winapp+0x1110
start    end        module name
00400000 0040c000   winapp     (no symbols)
"""

# Of Wine 8.0: modules have no extension; what it names itself has parameters.
WINE = """\
Unhandled exception: page fault on read access to 0x0000000000000010 in 64-bit code \
(0x0000000083101a).
Register dump:
 rip:000000000083101a rsp:000000000021fcd8 rbp:0000000000c812e0 eflags:00010293
Stack dump:
0x0000000021fcd8:  0000000000831110 0000000000c812e0
Backtrace:
=>0 0x0000000083101a in winapp (+0x101a) (0x00000000c812e0)
  1 0x00000000831110 middle+0x10(x=0x1, text="in it") [Z:\\app.c:201] in winapp \
(0x00000000c812e0)
  2 0x0000007b627e49 Base+0x9() in kernel32 (0000000000000000)
0x0000000083101a winapp+0x101a: movl	(%rax),%eax
Modules:
Module	Address					Debug info	Name (2 modules)
PE	0000000000830000-0000000000850000	Deferred        winapp
PE	000000007b600000-000000007b795000	Dwarf-4         kernel32
Threads:
process  tid      prio    name (all IDs are in hex)
00000030 winapp.exe
	00000034    0
00000138 (D) Z:\\src\\winapp.exe
	0000013c    0 <==
"""
# Of a module that no list places: its offsets tell.
WINE_NOT_LISTED = """\
Backtrace:
=>0 0x007f5c8883101a in winapp (+0x101a) (0x0000000021fe10)
  1 0x007f5c88831110 in winapp (+0x1110) (0x0000000021fe10)
"""
VISUAL_STUDIO = """\
Exception thrown at 0x00007FF61A2B1010 in winapp.exe: 0xC0000005: Access violation \
reading location 0x0000000000000000.

>\twinapp.exe!leaf(volatile int * p) Line 101 + 0x10 bytes\tC
 \t[Inline Frame] winapp.exe!step(volatile int * p) Line 2\tC
 \twinapp.exe!00007ff61a2b1110()\tUnknown
 \twinapp.exe!00007ff61a2b1210()\tUnknown
 \tkernel32.dll!BaseThreadInitThunk()\tUnknown

winapp.exe\tC:\\src\\winapp.exe\tN/A\tN/A\tCannot find the PDB file.\t\t1\t\t\
1/2/2026 1:00 PM\t00007FF61A2B0000-00007FF61A2D0000\t[4711] winapp.exe\t
"""

STD_WINDOWS = """\
0> C:\\src\\app.c(12): winapp!leaf+0x10
1> winapp!middle+0x10
2> winapp+0x1210
"""

STD_GNU = """\
   0# act() at /src/app.cc:4
   1# main at /src/app.cc:5
   2#
"""

STD_LLVM = """\
  frame   1: 0x55d1c0ffe030: act: /src/app.cc:4
  frame   2: 0x55d1c0ffe110: main
"""

CHROMIUM = """\
Received signal 11 SEGV_MAPERR 000000000000
#0 0x55d1c0ffe030 (/opt/app+0x1030)
#1 0x55d1c0ffe110 (/opt/app+0x1110)
  r8: 0000000000000000  r9: 0000000000000000
[end of stack trace]
"""

GLOG = """\
F0101 12:00:00.000000  4711 app.cc:12] Check failed: state
*** Check failure stack trace: ***
    @     0x55d1c0ffe030  (unknown)
    @     0x55d1c0ffe110  middle()
    @              (nil)  (unknown)
"""

HARMONY = f"""\
Tid:4711, Name:app
#00 pc 0000000000001020 /opt/app(N::leaf(void (*)(int))+32)({BUILD_ID})
#01 pc 0000000000001110 /opt/app({BUILD_ID})
"""

ABSEIL = """\
*** SIGSEGV received at time=1700000000 on cpu 3 ***
PC: @     0x55d1c0ffe020  (unknown)  leaf
    @     0x55d1c0ffe110         32  (unknown)
    @     0x55d1c0ffe200  (unknown)  (unknown)
55d1c0ffd000-55d1c1000000 r-xp 00000000 08:01 1 /opt/app
"""

BACKWARD = """\
Stack trace (most recent call last):
#1    Object "/opt/app", at 0x55d1c0ffe110, in middle
#0    Object "/opt/app", at 0x55d1c0ffe020, in leaf
"""

SYSTEMTAP = """\
 0x55d1c0ffe010 : leaf+0x10/0x100 [/opt/app]
 0x55d1c0ffe110 [/opt/app+0x1110/0x5000]
"""

# HAProxy 2.6.12, whose watchdog ends a loop: no frame is the kernel's.
HAPROXY = """\
55d1c0ffd000-55d1c1002000 r-xp 00000000 fe:01 4711 /opt/app
7fd3b2dd0000-7fd3b2dd5000 r-xp 00000000 fe:01 4712 /opt/libapp.so
*>Thread 1 : id=0x7f92e3da1440 act=1 glob=0 wq=1 rq=0 tl=0 tlsz=0 rqsz=0
             call trace(21):
             | 0x55d1c0ffe01b [85 c0 75 31 48 8b 84 24]: leaf+0x1b/0x100
             | 0x7fd3b2dd1110 [48 c7 c0 0f 00 00 00 0f]: libapp:+0x1110
             | 0x7fd3b2dd1222 [85 c0 75 0a 5b c3 0f 1f]: libapp:main+0x22/0x31
             | 0x55d1c0ffe230 [64 48 8b 53 10 64 48 8b]: leaf+0x230
"""
# What the crash tracker of Datadog's libdatadog (ddtrace 4.16.0) sends: mappings are
# lines, frames have no names; and the same in the message of a log.
DATADOG = json.dumps(
    {
        "error": {
            "type": "SIGSEGV",
            "stack": {
                "format": "Datadog Crashtracker 1.0",
                "frames": [
                    {
                        "ip": "0x55d1c0ffe017",
                        "module_base_address": "0x55d1c0ffd000",
                        "sp": "0x7ffc9a3a3db0",
                        "symbol_address": "0x55d1c0ffe000",
                    },
                    {
                        "ip": "0x7fd3b2dd1111",
                        "module_base_address": "0x7fd3b2dd0000",
                        "sp": "0x7ffc9a3a3db8",
                    },
                ],
            },
        },
        "files": {
            "/proc/self/maps": [
                "55d1c0ffd000-55d1c1002000 r-xp 00000000 fe:01 4711    /opt/app",
                "7fd3b2dd0000-7fd3b2dd5000 r-xp 00000000 fe:01 4712    /opt/libapp.so",
                "7ffc9a384000-7ffc9a3a5000 rw-p 00000000 00:00 0       [stack]",
            ]
        },
    }
)
# backtrace_symbols_fd() in a program that is never moved and was called without a path
FIXED = """\
/opt/libapp.so(+0x1021)[0x7fd3b2dd1021]
app(main+0x17)[0x1217]
app[0x1111]
"""
DATADOG_LOG = json.dumps({"payload": {"logs": [{"message": DATADOG}]}})
MAPS = """\
7fd3b2dd0000-7fd3b2dd5000 r-xp 00000000 fe:01 4711      /opt/libapp.so
"""
TITLES = f"""\
{MAPS}
./libapp.so *:6379(+0x1010)[0x7fd3b2dd1010]
postgres: me mine [local] SELECT(+0x1010) [0x55d1c0ffe010]
"""
FAULTHANDLER = """\
Fatal Python error: Segmentation fault

Current thread 0x00007fd3b2dce740 [python3] (most recent call first):
  File "/home/me/app.py", line 3 in work
  File "/home/me/app.py", line 5 in <module>

Current thread's C stack trace (most recent call first):
  Binary file "/usr/lib/libpython3.14.so.1.0", at _Py_DumpStack+0x31 [0x7fd3b2a68e11]
  Binary file "/lib/libc.so.6" [0x7fd3b263c050]
  Binary file "./libapp.so", at +0x1010 [0x7fd3b2dd1010]
  Binary file "./libapp.so", at middle+0xf [0x7fd3b2dd110f]
  Binary file '<unknown>' [0x7fd3b2000000]

Extension modules: libapp (total: 1)
"""
PY_SPY = f"""\
Process 4711: python3 app.py
Python v3.11.7 (/usr/bin/python3.11)

Thread 4711 (active): "MainThread"
    0x7fd3b2dd1010 (libapp.so)
    run (ext.cpython-311-x86_64-linux-gnu.so)
    0x7fd3b2dd1200 (libapp.so)
    work (app.py:3)
    <module> (app.py:5)
Thread 4712 (idle): "Thread-1"
    0x7fd3b2dd1110 (libapp.so)
{MAPS}"""
PY_SPY_FOLDED = f"""\
<module> (app.py:5);f (app.py:3);0x7fd3b2dd1110 (libapp.so);0x7fd3b2dd1010 (libapp.so) 9
<module> (app.py:5);f (app.py:3);0x7fd3b2dd1200 (libapp.so);run (ext.c:5) 1
{MAPS}"""
MEMRAY = """\
HEADER magic=memray version=13 native_traces=true file_format=AGGREGATED_ALLOCATIONS
NATIVE_TRACE_INDEX ip=0x7fd3b2dd120f index=0
NATIVE_TRACE_INDEX ip=0x7fd3b2dd110f index=1
MEMORY_MAP_START
SEGMENT_HEADER filename=/usr/bin/python3.11 num_segments=1 addr=0x561ec4ae1000
SEGMENT (nil) 760
SEGMENT_HEADER filename=/opt/libapp.so num_segments=1 addr=0x7fd3b2dd0000
SEGMENT (nil) 2000
"""
CRYSTAL = f"""\
Invalid memory access (signal 11) at address 0x8
[0x55d1c0ffe013] leaf +19 in /opt/app (12 times)
[0x55d1c0ffe115] ?? +{0x55D1C0FFE115} in /opt/app
[0x55d1c0ffe231] main +49 in /opt/app
[0x7f19619900b3] __libc_start_main +243 in /lib/x86_64-linux-gnu/libc-of-another.so.6
[0x0] ???
"""
# Zig 0.15 of a program whose own debug information it cannot read
ZIG = """\
thread 1140 panic: index out of bounds: index 7, len 3
???:?:?: 0x1017 in ??? (/opt/app)
???:?:?: 0x1101 in ??? (/opt/app)
???:?:?: 0x12eb in ??? (/opt/app)
"""
DART = f"""\
Warning: This VM has been configured to produce stack traces that violate the standard.
*** *** *** *** *** *** *** *** *** *** *** *** *** *** *** ***
pid: 4711, tid: 4712, name 1.ui
os: android arch: arm64 comp: yes sim: no
build_id: '1{BUILD_ID[1:]}'
isolate_dso_base: 7a1c000000, vm_dso_base: 7a1c000000
isolate_instructions: 7a1c000800, vm_instructions: 7a1c000400
    #00 abs 0000007a1c001010 virt 0000000000001010 _kDartIsolateSnapshotInstructions+0x8
    #01 abs 0000007a1c00110f virt 000000000000110f _kDartIsolateSnapshotInstructions+0x9
<asynchronous suspension>
    #02 abs 0000007a1c00120f virt 000000000000120f _kDartIsolateSnapshotInstructions+0xa
"""

DART_OLD = f"""\
build_id: '1{BUILD_ID[1:]}'
isolate_dso_base: 7de0e44000, vm_dso_base: 7de0e44000
    #00 abs 0000007de0e45010 _kDartIsolateSnapshotInstructions+0x692a8
    #01 abs 0000007de0e45110 _kDartIsolateSnapshotInstructions+0x691c4
"""

COMPUTE_SANITIZER = """\
========= COMPUTE-SANITIZER
========= Invalid __global__ write of size 4 bytes
=========     at scale(int *)+0x60 in /src/scale.cu:6
=========     by thread (0,0,0) in block (0,0,0)
=========     Address 0x7fe71d800958 is out of bounds
=========     Device Frame:run(const int *)+0x40
=========     Saved host backtrace up to driver entry point at kernel launch time
=========         Host Frame: middle [0x1101] in app
=========         Host Frame: [0x1201] in app
"""

WASM = """\
RuntimeError: unreachable
    at app.wasm.leaf (wasm://wasm/app.wasm-0133c842:wasm-function[3]:0x1010)
    at https://example.org/app.wasm:wasm-function[4]:0x1110
    at run (https://example.org/app.js:12:3)
"""

WASMTIME = """\
Error: failed to run main module `app.wasm`
    0: error while executing at wasm backtrace:
           0:   0x1010 - app.wasm!leaf
           1:   0x1110 - <unknown>!<wasm function 4>
"""

COPIED = """\
0x110f [app]
0x120f [app]
start_thread [libc.so.6]
"""

GO_STRIPPED = """\
SIGSEGV: segmentation violation
PC=0x1010 m=0 sigcode=1

goroutine 1 [running]:
main.leaf(...)
	/src/app.go:12 +0x1d fp=0xc000074f38 sp=0xc000074f18 pc=0x1010
main.main()
	/src/app.go:17 +0x49 fp=0xc000074f80 sp=0xc000074f38 pc=0x1210
"""

MARKUP = f"""\
[00007.1] 1234> {{{{{{reset}}}}}}
[00007.2] 1234> {{{{{{module:0:app:elf:{BUILD_ID}}}}}}}
[00007.2] 1234> {{{{{{mmap:0x7acba69d4000:0x5000:load:0:rx:0x1000}}}}}}
[00007.3] 1234> {{{{{{bt:0:0x7acba69d4010:pc}}}}}}
[00007.3] 1234> {{{{{{bt:1:0x7acba69d4110}}}}}}
"""

REQUEST = json.dumps(
    {
        "memoryMap": [["app", DEBUG_ID], ["winapp.pdb", GUID]],
        "stacks": [[[0, 0x1010], [1, 0x110F]], [[0, 0x1200]]],
    }
)

_PROFILE = {
    "meta": {"version": 29, "preprocessedProfileVersion": 48, "symbolicated": False},
    "libs": [{"name": "app", "debugName": "app", "breakpadId": DEBUG_ID}],
    "threads": [
        {
            "name": "GeckoMain",
            "stringArray": ["(root)", "0x1010", "0x110f", "app", 'a "name"', "0x99"],
            "frameTable": {
                "length": 4,
                "address": [-1, 0x1010, 0x110F, 0x99],
                "func": [0, 1, 2, 9],
            },
            "funcTable": {"length": 3, "name": [0, 1, 2], "resource": [-1, 0, 0]},
            "resourceTable": {"length": 1, "lib": [0], "name": [3], "type": [1]},
        },
        {
            "name": "worker",
            "stringArray": ["0x1200"],
            "frameTable": {"length": 1, "address": [0x1200], "func": [0]},
            "funcTable": {"length": 1, "name": [0], "resource": [0]},
            "resourceTable": {"length": 1, "lib": [0], "name": [0], "type": [1]},
        },
    ],
}
_SHARED_PROFILE = {
    **_PROFILE,
    "shared": {"stringArray": ["0x1010", "0x1200"]},
    "threads": [
        {
            "name": "main",
            "frameTable": {"length": 2, "address": [0x1010, 0x1200], "func": [0, 1]},
            "funcTable": {"length": 2, "name": [0, 1], "resource": [0, 0]},
            "resourceTable": {"length": 1, "lib": [0], "name": [0], "type": [1]},
        }
    ],
}
PROFILE = json.dumps(_PROFILE, indent=1)
SHARED_PROFILE = json.dumps(_SHARED_PROFILE)

TYPED = "app+0x1010\nlibapp.so+0x1200\n"
IN_FILES = "   0x1010 in /opt/app\n   0x1110 in /opt/app\n"

RECORDED = (
    Recorded(
        "tombstone",
        "Android backtrace",
        TOMBSTONE,
        "leaf:101 middle:200 -",
        reason="SIGSEGV",
        crashed="worker",
    ),
    Recorded(
        "logcat",
        "Android backtrace",
        LOGCAT,
        "leaf:102 main:303",
        reason="SIGABRT",
    ),
    Recorded(
        "two-processes",
        "glibc backtrace()",
        TWO_PROCESSES,
        "leaf:101 middle:200 leaf:102 middle:201",
        2,
    ),
    Recorded("musl", "libexecinfo backtrace()", MUSL, "leaf:102 middle:200"),
    Recorded(
        "apple",
        "Apple crash report",
        APPLE,
        "leaf:101 leaf:101 middle:200 main:300 - -",
        3,
        reason="EXC_BAD_ACCESS",
        crashed="Thread 0",
    ),
    Recorded(
        "ips",
        "Apple crash report (.ips)",
        IPS,
        "leaf:101 leaf:102 middle:200 -",
        2,
        reason="EXC_BAD_ACCESS",
        crashed="Thread 1",
    ),
    Recorded("sample", "Apple sample", SAMPLE, "- main:302 middle:201 leaf:101"),
    Recorded("spindump", "Apple sample", SPINDUMP, "- main:301 leaf:101"),
    Recorded(
        "breakpad",
        "minidump-stackwalk",
        BREAKPAD,
        "leaf:101 middle:200 main:301 - - middle:201",
        2,
        reason="SIGSEGV",
        crashed="Thread 0",
    ),
    Recorded(
        "pipes", "minidump-stackwalk -m", PIPES, "leaf:101 middle:200 main:300", 2
    ),
    Recorded(
        "minidump-json",
        "minidump-stackwalk JSON",
        json.dumps(_MINIDUMP),
        "- main:300 leaf:101 middle:200 -",
        2,
        reason="EXCEPTION_ACCESS_VIOLATION_READ",
        crashed="Thread 1",
    ),
    Recorded(
        "socorro-json",
        "minidump-stackwalk JSON",
        json.dumps(SOCORRO_CRASH),
        "- main:300 leaf:101 middle:200 -",
        2,
        reason="EXCEPTION_ACCESS_VIOLATION_READ",
        crashed="Thread 1",
    ),
    Recorded("socorro", "Socorro", SOCORRO, "leaf:101 middle:200 -"),
    Recorded("mozilla", "Mozilla stack walk", MOZILLA, "leaf:100 middle:200"),
    Recorded(
        "coredump",
        "systemd-coredump",
        COREDUMP,
        "leaf:101 middle:200 - main:301",
        2,
    ),
    Recorded(
        "journal", "systemd-coredump", JOURNAL, "leaf:101 middle:200 - main:301", 2
    ),
    Recorded(
        "oops",
        "kernel stack",
        OOPS,
        "leaf:101 middle:200 main:301",
        2,
        reason="BUG: kernel NULL pointer dereference",
    ),
    Recorded(
        "oops-arm",
        "kernel stack",
        OOPS_ARM,
        "leaf:101 middle:200 leaf:100 middle:200",
        2,
        reason="Oops: ",
    ),
    Recorded(
        "oops-riscv", "kernel stack", OOPS_RISCV, "leaf:101 middle:200 middle:200"
    ),
    Recorded("xen", "Xen stack", XEN, "leaf:100 leaf:100 middle:200 main:300", 2),
    # Only a binary says where its first section is.
    Recorded("imagehlp", "Windows stack", IMAGEHLP, "- - -", 2),
    Recorded("proc-stack", "kernel stack", PROC_STACK, "leaf:100 middle:200"),
    Recorded("ftrace", "ftrace", FTRACE, "- -"),
    Recorded(
        "segfault-elsewhere",
        "kernel segfault line",
        SEGFAULT_OLD,
        "-",
        reason="segfault at 0",
    ),
    Recorded("bpftrace-perf", "bcc or bpftrace", BPFTRACE_PERF, "leaf:101 middle:200"),
    Recorded("bcc", "bcc or bpftrace", BCC, "leaf:101 middle:200 main:300"),
    Recorded("titles", "glibc backtrace()", TITLES, "leaf:100 -"),
    Recorded(
        "faulthandler",
        "glibc backtrace()",
        FAULTHANDLER,
        "- - leaf:100 middle:200",
        reason="Fatal Python error: Segmentation fault",
    ),
    Recorded("py-spy", "py-spy", PY_SPY, "leaf:101 - middle:215 - - middle:201", 2),
    Recorded(
        "py-spy-folded",
        "folded stacks",
        PY_SPY_FOLDED,
        "middle:200 leaf:101 middle:215",
        2,
    ),
    Recorded("memray", "memray", MEMRAY, "main:300 middle:200"),
    Recorded("folded", "folded stacks", FOLDED, "middle:201 leaf:101 main:300", 2),
    Recorded("perf-kernel", "perf script", PERF_KERNEL, "leaf:101 middle:200"),
    Recorded("perf-old", "perf script", PERF_OLD, "leaf:101 middle:200"),
    Recorded(
        "lldb",
        "lldb backtrace",
        LLDB,
        "leaf:101 middle:200 -",
        reason="EXC_BAD_ACCESS",
        crashed="thread #1, queue = 'com.apple.main-thread'",
    ),
    Recorded("windbg", "WinDbg stack", WINDBG, "leaf:101 middle:200 main:300 -"),
    Recorded(
        "windbg-start",
        "WinDbg stack",
        WINDBG.replace("leaf+0x10", "leaf [C:\\src\\app.c @ 9]"),
        "leaf:100 middle:200 main:300 -",
    ),
    Recorded("windbg-kb", "WinDbg stack", WINDBG_KB, "leaf:101 middle:200"),
    Recorded("windbg-kv", "WinDbg stack", WINDBG_KV, "leaf:101 middle:200"),
    Recorded("windbg-x86", "WinDbg stack", WINDBG_X86, "leaf:101 middle:200"),
    Recorded("wine", "Wine backtrace", WINE, "leaf:101 middle:200 - leaf:101"),
    Recorded(
        "wine-not-listed", "Wine backtrace", WINE_NOT_LISTED, "leaf:101 middle:200"
    ),
    Recorded(
        "visual-studio",
        "Visual Studio stack",
        VISUAL_STUDIO,
        "leaf:101 - middle:200 main:300 -",
        reason="0xC0000005: Access violation",
    ),
    Recorded("std-windows", "addresses", STD_WINDOWS, "leaf:101 middle:200 main:300"),
    Recorded("std-gnu", "std::stacktrace", STD_GNU, "- -"),
    Recorded("std-llvm", "std::stacktrace", STD_LLVM, "- -"),
    Recorded("chromium", "Chromium stack", CHROMIUM, "leaf:102 middle:200"),
    Recorded("glog", "glog", GLOG, "- -"),
    Recorded("harmony", "Android backtrace", HARMONY, "leaf:102 middle:201"),
    Recorded("abseil", "glog", ABSEIL, "leaf:102 middle:200 middle:215"),
    Recorded("backward", "backward-cpp", BACKWARD, "middle:200 leaf:101", 2),
    Recorded("haproxy", "HAProxy", HAPROXY, "leaf:101 middle:200 main:302 main:302"),
    Recorded(
        "datadog",
        "JSON or XML with addresses",
        DATADOG,
        "leaf:101 middle:201",
        reason="SIGSEGV",
    ),
    Recorded(
        "datadog-log",
        "JSON or XML with addresses",
        DATADOG_LOG,
        "leaf:101 middle:201",
        reason="SIGSEGV",
    ),
    Recorded("glibc-fixed", "glibc backtrace()", FIXED, "leaf:102 main:301 middle:201"),
    Recorded("systemtap", "SystemTap", SYSTEMTAP, "leaf:101 middle:200"),
    Recorded(
        "crystal",
        "Crystal",
        CRYSTAL,
        "leaf:101 middle:201 main:303 -",
        reason="Invalid memory access (signal 11)",
    ),
    Recorded("zig", "Zig panic", ZIG, "leaf:101 middle:200 main:314"),
    Recorded("dart", "Dart", DART, "leaf:101 middle:200 main:300"),
    Recorded("dart-old", "Dart", DART_OLD, "leaf:101 middle:200"),
    Recorded(
        "compute-sanitizer",
        "compute-sanitizer",
        COMPUTE_SANITIZER,
        "- - middle:200 main:300",
        reason="Invalid __global__ write of size 4 bytes",
        crashed="Invalid __global__ write of size 4 bytes",
    ),
    Recorded("wasm", "WebAssembly", WASM, "- -"),
    Recorded("wasmtime", "WebAssembly", WASMTIME, "- -"),
    Recorded("copied", "addresses", COPIED, "middle:200 main:300"),
    Recorded("markup", "symbolizer markup", MARKUP, "leaf:101 middle:200"),
    Recorded(
        "request", "symbolication request", REQUEST, "leaf:101 middle:200 main:300", 2
    ),
    Recorded("profile", "Firefox profile", PROFILE, "leaf:101 middle:200 main:300", 2),
    Recorded("profile-shared", "Firefox profile", SHARED_PROFILE, "leaf:101 main:300"),
    Recorded("typed", "addresses", TYPED, "leaf:101 main:300"),
    Recorded("in-files", "addresses in files", IN_FILES, "leaf:101 middle:200"),
)
