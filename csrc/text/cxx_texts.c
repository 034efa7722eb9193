/* cxx_texts.c - the texts of many names at once, as far as they are those of plain C++ or
 * no mangled ones: those are most of all names, and a call for each would take longer than
 * its text. The other names are left to whoever asks. */
#include "base/buffer.h"

struct gsym_cxx_texts {
    const gsym_cxx_demangler *demangler;
    bool without_arguments;
    buffer bytes;
    struct {
        uint32_t *items;
        size_t count, capacity;
    } left;
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

/* What is in the hash of Rust's first mangling. */
static bool has_hash(const char *name, size_t size) {
    const char *at = name, *end = name + size;
    while ((at = memchr(at, 'h', (size_t)(end - at))) != NULL) {
        if (at - name >= 2 && at[-2] == '1' && at[-1] == '7') return true;
        at++;
    }
    return false;
}

/* Append the text of a name of plain C++, which is itself where it cannot be read. */
static void put_text(gsym_cxx_texts *texts, const char *name, size_t size) {
    char terminated[GSYM_MAX_CXX_NAME_SIZE + 1];
    char *text = NULL;
    size_t text_size = 0;
    buffer *out = &texts->bytes;
    if (size <= GSYM_MAX_CXX_NAME_SIZE) {
        memcpy(terminated, name, size);
        terminated[size] = 0;
        text = texts->demangler->demangle(terminated, NULL, NULL, NULL);
    }
    if (text != NULL) text_size = strlen(text);
    if (text_size == 0 || text_size > texts->demangler->most_text_size)
        buffer_put(out, name, size);
    else if (!texts->without_arguments || memchr(text, '<', text_size) == NULL)
        buffer_put(out, text, text_size);
    else if (buffer_reserve(out, text_size))
        out->size += gsym_name_without_template_arguments(
            text, text_size, (char *)out->bytes + out->size);
    if (text != NULL) texts->demangler->release(text);
}

/* False where the text is left to others. */
static bool put_name(gsym_cxx_texts *texts, const char *name, size_t size) {
    /* A dot is in front of what compilers put behind the names of copies. */
    if (memchr(name, '.', size) != NULL) return false;
    if (size == 0 || (name[0] != '_' && name[0] != '$')) {
        buffer_put(&texts->bytes, name, size);
        return true;
    }
    if (size < 2 || memcmp(name, "_Z", 2) != 0 || memchr(name, '@', size) != NULL ||
        has_hash(name, size))
        return false;
    if (size <= GSYM_MAX_CXX_NAME_SIZE &&
        gsym_cxx_name_work(name, size) > texts->demangler->most_work)
        return false;
    put_text(texts, name, size);
    return true;
}

static gsym_status put_names(gsym_cxx_texts *texts, const gsym_image *image,
                             const uint64_t *strps, size_t count, gsym_error *error) {
    for (size_t i = 0; i < count; ++i) {
        size_t size;
        const char *name = gsym_image_string(image, strps[i], &size);
        if (!put_name(texts, name, size)) {
            if (!ARRAY_RESERVE(texts->left, 1)) return gsym_fail_memory(error);
            texts->left.items[texts->left.count++] = (uint32_t)i;
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
