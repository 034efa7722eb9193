/* unit_pieces.c - cut giant units into pieces. */
#include "sources/unit_pieces.h"
#include "dwarf/walk.h"

bool unit_pieces_list(unit_pieces *pieces, const debug_files *files) {
    pieces->files = files;
    pieces->count = files->units.count;
    for (size_t i = 0; i < files->units.count; ++i) {
        unit_source source = debug_files_unit(files, i);
        giant_unit *giant;
        if (source.to - source.from < GIANT_SIZE || source.skeleton != NULL ||
            dwarf_is_type_unit(source.header))
            continue;
        if (!LIST_RESERVE(pieces->giants, 1)) return false;
        giant = &pieces->giants.items[pieces->giants.count];
        *giant = (giant_unit){.unit = i,
                              .first = i + pieces->giants.count * GIANT_PIECES,
                              .left = GIANT_PIECES, .walked = 1};
        ++pieces->giants.count;
        pieces->count += GIANT_PIECES;
    }
    return true;
}

void unit_pieces_deinit(unit_pieces *pieces) {
    for (size_t i = 0; i < pieces->giants.count; ++i) {
        giant_unit *giant = &pieces->giants.items[i];
        free(giant->covered.items);
        for (size_t j = 0; j < GIANT_PIECES; ++j) unit_walk_deinit(&giant->walks[j].walk);
    }
    free(pieces->giants.items);
    abbrev_cache_deinit(&pieces->abbrevs);
}

unit_source unit_pieces_at(const unit_pieces *pieces, size_t index,
                           giant_unit **giant_ret) {
    giant_unit *giant;
    unit_source source;
    size_t low = 0, piece;
    SEARCH_SORTED(low, pieces->giants.count, pieces->giants.items[middle].first <= index);
    *giant_ret = NULL;
    if (low == 0) return debug_files_unit(pieces->files, index);
    giant = &pieces->giants.items[low - 1];
    piece = index - giant->first;
    if (piece > GIANT_PIECES)
        return debug_files_unit(pieces->files, index - low * GIANT_PIECES);
    source = debug_files_unit(pieces->files, giant->unit);
    *giant_ret = giant;
    if (giant->is_whole && piece == 0) return source;
    source.cuts = giant->cuts;
    source.cut_count = piece + 1;
    source.is_rest = piece == GIANT_PIECES && !giant->is_whole;
    source.from = piece == GIANT_PIECES ? source.to : giant->cuts[piece];
    if (piece < GIANT_PIECES) source.to = giant->cuts[piece + 1];
    if (piece < GIANT_PIECES && giant->walks[piece].is_done)
        source.ahead = &giant->walks[piece];
    if (source.is_rest) source.covered = &giant->covered;
    return source;
}

bool unit_pieces_take(unit_pieces *pieces, size_t index) {
    warning_list ignored = {0}; /* they are given when the piece is read */
    giant_unit *giant;
    unit_source source = unit_pieces_at(pieces, index, &giant);
    size_t piece = giant == NULL ? 0 : index - giant->first;
    uint64_t least, size;
    if (giant == NULL || piece == GIANT_PIECES || piece < giant->taken) return true;
    giant->taken = piece + 1;
    source = debug_files_unit(pieces->files, giant->unit);
    size = (source.to - source.from) / GIANT_PIECES;
    least = source.from + (piece + 1) * size;
    giant->cuts[piece + 1] = source.to;
    if (piece == 0) {
        giant->cuts[0] = source.from;
        if (!dwarf_unit_open(&pieces->unit, source.input, source.header, NULL,
                             &pieces->abbrevs, &ignored) ||
            !pieces->unit.has_children)
            giant->is_whole = true;
        else
            giant->cuts[1] =
                dwarf_child_from(&pieces->unit, pieces->unit.first_child, least);
        giant->is_whole |= giant->cuts[1] == source.to;
    } else if (giant->cuts[piece] < source.to && piece + 1 < GIANT_PIECES) {
        giant->cuts[piece + 1] = dwarf_child_from(&pieces->unit, giant->cuts[piece], least);
    }
    return !pieces->abbrevs.failed;
}
