/* function_sweep.c - what stays between two addresses is not worked out again: rows are
 * gone on from, and frames are the same up to the next boundary of calls. */
#include "gsym/function_sweep.h"

#include "gsym/frames.h"

bool function_sweep_begin(function_sweep *sweep, const gsym_image *image, bool llvm,
                          uint32_t entry, const cursor *record) {
    cursor lines;
    free(sweep->own_index);
    sweep->own_index = NULL;
    sweep->index =
        index_cache_get(image->indexes, entry, record, image->strp_size, true);
    if (sweep->index == NULL)
        sweep->index = sweep->own_index =
            function_index_create(record, image->strp_size, 0);
    if (sweep->index == NULL) return false;
    sweep->image = image;
    sweep->llvm = llvm;
    sweep->entry = entry;
    sweep->start = image->header.base_address + image_addr_offset(image, entry);
    sweep->checkpoint = sweep->boundary = 0;
    sweep->frame_count = 0;
    sweep->has_lines = sweep->index->parts[GSYM_INFO_LINE_TABLE].size > 0;
    lines = function_index_payload(sweep->index, record, GSYM_INFO_LINE_TABLE);
    sweep->lines.row = (gsym_line_row){0, 0, 0};
    return !sweep->has_lines || line_sweep_begin(&sweep->lines, &lines, sweep->start);
}

/* How many of the ascending numbers, `stride` bytes apart, are not above `offset`; the
 * first `from` are not. */
static uint32_t count_up_to(const void *numbers, size_t stride, uint32_t from,
                            uint32_t count, uint64_t offset) {
    const uint8_t *bytes = numbers;
    uint32_t step = 1, low = from, left;
#define NUMBER(i) (*(const uint32_t *)(const void *)(bytes + (size_t)(i) * stride))
    while (low < count && NUMBER(low) <= offset) {
        from = low + 1;
        low += step < count - low ? step : count - low;
        step *= 2;
    }
    left = low - from;
    while (left > 0) {
        uint32_t half = left / 2;
        if (NUMBER(from + half) <= offset) {
            from += half + 1;
            left -= half + 1;
        } else {
            left = half;
        }
    }
#undef NUMBER
    return from;
}

static void find_row(function_sweep *sweep, uint64_t address) {
    const function_index *index = sweep->index;
    uint32_t known = count_up_to(index->checkpoints, sizeof *index->checkpoints,
                                 sweep->checkpoint, index->checkpoint_count,
                                 address - sweep->start);
    if (known > sweep->checkpoint)
        line_sweep_skip(&sweep->lines, &index->checkpoints[known - 1]);
    sweep->checkpoint = known;
    line_sweep_advance(&sweep->lines, address);
}

static bool list_frames(function_sweep *sweep, uint64_t address) {
    const gsym_line_row *row = &sweep->lines.row;
    frame_list list = {.image = sweep->image,
                       .start = sweep->start,
                       .address = address,
                       .llvm = sweep->llvm,
                       .frames = sweep->frames,
                       .capacity = sweep->frame_capacity,
                       .file = frame_file(sweep->image, row->file),
                       .line = row->line};
    sweep->frame_count = 0;
    frames_put_indexed(&list, sweep->index);
    if (list.has_unknown_file) return true;
    if (list.count > sweep->frame_capacity) {
        if (!array_reserve(&sweep->frames, &sweep->frame_capacity, list.count,
                           sizeof *sweep->frames))
            return false;
        return list_frames(sweep, address);
    }
    sweep->frame_count = list.count;
    return true;
}

/* LLVM gives no answer where it has no line. */
static bool has_row(const function_sweep *sweep) {
    uint32_t file = sweep->lines.row.file;
    return !sweep->llvm || !sweep->has_lines ||
           (file != 0 && file < sweep->image->header.num_files);
}

bool function_sweep_to(function_sweep *sweep, uint64_t address) {
    const function_index *index = sweep->index;
    uint32_t boundary =
        count_up_to(index->boundaries, sizeof *index->boundaries, sweep->boundary,
                    index->boundary_count, address - sweep->start);
    bool is_same = sweep->frame_count > 0 && boundary == sweep->boundary;
    uint64_t step = address - sweep->address;
    sweep->boundary = boundary;
    sweep->address = address;
    if (sweep->has_lines) find_row(sweep, address);
    if (!has_row(sweep)) {
        sweep->frame_count = 0;
        return true;
    }
    if (is_same) {
        sweep->frames[0].file = frame_file(sweep->image, sweep->lines.row.file);
        sweep->frames[0].line = sweep->lines.row.line;
        for (size_t i = 0; i < sweep->frame_count; ++i) sweep->frames[i].offset += step;
    } else if (!list_frames(sweep, address)) {
        return false;
    }
    for (size_t i = 0; sweep->llvm && i < sweep->frame_count; ++i)
        sweep->frames[i].offset = (uint32_t)sweep->frames[i].offset;
    return true;
}

void function_sweep_deinit(function_sweep *sweep) {
    free(sweep->own_index);
    free(sweep->frames);
}
