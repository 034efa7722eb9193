/* addr2line.c - the program `gsym-addr2line`: answers `-e FILE [-afipsC] ADDRESS...`. */
#include "launcher.h"

/* Read one letter of an option without a value; false if it is none that is known here. */
static bool read_letter(char letter, question *asked) {
    switch (letter) {
        case 'a': asked->style_flags |= GSYM_STYLE_ADDRESSES; return true;
        case 'f': asked->style_flags |= GSYM_STYLE_FUNCTIONS; return true;
        case 'i': asked->style_flags |= GSYM_STYLE_INLINES; return true;
        case 'p': asked->style_flags |= GSYM_STYLE_PRETTY; return true;
        case 's': asked->style_flags |= GSYM_STYLE_BASENAMES; return true;
        case 'C': asked->format_flags |= GSYM_FORMAT_DEMANGLED; return true;
        default: return false;
    }
}

/* Read a word of letters. *takes_next_ret: the next word is the value of the last one. */
static bool read_letters(const char *letters, question *asked, bool *takes_next_ret) {
    for (; *letters != '\0'; ++letters) {
        if (*letters == 'e') {
            asked->path = letters + 1;
            *takes_next_ret = letters[1] == '\0';
            return true;
        }
        if (!read_letter(*letters, asked)) return false;
    }
    return true;
}

static bool read_name(const char *name, question *asked) {
    static const char *const names[] = {"addresses",    "functions", "inlines",
                                        "pretty-print", "basenames", "demangle"};
    static const char letters[] = "afipsC";
    const char *file = value_after(name, "exe=");
    if (file != NULL) asked->path = file;
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
        if (is_word(name, names[i])) return read_letter(letters[i], asked);
    return file != NULL;
}

static bool answer(char **words, size_t count, const printed_texts *texts) {
    question asked = {.words = words,
                      .form = ADDRESS_HEX,
                      .style = GSYM_STYLE_ADDR2LINE,
                      .takes_programs = true};
    if (getenv("POSIXLY_CORRECT") != NULL) return false;
    for (size_t i = 0; i < count; ++i) {
        bool takes_next = false;
        if (words[i][0] == '@') return false; /* a file of options */
        if (words[i][0] != '-') {
            question_add(&asked, words[i]);
        } else if (words[i][1] == '-') {
            if (!read_name(words[i] + 2, &asked)) return false;
        } else {
            if (words[i][1] == '\0' || !read_letters(words[i] + 1, &asked, &takes_next))
                return false;
            if (takes_next && ++i == count) return false;
            if (takes_next) asked.path = words[i];
            if (takes_next && words[i][0] == '@') return false;
        }
    }
    if (!(asked.style_flags & GSYM_STYLE_FUNCTIONS))
        asked.format_flags &= ~(uint32_t)GSYM_FORMAT_DEMANGLED;
    return answer_question(&asked, texts->output);
}

int main(int argc, char **argv) {
    return launch("gsym-addr2line", answer, argc, argv);
}
