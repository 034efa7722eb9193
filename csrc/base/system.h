/* system.h - define a gate, for data that threads share, and work of another thread; return
 * memory to the system. */
#ifndef GSYM_BASE_SYSTEM_H
#define GSYM_BASE_SYSTEM_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* A gate: a mutex, and a condition for which the thread that holds it can wait. */
typedef struct sync_gate {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
} sync_gate;

static inline bool sync_init(sync_gate *gate) {
    if (pthread_mutex_init(&gate->mutex, NULL) != 0) return false;
    if (pthread_cond_init(&gate->changed, NULL) == 0) return true;
    pthread_mutex_destroy(&gate->mutex);
    return false;
}

static inline void sync_deinit(sync_gate *gate) {
    pthread_cond_destroy(&gate->changed);
    pthread_mutex_destroy(&gate->mutex);
}

static inline void sync_lock(sync_gate *gate) { pthread_mutex_lock(&gate->mutex); }
static inline void sync_unlock(sync_gate *gate) { pthread_mutex_unlock(&gate->mutex); }
/* Wait, with the lock held, until another thread calls sync_announce(). */
static inline void sync_wait(sync_gate *gate) {
    pthread_cond_wait(&gate->changed, &gate->mutex);
}
static inline void sync_announce(sync_gate *gate) {
    pthread_cond_broadcast(&gate->changed);
}

/* Work that another thread does meanwhile. */
typedef struct side_work {
    void *(*run)(void *context);
    void *context;
    pthread_t thread;
    bool is_started, is_done;
} side_work;

/* Begin the work, if there may be another thread. */
static inline void side_work_begin(side_work *work, bool has_thread) {
    work->is_started =
        has_thread && pthread_create(&work->thread, NULL, work->run, work->context) == 0;
}

/* Wait for the end of the work; do it, if no other thread does or did. */
static inline void side_work_end(side_work *work) {
    if (work->is_started)
        pthread_join(work->thread, NULL);
    else if (!work->is_done)
        (void)work->run(work->context);
    work->is_started = false;
    work->is_done = true;
}

/* Let the system drop the whole pages of these bytes, which are part of a mapped file; it
 * reads them again when they are used. */
void pages_release(const void *bytes, size_t size);
#define PAGES_DROP_SIZE (1u << 20) /* bytes that a sequential reader drops at once */
/* Have the system map the whole pages of these bytes, which will be written, by huge pages
 * if it can: fewer faults. */
void pages_enlarge(const void *bytes, size_t size);
/* Return freed memory that the C library keeps for later to the system. */
void memory_release(void);

#endif
