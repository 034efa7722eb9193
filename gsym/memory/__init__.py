"""Modules in memory: of a process, a core file, a minidump, the kernel."""
