"""Examples, variables and files that manual pages and the manual show."""

from __future__ import annotations

from gsym.cli.verbs import VERBS

_EXAMPLES = r"""
gsym symbolicate crash.txt --source build/  # A crash report or a log
./app 2>&1 | gsym symbolicate --source build/  # What a program prints
gsym symbolicate core --registers  # A core file
gsym symbolicate log.txt --load-address app=0x555555554000  # No list of modules
gsym symbolicate --pid 4711 0x55d00f10a159  # An address of a process
gsym lookup app 0x1139  # An address as nm prints it
gsym lookup app --load-address 0x555555554000 0x555555555139  # An address of a process
gsym lookup app --stdin --json < addresses.txt  # Many, as JSON
gsym convert app  # Write app.gsym
gsym convert app -o out.gsym --verify  # Compare it with app afterwards
gsym convert --output-dir symbols build/  # All binaries of a folder
gsym convert app -o small.gsym --keep-functions '^main$'  # A part of the functions
gsym convert app.gsym -o big.gsym --output-version 2  # Another version
gsym filter app.log --gsym-dir build/  # A log with symbolizer markup
tail -n 100 app.log | gsym filter  # Lines as they come
gsym batch addresses.csv -o answers --modules symbols  # A stack for each row
gsym trace info stacks.txt  # Times and threads
gsym trace stats stacks.txt  # Sums of a profile
gsym trace dump stacks.txt --json  # Each sample as an object
gsym trace blobs app.fxt --extract blobs  # Write each blob to a file
gsym trace convert stacks.txt -o stacks.pb.gz --to pprof  # For pprof
gsym trace convert app.fxt -o app.json --to chrome  # For Perfetto
gsym trace symbolize stacks.txt -o named.txt --gsym-dir build/  # With functions
gsym trace flame stacks.txt -o flame.html  # Open flame.html in a browser
gsym trace flame stacks.txt -o main.html --name 'main*'  # Of some functions
gsym trace top stacks.txt  # The functions that took most
gsym trace top stacks.txt --by module --limit 5  # Five modules
gsym symbfile dump app.ranges.symbfile  # Each record as a line
gsym symbfile stats app.ranges.symbfile  # Numbers of records
gsym symbfile verify app.ranges.symbfile  # Errors and notes
gsym symbfile lookup app.ranges.symbfile 0x1139  # An ELF address
gsym symbfile convert app.ranges.symbfile -o again.gsym  # A GSYM file
gsym symbfile extract app --kind both -o app  # Ranges and return pads
gsym symbfile push -e app -u https://collect.example --api-key-file key  # Both kinds
gsym symbfile id app  # The FileID of a program
gsym find app main  # A function
gsym find app 'ma*'  # All functions that match
gsym dump app.gsym  # All functions with lines and calls
gsym stats app.gsym --top 3  # The largest functions
gsym verify app.gsym  # The structure
gsym verify app.gsym --against app  # Compare it with its binary
gsym merge main.gsym rest.gsym -o whole.gsym  # Parts of one program
gsym export --to breakpad app.gsym --binary app  # Write app.sym
gsym embed app.gsym app  # Put it into app
gsym extract app -o again.gsym  # Get it back
gsym store add build/  # All debug files below a folder
gsym store add app --keep-original  # Keep the debug file as well
gsym store get app  # The path of the GSYM file
gsym store get app -o app.gsym  # A copy of it
gsym store list 'lib*'  # Modules by their names
gsym store info app  # Names, ids, sizes, origin
gsym store verify --repair  # Remove what is damaged
gsym store gc --max-size 20GiB --max-age 90d  # Keep it small
gsym store gc --cache  # Clear the cache of converted binaries
gsym store export -o symbols.zip  # For tools of Breakpad
gsym store export --to gsym -o s3://symbols/release  # Publish a store
gsym store prefetch modules.txt --source https://symbols.mozilla.org/  # Fetch
gsym store import symbols/  # A tree of symbol files
gsym store misses --limit 5  # The most wanted
gsym serve --source build/  # Answer from the binaries of a build
gsym serve --check-config --config gsym.toml  # Check the settings
gsym upload --server https://symbols.example --api-key-file key build/  # What it lacks
gsym doctor  # Versions, extras, folders
gsym doctor app  # Why a binary gives no lines
gsym completion bash > gsym.bash  # A script to source
gsymutil --convert app --out-file app.gsym  # Convert as llvm-gsymutil does
gsymutil --address=0x1139 app.gsym  # Look up
gsym-addr2line -Cfpie app 0x1139  # Functions, lines, inlined calls
printf '1139\nmain+0x4\n' | gsym-addr2line -f -e app  # From a pipe
gsym-symbolizer --obj=app 0x1139  # Functions, lines, inlined calls
printf 'CODE "app" 0x1139\n' | gsym-symbolizer --output-style=JSON  # A pipe
"""


def _by_program(text: str) -> dict[str, list[tuple[str, str]]]:
    """Command or verb -> its examples: what is typed, and what it does."""
    found: dict[str, list[tuple[str, str]]] = {}
    for line in text.strip().splitlines():
        command, _, meaning = line.rpartition("  # ")
        program, *words = command[command.index("gsym") :].split(" ")[:3]
        while words and " ".join(words) not in VERBS:
            del words[-1]
        name = " ".join((program, *words))
        found.setdefault(name, []).append((command, meaning))
    return found


EXAMPLES = _by_program(_EXAMPLES)
# What is read -> who reads it, as commands, verbs or the option that makes them, and
# its meaning.
VARIABLES: dict[str, tuple[tuple[str, ...], str]] = {
    "GSYM_STORE": (("--store",), "folder of the store, instead of the user's own"),
    "GSYM_CACHE_DIR": (
        (
            *("gsym lookup", "gsym find", "gsym dump", "gsym stats", "gsym verify"),
            *("gsym export", "gsym symbolicate", "gsym-addr2line", "gsym-symbolizer"),
            *("gsym store gc", "--gsym-dir"),
        ),
        "folder of converted binaries",
    ),
    "GSYM_API_KEY": (("gsym upload", "--api-key"), "token of the server"),
    "GSYM_NAME": (("gsym serve",), "the setting NAME, such as GSYM_PORT"),
    "GSYM_LIMITS": (("gsym serve",), "limits, as NAME=VALUE,..."),
    "DEBUGINFOD_URLS": (
        ("--debuginfod", "--source"),
        "debuginfod servers, separated by spaces",
    ),
    "DEBUGINFOD_CACHE_PATH": (("--debuginfod", "--source"), "folder of their files"),
    "NETRC": (("--source",), "file with user names and passwords of servers"),
    "HTTPS_PROXY": (
        ("--source", "--server", "--url", "--debuginfod"),
        "proxy; HTTP_PROXY, ALL_PROXY and NO_PROXY are read, too",
    ),
    "SSL_CERT_FILE": (
        ("--source", "--server", "--url", "--debuginfod"),
        "certificates of authorities",
    ),
    "LLVM_SYMBOLIZER_OPTS": (
        ("gsym-symbolizer",),
        "options before those of the command line",
    ),
    "NO_COLOR": (("--color",), "no color, if it is not empty"),
    "TERM": (("--color",), "no color, if it is dumb"),
    "COLUMNS": (("gsym trace top",), "width of tables, instead of the terminal's"),
    "TMPDIR": (
        ("gsym convert", "gsym store add"),
        "folder for inflated sections of large files, instead of /var/tmp",
    ),
    "PROMETHEUS_MULTIPROC_DIR": (
        ("gsym serve",),
        "folder of the metrics of all workers; by default a temporary one",
    ),
    "LISTEN_PID": (("gsym serve",), "with LISTEN_FDS: a socket of systemd"),
    "NOTIFY_SOCKET": (("gsym serve",), "socket of systemd for the state"),
}
FILES: dict[str, tuple[tuple[str, ...], str]] = {
    "~/.local/share/gsym/store": (("--store",), "the store; see XDG_DATA_HOME"),
    "~/.cache/gsym": (
        VARIABLES["GSYM_CACHE_DIR"][0],
        "converted binaries, at most 4 GiB; see XDG_CACHE_HOME",
    ),
    "~/.cache/debuginfod_client": (
        ("--debuginfod", "--source"),
        "files of debuginfod servers, shared with elfutils",
    ),
    "/usr/lib/debug": (("--debug-file-directory",), "installed debug files"),
    "/etc/debuginfod/*.urls": (
        ("--debuginfod", "--source"),
        "servers, where DEBUGINFOD_URLS is not set",
    ),
}
