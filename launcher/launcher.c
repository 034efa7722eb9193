/* launcher.c - print an answer, or become the command in Python. */
#define _POSIX_C_SOURCE 200809L
#include "launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

/* The script by which Python runs a command. It has the path of its interpreter. */
#define SCRIPT "gsym-python"

/* ---- the command in Python ----------------------------------------------------------- */

/* Execute the script in `folder`: in a virtual environment by the interpreter beside it,
 * because the script may have the path that the environment was made in, else by that of
 * the script, or the one beside it if that does not exist. `words` has two free places
 * before the name of the program. */
static void run_script(const char *folder, char **words) {
    enum { NAME_SIZE = 16 }; /* in bytes, with the slash */
    char script[PATH_MAX + NAME_SIZE], interpreter[PATH_MAX + NAME_SIZE];
    char settings[PATH_MAX + NAME_SIZE];
    snprintf(script, sizeof script, "%s/" SCRIPT, folder);
    snprintf(interpreter, sizeof interpreter, "%s/python3", folder);
    snprintf(settings, sizeof settings, "%s/../pyvenv.cfg", folder);
    words[0] = interpreter;
    words[1] = script;
    if (access(script, R_OK) == 0 && access(settings, F_OK) == 0)
        execv(interpreter, words);
    execv(script, words + 1);
    if (access(script, R_OK) == 0) execv(interpreter, words);
}

/* Become the command in Python: by the script beside this program, or else in PATH. Returns
 * only if there is none. */
static int run_python(const char *program, int argc, char **argv) {
    char folder[PATH_MAX], name[] = SCRIPT;
    char **words = calloc((size_t)argc + 4, sizeof *words);
    ssize_t size = readlink("/proc/self/exe", folder, sizeof folder - 1);
    if (words == NULL) return 1;
    words[2] = (char *)(uintptr_t)program;
    for (int i = 1; i < argc; ++i) words[i + 2] = argv[i];
    while (size > 0 && folder[size - 1] != '/') --size;
    if (size > 0) {
        folder[size - 1] = '\0';
        run_script(folder, words);
    }
    words[1] = name;
    execvp(SCRIPT, words + 1);
    fprintf(stderr, "%s: error: cannot run " SCRIPT ": %s\n", program, strerror(errno));
    return 1;
}

/* ---- the answer ---------------------------------------------------------------------- */

/* Whether a variable of the environment changes what Python does. */
static bool changes_python(const char *variable) {
    static const char *const harmless[] = {
        "PYTHONDONTWRITEBYTECODE=", "PYTHONHASHSEED=", "PYTHONIOENCODING=",
        "PYTHONNOUSERSITE=",        "PYTHONSAFEPATH=", "PYTHONUNBUFFERED=",
        "PYTHONUTF8="};
    if (value_after(variable, "PYTHON") == NULL) return false;
    for (size_t i = 0; i < sizeof harmless / sizeof *harmless; ++i)
        if (value_after(variable, harmless[i]) != NULL) return false;
    return true;
}

/* Whether the environment and the streams are as usual. */
static bool is_usual(void) {
    struct stat status;
    int flags = fcntl(STDOUT_FILENO, F_GETFL);
    if (flags < 0 || (flags & O_NONBLOCK) || (flags & O_ACCMODE) == O_RDONLY ||
        fstat(STDERR_FILENO, &status) != 0)
        return false;
    for (char **next = environ; *next != NULL; ++next)
        if (changes_python(*next)) return false;
    return true;
}

bool is_plain(const char *bytes, size_t size) {
    for (size_t i = 0; i < size; ++i)
        if (bytes[i] != '\n' && (bytes[i] < ' ' || bytes[i] > '~')) return false;
    return true;
}

/* Print a text. False if it cannot be printed, which the command in Python reports: then
 * it can print as little. A closed pipe is no failure. */
static bool print(const gsym_text *text, int file) {
    size_t size;
    const char *bytes = gsym_text_bytes(text, &size);
    if (isatty(file) && !is_plain(bytes, size)) return false;
    signal(SIGPIPE, SIG_IGN);
    while (size > 0) {
        ssize_t written = write(file, bytes, size);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return errno == EPIPE;
        bytes += written;
        size -= (size_t)written;
    }
    return true;
}

int launch(const char *program, answer_words answer, int argc, char **argv) {
    char **words = calloc((size_t)argc + 1, sizeof *words);
    printed_texts texts;
    gsym_error error;
    signal(SIGXFSZ, SIG_IGN); /* as in Python: a file that may not grow is an error */
    for (int i = 1; words != NULL && i < argc; ++i) words[i - 1] = argv[i];
    if (words != NULL && argc > 1 && is_usual() &&
        gsym_text_create(&texts.output, &error) == GSYM_OK &&
        gsym_text_create(&texts.errors, &error) == GSYM_OK &&
        answer(words, (size_t)argc - 1, &texts) && print(texts.output, STDOUT_FILENO))
        /* The system takes back the memory. */
        _exit(print(texts.errors, STDERR_FILENO) ? 0 : 1);
    return run_python(program, argc, argv);
}
