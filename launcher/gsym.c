/* gsym.c - the program `gsym`: answers `gsym lookup FILE ADDRESS...`. */
#include "launcher.h"

/* Read one option; false if it is none that is known here. */
static bool read_option(const char *word, question *asked) {
    if (is_word(word, "--oneline"))
        asked->style = GSYM_STYLE_ONELINE;
    else if (is_word(word, "--demangle") || is_word(word, "-C"))
        asked->format_flags |= GSYM_FORMAT_DEMANGLED;
    else if (is_word(word, "--no-demangle"))
        asked->format_flags &= ~(uint32_t)GSYM_FORMAT_DEMANGLED;
    else
        return false;
    return true;
}

static bool look_up(char **words, size_t count, gsym_text *text) {
    question asked = {.words = words,
                      .form = ADDRESS_NM,
                      .style = GSYM_STYLE_LOOKUP,
                      .format_flags = GSYM_FORMAT_DEMANGLED | GSYM_FORMAT_PRINTABLE,
                      .explains_misses = true};
    for (size_t i = 0; i < count; ++i) {
        if (words[i][0] == '-') {
            if (!read_option(words[i], &asked)) return false;
        } else if (asked.path == NULL)
            asked.path = words[i];
        else
            question_add(&asked, words[i]);
    }
    /* A URL is not a path. */
    if (asked.path == NULL || strstr(asked.path, "://") != NULL) return false;
    return answer_question(&asked, text);
}

static bool answer(char **words, size_t count, gsym_text *text) {
    return is_word(words[0], "lookup") && look_up(words + 1, count - 1, text);
}

int main(int argc, char **argv) {
    return launch("gsym", answer, argc, argv);
}
