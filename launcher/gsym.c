/* gsym.c - the program `gsym`: answers `gsym lookup FILE ADDRESS...`, and converts one
 * program, `gsym convert INPUT [-o OUTPUT]`. */
#include <stdio.h>

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

static bool convert(char **words, size_t count, gsym_text *text) {
    const char *input = NULL, *output = NULL;
    char *beside;
    size_t size;
    for (size_t i = 0; i < count; ++i) {
        if ((is_word(words[i], "-o") || is_word(words[i], "--output")) && i + 1 < count &&
            output == NULL)
            output = words[++i];
        else if (words[i][0] != '-' && words[i][0] != '@' && input == NULL)
            input = words[i];
        else
            return false;
    }
    if (input == NULL || (output != NULL && is_word(output, "-"))) return false;
    size = strlen(input) + sizeof ".gsym";
    beside = malloc(size);
    if (beside == NULL) return false;
    snprintf(beside, size, "%s.gsym", input);
    if (output == NULL) output = beside;
    return is_plain(input, size - sizeof ".gsym") && is_plain(output, strlen(output)) &&
           strchr(input, '\n') == NULL && strchr(output, '\n') == NULL &&
           convert_program(input, output, text);
}

static bool answer(char **words, size_t count, gsym_text *text) {
    if (is_word(words[0], "lookup")) return look_up(words + 1, count - 1, text);
    return is_word(words[0], "convert") && convert(words + 1, count - 1, text);
}

int main(int argc, char **argv) {
    return launch("gsym", answer, argc, argv);
}
