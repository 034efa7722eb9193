/* libdw_reader.c - elfutils' reader of DWARF behind the interface of gsym_reader.cc. */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <stdlib.h>

static const Dwfl_Callbacks callbacks = {.find_elf = dwfl_build_id_find_elf,
                                         .find_debuginfo = dwfl_standard_find_debuginfo,
                                         .section_address = dwfl_offline_section_address};

typedef struct opened_binary {
    Dwfl *session;
    Dwfl_Module *module;
    Dwarf_Addr bias; /* of the addresses of the session */
} opened_binary;

void *reader_open(const char *path) {
    opened_binary *opened = calloc(1, sizeof *opened);
    if (opened == NULL) return NULL;
    opened->session = dwfl_begin(&callbacks);
    opened->module = dwfl_report_offline(opened->session, "binary", path, -1);
    dwfl_report_end(opened->session, NULL, NULL);
    (void)dwfl_module_getdwarf(opened->module, &opened->bias);
    return opened;
}

/* The functions and inlined calls around a block, as `eu-addr2line -i` prints them. */
static size_t count_frames(Dwarf_Die *block) {
    Dwarf_Die *scopes;
    int count = dwarf_getscopes_die(block, &scopes);
    size_t frames = 0;
    for (int n = 0; n < count; n++) {
        int tag = dwarf_tag(&scopes[n]);
        if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_subprogram) continue;
        frames += dwarf_diename(&scopes[n]) != NULL;
        if (tag == DW_TAG_subprogram) break;
    }
    if (count > 0) free(scopes);
    return frames;
}

size_t reader_lookup(void *reader, uint64_t address) {
    const opened_binary *opened = reader;
    Dwarf_Addr at = address + opened->bias, bias;
    Dwarf_Die *unit = dwfl_module_addrdie(opened->module, at, &bias), *scopes;
    Dwfl_Line *line = dwfl_module_getsrc(opened->module, at);
    size_t frames = 0;
    int count, number;
    if (line != NULL) (void)dwfl_lineinfo(line, NULL, &number, NULL, NULL, NULL);
    count = unit == NULL ? 0 : dwarf_getscopes(unit, at - bias, &scopes);
    if (count <= 0) return 0;
    frames = count_frames(&scopes[0]);
    free(scopes);
    return frames;
}

void reader_close(void *reader) {
    dwfl_end(((opened_binary *)reader)->session);
    free(reader);
}
