/* template_arguments.c - remove the template arguments from names of C++. */
#include "base/error.h"

enum { MAX_OPEN = 256 }; /* brackets that are open at once */

typedef struct reduction {
    const char *at;
    const char *end;
    char *out;
    size_t out_size;
    size_t templates; /* number of the open brackets that are those of template arguments */
    size_t open_count;
    char open[MAX_OPEN];
} reduction;

static bool is_word(char character) {
    return (character >= 'a' && character <= 'z') ||
           (character >= 'A' && character <= 'Z') ||
           (character >= '0' && character <= '9') || character == '_' || character == '$';
}

static bool begins_with(const reduction *r, const char *text) {
    size_t size = strlen(text);
    return size <= (size_t)(r->end - r->at) && memcmp(r->at, text, size) == 0;
}

static void copy(reduction *r, size_t size) {
    if (r->templates == 0) {
        memmove(r->out + r->out_size, r->at, size);
        r->out_size += size;
    }
    r->at += size;
}

/* Copy an operator, whose characters are not brackets: `operator<<`, `operator()`. */
static bool copy_operator(reduction *r, const char *name) {
    static const char *const signs[] = {"<=>", "<<=", ">>=", "->*", "<<", ">>", "<=",
                                        ">=",  "->",  "<",   ">",   "()", "[]"};
    static const char word[] = "operator";
    if (!begins_with(r, word) || (r->at > name && is_word(r->at[-1]))) return false;
    if ((size_t)(r->end - r->at) > sizeof word - 1 && is_word(r->at[sizeof word - 1]))
        return false;
    copy(r, sizeof word - 1);
    for (size_t i = 0; i < sizeof signs / sizeof *signs; ++i) {
        if (!begins_with(r, signs[i])) continue;
        copy(r, strlen(signs[i]));
        /* In `operator<< <int>`, a blank separates the operator from the bracket of its
         * arguments. */
        if (begins_with(r, " <")) r->at++;
        break;
    }
    return true;
}

/* Whether a `<` opens template arguments; comparisons are in parentheses. */
static bool opens_arguments(const reduction *r, const char *name) {
    static const char call[] = "operator()";
    size_t before = (size_t)(r->at - name);
    if (before == 0 || r->at[-1] != ')') return before > 0;
    return before >= sizeof call - 1 &&
           memcmp(r->at - (sizeof call - 1), call, sizeof call - 1) == 0;
}

static char top(const reduction *r) {
    return r->open_count > 0 ? r->open[r->open_count - 1] : 0;
}

static bool open_bracket(reduction *r, char bracket) {
    if (r->open_count == MAX_OPEN) return false;
    r->open[r->open_count++] = bracket;
    return true;
}

/* Read one or more characters; false for unbalanced brackets. */
static bool reduce_next(reduction *r, const char *name) {
    char sign = *r->at;
    if (copy_operator(r, name)) return true;
    if (sign == '<' && opens_arguments(r, name)) {
        r->templates++;
        r->at++;
        return open_bracket(r, '<');
    }
    if (sign == '>' && top(r) == '<' && r->at[-1] != '-') {
        r->open_count--;
        r->templates--;
        r->at++;
        return true;
    }
    if (sign == '(' && !open_bracket(r, '(')) return false;
    if (sign == ')') {
        if (top(r) != '(') return false;
        r->open_count--;
    }
    copy(r, 1);
    return true;
}

size_t gsym_name_without_template_arguments(const char *name, size_t size, char *out) {
    reduction r = {.at = name, .end = name + size, .out = out};
    while (r.at < r.end) {
        if (reduce_next(&r, name)) continue;
        r.open_count = 1; /* the name is unchanged */
        break;
    }
    if (r.open_count == 0) return r.out_size;
    memcpy(out, name, size);
    return size;
}
