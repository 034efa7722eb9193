/* msf.c - read streams of MSF 7.00, which are lists of pages.
 *
 * The superblock names pages that list the pages of the directory; the directory has the
 * size of each stream and then its pages. The maps of free pages are not read. */
#include "pdb/pdb.h"

#include "base/system.h"

#define MAGIC "Microsoft C/C++ MSF 7.00\r\n\x1a" "DS\0\0"

enum {
    MAGIC_SIZE = 32,
    PAGES_AT = 52, /* offset in the superblock of the numbers of the pages that list the
                      pages of the directory */
    MIN_PAGE_SIZE = 512,
    MAX_PAGE_SIZE = 1 << 16,
    /* The stream of the old directory; other streams may use its pages again. */
    OLD_DIRECTORY = 0
};

#define NIL_SIZE UINT32_MAX /* size of a stream that was deleted */

static uint32_t pages_of(const msf_file *file, uint64_t size) {
    return (uint32_t)((size + file->page_size - 1) / file->page_size);
}

static gsym_status fail_directory(gsym_error *error, uint64_t offset) {
    return gsym_fail(error, GSYM_E_FORMAT, offset,
                     "the directory of its streams is cut off");
}

/* Append `count` page numbers from the cursor, and check that the pages are in the file. */
static gsym_status put_pages(msf_file *file, cursor *c, uint32_t count, gsym_error *error) {
    if (!cursor_need(c, (uint64_t)count * 4))
        return fail_directory(error, cursor_offset(c));
    if (!LIST_RESERVE(file->pages, count)) return gsym_fail_memory(error);
    for (uint32_t i = 0; i < count; ++i) {
        uint32_t page = cursor_u32_unchecked(c);
        if (page == 0 || page >= file->size / file->page_size)
            return gsym_fail(error, GSYM_E_FORMAT, cursor_offset(c) - 4,
                             "page %u is not in the file, which has %zu", page,
                             file->size / file->page_size);
        file->pages.items[file->pages.count++] = page;
    }
    return GSYM_OK;
}

/* Append the content of the pages from `first` on to `copy`. */
static gsym_status copy_pages(msf_file *file, size_t first, uint64_t size, buffer *copy,
                              gsym_error *error) {
    for (size_t i = first; i < file->pages.count; ++i) {
        uint64_t part = size < file->page_size ? size : file->page_size;
        buffer_put(copy, file->data + (uint64_t)file->pages.items[i] * file->page_size,
                   (size_t)part);
        size -= part;
    }
    file->pages.count = first;
    return copy->failed ? gsym_fail_memory(error) : GSYM_OK;
}

/* Read the directory; `c` is at the field of the superblock that follows the page size. */
static gsym_status read_directory(msf_file *file, cursor c, buffer *directory,
                                  gsym_error *error) {
    buffer list = {0};
    gsym_status status;
    uint32_t size, count;
    cursor_skip(&c, 8); /* FreeBlockMapBlock, NumBlocks */
    size = cursor_u32(&c);
    count = pages_of(file, size);
    if (size > file->size || size < 4) return fail_directory(error, cursor_offset(&c) - 4);
    c = cursor_at(file->data, file->page_size, PAGES_AT, false);
    GSYM_TRY(put_pages(file, &c, pages_of(file, (uint64_t)count * 4), error));
    status = copy_pages(file, 0, (uint64_t)count * 4, &list, error);
    if (status == GSYM_OK) {
        c = cursor_at(list.bytes, list.size, 0, false);
        status = put_pages(file, &c, count, error);
    }
    if (status == GSYM_OK) status = copy_pages(file, 0, size, directory, error);
    buffer_deinit(&list);
    return status;
}

/* Check that no two streams share a page. */
static gsym_status check_sharing(const msf_file *file, gsym_error *error) {
    uint8_t *seen = calloc(file->size / file->page_size / 8 + 1, 1);
    gsym_status status = GSYM_OK;
    if (seen == NULL) return gsym_fail_memory(error);
    for (uint32_t stream = OLD_DIRECTORY + 1; stream < file->streams.count; ++stream) {
        const msf_stream *each = &file->streams.items[stream];
        uint32_t count = pages_of(file, each->size);
        for (uint32_t i = 0; i < count && status == GSYM_OK; ++i) {
            uint32_t page = file->pages.items[each->page_first + i];
            if (seen[page / 8] >> page % 8 & 1)
                status = gsym_fail(error, GSYM_E_FORMAT, (uint64_t)page * file->page_size,
                                   "page %u of stream %u is also another's", page, stream);
            seen[page / 8] |= (uint8_t)(1u << page % 8);
        }
    }
    free(seen);
    return status;
}

static gsym_status read_streams(msf_file *file, const buffer *directory,
                                gsym_error *error) {
    cursor c = cursor_at(directory->bytes, directory->size, 0, false), sizes;
    uint32_t count = cursor_u32(&c);
    sizes = c;
    if (!cursor_need(&c, (uint64_t)count * 4)) return fail_directory(error, MAGIC_SIZE);
    cursor_skip(&c, (uint64_t)count * 4);
    if (!LIST_RESERVE(file->streams, count)) return gsym_fail_memory(error);
    for (uint32_t i = 0; i < count; ++i) {
        uint32_t size = cursor_u32_unchecked(&sizes);
        if (size == NIL_SIZE) size = 0;
        file->streams.items[file->streams.count++] =
            (msf_stream){size, (uint32_t)file->pages.count};
        if (size > file->size)
            return gsym_fail(error, GSYM_E_FORMAT, MAGIC_SIZE,
                             "stream %u of %u bytes is larger than the file", i, size);
        GSYM_TRY(put_pages(file, &c, pages_of(file, size), error));
    }
    return check_sharing(file, error);
}

gsym_status msf_open(msf_file *file, const uint8_t *data, size_t size,
                     bool is_file_mapping, gsym_error *error) {
    cursor c = cursor_at(data, size, 0, false);
    buffer directory = {0};
    gsym_status status;
    *file = (msf_file){.data = data, .size = size, .is_file_mapping = is_file_mapping};
    if (!cursor_need(&c, MAGIC_SIZE) || memcmp(c.at, MAGIC, MAGIC_SIZE - 1) != 0)
        return gsym_fail(error, GSYM_E_UNSUPPORTED, 0,
                         "not a PDB file of MSF 7.00, the format since 2002");
    cursor_skip(&c, MAGIC_SIZE);
    file->page_size = cursor_u32(&c);
    if (file->page_size < MIN_PAGE_SIZE || file->page_size > MAX_PAGE_SIZE ||
        (file->page_size & (file->page_size - 1)) != 0 || file->page_size > size)
        return gsym_fail(error, GSYM_E_FORMAT, MAGIC_SIZE, "impossible page size %u",
                         file->page_size);
    status = read_directory(file, c, &directory, error);
    if (status == GSYM_OK) status = read_streams(file, &directory, error);
    buffer_deinit(&directory);
    return status;
}

void msf_close(msf_file *file) {
    free(file->pages.items);
    free(file->streams.items);
}

uint32_t msf_stream_size(const msf_file *file, uint32_t stream) {
    bool exists = stream < file->streams.count && stream != MSF_NO_STREAM;
    return exists ? file->streams.items[stream].size : 0;
}

/* Return page `index` of a stream. */
static const uint8_t *page_at(const msf_file *file, uint32_t stream, uint32_t index) {
    uint32_t first = file->streams.items[stream].page_first;
    return file->data + (uint64_t)file->pages.items[first + index] * file->page_size;
}

uint64_t msf_file_offset(const msf_file *file, uint32_t stream, uint64_t offset) {
    if (offset >= msf_stream_size(file, stream)) return 0;
    return (uint64_t)(page_at(file, stream, (uint32_t)(offset / file->page_size)) -
                      file->data) +
           offset % file->page_size;
}

/* Return the number of pages from `index` on that are adjacent in the file, at most
 * `max_count`. */
static uint32_t run_of_pages(const msf_file *file, uint32_t stream, uint32_t index,
                             uint32_t max_count) {
    const uint8_t *start = page_at(file, stream, index);
    uint32_t count = 1;
    while (count < max_count && page_at(file, stream, index + count) ==
                               start + (uint64_t)count * file->page_size)
        ++count;
    return count;
}

cursor msf_read(const msf_file *file, uint32_t stream, uint64_t offset, uint64_t size,
                buffer *copy) {
    uint32_t length = msf_stream_size(file, stream), index, last, run;
    uint64_t skipped = offset % file->page_size;
    if (offset > length || size > length - offset) return cursor_at(NULL, 0, 1, false);
    if (size == 0) return cursor_at(NULL, 0, 0, false);
    index = (uint32_t)(offset / file->page_size);
    last = (uint32_t)((offset + size - 1) / file->page_size);
    run = run_of_pages(file, stream, index, last - index + 1);
    if (GSYM_LIKELY(run == last - index + 1))
        return cursor_at(page_at(file, stream, index) + skipped, (size_t)size, 0, false);
    copy->size = 0;
    while (index <= last) {
        uint64_t part = (uint64_t)run * file->page_size - skipped;
        if (part > size - copy->size) part = size - copy->size;
        buffer_put(copy, page_at(file, stream, index) + skipped, (size_t)part);
        if (copy->failed) return cursor_at(NULL, 0, 1, false);
        skipped = 0;
        index += run;
        if (index <= last) run = run_of_pages(file, stream, index, last - index + 1);
    }
    return cursor_at(copy->bytes, copy->size, 0, false);
}

void msf_release(const msf_file *file, uint32_t stream) {
    uint32_t count = pages_of(file, msf_stream_size(file, stream)), run;
    for (uint32_t index = 0; index < count && file->is_file_mapping; index += run) {
        run = run_of_pages(file, stream, index, count - index);
        pages_release(page_at(file, stream, index), (size_t)run * file->page_size);
    }
}
