/* unit_pieces.h - cut giant units into pieces, which threads read side by side.
 *
 * Link-time optimization may make one unit of a whole program. Its pieces are the children
 * of its root, so many that each piece has about the same size, and after these one piece
 * without DIEs: the rest, which has the rows that no function of the unit has. Other units
 * are one piece. Whether a unit is cut does not depend on the number of threads.
 *
 * All pieces need the rows of one line program. While a thread runs it, the others walk
 * pieces ahead, which they or other threads then read. */
#ifndef GSYM_SOURCES_UNIT_PIECES_H
#define GSYM_SOURCES_UNIT_PIECES_H

#include "dwarf/walk.h"
#include "sources/debug_files.h"

#define GIANT_SIZE (16u << 20) /* bytes of DIEs of the smallest unit that is cut */
#define GIANT_PIECES 16        /* a unit's limits are for each of its pieces */

/* The walk over a piece that was made before the piece is read. */
typedef struct piece_walk {
    unit_walk walk;
    bool is_begun, is_done;
} piece_walk;

typedef struct giant_unit {
    size_t unit;   /* number of the unit */
    size_t first;  /* number of its first piece */
    uint64_t cuts[GIANT_PIECES + 1]; /* piece i ends at cuts[i + 1], once it was taken */
    size_t taken;  /* pieces whose end is known */
    unsigned left; /* pieces with DIEs that have not been read */
    bool runs_lines; /* a thread runs the line program */
    size_t walked; /* the next piece to be walked ahead, which the first is not */
    piece_walk walks[GIANT_PIECES];
    bool is_whole; /* it cannot be cut: the first piece is the complete unit */
    range_list covered; /* addresses of the functions of the pieces that were read */
} giant_unit;

/* Empty when zeroed. */
typedef struct unit_pieces {
    const debug_files *files;
    LIST(giant_unit) giants;
    size_t count;        /* of the pieces of all units */
    dwarf_unit unit;     /* the giant unit that is being cut */
    abbrev_cache abbrevs;
} unit_pieces;

/* Number the pieces of all units. False where memory ran out. */
bool unit_pieces_list(unit_pieces *pieces, const debug_files *files);
void unit_pieces_deinit(unit_pieces *pieces);
/* Return a piece that was taken; *giant_ret is its unit, or NULL for a unit that is one
 * piece. */
unit_source unit_pieces_at(const unit_pieces *pieces, size_t index, giant_unit **giant_ret);
/* Take the next piece: find its end, unless it was taken before. Called by one thread at a
 * time, in order. False where memory ran out. */
bool unit_pieces_take(unit_pieces *pieces, size_t index);

#endif
