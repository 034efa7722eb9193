"""The verbs of `gsym`: where each one is, and what it does.

The list of verbs must not import them all, so their summaries stand here.
"""

# Verb -> its module below this package, "" for verbs of verbs; what it does.
VERBS = {
    "convert": ("convert", "Convert the debug information of binaries to GSYM files"),
    "merge": ("merge", "Merge several GSYM files into one"),
    "lookup": ("lookup", "Find function, file, line and inline chain of addresses"),
    "find": ("find", "Find functions by name"),
    "dump": ("dump", "Print a GSYM file in readable form"),
    "stats": ("stats", "Show how the bytes of a GSYM file are used"),
    "verify": ("verify", "Check a GSYM file, by itself or against its binary"),
    "export": ("export", "Write a GSYM file in the format of other tools"),
    "embed": ("embed", "Put a GSYM file into a section of its binary"),
    "extract": ("embed", "Extract the GSYM file from a binary"),
    "store": ("", "Keep GSYM files by the ids of their modules"),
    "symbolicate": ("symbolicate", "Symbolicate a report, a core file or a process"),
    "batch": ("batch", "Symbolize the rows of Parquet, Arrow, CSV and NDJSON files"),
    "filter": ("filter", "Replace symbolizer markup in a log by symbols"),
    "upload": ("upload", "Send debug files to a symbol server"),
    "serve": ("serve", "Answer symbolication requests over HTTP"),
    "symbfile": ("", "Read and write symbfiles, which eBPF profilers use"),
    "trace": ("", "Read Fuchsia traces and profiles, symbolize and convert them"),
    "doctor": ("doctor", "Check this installation, or what a binary lacks"),
    "completion": ("completion", "Print the completion of command lines for a shell"),
    "store add": (
        "store_adding",
        "Put the modules of files, folders and archives into a store",
    ),
    "store get": ("store", "Find the GSYM file of a module"),
    "store list": ("store", "List the modules of a store"),
    "store info": ("store", "Show the entry of a module"),
    "store verify": ("store_upkeep", "Check a store"),
    "store gc": ("store_upkeep", "Remove least recently used modules and files"),
    "store export": ("store", "Write the modules of a store for other tools"),
    "store prefetch": ("store_adding", "Fetch the modules of a list into a store"),
    "store import": (
        "store_adding",
        "Put all modules of a symbol tree or a bucket into a store",
    ),
    "store misses": (
        "store_upkeep",
        "List the modules that were requested and not found",
    ),
    "symbfile dump": ("symbfile", "Print the records of a symbfile"),
    "symbfile stats": ("symbfile", "Summarize a symbfile"),
    "symbfile verify": ("symbfile", "Check the structure of a symbfile"),
    "symbfile lookup": ("symbfile", "Find the functions, files and lines at addresses"),
    "symbfile convert": ("symbfile", "Convert symbfiles to a GSYM file"),
    "symbfile extract": (
        "symbfile_extract",
        "Write the symbols of a binary as symbfiles",
    ),
    "symbfile push": (
        "symbfile_push",
        "Send the symbols of executables to a server of profilers",
    ),
    "symbfile id": ("symbfile", "Print the FileID of executables"),
    "trace info": (
        "trace_records",
        "Summarize a trace or a profile: times, processes and threads",
    ),
    "trace stats": ("trace_records", "Count the records of a trace, sum up a profile"),
    "trace dump": ("trace_records", "Print records of a trace, samples of a profile"),
    "trace blobs": (
        "trace_records",
        "List the blobs of a trace, or write them to files",
    ),
    "trace convert": ("trace_convert", "Write a trace or a profile in another format"),
    "trace symbolize": (
        "trace_convert",
        "Look up the functions, files and lines of a profile",
    ),
    "trace flame": ("trace_flame", "Draw a profile as a flame graph"),
    "trace top": ("trace_top", "Show where the time of a profile or a trace was spent"),
}
GROUPS: dict[str, tuple[str, ...]] = {
    "begin with these": ("symbolicate", "lookup", "convert"),
    "symbolize logs, profiles and tables": ("filter", "trace", "batch", "symbfile"),
    "look into GSYM files and check them": ("find", "dump", "stats", "verify"),
    "write other files from them": ("merge", "export", "embed", "extract"),
    "keep modules and serve them": ("store", "serve", "upload"),
    "set up this machine": ("doctor", "completion"),
}


def verbs_of(parent: str) -> list[str]:
    """The names of the verbs below *parent*, "" for `gsym` itself."""
    names = [name.rpartition(" ") for name in VERBS]
    return [verb for above, _, verb in names if above == parent]
