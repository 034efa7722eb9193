"""Commands with the options of llvm-gsymutil, llvm-symbolizer and GNU addr2line."""

# Command -> the module with its options, below this package; its operand; what it does.
DROP_INS = {
    "gsymutil": ("gsymutil_options", "FILE", "Print, search and make GSYM files"),
    "gsym-addr2line": (
        "addr2line",
        "ADDRESS",
        "Convert addresses to files and line numbers, as GNU addr2line",
    ),
    "gsym-symbolizer": (
        "symbolizer_options",
        "ADDRESS",
        "Convert addresses to functions, files and lines, as llvm-symbolizer",
    ),
}
