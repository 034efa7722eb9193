/* Symbolizer markup from C and C++: log addresses now, symbolize them later.
 *
 * A program writes what it has loaded, then addresses; `gsym filter` replaces them by
 * functions, files and lines, wherever the debug files are.
 *
 *     gsym_markup_context(2);                          what is loaded
 *     gsym_markup_frames(2, addresses, count, 1);      a backtrace
 *
 * Linux, C99 or C++11, no library. Every function here may be called in a signal handler:
 * it calls nothing but open, read, write and close, uses no memory but its stack (some
 * 10 KiB), and keeps errno. What is written in one call does not mix with other lines of
 * pipes and files that are opened for appending, up to 512 bytes each.
 *
 * The context must be written before the addresses, and again after a module was loaded.
 */
#ifndef GSYM_MARKUP_H
#define GSYM_MARKUP_H

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#ifdef O_CLOEXEC
#define GSYM_MARKUP_READ (O_RDONLY | O_CLOEXEC)
#else /* strict C without POSIX */
#define GSYM_MARKUP_READ O_RDONLY
#endif

/* What is at an address of code. */
enum gsym_markup_kind {
  GSYM_MARKUP_RETURN, /* where a call returns to */
  GSYM_MARKUP_PRECISE /* where something happened: a fault, an interrupt */
};

/* ---- one line, put together on the stack */

typedef struct {
  size_t size;
  char text[512];
} gsym_markup_line;

static inline void gsym_markup_add(gsym_markup_line *line, char letter) {
  if (line->size < sizeof line->text) line->text[line->size++] = letter;
}

static inline void gsym_markup_add_text(gsym_markup_line *line, const char *text) {
  while (*text) gsym_markup_add(line, *text++);
}

/* Append up to *room* bytes of a name; characters that have a meaning in markup, or
 * cannot be printed, become `_`. */
static inline void gsym_markup_add_name(gsym_markup_line *line, const char *name,
                                        size_t room) {
  for (; *name && room; name++, room--) {
    unsigned char letter = (unsigned char)*name;
    int is_unfit = letter < 0x20 || letter == 0x7f || letter == ':' || letter == '{' ||
                   letter == '}';
    gsym_markup_add(line, is_unfit ? '_' : *name);
  }
}

static inline void gsym_markup_add_hex(gsym_markup_line *line, uint64_t value,
                                       unsigned digits) {
  while (digits < 16 && value >> (4 * digits)) digits += 2;
  while (digits--) gsym_markup_add(line, "0123456789abcdef"[value >> (4 * digits) & 15]);
}

static inline void gsym_markup_add_address(gsym_markup_line *line, uint64_t value) {
  gsym_markup_add_text(line, "0x");
  gsym_markup_add_hex(line, value, 2);
}

static inline void gsym_markup_add_decimal(gsym_markup_line *line, unsigned value) {
  char digits[16];
  size_t count = 0;
  do digits[count++] = (char)('0' + value % 10);
  while (value /= 10);
  while (count) gsym_markup_add(line, digits[--count]);
}

/* Write the line with its end, all of it. 0, or -1 where the file takes no more. */
static inline int gsym_markup_write(int file, gsym_markup_line *line) {
  const int kept = errno;
  size_t done = 0;
  if (line->size == sizeof line->text) line->size--;
  gsym_markup_add(line, '\n');
  while (done < line->size) {
    ssize_t size = write(file, line->text + done, line->size - done);
    if (size < 0 && errno != EINTR) break;
    if (size > 0) done += (size_t)size;
  }
  errno = kept;
  return done < line->size ? -1 : 0;
}

/* ---- elements, each on a line of its own */

static inline int gsym_markup_reset(int file) {
  gsym_markup_line line = {0, {0}};
  gsym_markup_add_text(&line, "{{{reset}}}");
  return gsym_markup_write(file, &line);
}

/* A function or a type by the name that the linker knows. */
static inline int gsym_markup_symbol(int file, const char *name) {
  gsym_markup_line line = {0, {0}};
  gsym_markup_add_text(&line, "{{{symbol:");
  gsym_markup_add_name(&line, name, 256);
  gsym_markup_add_text(&line, "}}}");
  return gsym_markup_write(file, &line);
}

/* A place in the code. */
static inline int gsym_markup_pc(int file, const void *address,
                                 enum gsym_markup_kind kind) {
  gsym_markup_line line = {0, {0}};
  gsym_markup_add_text(&line, "{{{pc:");
  gsym_markup_add_address(&line, (uint64_t)(uintptr_t)address);
  gsym_markup_add_text(&line, kind == GSYM_MARKUP_PRECISE ? ":pc}}}" : ":ra}}}");
  return gsym_markup_write(file, &line);
}

/* A variable. */
static inline int gsym_markup_data(int file, const void *address) {
  gsym_markup_line line = {0, {0}};
  gsym_markup_add_text(&line, "{{{data:");
  gsym_markup_add_address(&line, (uint64_t)(uintptr_t)address);
  gsym_markup_add_text(&line, "}}}");
  return gsym_markup_write(file, &line);
}

/* One frame of a backtrace; *number* counts from 0, the innermost. */
static inline int gsym_markup_bt(int file, unsigned number, const void *address,
                                 enum gsym_markup_kind kind) {
  gsym_markup_line line = {0, {0}};
  gsym_markup_add_text(&line, "{{{bt:");
  gsym_markup_add_decimal(&line, number);
  gsym_markup_add(&line, ':');
  gsym_markup_add_address(&line, (uint64_t)(uintptr_t)address);
  gsym_markup_add_text(&line, kind == GSYM_MARKUP_PRECISE ? ":pc}}}" : ":ra}}}");
  return gsym_markup_write(file, &line);
}

/* A backtrace, innermost frame first, as backtrace() gives it. *first_is_precise*: the
 * first address is where something happened; all others are return addresses. */
static inline int gsym_markup_frames(int file, void *const *addresses, unsigned count,
                                     int first_is_precise) {
  int status = 0;
  for (unsigned at = 0; at < count && !status; at++) {
    enum gsym_markup_kind kind =
        !at && first_is_precise ? GSYM_MARKUP_PRECISE : GSYM_MARKUP_RETURN;
    status = gsym_markup_bt(file, at, addresses[at], kind);
  }
  return status;
}

/* A dump that was just published: its type, and the name under which it is found. */
static inline int gsym_markup_dumpfile(int file, const char *type, const char *name) {
  gsym_markup_line line = {0, {0}};
  gsym_markup_add_text(&line, "{{{dumpfile:");
  gsym_markup_add_name(&line, type, 64);
  gsym_markup_add(&line, ':');
  gsym_markup_add_name(&line, name, 256);
  gsym_markup_add_text(&line, "}}}");
  return gsym_markup_write(file, &line);
}

/* A key and a value, such as a register, which may or may not be an address. */
typedef struct {
  const char *key; /* up to 32 bytes are written; a blank, or an empty key, as `_` */
  uint64_t value;
} gsym_markup_pair;

static inline void gsym_markup_add_pair(gsym_markup_line *line,
                                        const gsym_markup_pair *pair) {
  size_t at;
  gsym_markup_add(line, ' ');
  at = line->size;
  gsym_markup_add_name(line, pair->key, 32);
  if (at == line->size) gsym_markup_add(line, '_');
  for (; at < line->size; at++)
    if (line->text[at] == ' ') line->text[at] = '_';
  gsym_markup_add_text(line, ": ");
  gsym_markup_add_address(line, pair->value);
}

/* Pairs whose values are symbolized if they are addresses. Each line is a complete
 * dictionary, so that lines of other threads may come between. */
static inline int gsym_markup_hexdict(int file, const gsym_markup_pair *pairs,
                                      unsigned count) {
  const size_t longest = sizeof " : 0x0123456789abcdef" + 32;
  int status = 0;
  for (unsigned at = 0; at < count && !status;) {
    gsym_markup_line line = {0, {0}};
    gsym_markup_add_text(&line, "{{{hexdict:");
    while (at < count && line.size + longest + sizeof "}}}" < sizeof line.text)
      gsym_markup_add_pair(&line, &pairs[at++]);
    gsym_markup_add_text(&line, "}}}");
    status = gsym_markup_write(file, &line);
  }
  return status;
}

/* ---- what is loaded */

#if UINTPTR_MAX > 0xffffffffu
typedef Elf64_Ehdr gsym_markup_ehdr;
typedef Elf64_Phdr gsym_markup_phdr;
typedef Elf64_Nhdr gsym_markup_nhdr;
#define GSYM_MARKUP_CLASS ELFCLASS64
#else
typedef Elf32_Ehdr gsym_markup_ehdr;
typedef Elf32_Phdr gsym_markup_phdr;
typedef Elf32_Nhdr gsym_markup_nhdr;
#define GSYM_MARKUP_CLASS ELFCLASS32
#endif

/* A line of /proc/self/maps. */
typedef struct {
  uint64_t start, end, offset;
  char mode[4];
  char path[256];
} gsym_markup_mapping;

typedef struct {
  uint64_t bias;   /* address in memory minus link-time address */
  unsigned number; /* of the module that was found last, plus 1 */
  int is_known;    /* whether the path below is that of a module with a build id */
  char path[256];
} gsym_markup_module;

static inline int gsym_markup_equal(const char *one, const char *other) {
  while (*one && *one == *other) one++, other++;
  return *one == *other;
}

/* The description of the GNU build id note among *size* bytes of notes; NULL: none. */
static inline const unsigned char *gsym_markup_find_build_id(const unsigned char *notes,
                                                             uint64_t size,
                                                             uint64_t *id_size) {
  uint64_t at = 0;
  while (size - at >= sizeof(gsym_markup_nhdr)) {
    const gsym_markup_nhdr *note = (const gsym_markup_nhdr *)(const void *)(notes + at);
    uint64_t name = ((uint64_t)note->n_namesz + 3) & ~(uint64_t)3;
    uint64_t descriptor = ((uint64_t)note->n_descsz + 3) & ~(uint64_t)3;
    at += sizeof *note;
    if (name > size - at || descriptor > size - at - name) return NULL;
    if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && notes[at] == 'G' &&
        notes[at + 1] == 'N' && notes[at + 2] == 'U' && note->n_descsz <= 64) {
      *id_size = note->n_descsz;
      return notes + at + name;
    }
    at += name + descriptor;
  }
  return NULL;
}

/* Write the module that begins at a mapping; remember it if it has a build id. */
static inline int gsym_markup_begin_module(int file, const gsym_markup_mapping *mapping,
                                           gsym_markup_module *module) {
  const unsigned char *base = (const unsigned char *)(uintptr_t)mapping->start;
  const uint64_t mapped = mapping->end - mapping->start;
  const gsym_markup_ehdr *header = (const gsym_markup_ehdr *)(const void *)base;
  const unsigned char *id = NULL;
  uint64_t id_size = 0, first = UINT64_MAX;
  module->is_known = 0;
  for (size_t at = 0; at < sizeof module->path; at++) module->path[at] = mapping->path[at];
  /* What is shared is no module; of a device or a file cut short, a read may kill. */
  if (mapping->mode[0] != 'r' || mapping->mode[3] != 'p') return 0;
  if (mapped < sizeof *header) return 0;
  if (base[0] != 0x7f || base[1] != 'E' || base[2] != 'L' || base[3] != 'F') return 0;
  if (base[EI_CLASS] != GSYM_MARKUP_CLASS) return 0;
  if (header->e_phentsize != sizeof(gsym_markup_phdr)) return 0;
  if (header->e_phoff % 4 || header->e_phoff > mapped) return 0;
  if ((mapped - header->e_phoff) / sizeof(gsym_markup_phdr) < header->e_phnum) return 0;
  const gsym_markup_phdr *segments =
      (const gsym_markup_phdr *)(const void *)(base + header->e_phoff);
  for (unsigned at = 0; at < header->e_phnum; at++) {
    const gsym_markup_phdr *segment = segments + at;
    if (segment->p_type == PT_LOAD && first == UINT64_MAX)
      first = segment->p_vaddr - segment->p_offset;
    if (segment->p_type != PT_NOTE || id) continue;
    if (segment->p_offset % 4 || segment->p_offset > mapped) continue;
    if (segment->p_filesz > mapped - segment->p_offset) continue;
    id = gsym_markup_find_build_id(base + segment->p_offset, segment->p_filesz, &id_size);
  }
  if (!id || first == UINT64_MAX) return 0;
  module->bias = mapping->start - first;
  module->is_known = 1;
  gsym_markup_line line = {0, {0}};
  gsym_markup_add_text(&line, "{{{module:");
  gsym_markup_add_decimal(&line, module->number++);
  gsym_markup_add(&line, ':');
  gsym_markup_add_name(&line, mapping->path, 256);
  gsym_markup_add_text(&line, ":elf:");
  while (id_size--) gsym_markup_add_hex(&line, *id++, 2);
  gsym_markup_add_text(&line, "}}}");
  return gsym_markup_write(file, &line);
}

static inline int gsym_markup_add_mapping(int file, const gsym_markup_mapping *mapping,
                                          gsym_markup_module *module) {
  int status = 0;
  const char *mode = mapping->mode;
  gsym_markup_line line = {0, {0}};
  if (mapping->path[0] != '/') return 0;
  if (!mapping->offset)
    status = gsym_markup_begin_module(file, mapping, module);
  else if (!gsym_markup_equal(mapping->path, module->path))
    return 0;
  if (status || !module->is_known) return status;
  if (mode[0] != 'r' && mode[1] != 'w' && mode[2] != 'x') return 0;
  gsym_markup_add_text(&line, "{{{mmap:");
  gsym_markup_add_address(&line, mapping->start);
  gsym_markup_add_text(&line, ":0x");
  gsym_markup_add_hex(&line, mapping->end - mapping->start, 2);
  gsym_markup_add_text(&line, ":load:");
  gsym_markup_add_decimal(&line, module->number - 1);
  gsym_markup_add(&line, ':');
  for (int at = 0; at < 3; at++)
    if (mode[at] != '-') gsym_markup_add(&line, mode[at]);
  gsym_markup_add(&line, ':');
  gsym_markup_add_address(&line, mapping->start - module->bias);
  gsym_markup_add_text(&line, "}}}");
  return gsym_markup_write(file, &line);
}

/* Where a letter of a line of /proc/self/maps belongs: `START-END MODE OFFSET DEVICE INODE
 * PATH`. *field* counts from 0, *size* the letters of it so far. */
static inline void gsym_markup_read_letter(gsym_markup_mapping *mapping, unsigned field,
                                           unsigned size, char letter) {
  uint64_t *numbers[] = {&mapping->start, &mapping->end, NULL, &mapping->offset};
  if (field == 2 && size < sizeof mapping->mode) mapping->mode[size] = letter;
  if (field == 6 && size + 1 < sizeof mapping->path) mapping->path[size] = letter;
  if (field > 3 || !numbers[field]) return;
  unsigned digit = (unsigned)(letter <= '9' ? letter - '0' : letter - 'a' + 10);
  *numbers[field] = *numbers[field] << 4 | (digit & 15);
}

/* Write a reset, then all modules with a build id and where they are in memory. 0, or -1
 * where the file takes no more or /proc is not there. */
static inline int gsym_markup_context(int file) {
  const int kept = errno;
  gsym_markup_module module = {0, 0, 0, {0}};
  gsym_markup_mapping mapping = {0, 0, 0, {0}, {0}};
  char block[1024];
  unsigned field = 0, size = 0;
  int status = gsym_markup_reset(file);
  int maps = open("/proc/self/maps", GSYM_MARKUP_READ);
  if (maps < 0) status = -1;
  while (!status) {
    ssize_t count = read(maps, block, sizeof block);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    for (ssize_t at = 0; at < count && !status; at++) {
      char letter = block[at];
      if (letter == '\n') {
        status = gsym_markup_add_mapping(file, &mapping, &module);
        gsym_markup_mapping empty = {0, 0, 0, {0}, {0}};
        mapping = empty;
        field = size = 0;
      } else if ((field < 6 && letter == ' ') || (!field && letter == '-')) {
        field++;
        size = 0;
      } else if (letter != ' ' || size) { /* blanks in front of the path */
        gsym_markup_read_letter(&mapping, field, size++, letter);
      }
    }
  }
  if (maps >= 0) close(maps);
  errno = kept;
  return status;
}

#endif
