/* gsym.c - the program `gsym`: answers `gsym lookup FILE ADDRESS...`, and converts one
 * program, `gsym convert [-q] [-j N] [--no-index] INPUT [-o OUTPUT]`. */
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
                      .explains_misses = true,
                      .takes_programs = true};
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

/* Read the number of threads that follows; false if it is none of 1 to 256. */
static bool read_threads(const char *digits, uint32_t *count_ret) {
    *count_ret = 0;
    for (const char *at = digits; *at >= '0' && *at <= '9' && *count_ret < 1000; ++at) {
        *count_ret = 10 * *count_ret + (uint32_t)(*at - '0');
        if (at[1] == '\0') return *digits != '0' && *count_ret <= 256;
    }
    return false;
}

static bool convert(char **words, size_t count, const printed_texts *texts) {
    program_conversion wanted = {.texts = texts};
    char *beside;
    size_t size;
    for (size_t i = 0; i < count; ++i) {
        const char *threads = value_after(words[i], "--threads=");
        if ((is_word(words[i], "-o") || is_word(words[i], "--output")) && i + 1 < count &&
            wanted.output == NULL)
            wanted.output = words[++i];
        else if ((is_word(words[i], "-j") || is_word(words[i], "--threads")) &&
                 i + 1 < count)
            threads = words[++i];
        else if (is_word(words[i], "-q") || is_word(words[i], "--quiet"))
            wanted.is_quiet = true;
        else if (is_word(words[i], "--no-index"))
            wanted.options.flags = GSYM_WITHOUT_INDEX;
        else if (words[i][0] != '-' && words[i][0] != '@' && wanted.input == NULL)
            wanted.input = words[i];
        else if (threads == NULL)
            return false;
        if (threads != NULL && !read_threads(threads, &wanted.options.thread_count))
            return false;
    }
    if (wanted.input == NULL || (wanted.output != NULL && is_word(wanted.output, "-")))
        return false;
    size = strlen(wanted.input) + sizeof ".gsym";
    beside = malloc(size);
    if (beside == NULL) return false;
    snprintf(beside, size, "%s.gsym", wanted.input);
    if (wanted.output == NULL) wanted.output = beside;
    return is_plain(beside, size - 1) && is_plain(wanted.output, strlen(wanted.output)) &&
           strchr(wanted.input, '\n') == NULL && strchr(wanted.output, '\n') == NULL &&
           convert_program(&wanted);
}

static bool answer(char **words, size_t count, const printed_texts *texts) {
    if (is_word(words[0], "lookup")) return look_up(words + 1, count - 1, texts->output);
    return is_word(words[0], "convert") && convert(words + 1, count - 1, texts);
}

int main(int argc, char **argv) {
    return launch("gsym", answer, argc, argv);
}
