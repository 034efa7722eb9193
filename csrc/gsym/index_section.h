/* index_section.h - the indexes of all functions as one part of a file. */
#ifndef GSYM_GSYM_INDEX_SECTION_H
#define GSYM_GSYM_INDEX_SECTION_H

#include "gsym/stored_index.h"

/* A part that belongs to the file it was found in; a size of 0: there is none. */
typedef struct index_section {
    const uint8_t *bytes;
    size_t size;
    uint32_t num_addresses; /* entries of its table, one for each of the address table */
    uint32_t function_count; /* that have an index */
    bool swap;
} index_section;

/* In version 1 nothing tells of the part, so a file with one has a multiple of so many bytes:
 * the last page of most others need not be read to see that they have none. */
enum { INDEX_FILE_MULTIPLE = 512, INDEX_ALIGNMENT = 8 };

/* Find the part that ends at `end` of the file, whose header (in version 2 with the
 * directory) takes its first `head_size` bytes. False where there is none, one of another
 * version or one that was made for another header. */
bool index_section_open(const uint8_t *data, uint64_t end, size_t head_size,
                        bool big_endian, index_section *section_ret);
/* The index of entry `entry`, if it has one. */
bool index_section_find(const index_section *section, uint32_t entry,
                        stored_index *index_ret);

/* Make the part in `out`, which is empty: begin, add each entry in its order, in version 1
 * fill up, end. What is made is the same for the same records, so two of them can be compared. */
void index_section_begin(buffer *out, uint32_t num_addresses);
/* `record` may end behind its record; its name need not be known yet. */
void index_section_add(buffer *out, uint32_t entry, const cursor *record,
                       unsigned strp_size);
/* The part will begin at `start` of the file. */
void index_section_fill_up(buffer *out, uint64_t start);
void index_section_end(buffer *out, uint32_t num_addresses);
/* Say which header it was made for. */
void index_section_identify(buffer *out, const uint8_t *head, size_t head_size);

#endif
