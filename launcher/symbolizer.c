/* symbolizer.c - the program `gsym-symbolizer`: answers `--obj=FILE ADDRESS...`. */
#include "launcher.h"

/* An option without a value, and the flags that it sets or clears. */
typedef struct flag_option {
    const char *name;
    uint32_t set, clear;         /* gsym_style_flags */
    uint32_t format, not_format; /* gsym_format_flags */
} flag_option;

static const flag_option options[] = {
    {"--addresses", GSYM_STYLE_ADDRESSES, 0, 0, 0},
    {"-a", GSYM_STYLE_ADDRESSES, 0, 0, 0},
    {"--basenames", GSYM_STYLE_BASENAMES, 0, 0, 0},
    {"-s", GSYM_STYLE_BASENAMES, 0, 0, 0},
    {"--pretty-print", GSYM_STYLE_PRETTY, 0, 0, 0},
    {"-p", GSYM_STYLE_PRETTY, 0, 0, 0},
    {"--verbose", GSYM_STYLE_VERBOSE, 0, 0, 0},
    {"--inlines", GSYM_STYLE_INLINES, 0, 0, 0},
    {"--inlining", GSYM_STYLE_INLINES, 0, 0, 0},
    {"--inlining=true", GSYM_STYLE_INLINES, 0, 0, 0},
    {"-i", GSYM_STYLE_INLINES, 0, 0, 0},
    {"--no-inlines", 0, GSYM_STYLE_INLINES, 0, 0},
    {"--demangle", 0, 0, GSYM_FORMAT_DEMANGLED, 0},
    {"-C", 0, 0, GSYM_FORMAT_DEMANGLED, 0},
    {"--no-demangle", 0, 0, 0, GSYM_FORMAT_DEMANGLED},
    {"--output-style=GNU", GSYM_STYLE_GNU, GSYM_STYLE_OUTER_NAME, 0, 0},
    {"--no-debuginfod", 0, 0, 0, 0},
};

static bool read_option(const char *word, question *asked) {
    for (size_t i = 0; i < sizeof options / sizeof *options; ++i) {
        const flag_option *each = &options[i];
        if (!is_word(word, each->name)) continue;
        asked->style_flags = (asked->style_flags & ~each->clear) | each->set;
        asked->format_flags = (asked->format_flags & ~each->not_format) | each->format;
        return true;
    }
    return false;
}

static bool answer(char **words, size_t count, const printed_texts *texts) {
    question asked = {
        .words = words,
        .form = ADDRESS_LLVM,
        .style = GSYM_STYLE_SYMBOLIZER,
        .style_flags = GSYM_STYLE_FUNCTIONS | GSYM_STYLE_INLINES | GSYM_STYLE_OUTER_NAME,
        .format_flags = GSYM_FORMAT_DEMANGLED,
        .takes_programs = true};
    if (getenv("LLVM_SYMBOLIZER_OPTS") != NULL) return false;
    for (size_t i = 0; i < count; ++i) {
        const char *file = value_after(words[i], "--obj=");
        bool takes_next = is_word(words[i], "-e");
        if (words[i][0] == '@') return false; /* a file of options */
        if (takes_next && ++i == count) return false;
        if (takes_next || file != NULL)
            asked.path = takes_next ? words[i] : file;
        else if (words[i][0] != '-')
            question_add(&asked, words[i]);
        else if (!read_option(words[i], &asked))
            return false;
    }
    /* An architecture may follow a colon. */
    if (asked.path == NULL || asked.path[0] == '@' || strchr(asked.path, ':') != NULL)
        return false;
    return answer_question(&asked, texts->output);
}

int main(int argc, char **argv) {
    return launch("gsym-symbolizer", answer, argc, argv);
}
