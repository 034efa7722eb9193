/* names.c - demangle many C++ names at once, estimate the cost of demangling, and remove
 * template arguments. */
#include "base/buffer.h"
#include "base/error.h"

enum {
    MAX_REFERENCE = 4,  /* characters before its `_` */
    MAX_REFERENCES = 64 /* distinct references; each may double the text */
};

static const uint64_t ENDLESS = UINT64_C(1) << 62;

typedef struct known_part {
    uint32_t reference;
    uint64_t work;
} known_part;

static uint32_t reference_key(const char *at, const char *end) {
    uint32_t key = 0;
    for (; at < end; ++at) key = key << 8 | (uint8_t)*at;
    return key;
}

/* Cost of the part to which a reference refers: the cost of all that came before the first
 * reference to it. */
static uint64_t cost_of(known_part *parts, size_t *count, uint32_t reference,
                        uint64_t work) {
    for (size_t i = 0; i < *count; ++i)
        if (parts[i].reference == reference) return parts[i].work;
    if (*count == MAX_REFERENCES) return ENDLESS;
    parts[(*count)++] = (known_part){reference, work};
    return work;
}

uint64_t gsym_cxx_name_work(const char *name, size_t size) {
    known_part parts[MAX_REFERENCES];
    const char *begin = name, *stop = name + size, *end;
    size_t count = 0;
    uint64_t work = 0, doublings = 0;
    for (end = name; (end = memchr(end, '_', (size_t)(stop - end))) != NULL; ++end) {
        const char *from = end - begin > MAX_REFERENCE ? end - MAX_REFERENCE : begin;
        const char *first = NULL, *last = NULL;
        for (const char *at = from; at < end; ++at) {
            if (*at != 'S' && *at != 'T') continue;
            if (first == NULL && *at == 'S') first = at;
            last = at;
        }
        if (last == NULL) continue;
        if (*last == 'T') {
            ++doublings; /* the reference repeats an argument */
            continue;
        }
        work += (uint64_t)(end - begin);
        /* If the reference can be read in several ways, use the longest one, which is most
         * likely new and so has the highest cost. */
        work += cost_of(parts, &count, reference_key(first == last ? last : from, end),
                        work);
        if (work >= ENDLESS) return ENDLESS;
        begin = end;
    }
    work += (uint64_t)(stop - begin);
    return doublings > 62 || work >= ENDLESS >> doublings ? ENDLESS : work << doublings;
}

/* The texts of many names, made at once for names that are plain C++ or not mangled. These
 * are most names, and one call for each from Python would take longer than making its text.
 * Other names are left to the caller. */

struct gsym_cxx_texts {
    const gsym_cxx_demangler *demangler;
    bool without_arguments;
    buffer bytes;
    LIST(uint32_t) left;
};

void gsym_cxx_texts_destroy(gsym_cxx_texts *texts) {
    if (texts == NULL) return;
    buffer_deinit(&texts->bytes);
    free(texts->left.items);
    free(texts);
}

void gsym_cxx_texts_view(const gsym_cxx_texts *texts, const char **bytes_ret,
                         size_t *size_ret, const uint32_t **left_ret,
                         size_t *left_count_ret) {
    *bytes_ret = (const char *)texts->bytes.bytes;
    *size_ret = texts->bytes.size;
    *left_ret = texts->left.items;
    *left_count_ret = texts->left.count;
}

/* Whether a name may contain the hash of Rust's legacy mangling: `17h`. */
static bool has_hash(const char *name, size_t size) {
    const char *at = name, *end = name + size;
    while ((at = memchr(at, 'h', (size_t)(end - at))) != NULL) {
        if (at - name >= 2 && at[-2] == '1' && at[-1] == '7') return true;
        at++;
    }
    return false;
}

/* Whether a name contains std::bfloat16_t, which older runtimes demangle wrongly. */
static bool is_misread(const char *name, size_t size) {
    const char *at = name, *end = name + size;
    while ((at = memchr(at, 'D', (size_t)(end - at))) != NULL) {
        if (end - at >= 5 && memcmp(at, "DF16b", 5) == 0) return true;
        at++;
    }
    return false;
}

/* Append the text of a C++ name; false if it cannot be demangled. */
static bool put_text(gsym_cxx_texts *texts, const char *name, size_t size) {
    char terminated[GSYM_MAX_CXX_NAME_SIZE + 1];
    char *text;
    size_t text_size = 0;
    buffer *out = &texts->bytes;
    memcpy(terminated, name, size);
    terminated[size] = 0;
    text = texts->demangler->demangle(terminated, NULL, NULL, NULL);
    if (text != NULL) text_size = strlen(text);
    if (text_size == 0) {
        if (text != NULL) texts->demangler->release(text);
        return false;
    }
    if (text_size > texts->demangler->most_text_size)
        buffer_put(out, name, size);
    else if (!texts->without_arguments || memchr(text, '<', text_size) == NULL)
        buffer_put(out, text, text_size);
    else if (buffer_reserve(out, text_size))
        out->size += gsym_name_without_template_arguments(
            text, text_size, (char *)out->bytes + out->size);
    texts->demangler->release(text);
    return true;
}

/* Append the text of a name; false if the name is left to the caller. */
static bool put_name(gsym_cxx_texts *texts, const char *name, size_t size) {
    /* A dot begins the suffix that compilers add to names of copies. */
    if (memchr(name, '.', size) != NULL) return false;
    if (size == 0 || (name[0] != '_' && name[0] != '$' && name[0] != '?')) {
        buffer_put(&texts->bytes, name, size);
        return true;
    }
    if (size < 2 || memcmp(name, "_Z", 2) != 0 || memchr(name, '@', size) != NULL ||
        has_hash(name, size) || is_misread(name, size))
        return false;
    if (size > GSYM_MAX_CXX_NAME_SIZE ||
        gsym_cxx_name_work(name, size) > texts->demangler->most_work)
        return false;
    return put_text(texts, name, size);
}

static gsym_status put_names(gsym_cxx_texts *texts, const gsym_image *image,
                             const uint64_t *strps, size_t count, gsym_error *error) {
    for (size_t i = 0; i < count; ++i) {
        size_t size;
        const char *name = gsym_image_string(image, strps[i], &size);
        if (!put_name(texts, name, size)) {
            if (!LIST_ADD(texts->left, (uint32_t)i)) return gsym_fail_memory(error);
        }
        buffer_put_u8(&texts->bytes, 0);
    }
    return texts->bytes.failed ? gsym_fail_memory(error) : GSYM_OK;
}

gsym_status gsym_cxx_texts_create(const gsym_image *image, const uint64_t *strps,
                                  size_t count, const gsym_cxx_demangler *demangler,
                                  uint32_t without_arguments, gsym_cxx_texts **texts_ret,
                                  gsym_error *error) {
    gsym_cxx_texts *texts;
    gsym_status status;
    if (count > UINT32_MAX)
        return gsym_fail(error, GSYM_E_ARGUMENT, 0, "too many names at once");
    texts = calloc(1, sizeof *texts);
    if (texts == NULL) return gsym_fail_memory(error);
    texts->demangler = demangler;
    texts->without_arguments = without_arguments != 0;
    status = put_names(texts, image, strps, count, error);
    if (status != GSYM_OK) {
        gsym_cxx_texts_destroy(texts);
        return status;
    }
    *texts_ret = texts;
    return GSYM_OK;
}

/* C++ names without their template arguments. */

enum { MAX_OPEN = 256 }; /* brackets that are open at once */

typedef struct reduction {
    const char *at;
    const char *end;
    char *out;
    size_t out_size;
    size_t templates; /* how many of the open brackets are those of templates */
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
        /* A blank keeps the bracket of arguments apart: `operator<< <int>`. */
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
