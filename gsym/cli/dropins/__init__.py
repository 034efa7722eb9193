"""Commands with the options of llvm-gsymutil, llvm-symbolizer and GNU addr2line."""
