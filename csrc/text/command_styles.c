/* command_styles.c - the templates of the styles in which commands answer.
 *
 * "?\?<" is two question marks and "<", which would be a trigraph without the backslash. */
#include <stdarg.h>

#include "base/error.h"

/* The text of a template; what does not fit is left out. */
typedef struct style_text {
    char *text;
    size_t size, capacity;
    uint32_t flags;
} style_text;

/* Append strings, up to NULL. */
static void put(style_text *out, const char *first, ...) {
    va_list strings;
    va_start(strings, first);
    for (const char *next = first; next != NULL; next = va_arg(strings, const char *)) {
        size_t size = strlen(next), room = out->capacity - out->size;
        memcpy(out->text + out->size, next, size < room ? size : room);
        out->size += size < room ? size : room;
    }
    va_end(strings);
}

static bool has(const style_text *out, gsym_style_flags flag) {
    return (out->flags & flag) != 0;
}

/* `yes` if the style has the flag, else `no`. */
static const char *either(const style_text *out, gsym_style_flags flag, const char *yes,
                          const char *no) {
    return has(out, flag) ? yes : no;
}

/* ---- gsym lookup ----------------------------------------------------------------- */

#define PLACE "<name><?offset> + <offset></><?path> at <path>:<?line><line><:>?</></>"
#define FRAME PLACE "<?inlined> [inlined]</>"
#define FRAMES "<*frames><?later> <<- </>" PLACE "</>"

#define REASON                                                                           \
    "<?outside>not an address of this module<:>"                                         \
    "<?damaged>damaged record: <error><:>no function covers this address</></>"
#define UNANSWERED "<:>?? (" REASON ")</>\n"

static void put_lookup(style_text *out) {
    put(out, "<address>: <?found><*frames><?later>\n<indent></>" FRAME "</>"
             "<?patterns>\n<indent>calls <*patterns><?later>, </><pattern></></>",
        either(out, GSYM_STYLE_MERGED,
               "<*merged>\n<indent>same code: "
               "<*frames><?later>\n<indent>           </>" FRAME "</></>",
               ""),
        UNANSWERED, NULL);
}

static void put_oneline(style_text *out) {
    put(out, "<address>: <?found>" FRAMES,
        either(out, GSYM_STYLE_MERGED, "<*merged> = " FRAMES "</>", ""), UNANSWERED, NULL);
}

/* ---- llvm-gsymutil --------------------------------------------------------------- */

#define LLVM_FRAMES                                                                      \
    "<address16>: <*frames><?later>\n                    </>"                            \
    "<name><?offset> + <offset></><?path> @ <path>:<line></><?inlined> [inlined]</></>"
#define LLVM_FAILURE                                                                     \
    "<address16>: error: <?damaged><error><:>address <address> is not in GSYM</>\n"

static void put_gsymutil(style_text *out) {
    put(out, "<?found>",
        either(out, GSYM_STYLE_MERGED,
               "Found <count> function<?several>s</> at address <address16>:\n"
               "<*functions>   " LLVM_FRAMES "<?patterns>\n      CallSites: "
               "<*patterns><?later>, </><pattern></></>\n<?more>\n</></>",
               LLVM_FRAMES "\n"),
        "<:>" LLVM_FAILURE "</>", NULL);
}

/* ---- GNU addr2line --------------------------------------------------------------- */

static void put_addr2line(style_text *out) {
    bool is_pretty = has(out, GSYM_STYLE_PRETTY), names = has(out, GSYM_STYLE_FUNCTIONS);
    const char *path = either(out, GSYM_STYLE_BASENAMES, "filename", "path");
    if (has(out, GSYM_STYLE_ADDRESSES))
        put(out, either(out, GSYM_STYLE_NARROW, "<address8>", "<address16>"),
            is_pretty ? ": " : "\n", NULL);
    put(out, "<?found>", either(out, GSYM_STYLE_INLINES, "<*frames>", "<*innermost>"),
        is_pretty ? "<?later> (inlined by) </>" : "", NULL);
    if (names) put(out, "<?name><name><:>?\?</>", is_pretty ? " at " : "\n", NULL);
    put(out, "<?", path, "><", path, "><:>?\?</>:<?line><line><:>?</>\n</><:>", NULL);
    if (names) put(out, is_pretty ? "?? " : "??\n", NULL);
    put(out, "??:0\n</>", NULL);
}

/* ---- llvm-symbolizer ------------------------------------------------------------- */

static void put_symbolizer_name(style_text *out, const char *name, const char *before) {
    bool is_pretty = has(out, GSYM_STYLE_PRETTY);
    if (has(out, GSYM_STYLE_FUNCTIONS))
        put(out, is_pretty ? before : "", name, is_pretty ? " at " : "\n", NULL);
}

static void put_symbolizer_place(style_text *out, const char *file, const char *line,
                                 const char *start) {
    if (has(out, GSYM_STYLE_VERBOSE))
        put(out, "  Filename: ", file, "\n", start, "  Line: ", line, "\n  Column: 0\n",
            NULL);
    else
        put(out, file, ":", line, either(out, GSYM_STYLE_GNU, "\n", ":0\n"), NULL);
}

static void put_symbolizer_frame(style_text *out) {
    put_symbolizer_name(out, "<?name><name><:>?\?</>", "<?later> (inlined by) </>");
    put_symbolizer_place(
        out,
        either(out, GSYM_STYLE_BASENAMES, "<?filename><filename><:>?\?</>",
               "<?path><path><:>?\?</>"),
        "<line>",
        either(out, GSYM_STYLE_GNU, "", "  Function start address: <frame_start>\n"));
    if (has(out, GSYM_STYLE_SOURCE) && !has(out, GSYM_STYLE_VERBOSE))
        put(out, "<source>", NULL);
}

static void put_symbolizer_unknown(style_text *out) {
    put_symbolizer_name(out, "??", "");
    put_symbolizer_place(out, "??", "0", "");
}

static void put_symbolizer(style_text *out) {
    if (has(out, GSYM_STYLE_ADDRESSES))
        put(out, "<address>", either(out, GSYM_STYLE_PRETTY, ": ", "\n"), NULL);
    put(out, "<?found>",
        either(out, GSYM_STYLE_INLINES, "<*frames>",
               either(out, GSYM_STYLE_OUTER_NAME, "<*combined>", "<*innermost>")),
        NULL);
    put_symbolizer_frame(out);
    put(out, "</><:>", NULL);
    put_symbolizer_unknown(out);
    put(out, "</>", either(out, GSYM_STYLE_GNU, "", "\n"), NULL);
}

static void put_symbolizer_location(style_text *out) {
    put(out, "<*combined><?", either(out, GSYM_STYLE_BASENAMES, "filename", "path"), ">",
        NULL);
    put_symbolizer_frame(out);
    put(out, "</></>", NULL);
}

/* ---------------------------------------------------------------------------------- */

size_t gsym_style_text(uint32_t style, uint32_t flags, char *text, size_t capacity) {
    style_text out = {.text = text, .capacity = capacity, .flags = flags};
    switch (style) {
        case GSYM_STYLE_LOOKUP: put_lookup(&out); break;
        case GSYM_STYLE_ONELINE: put_oneline(&out); break;
        case GSYM_STYLE_REASON: put(&out, REASON, NULL); break;
        case GSYM_STYLE_GSYMUTIL: put_gsymutil(&out); break;
        case GSYM_STYLE_ADDR2LINE: put_addr2line(&out); break;
        case GSYM_STYLE_SYMBOLIZER: put_symbolizer(&out); break;
        case GSYM_STYLE_SYMBOLIZER_LOCATION: put_symbolizer_location(&out); break;
        case GSYM_STYLE_SYMBOLIZER_UNKNOWN: put_symbolizer_unknown(&out); break;
        default: break;
    }
    return out.size;
}
