"""GSYM files inside of ELF and Mach-O binaries."""
