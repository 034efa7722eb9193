/* style.c - compile templates, the language of output styles.
 *
 * A template is the text of one answer, with these tags:
 *
 *     <name>               a field
 *     <?line>A</>          A where a condition holds
 *     <?line>A<:>B</>      the same, else B
 *     <*frames>A</>        A for each of the frames, or of whatever else is repeated
 *     <<                   a single <
 *
 * Tags of an answer:
 *
 *     <address>            as it was asked for, hexadecimal with 0x; <address8> and
 *                          <address16> with so many digits, <address_decimal>
 *     <?found>             whether there is a function; if there is none,
 *       <?outside>           whether the address is outside of the module
 *       <?damaged>           whether there is damage, which <error> describes
 *     <indent>             as many blanks as there is text before the first frame
 *     <*merged>            the functions merged into the one at the address, <?merged>
 *                          whether there are any; <*functions> with the function itself
 *     <count>              the number of all these functions; <?several> whether there are
 *                          several
 *     <?more>              in <*merged> and <*functions>: whether a function follows
 *
 * <*merged> and <*functions> may not be in a part that is repeated, and no tag of a
 * function may follow them. Tags of a function:
 *
 *     <function>           its name; <start> and <size>, decimal
 *     <*frames>            innermost first; <*innermost> only the first of them;
 *                          <*combined> its place in the source under the name of the last
 *     <*patterns>          patterns for the callee of a call that returns to the address,
 *                          each <pattern>; <?patterns> whether there are any
 *
 * Tags of a frame:
 *
 *     <name>, <path>, <directory>, <filename>, <line>
 *     <offset>             of the address in the function, decimal
 *     <frame_start>        address of offset 0, hexadecimal with 0x
 *     <source>             a mark that the caller replaces by lines of source text: NUL,
 *                          the path, NUL, the line, NUL
 *     <?name>, <?path>, <?filename>, <?line>, <?offset>  whether it is known and not 0
 *     <?inlined>           whether the function was inlined into the next one
 *
 * <?later> is true in a repeated part, except the first time. A template does not say how
 * strings are escaped. */
#include "text/style.h"

#include "base/list.h"

/* Flags for the loops in which a tag is required or forbidden. */
typedef enum style_scope {
    ANYWHERE,
    IN_FRAME,
    IN_PATTERN,
    NOT_IN_FRAME,
    NOT_IN_PATTERN,
    NOT_REPEATED
} style_scope;

typedef struct style_tag {
    const char *name;
    style_kind kind;
    style_scope scope;
} style_tag;

static const style_tag tags[] = {
    {"?found", STYLE_IF_FOUND, ANYWHERE},
    {"?outside", STYLE_IF_OUTSIDE, ANYWHERE},
    {"?damaged", STYLE_IF_DAMAGED, ANYWHERE},
    {"?several", STYLE_IF_SEVERAL, ANYWHERE},
    {"?merged", STYLE_IF_MERGED, ANYWHERE},
    {"?patterns", STYLE_IF_PATTERNS, ANYWHERE},
    {"?later", STYLE_IF_LATER, ANYWHERE},
    {"?more", STYLE_IF_MORE, ANYWHERE},
    {"?name", STYLE_IF_NAME, IN_FRAME},
    {"?path", STYLE_IF_PATH, IN_FRAME},
    {"?filename", STYLE_IF_FILENAME, IN_FRAME},
    {"?line", STYLE_IF_LINE, IN_FRAME},
    {"?offset", STYLE_IF_OFFSET, IN_FRAME},
    {"?inlined", STYLE_IF_INLINED, IN_FRAME},
    {"*functions", STYLE_FUNCTIONS, NOT_REPEATED},
    {"*merged", STYLE_MERGED, NOT_REPEATED},
    {"*frames", STYLE_FRAMES, NOT_IN_FRAME},
    {"*innermost", STYLE_INNERMOST, NOT_IN_FRAME},
    {"*combined", STYLE_COMBINED, NOT_IN_FRAME},
    {"*patterns", STYLE_PATTERNS, NOT_IN_PATTERN},
    {"address", STYLE_ADDRESS, ANYWHERE},
    {"address8", STYLE_ADDRESS_8, ANYWHERE},
    {"address16", STYLE_ADDRESS_16, ANYWHERE},
    {"address_decimal", STYLE_ADDRESS_DECIMAL, ANYWHERE},
    {"indent", STYLE_INDENT, ANYWHERE},
    {"error", STYLE_ERROR, ANYWHERE},
    {"count", STYLE_COUNT, ANYWHERE},
    {"function", STYLE_FUNCTION, ANYWHERE},
    {"start", STYLE_START, ANYWHERE},
    {"size", STYLE_SIZE, ANYWHERE},
    {"pattern", STYLE_PATTERN, IN_PATTERN},
    {"name", STYLE_NAME, IN_FRAME},
    {"path", STYLE_PATH, IN_FRAME},
    {"directory", STYLE_DIRECTORY, IN_FRAME},
    {"filename", STYLE_FILENAME, IN_FRAME},
    {"line", STYLE_LINE, IN_FRAME},
    {"offset", STYLE_OFFSET, IN_FRAME},
    {"frame_start", STYLE_FRAME_START, IN_FRAME},
    {"source", STYLE_SOURCE, IN_FRAME},
};

enum {
    MAX_NESTED = 8,
    MAX_TEMPLATE_SIZE = 1 << 20,
    MAX_SHOWN_TAG = 32
};

/* A condition or a loop that has no end yet. */
typedef struct open_part {
    style_kind kind; /* STYLE_GOTO: the second part of a condition */
    size_t op;       /* index of the operation whose `next` is set at the end of the part */
} open_part;

typedef struct template_reader {
    const char *begin, *at, *end;
    gsym_style *style;
    style_op pending; /* the operation with the text that was read last; it is not added
                         yet */
    open_part open[MAX_NESTED];
    size_t open_count;
} template_reader;

static bool is_loop(style_kind kind) {
    return (kind >= STYLE_FRAMES && kind <= STYLE_COMBINED) ||
           (kind >= STYLE_FUNCTIONS && kind <= STYLE_PATTERNS);
}

static bool is_in(const template_reader *reader, style_kind first, style_kind last) {
    for (size_t i = 0; i < reader->open_count; ++i)
        if (reader->open[i].kind >= first && reader->open[i].kind <= last) return true;
    return false;
}

static bool fits(const template_reader *reader, style_scope scope) {
    bool in_frame = is_in(reader, STYLE_FRAMES, STYLE_COMBINED);
    bool in_pattern = is_in(reader, STYLE_PATTERNS, STYLE_PATTERNS);
    switch (scope) {
        case IN_FRAME: return in_frame;
        case IN_PATTERN: return in_pattern;
        case NOT_IN_FRAME: return !in_frame;
        case NOT_IN_PATTERN: return !in_pattern;
        case NOT_REPEATED:
            return !in_frame && !is_in(reader, STYLE_FUNCTIONS, STYLE_PATTERNS);
        default: return true;
    }
}

/* Add an operation after the text since the previous one. */
static gsym_status add_op(template_reader *reader, style_kind kind, gsym_error *error) {
    gsym_style *style = reader->style;
    style_op *op;
    if (!LIST_RESERVE(style->ops, 1)) return gsym_fail_memory(error);
    op = &style->ops.items[style->ops.count++];
    *op = reader->pending;
    op->kind = (uint8_t)(kind < STYLE_RARE ? kind : STYLE_RARE);
    op->rare = (uint8_t)kind;
    style->room += (size_t)op->size + STYLE_NUMBER_SIZE;
    reader->pending = (style_op){0};
    return GSYM_OK;
}

/* Add the text that was read as an operation of its own. This is done at a position to
 * which operations jump: the text is not part of the operation there. */
static gsym_status end_text(template_reader *reader, gsym_error *error) {
    return reader->pending.size == 0 ? GSYM_OK : add_op(reader, STYLE_TEXT, error);
}

static gsym_status add_text(template_reader *reader, const char *text, size_t size,
                            gsym_error *error) {
    style_op *op = &reader->pending;
    while (size > 0) {
        size_t part = STYLE_TEXT_SIZE - (size_t)op->size;
        if (part > size) part = size;
        if (part == 0) GSYM_TRY(end_text(reader, error));
        memcpy(op->text + op->size, text, part);
        op->size = (uint8_t)(op->size + part);
        text += part;
        size -= part;
    }
    return GSYM_OK;
}

static gsym_status fail(const template_reader *reader, const char *reason,
                        gsym_error *error) {
    size_t size = (size_t)(reader->end - reader->at);
    if (size > MAX_SHOWN_TAG) size = MAX_SHOWN_TAG;
    return gsym_fail(error, GSYM_E_ARGUMENT, (uint64_t)(reader->at - reader->begin),
                     "template: %s at '%.*s'", reason, (int)size, reader->at);
}

/* ---- tags ------------------------------------------------------------------------ */

static gsym_status begin_part(template_reader *reader, style_kind kind,
                              gsym_error *error) {
    if (reader->open_count == MAX_NESTED)
        return fail(reader, "parts nested too deeply", error);
    GSYM_TRY(add_op(reader, kind, error));
    reader->open[reader->open_count++] =
        (open_part){kind, reader->style->ops.count - 1};
    return GSYM_OK;
}

static void set_next(template_reader *reader, size_t op) {
    gsym_style *style = reader->style;
    style->ops.items[op].next = (uint32_t)(style->ops.count - op - 1);
}

/* Return the operation that does the work of a condition and of its field, or STYLE_END if
 * there is none. */
static style_kind joined_kind(style_kind condition, style_kind field) {
    if (condition == STYLE_IF_NAME && field == STYLE_NAME) return STYLE_NAME_OR;
    if (condition == STYLE_IF_PATH && field == STYLE_PATH) return STYLE_PATH_OR;
    if (condition == STYLE_IF_LINE && field == STYLE_LINE) return STYLE_LINE_OR;
    return STYLE_END;
}

/* If a condition, such as "if there is a name", is followed only by the field that it asks
 * for, replace both by one operation. False if anything else follows. */
static bool join_field(template_reader *reader, const open_part *part) {
    gsym_style *style = reader->style;
    style_op *condition = style->ops.items + part->op, *field = condition + 1;
    style_kind kind;
    if (style->ops.count != part->op + 2 || field->size > 0 || reader->pending.size > 0)
        return false;
    kind = joined_kind(part->kind, field->kind);
    if (kind == STYLE_END) return false;
    condition->kind = (uint8_t)kind;
    style->ops.count--;
    return true;
}

static gsym_status begin_else(template_reader *reader, gsym_error *error) {
    open_part *part = reader->open + reader->open_count;
    if (reader->open_count == 0 || is_loop((--part)->kind) || part->kind == STYLE_GOTO)
        return fail(reader, "<:> outside a condition", error);
    if (join_field(reader, part)) {
        part->kind = STYLE_GOTO;
        return GSYM_OK;
    }
    GSYM_TRY(add_op(reader, STYLE_GOTO, error));
    set_next(reader, part->op);
    *part = (open_part){STYLE_GOTO, reader->style->ops.count - 1};
    return GSYM_OK;
}

static gsym_status end_part(template_reader *reader, gsym_error *error) {
    open_part part;
    if (reader->open_count == 0) return fail(reader, "</> without a beginning", error);
    part = reader->open[--reader->open_count];
    if (is_loop(part.kind))
        GSYM_TRY(add_op(reader, STYLE_END, error));
    else
        GSYM_TRY(end_text(reader, error));
    set_next(reader, part.op);
    return GSYM_OK;
}

static gsym_status add_tag(template_reader *reader, const char *name, size_t size,
                           gsym_error *error) {
    for (size_t i = 0; i < sizeof tags / sizeof *tags; ++i) {
        if (strlen(tags[i].name) != size || memcmp(tags[i].name, name, size) != 0)
            continue;
        if (!fits(reader, tags[i].scope)) return fail(reader, "misplaced tag", error);
        if (*name == '?' || *name == '*') return begin_part(reader, tags[i].kind, error);
        return add_op(reader, tags[i].kind, error);
    }
    return fail(reader, "unknown tag", error);
}

/* Read a tag; the position is at its <. */
static gsym_status read_tag(template_reader *reader, gsym_error *error) {
    const char *name = reader->at + 1, *close;
    size_t size;
    if (name < reader->end && *name == '<') {
        GSYM_TRY(add_text(reader, name, 1, error));
        reader->at += 2;
        return GSYM_OK;
    }
    close = memchr(name, '>', (size_t)(reader->end - name));
    if (close == NULL) return fail(reader, "tag without >", error);
    size = (size_t)(close - name);
    if (size == 1 && *name == ':')
        GSYM_TRY(begin_else(reader, error));
    else if (size == 1 && *name == '/')
        GSYM_TRY(end_part(reader, error));
    else
        GSYM_TRY(add_tag(reader, name, size, error));
    reader->at = close + 1;
    return GSYM_OK;
}

static gsym_status read_template(template_reader *reader, gsym_error *error) {
    while (reader->at < reader->end) {
        size_t left = (size_t)(reader->end - reader->at);
        const char *tag = memchr(reader->at, '<', left);
        size_t size = tag == NULL ? left : (size_t)(tag - reader->at);
        GSYM_TRY(add_text(reader, reader->at, size, error));
        reader->at += size;
        if (tag != NULL) GSYM_TRY(read_tag(reader, error));
    }
    if (reader->open_count > 0) return fail(reader, "part without </>", error);
    return add_op(reader, STYLE_END, error);
}

gsym_status gsym_style_create(const char *template_text, size_t size,
                              gsym_style **style_ret, gsym_error *error) {
    template_reader reader = {
        .begin = template_text, .at = template_text, .end = template_text + size};
    gsym_status status;
    if (size > MAX_TEMPLATE_SIZE)
        return gsym_fail(error, GSYM_E_ARGUMENT, 0, "template: too long");
    reader.style = calloc(1, sizeof *reader.style);
    if (reader.style == NULL) return gsym_fail_memory(error);
    reader.style->room = STYLE_TEXT_SIZE; /* the copy of a text always writes
                                             STYLE_TEXT_SIZE bytes */
    status = read_template(&reader, error);
    if (status != GSYM_OK)
        gsym_style_destroy(reader.style);
    else
        *style_ret = reader.style;
    return status;
}

void gsym_style_destroy(gsym_style *style) {
    if (style == NULL) return;
    free(style->ops.items);
    free(style);
}
