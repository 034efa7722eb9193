/* files.c - map input files, and write output files that are complete or absent. */
#define _XOPEN_SOURCE 700 /* realpath */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "internal.h"

enum { CHUNK_SIZE = 1 << 20 };

gsym_status fail_system(const char *path, const char *action, gsym_error *error) {
    int number = errno;
    char reason[128];
    if (strerror_r(number, reason, sizeof reason) != 0)
        snprintf(reason, sizeof reason, "error %d", number);
    return in_file(path,
                   gsym_fail(error, number == ENOMEM ? GSYM_E_NO_MEMORY : GSYM_E_SYSTEM,
                             (uint64_t)number, "%s: %s", action, reason),
                   error);
}

/* ---- in ------------------------------------------------------------------------------ */

static gsym_status map_descriptor(const char *path, int descriptor, mapped_file *file_ret,
                                  gsym_error *error) {
    struct stat status;
    void *bytes;
    if (fstat(descriptor, &status) != 0) return fail_system(path, "cannot stat", error);
    if (!S_ISREG(status.st_mode)) {
        errno = S_ISDIR(status.st_mode) ? EISDIR : ESPIPE;
        return fail_system(path, "cannot map", error);
    }
    *file_ret = (mapped_file){(const uint8_t *)"", 0};
    if (status.st_size == 0) return GSYM_OK; /* mmap() refuses a size of 0 */
    bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (bytes == MAP_FAILED) return fail_system(path, "cannot map", error);
    *file_ret = (mapped_file){bytes, (size_t)status.st_size};
    return GSYM_OK;
}

gsym_status file_map(const char *path, mapped_file *file_ret, gsym_error *error) {
    /* With O_NONBLOCK, open() does not wait for the other end of a pipe. */
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    gsym_status status;
    if (descriptor < 0) return fail_system(path, "cannot open", error);
    status = map_descriptor(path, descriptor, file_ret, error);
    close(descriptor);
    return status;
}

void file_unmap(const mapped_file *file) {
    if (file->size != 0) munmap((void *)(uintptr_t)file->bytes, file->size);
}

bool files_are_same(const char *path, const char *other) {
    struct stat one, two;
    return stat(path, &one) == 0 && stat(other, &two) == 0 && one.st_dev == two.st_dev &&
           one.st_ino == two.st_ino;
}

/* ---- out ----------------------------------------------------------------------------- */

static bool write_all(int descriptor, const uint8_t *bytes, size_t size) {
    while (size != 0) {
        ssize_t written = write(descriptor, bytes, size);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return false;
        bytes += written;
        size -= (size_t)written;
    }
    return true;
}

/* A piece of the output. */
typedef struct output_chunk {
    pthread_t thread;
    bool is_started; /* the thread writes the chunk */
    int descriptor;
    uint8_t *bytes;
    size_t size;
    int failure; /* errno of a write that failed, else 0 */
} output_chunk;

static void *write_chunk(void *context) {
    output_chunk *chunk = context;
    chunk->failure = write_all(chunk->descriptor, chunk->bytes, chunk->size) ? 0 : errno;
    return NULL;
}

/* Wait until a chunk is written. */
static gsym_status end_chunk(output_chunk *chunk, const char *path, gsym_error *error) {
    if (chunk->is_started) pthread_join(chunk->thread, NULL);
    chunk->is_started = false;
    errno = chunk->failure;
    return errno == 0 ? GSYM_OK : fail_system(path, "cannot write", error);
}

/* The bytes after those of a creator. */
typedef struct trailer {
    const void *bytes;
    size_t size;
    bool has_thread; /* another thread writes a chunk while this one makes the next */
} trailer;

static gsym_status write_creator(gsym_creator *creator, trailer after, int descriptor,
                                 const char *path, gsym_error *error) {
    output_chunk chunks[2] = {{.descriptor = descriptor}, {.descriptor = descriptor}};
    uint8_t *bytes = malloc((after.has_thread ? 2 : 1) * CHUNK_SIZE);
    gsym_status status = GSYM_OK;
    gsym_error ignored;
    size_t size = CHUNK_SIZE;
    if (bytes == NULL) return gsym_fail_memory(error);
    for (unsigned i = 0; status == GSYM_OK && size != 0; i ^= after.has_thread) {
        output_chunk *chunk = &chunks[i];
        chunk->bytes = bytes + i * CHUNK_SIZE;
        status = gsym_creator_read(creator, chunk->bytes, CHUNK_SIZE, &size, error);
        if (status == GSYM_OK)
            status = end_chunk(&chunks[i ^ after.has_thread], path, error);
        if (status != GSYM_OK) break;
        chunk->size = size;
        chunk->is_started = after.has_thread && size == CHUNK_SIZE &&
                            pthread_create(&chunk->thread, NULL, write_chunk, chunk) == 0;
        if (!chunk->is_started) write_chunk(chunk);
    }
    for (unsigned i = 0; i < 2; ++i)
        if (end_chunk(&chunks[i], path, status == GSYM_OK ? error : &ignored) != GSYM_OK &&
            status == GSYM_OK)
            status = GSYM_E_SYSTEM;
    free(bytes);
    if (status == GSYM_OK && !write_all(descriptor, after.bytes, after.size))
        status = fail_system(path, "cannot write", error);
    return status;
}

/* Whether `path` is a pipe or a device, which no file must replace. */
static bool is_special(const char *path) {
    struct stat status;
    return stat(path, &status) == 0 && !S_ISREG(status.st_mode);
}

static gsym_status write_special(gsym_creator *creator, trailer after, const char *path,
                                 gsym_error *error) {
    int descriptor = open(path, O_WRONLY | O_CLOEXEC);
    gsym_status status;
    if (descriptor < 0) return fail_system(path, "cannot open", error);
    status = write_creator(creator, after, descriptor, path, error);
    if (close(descriptor) != 0 && status == GSYM_OK)
        status = fail_system(path, "cannot write", error);
    return status;
}

/* Create a new file beside `path`; `name` gets its path. Return its descriptor, or -1. */
static int create_temporary(const char *path, char *name, size_t size) {
    enum { MAX_NUMBERS = 10000 };
    for (int number = 0; number < MAX_NUMBERS; ++number) {
        int descriptor;
        snprintf(name, size, "%s.%ld.%d.tmp", path, (long)getpid(), number);
        descriptor = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (descriptor >= 0 || errno != EEXIST) return descriptor;
    }
    return -1;
}

static void *release(void *creator) {
    gsym_creator_release(creator);
    return NULL;
}

/* Write a file under another name and rename it to `target`, the file that `path` links
 * to. Errors are about `path`. */
static gsym_status publish(gsym_creator *creator, trailer after, const char *path,
                           const char *target, gsym_error *error) {
    enum { SUFFIX_SIZE = 40 };
    size_t size = strlen(target) + SUFFIX_SIZE;
    char *name = malloc(size);
    gsym_status status;
    pthread_t thread;
    bool is_started;
    int descriptor;
    if (name == NULL) return gsym_fail_memory(error);
    descriptor = create_temporary(target, name, size);
    if (descriptor < 0) {
        status = fail_system(path, "cannot create", error);
    } else {
        status = write_creator(creator, after, descriptor, path, error);
        /* The memory of a large file is freed while the disk is waited for. */
        is_started = status == GSYM_OK && after.has_thread &&
                     lseek(descriptor, 0, SEEK_CUR) > CHUNK_SIZE &&
                     pthread_create(&thread, NULL, release, creator) == 0;
        if (status == GSYM_OK && fsync(descriptor) != 0)
            status = fail_system(path, "cannot sync", error);
        if (close(descriptor) != 0 && status == GSYM_OK)
            status = fail_system(path, "cannot write", error);
        if (status == GSYM_OK && rename(name, target) != 0)
            status = fail_system(path, "cannot rename", error);
        if (is_started) pthread_join(thread, NULL);
        if (status != GSYM_OK) unlink(name);
    }
    free(name);
    return status;
}

gsym_status file_write(gsym_creator *creator, const void *bytes, size_t size,
                       bool has_thread, const char *path, gsym_error *error) {
    trailer after = {bytes, size, has_thread};
    char *target;
    gsym_status status;
    if (is_special(path)) return write_special(creator, after, path, error);
    target = realpath(path, NULL); /* otherwise, rename() would replace a symbolic link */
    status = publish(creator, after, path, target != NULL ? target : path, error);
    free(target);
    return status;
}
