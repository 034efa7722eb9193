"""Second decoders and comparison: the referees of our tests.

They share no code with the engine: symbol tables of ELF files, Mach-O files, PDBs,
Breakpad files and the pclntab of Go binaries. `gsym verify` compares these with a new
conversion; DWARF is decoded by the package's own second decoder in both.
"""
