/* code_symbols.c - read the symbols for code of a module. */
#include "pdb/pdb.h"

bool pdb_read_code(const pdb_symbol *symbol, pdb_code *ret) {
    cursor c = symbol->c;
    *ret = (pdb_code){0};
    switch (symbol->kind) {
        case S_GPROC32: case S_LPROC32: case S_GPROC32_ID: case S_LPROC32_ID:
        case S_LPROC32_DPC: case S_LPROC32_DPC_ID: case S_GPROC32_ST: case S_LPROC32_ST:
            cursor_skip(&c, 12); /* parent, end, next */
            ret->size = cursor_u32(&c);
            cursor_skip(&c, 8); /* offsets between which a debugger may stop */
            ret->type = cursor_u32(&c);
            ret->offset = cursor_u32(&c);
            ret->segment = cursor_u16(&c);
            cursor_skip(&c, 1); /* flags */
            break;
        case S_THUNK32: case S_THUNK32_ST:
            cursor_skip(&c, 12);
            ret->offset = cursor_u32(&c);
            ret->segment = cursor_u16(&c);
            ret->size = cursor_u16(&c);
            cursor_skip(&c, 1); /* kind */
            break;
        case S_SEPCODE:
            cursor_skip(&c, 8);
            ret->size = cursor_u32(&c);
            cursor_skip(&c, 4); /* flags */
            ret->offset = cursor_u32(&c);
            ret->parent_offset = cursor_u32(&c);
            ret->segment = cursor_u16(&c);
            ret->parent_segment = cursor_u16(&c);
            break;
        default: return false;
    }
    pdb_skip_to_name(symbol, &c);
    ret->name = c;
    return true;
}
