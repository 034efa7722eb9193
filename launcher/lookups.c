/* lookups.c - answer addresses from a file, in the style of a command. */
#define _DEFAULT_SOURCE /* madvise */
#include "launcher.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    FEW_ADDRESSES = 8, /* for which single pages are read */
    MAX_HEX_DIGITS = 16,
    MAX_DECIMAL_DIGITS = 19
};

/* ---- the file ------------------------------------------------------------------------ */

/* Open a file that is nothing but a GSYM file; NULL for all others. It stays open. */
static gsym_image *open_image(const char *path, bool reads_pages) {
    struct stat status;
    const uint8_t *bytes;
    size_t size;
    int descriptor;
    gsym_image *image;
    gsym_error error;
    /* To open a pipe and close it would take what is written to it from the command. */
    if (stat(path, &status) != 0 || !S_ISREG(status.st_mode)) return NULL;
    descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0 || fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode) ||
        status.st_size <= 4)
        return NULL;
    size = (size_t)status.st_size;
    bytes = mmap(NULL, size, PROT_READ, MAP_SHARED, descriptor, 0);
    if (bytes == MAP_FAILED) return NULL;
    close(descriptor);
    if (reads_pages) madvise((void *)(uintptr_t)bytes, size, MADV_RANDOM);
    if (memcmp(bytes, "GSYM", 4) != 0 && memcmp(bytes, "MYSG", 4) != 0) return NULL;
    return gsym_image_open(bytes, size, &image, &error) == GSYM_OK ? image : NULL;
}

/* ---- addresses ----------------------------------------------------------------------- */

/* Append a line with an address as the engine reads it; NULL if the word may be anything
 * else. */
static char *put_address(char *at, const char *word, address_form form) {
    bool is_prefixed = word[0] == '0' && word[1] == 'x';
    const char *digits = is_prefixed ? word + 2 : word;
    size_t size = strlen(digits);
    bool is_hex = size > 0 && strspn(digits, "0123456789abcdefABCDEF") == size;
    bool is_decimal = !is_prefixed && size > 0 && strspn(digits, "0123456789") == size &&
                      (digits[0] != '0' || size == 1);
    if (!is_hex || size > (is_decimal && form != ADDRESS_HEX ? MAX_DECIMAL_DIGITS
                                                             : MAX_HEX_DIGITS))
        return NULL;
    if (!is_prefixed && !is_decimal) {
        if (form == ADDRESS_LLVM) return NULL; /* octal, or no number */
        if (form == ADDRESS_NM && digits[0] == '0' && (digits[1] | ' ') == 'b')
            return NULL; /* binary */
    }
    if (is_prefixed || (form == ADDRESS_NM && !is_decimal)) {
        memcpy(at, "0x", 2);
        at += 2;
    }
    memcpy(at, digits, size);
    at[size] = '\n';
    return at + size + 1;
}

/* ---- names --------------------------------------------------------------------------- */

/* As __cxa_demangle of the C++ runtime, which is loaded for the first name. */
static char *demangle(const char *name, char *text, size_t *size, int *status) {
    static const char *const runtimes[] = {"libstdc++.so.6", "libc++abi.so.1"};
    static char *(*function)(const char *, char *, size_t *, int *);
    for (size_t i = 0; function == NULL && i < sizeof runtimes / sizeof *runtimes; ++i) {
        void *library = dlopen(runtimes[i], RTLD_NOW);
        void *symbol = library == NULL ? NULL : dlsym(library, "__cxa_demangle");
        memcpy(&function, &symbol, sizeof function);
    }
    return function == NULL ? NULL : function(name, text, size, status);
}

static void release(char *text) {
    free(text);
}

/* Whether the texts of names are printed as they are. */
static bool are_printable(const char *bytes, size_t size) {
    for (size_t i = 0; i < size; ++i)
        if (bytes[i] != '\0' && (bytes[i] < ' ' || bytes[i] > '~')) return false;
    return true;
}

/* Add the texts of the names that were missing. False if one is not of C++ or C, or has
 * characters that need an escape. */
static bool add_names(gsym_name_texts *texts, const gsym_image *image) {
    static const gsym_cxx_demangler demangler = {demangle, release, GSYM_MAX_CXX_WORK,
                                                 GSYM_MAX_CXX_TEXT_SIZE};
    size_t count, size, left_count;
    const uint64_t *names = gsym_name_texts_missing(texts, &count);
    const char *bytes;
    const uint32_t *left;
    gsym_cxx_texts *made;
    gsym_error error;
    bool is_done;
    for (size_t i = 0; i < count; ++i)
        if (names[i] & GSYM_PLAIN_STRING) return false;
    if (gsym_cxx_texts_create(image, names, count, &demangler, 0, &made, &error) != GSYM_OK)
        return false;
    gsym_cxx_texts_view(made, &bytes, &size, &left, &left_count);
    is_done = left_count == 0 && are_printable(bytes, size) &&
              gsym_name_texts_add(texts, bytes, size, &error) == GSYM_OK;
    gsym_cxx_texts_destroy(made);
    return is_done;
}

/* ---- answers ------------------------------------------------------------------------- */

/* Append the answers to lines, each with an address. */
static bool answer_lines(gsym_format_job *job, const char *lines, size_t size,
                         gsym_text *text) {
    const char *next = lines;
    gsym_error error;
    while (size > 0) {
        size_t used, missing;
        if (gsym_text_answer(text, job, next, size, SIZE_MAX, &used, &error) != GSYM_OK)
            return false;
        if (used == 0) {
            if (next != NULL) return false; /* the engine reads the line otherwise */
            next = lines;
            continue;
        }
        gsym_name_texts_missing(job->texts, &missing);
        if (missing > 0 && !add_names(job->texts, job->image)) return false;
        if (gsym_text_fill(text, job->texts, &error) != GSYM_OK) return false;
        lines += used;
        size -= used;
        next = NULL;
    }
    return true;
}

static bool answer_image(const question *asked, gsym_image *image, const char *lines,
                         size_t size, gsym_text *text) {
    static const uint32_t forms[] = {[ADDRESS_HEX] = GSYM_NUMBERS_HEX,
                                     [ADDRESS_LLVM] = GSYM_NUMBERS_LLVM,
                                     [ADDRESS_NM] = GSYM_NUMBERS_PLAIN};
    char template_text[GSYM_STYLE_MAX_SIZE];
    size_t template_size = gsym_style_text(asked->style, asked->style_flags, template_text,
                                           sizeof template_text);
    gsym_format_job job = {.image = image,
                           .flags = asked->format_flags,
                           .numbers = forms[asked->form],
                           .prefix = "",
                           .suffix = "",
                           .line_size = UINT64_MAX,
                           .address_mask = UINT64_MAX,
                           .last = UINT64_MAX};
    gsym_style *style;
    gsym_error error;
    if (gsym_style_create(template_text, template_size, &style, &error) != GSYM_OK ||
        gsym_name_texts_create(&job.texts, &error) != GSYM_OK)
        return false;
    job.style = style;
    return answer_lines(&job, lines, size, text) &&
           (job.missed == 0 || !asked->explains_misses);
}

/* Make the file of a program for all lines. */
static gsym_image *convert_asked(const question *asked, char *lines) {
    uint64_t *addresses = calloc(asked->count, sizeof *addresses);
    int base = asked->form == ADDRESS_HEX ? 16 : 10;
    if (addresses == NULL) return NULL;
    for (size_t i = 0; i < asked->count; ++i) {
        addresses[i] = strtoull(lines, &lines, lines[1] == 'x' ? 16 : base);
        ++lines; /* the end of the line */
    }
    return convert_parts(asked->path, addresses, asked->count);
}

bool answer_question(const question *asked, gsym_text *text) {
    char *lines = calloc(asked->count, MAX_DECIMAL_DIGITS + 3), *at = lines;
    gsym_image *image;
    if (asked->path == NULL || asked->count == 0 || lines == NULL) return false;
    for (size_t i = 0; i < asked->count && at != NULL; ++i)
        at = put_address(at, asked->words[i], asked->form);
    if (at == NULL) return false;
    image = open_image(asked->path, asked->count <= FEW_ADDRESSES);
    if (image == NULL && asked->takes_programs) image = convert_asked(asked, lines);
    return image != NULL && answer_image(asked, image, lines, (size_t)(at - lines), text);
}
