/* cxx_texts.c - demangle many names of C++ at once.
 *
 * Texts are made only for names that are plain C++ or not mangled, which most names are:
 * calling the engine from Python for each of these would take longer than making the text.
 * Other names are left to the caller. */
#include "base/buffer.h"
#include "base/list.h"
#include "base/error.h"

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
    if (text_size > texts->demangler->max_text_size)
        buffer_put(out, name, size);
    else if (!texts->without_arguments || memchr(text, '<', text_size) == NULL)
        buffer_put(out, text, text_size);
    else if (buffer_reserve(out, text_size))
        out->size += gsym_name_without_template_arguments(
            text, text_size, (char *)out->bytes + out->size);
    texts->demangler->release(text);
    return true;
}

/* Whether a name is not mangled: after its underscores, if any, comes neither the mark of a
 * language nor `GLOBAL_`, which begins names of constructors. */
static bool is_unmangled(const char *name, size_t size) {
    static const char global[] = "GLOBAL_", marks[] = "ZRTD$";
    size_t at = 0;
    while (at < size && name[at] == '_') ++at;
    name += at;
    size -= at;
    if (size == 0) return true;
    if (at == 0) return name[0] != '$' && name[0] != '?';
    return memchr(marks, name[0], sizeof marks - 1) == NULL &&
           (size < sizeof global - 1 || memcmp(name, global, sizeof global - 1) != 0);
}

/* Append the text of a name; false if the name is left to the caller. */
static bool put_name(gsym_cxx_texts *texts, const char *name, size_t size) {
    /* A name with a dot is left to the caller: compilers add suffixes such as `.cold` to
     * names of copies. */
    if (memchr(name, '.', size) != NULL) return false;
    if (is_unmangled(name, size)) {
        buffer_put(&texts->bytes, name, size);
        return true;
    }
    if (size < 2 || memcmp(name, "_Z", 2) != 0 || memchr(name, '@', size) != NULL ||
        has_hash(name, size) || is_misread(name, size))
        return false;
    if (size > GSYM_MAX_CXX_NAME_SIZE ||
        gsym_cxx_name_work(name, size) > texts->demangler->max_work)
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
