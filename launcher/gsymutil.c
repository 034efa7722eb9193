/* gsymutil.c - the program `gsymutil`: answers `gsymutil --address=X... FILE`. */
#include "launcher.h"

static bool answer(char **words, size_t count, const printed_texts *texts) {
    gsym_text *text = texts->output;
    question asked = {.words = words,
                      .form = ADDRESS_LLVM,
                      .style = GSYM_STYLE_GSYMUTIL,
                      .format_flags = GSYM_FORMAT_LLVM};
    gsym_error error;
    for (size_t i = 0; i < count; ++i) {
        const char *value = value_after(words[i], "--address=");
        if (value != NULL)
            question_add(&asked, (char *)(uintptr_t)value);
        else if (is_word(words[i], "--merged-functions")) {
            asked.style_flags |= GSYM_STYLE_MERGED;
            asked.format_flags |= GSYM_FORMAT_MERGED;
        } else if (words[i][0] == '-' || words[i][0] == '\0' || asked.path != NULL)
            return false;
        else
            asked.path = words[i];
    }
    if (asked.path == NULL) return false;
    gsym_text_put(text, "Looking up addresses in \"", 25, &error);
    gsym_text_put(text, asked.path, strlen(asked.path), &error);
    gsym_text_put(text, "\":\n", 3, &error);
    return answer_question(&asked, text);
}

int main(int argc, char **argv) {
    return launch("gsymutil", answer, argc, argv);
}
