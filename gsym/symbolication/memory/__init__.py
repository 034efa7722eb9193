"""What is loaded where: in a process, a core file, a minidump, the kernel."""
