"""Pastes of each form, as programs print them; ids and names are made up."""

from __future__ import annotations

import json

TOMBSTONE = """\
*** *** *** *** *** *** *** *** *** *** *** *** *** *** *** ***
Build fingerprint: 'google/oriole/oriole:13/TQ3A.230805.001/10316531:user/release-keys'
ABI: 'arm64'
signal 11 (SIGSEGV), code 1 (SEGV_MAPERR), fault addr 0x0000000000000000
    x0  0000000000000000  x1  0000007fe0a1b2c8  x2  0000000000000010
backtrace:
      #00 pc 0000000000012345  /data/app/~~x-9Q==/org.demo-1/lib/arm64/libfoo.so \
(foo::bar(int)+20) (BuildId: 80ae0509e7ce335ae3cab61c274274de96049b64)
      #01 pc 00000000000006f8  /data/app/org.demo/base.apk!libgame.so (offset 0x3000)
      #02 pc 0000000000089abc  /apex/com.android.runtime/lib64/bionic/libc.so \
(__pthread_start(void*)+268) (BuildId: ba489d4985c0cf173209da67405662f9)

memory near x4:
"""

LOGCAT = """\
04-21 18:59:48.021  1107  1107 F DEBUG   : backtrace:
04-21 18:59:48.021  1107  1107 F DEBUG   :     #00 pc 00070b1a  /system/lib/libdvm.so
04-21 18:59:48.022: I/DEBUG(489):     #01  pc 00070b73  /system/lib/libdvm.so (dvm+4)
"""

CRASH_REPORT = """\
Process:               Example Demo [4711]
Exception Type:        EXC_BAD_ACCESS (SIGSEGV)

Last Exception Backtrace:
(0x100002345 0x7fff20389100)

Thread 0 Crashed:: Dispatch queue: com.apple.main-thread
0   Example Demo                  \t0x0000000100001a2b 0x100000000 + 6699
1   com.apple.CoreFoundation      \t0x00007fff20389000 CFRunLoopRun + 40
2   ???                           \t0x0000000000000010 0 + 16

Thread 0 crashed with X86 Thread State (64-bit):
  rax: 0x0000000000000000  rbx: 0x0000000000000000

Binary Images:
       0x100000000 -        0x10000ffff +org.demo.Example (1.0 - 1) \
<41068F5C-74E3-3C98-9256-6A18364FB5BA> /Applications/Example Demo.app/Example Demo
    0x7fff20388000 -     0x7fff20823fff  com.apple.CoreFoundation (6.9 - 1770.106) \
<7ebd494159783ef98fb724bb81e92c88> /System/Library/Frameworks/CoreFoundation
       0x143d2c000 -        0x143d92ffd +com.SafeNet.SuperPro (SuperPro version 6.6.0)
"""

IPS_REPORT = "\n".join(
    (
        '{"app_name":"Example","bug_type":"309","os_version":"macOS 13.0"}',
        json.dumps(
            {
                "procName": "Example",
                "exception": {"type": "EXC_CRASH", "signal": "SIGABRT"},
                "threads": [
                    {
                        "triggered": True,
                        "queue": "main",
                        "frames": [
                            {"imageOffset": 0x1000, "imageIndex": 0},
                            {"imageOffset": 0x2000, "imageIndex": 1, "symbol": "x"},
                            {"imageOffset": 7, "imageIndex": 9},
                        ],
                    }
                ],
                "usedImages": [
                    {
                        "uuid": "41068f5c-74e3-3c98-9256-6a18364fb5ba",
                        "name": "Example",
                        "base": 4294967296,
                    },
                    {"name": "dyld", "uuid": "7ebd4941-5978-33ef-98fb-724bb81e92c8"},
                ],
            },
            indent=2,
        ),
    )
)

MARKUP = """\
[00007.1] 1234> {{{reset}}}
[00007.2] 1234> {{{module:0:libdemo:1.so:elf:83238ab56ba10497}}}
[00007.2] 1234> {{{mmap:0x7acba69d4000:0x5a000:load:0:rx:0x1000}}}
[00007.3] 1234> {{{bt:0:0x7acba69d4010:pc}}}
[00007.3] 1234> {{{bt:1:0x7acba69d4020}}} and {{{pc:0x7acba69d4030}}}
[00007.3] 1234> {{{bt:2:0x10}}} {{{symbol:_Z1fv}}} {{{data:0x7acba69d4030}}}
[00007.4] 1234> {{{reset}}}
[00007.4] 1234> {{{bt:0:0x7acba69d4010:pc}}}
"""

SANITIZER = """\
==4711==ERROR: AddressSanitizer: heap-use-after-free on address 0x602000000010 at pc 0x1
READ of size 4 at 0x602000000010 thread T0
    #0 0x55d1a8 in main /src/main.cc:5:3
    #1 0x7f36a2b0ad09  (/lib/x86_64-linux-gnu/libc.so.6+0x26d09) (BuildId: e6a8b4f2)
    #2 0x55d1c9  (/opt/demo/bin/server+0x1c9)
"""

JVM = """\
# C  [libzip.so+0x1234]  readCEN+0x34
V  [libjvm.so+0x5ab3f0]  JVM_GetClassName+0x10
j  java.lang.String.concat()V+12
"""

GLIBC = """\
/lib/x86_64-linux-gnu/libc.so.6(+0x29d90) [0x7f64ea829d90]
./prog(main+0x1a) [0x5581]
"""

MOZILLA = """\
#01: ???[/usr/lib/firefox/libxul.so +0x1a2b3c]
#02: NS_Main (nsMain.cpp:12)
"""

REQUEST = json.dumps(
    {
        "jobs": [
            {
                "memoryMap": [
                    ["xul.pdb", "44E4EC8C2F41492B9369D6B9A059577C2"],
                    ["bad", "xyz"],
                ],
                "stacks": [[[0, 11723767], [1, 5], [-1, 7], [0, -1], "odd"]],
            },
            {"memoryMap": [["a.so", ""]], "stacks": [[[0, 1]]]},
            "no job",
        ]
    }
)
