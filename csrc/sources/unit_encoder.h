/* unit_encoder.h - encode the functions of a worker's units as records. */
#ifndef GSYM_SOURCES_UNIT_ENCODER_H
#define GSYM_SOURCES_UNIT_ENCODER_H

#include "create/creator.h"
#include "gsym/index.h"
#include "sources/unit_functions.h"

/* The state of encoding the units for which one worker did the ordered step. */
typedef struct unit_encoder {
    unsigned strp_size;
    bool has_index; /* each blob is followed by its index */
    index_encoder index;
    bool encodes_all; /* give also functions without contents a blob, because they may be
                         merged */
    warning_list *warnings;
    buffer chunk;             /* the blobs; until the chunk is closed, records have
                                 offsets in it */
    size_t chunk_first;       /* first record of the chunk */
    LIST(uint8_t *) chunks; /* the closed chunks */
    LIST(creator_record *) blocks; /* of RECORDS_PER_BLOCK records */
    size_t record_count;
    LIST(gsym_line_row) rows;
    node_list nodes;
    LIST(gsym_call_site) call_sites;
    LIST(uint64_t) regexes;
} unit_encoder;

#define RECORDS_PER_BLOCK 4096

static inline creator_record *unit_encoder_record(const unit_encoder *encoder,
                                                    size_t index) {
    return &encoder->blocks.items[index / RECORDS_PER_BLOCK][index % RECORDS_PER_BLOCK];
}

void unit_encoder_deinit(unit_encoder *encoder);
/* Encode the functions of an interned unit, and append their records in order. */
gsym_status unit_encoder_add(unit_encoder *encoder, unit_functions *unit,
                             gsym_error *error);
/* Close the open chunk: its memory no longer moves, so its records get pointers. */
gsym_status unit_encoder_close_chunk(unit_encoder *encoder, gsym_error *error);

#endif
