"""Stacks that C and C++ programs print of themselves, and strace of them."""

from __future__ import annotations

from gsym.patterns import regex
from gsym.reports.stacks.line_forms import (
    ADDRESS,
    HEX,
    NUMBER,
    OFFSET,
    FrameForm,
    HeadingForm,
    ReportForms,
)

# `0x401136 <main+0x1a> at ./app`
_LIBEXECINFO = regex(
    rf"(?P<shown>{ADDRESS} <(?P<symbol>[^<>\s+]+)\+(?P<plus>(?:0x)?{HEX})>"
    r" at (?P<module>\S+))"
)
# ` 1# 0x000055D2C7E3A1B5 in ./app`
_BOOST = regex(rf"^\s*{NUMBER}# (?P<shown>{ADDRESS} in (?P<module>\S+))")
# ` 1# main at /src/app.cpp:12`, `   2#      at :0 [0x55d2c7e3a1b5]`
_STACKTRACE = regex(rf"^\s*{NUMBER}#\s+(?P<shown>(?:(?P<symbol>\S.*?) )?\[{ADDRESS}\])")
_STACKTRACE_ANSWERED = regex(
    rf"^\s*{NUMBER}# (?P<shown>(?P<symbol>\S.*? (?:at \S+:\d+|in \S+)))\s*$"
)
# Of LLVM's library: `  frame   1: 0x55d2c7e3a1b5: main: /src/app.cc:5`
_STACKTRACE_LLVM = regex(
    rf"^\s*frame +{NUMBER}: (?P<shown>{ADDRESS}(?:: (?P<symbol>\S(?:.*\S)?))?)\s*$"
)
# Of Microsoft's library: `1> C:\src\app.cpp(12): app!main+0x1D`, `1> app!main+0x1D`
_STACKTRACE_WINDOWS = regex(
    rf"^\s*{NUMBER}> (?P<shown>(?:\S.*?\(\d+\): )?(?P<module>[\w.-]+)"
    rf"(?:!(?P<symbol>\S.{{0,512}}?)\+(?P<plus>0x{HEX})|\+0x(?P<offset>{HEX})))\s*$"
)
# Chromium: `#1 0x55d2c7e3a1b5 (/opt/app/electron+0x1234)`
_CHROMIUM = regex(
    rf"#{NUMBER} {ADDRESS} (?P<shown>\((?P<module>[^()\s]+)\+{OFFSET}\))\s*$"
)
# glog: `    @     0x55d2c7e3a1b5  main`, Abseil: `@ 0x55d2c7e3a1b5  1234  (unknown)`
_GLOG = regex(rf"^\s*@\s+(?P<shown>{ADDRESS}  +(?:\d+  )?(?P<symbol>\S(?:.*\S)?))\s*$")
# backward-cpp: `#7    Object "/opt/app", at 0x55d1c0ffe189, in main`
_BACKWARD = regex(
    rf"#{NUMBER} +(?P<shown>Object \"(?P<module>[^\"]+)\", at {ADDRESS}"
    r"(?:, in (?P<symbol>\S(?:.*\S)?))?)"
)
# strace -k, with offsets in files: ` > /opt/app(main+0x19) [0x1189]`
_STRACE = regex(
    r"^ > (?P<shown>(?P<module>/.+?)\((?:(?P<symbol>[^()\s+]+)\+(?P<plus>0x"
    rf"{HEX}))?\) \[{OFFSET}\])\s*$"
)
FORMS = ReportForms(
    frames=(
        FrameForm("strace", " > /", _STRACE, base="file"),
        FrameForm("Chromium stack", "+0x", _CHROMIUM, returns="all"),
        FrameForm("glog", " 0x", _GLOG, returns="all"),
        FrameForm("backward-cpp", "Object ", _BACKWARD, returns="all"),
        FrameForm("libexecinfo backtrace()", "> at ", _LIBEXECINFO, returns="all"),
        FrameForm("Boost.Stacktrace", "# 0x", _BOOST, returns="all"),
        FrameForm("std::stacktrace", "# ", _STACKTRACE, returns="none"),
        FrameForm("std::stacktrace", "# ", _STACKTRACE_ANSWERED, returns="none"),
        FrameForm("std::stacktrace", "frame ", _STACKTRACE_LLVM, returns="none"),
        FrameForm("std::stacktrace", "> ", _STACKTRACE_WINDOWS, base="image"),
    ),
    headings=(
        HeadingForm("terminate called", regex(r"(?P<reason>terminate called .*)")),
        HeadingForm(
            "Assertion",
            regex(r"^(?P<reason>.{0,256}: Assertion .{1,512} failed)"),
        ),
    ),
)
