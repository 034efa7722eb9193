"""Second decoders of what `gsym verify` converts anew: the referees of our tests.

They share no code with the engine: Mach-O files, PDBs, Breakpad files and the pclntab
of Go binaries. DWARF, and symbols of ELF files, are read by the package's own second
decoder.
"""
