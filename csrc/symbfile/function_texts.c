/* function_texts.c - keep the strings of gathered ranges until a function is finished. */
#include "symbfile/functions.h"

/* extraction_names.c writes this for an empty name. */
static const char NAME_OMITTED[] = "<name omitted>";

gsym_status symbfile_texts_init(symbfile_texts *texts, gsym_creator *creator,
                                       gsym_error *error) {
    *texts = (symbfile_texts){.creator = creator, .first = 1};
    return LIST_ADD(texts->list, (symbfile_text){0}) ? GSYM_OK : gsym_fail_memory(error);
}

void symbfile_texts_deinit(symbfile_texts *texts) {
    buffer_deinit(&texts->bytes);
    buffer_deinit(&texts->spelled);
    free(texts->list.items);
}

gsym_status symbfile_texts_take(symbfile_texts *texts,
                                       const gsym_symbfile_columns *columns,
                                       gsym_error *error) {
    size_t count = columns->string_end - columns->string_first;
    uint64_t origin = texts->bytes.size, start = 0;
    if (columns->string_first == 1) texts->first = texts->list.count;
    if (texts->first + columns->string_first - 1 != texts->list.count)
        return gsym_fail(error, GSYM_E_ARGUMENT, 0,
                         "strings of an earlier read were not added");
    if (count > UINT32_MAX - texts->list.count)
        return gsym_fail(error, GSYM_E_LIMIT, 0,
                         "the ranges of a function use more than 2^32 strings");
    if (count == 0) return GSYM_OK;
    buffer_put(&texts->bytes, columns->string_bytes,
               (size_t)columns->string_ends[count - 1]);
    if (texts->bytes.failed || !LIST_RESERVE(texts->list, count))
        return gsym_fail_memory(error);
    for (size_t i = 0; i < count; ++i) {
        texts->list.items[texts->list.count++] =
            (symbfile_text){.at = origin + start,
                            .size = (uint32_t)(columns->string_ends[i] - start),
                            .file = SYMBFILE_TEXT_UNUSED};
        start = columns->string_ends[i];
    }
    return GSYM_OK;
}

/* Drop the strings that the reader has discarded. May only be called when no function is
 * pending. */
void symbfile_texts_forget(symbfile_texts *texts) {
    symbfile_text *items = texts->list.items;
    size_t left = texts->list.count - texts->first;
    uint64_t gone;
    if (texts->first == 1) return;
    gone = left == 0 ? texts->bytes.size : items[texts->first].at;
    if (left != 0) {
        memmove(items + 1, items + texts->first, left * sizeof *items);
        memmove(texts->bytes.bytes, texts->bytes.bytes + gone,
                texts->bytes.size - (size_t)gone);
    }
    for (size_t i = 1; i <= left; ++i) items[i].at -= gone;
    texts->bytes.size -= (size_t)gone;
    texts->list.count = left + 1;
    texts->first = 1;
}

bool symbfile_texts_equal(const symbfile_texts *texts, uint32_t left,
                          uint32_t right) {
    const symbfile_text *a = &texts->list.items[left], *b = &texts->list.items[right];
    if (left == right) return true;
    if (left == 0 || right == 0 || a->size != b->size) return false;
    return a->size == 0 ||
           memcmp(texts->bytes.bytes + a->at, texts->bytes.bytes + b->at, a->size) == 0;
}

/* Return the bytes of a text with `?` for each NUL, which would end a string of a GSYM
 * file. */
static gsym_status spell(symbfile_texts *texts, const symbfile_text *text,
                         const char **bytes_ret, gsym_error *error) {
    const uint8_t *bytes = texts->bytes.bytes + text->at;
    *bytes_ret = (const char *)bytes;
    if (memchr(bytes, '\0', text->size) == NULL) return GSYM_OK;
    texts->spelled.size = 0;
    buffer_put(&texts->spelled, bytes, text->size);
    if (texts->spelled.failed) return gsym_fail_memory(error);
    for (size_t i = 0; i < text->size; ++i)
        if (texts->spelled.bytes[i] == '\0') texts->spelled.bytes[i] = '?';
    *bytes_ret = (const char *)texts->spelled.bytes;
    return GSYM_OK;
}

gsym_status symbfile_texts_name(symbfile_texts *texts, uint32_t index, uint64_t *strp_ret,
                                gsym_error *error) {
    symbfile_text *text = &texts->list.items[index];
    const char *bytes = NAME_OMITTED;
    size_t size = text->size == 0 ? sizeof NAME_OMITTED - 1 : text->size;
    if (text->name == 0) {
        if (text->size != 0) GSYM_TRY(spell(texts, text, &bytes, error));
        GSYM_TRY(gsym_creator_add_string(texts->creator, bytes, size, &text->name, error));
    }
    *strp_ret = text->name;
    return GSYM_OK;
}

gsym_status symbfile_texts_file(symbfile_texts *texts, uint32_t index, uint32_t *file_ret,
                                gsym_error *error) {
    symbfile_text *text = &texts->list.items[index];
    *file_ret = 0;
    if (text->size == 0) return GSYM_OK;
    if (text->file == SYMBFILE_TEXT_UNUSED) {
        const char *bytes;
        GSYM_TRY(spell(texts, text, &bytes, error));
        GSYM_TRY(gsym_creator_add_path(texts->creator, bytes, text->size, &text->file,
                                       error));
    }
    *file_ret = text->file;
    return GSYM_OK;
}
