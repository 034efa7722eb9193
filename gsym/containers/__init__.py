"""Files that debug information arrives in: ELF, Mach-O, PE, archives, compressed."""
