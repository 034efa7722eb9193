/* calls.c - what `gsym trace record` does at each call of a Python function.
 *
 * It is no part of the engine. A program calls it twice for each of its calls, so the
 * common case is here and all others are methods of the subclass, in
 * gsym/trace/recording/program.py: `describe`, `enter_thread`, `write_call` and `flush`.
 * Records are made as in gsym/trace/recording/process_trace.py.
 *
 * The interpreter lock guards everything. It may be released wherever Python code runs,
 * which is where a comment says so.
 */
#include <Python.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <structmember.h>
#include <time.h>

enum { RECORD_WORDS = 5, MAX_RECORDS = 4096, MAX_FUNCTIONS = 1 << 16 };
#define HELD_FOR INT64_C(1000000000) /* nanoseconds */

typedef enum {
    FUNCTION_UNKNOWN,
    FUNCTION_UNWANTED,
    FUNCTION_OTHER, /* its calls are written by `write_call` */
    FUNCTION_PLAIN,
} function_kind;

typedef struct {
    PyObject *code;    /* owned, so that its address stays its own */
    uint64_t words[3]; /* the header, without the thread, and two arguments */
    uint32_t tables;   /* that the words are of */
    function_kind kind;
} function;

typedef struct {
    PyObject ob_base;
    function **functions; /* a hash table of 2^bits places, at most half of them in use */
    size_t function_count;
    unsigned bits;
    uint32_t tables;     /* counts how often tables of strings and threads were renewed */
    PyObject *blocks;    /* the list that full blocks of records are appended to */
    PyTypeObject *thread_type;
    Py_tss_t *current;   /* the thread_calls of this thread, for sys.monitoring */
    PyObject *disable;   /* sys.monitoring.DISABLE */
    int64_t due;         /* when records have to be written */
    int64_t minimum;
    uint64_t left_out;
    char is_stopped;
    size_t used, handed_over; /* words here, and in blocks that are not written yet */
    uint64_t records[MAX_RECORDS * RECORD_WORDS];
} recorder;

typedef struct {
    const function *called;
    int64_t begin;
} open_call;

typedef struct {
    PyObject ob_base;
    recorder *recorder;
    open_call *calls; /* innermost last */
    size_t depth, space;
    uint64_t index; /* in the table of threads; 0: not in it */
    uint32_t tables;
} thread_calls;

/* The clock of time.monotonic_ns. */
static int64_t now(void) {
    struct timespec time;
#ifdef CLOCK_UPTIME_RAW
    clock_gettime(CLOCK_UPTIME_RAW, &time);
#else
    clock_gettime(CLOCK_MONOTONIC, &time);
#endif
    return (int64_t)time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static inline uint64_t little_endian(uint64_t word) {
#if PY_BIG_ENDIAN
    return __builtin_bswap64(word);
#else
    return word;
#endif
}

/* ---- functions ------------------------------------------------------------- */

/* Where a function is, or belongs. */
static function **place_of(const recorder *self, const PyObject *code) {
    size_t mask = ((size_t)1 << self->bits) - 1;
    size_t at = (size_t)((uint64_t)(uintptr_t)code * UINT64_C(0x9e3779b97f4a7c15) >>
                         (64 - self->bits));
    while (self->functions[at] != NULL && self->functions[at]->code != code)
        at = (at + 1) & mask;
    return &self->functions[at];
}

static bool grow_functions(recorder *self) {
    function **old = self->functions;
    size_t old_count = old == NULL ? 0 : (size_t)1 << self->bits;
    function **made = PyMem_Calloc(old == NULL ? 256 : 2 * old_count, sizeof(*made));
    if (made == NULL) {
        PyErr_NoMemory();
        return false;
    }
    self->functions = made;
    self->bits = old == NULL ? 8 : self->bits + 1;
    for (size_t i = 0; i < old_count; ++i)
        if (old[i] != NULL) *place_of(self, old[i]->code) = old[i];
    PyMem_Free(old);
    return true;
}

/* The function of some code, not described yet. */
static function *add_function(recorder *self, PyObject *code) {
    function *made;
    if (2 * (self->function_count + 1) > (size_t)1 << self->bits && !grow_functions(self))
        return NULL;
    made = PyMem_Calloc(1, sizeof *made);
    if (made == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    Py_INCREF(code);
    made->code = code;
    ++self->function_count;
    *place_of(self, code) = made;
    return made;
}

/* Take over what `describe` has returned: None, (), or three words. */
static bool parse_description(PyObject *answer, function *described) {
    unsigned long long words[3];
    described->kind = answer == Py_None ? FUNCTION_UNWANTED : FUNCTION_OTHER;
    if (answer == Py_None || PyTuple_Size(answer) == 0) return true;
    if (!PyArg_ParseTuple(answer, "KKK", &words[0], &words[1], &words[2])) return false;
    described->kind = FUNCTION_PLAIN;
    for (size_t i = 0; i < 3; ++i) described->words[i] = words[i];
    return true;
}

static bool describe(recorder *self, function *described) {
    uint32_t tables = self->tables; /* Python code runs */
    PyObject *answer =
        PyObject_CallMethod((PyObject *)self, "describe", "O", described->code);
    bool is_parsed = answer != NULL && parse_description(answer, described);
    Py_XDECREF(answer);
    described->tables = tables;
    return is_parsed;
}

typedef enum { FAILED = -1, UNWANTED, WANTED } interest;

static inline interest find_function(recorder *self, PyObject *code, function **found) {
    *found = *place_of(self, code);
    if (*found == NULL) {
        if (self->function_count >= MAX_FUNCTIONS) return UNWANTED;
        *found = add_function(self, code);
        if (*found == NULL) return FAILED;
    }
    if ((*found)->kind == FUNCTION_UNWANTED) return UNWANTED;
    if ((*found)->kind == FUNCTION_UNKNOWN || (*found)->tables != self->tables) {
        if (!describe(self, *found)) return FAILED;
    }
    return (*found)->kind == FUNCTION_UNWANTED ? UNWANTED : WANTED;
}

/* ---- records --------------------------------------------------------------- */

/* Records become a block, before any other record of the same tables. */
static bool hand_over(recorder *self) {
    PyObject *block;
    int status;
    if (self->used == 0) return true;
    block = PyBytes_FromStringAndSize((const char *)self->records,
                                      (Py_ssize_t)(self->used * sizeof *self->records));
    if (block == NULL) return false;
    self->handed_over += self->used;
    self->used = 0;
    status = PyList_Append(self->blocks, block);
    Py_DECREF(block);
    return status == 0;
}

static bool flush(recorder *self, int64_t time) {
    PyObject *done;
    if (!hand_over(self)) return false;
    self->due = time + HELD_FOR;
    self->handed_over = 0;
    done = PyObject_CallMethod((PyObject *)self, "flush", "L", (long long)time);
    Py_XDECREF(done);
    return done != NULL;
}

/* A new thread may take over the number of one that has ended. */
static bool enter_thread(thread_calls *thread) {
    recorder *self = thread->recorder;
    uint32_t tables = self->tables;
    PyObject *answer;
    if (!hand_over(self)) return false;
    answer = PyObject_CallMethod((PyObject *)self, "enter_thread", NULL);
    if (answer == NULL) return false;
    thread->index = PyLong_AsUnsignedLongLong(answer);
    Py_DECREF(answer);
    thread->tables = tables;
    return !PyErr_Occurred();
}

static bool write_call(thread_calls *thread, const function *called, int64_t begin,
                       int64_t end) {
    recorder *self = thread->recorder;
    if (thread->tables != self->tables && !enter_thread(thread)) return false;
    if (called->kind == FUNCTION_PLAIN && thread->index != 0 &&
        called->tables == self->tables) {
        uint64_t *record = &self->records[self->used];
        record[0] = little_endian(called->words[0] | thread->index << 24);
        record[1] = little_endian((uint64_t)begin);
        record[2] = little_endian(called->words[1]);
        record[3] = little_endian(called->words[2]);
        record[4] = little_endian((uint64_t)end);
        self->used += RECORD_WORDS;
    } else {
        PyObject *done;
        if (!hand_over(self)) return false; /* records are in the order of their ends */
        done = PyObject_CallMethod((PyObject *)self, "write_call", "OLL", called->code,
                                   (long long)begin, (long long)end);
        if (done == NULL) return false;
        Py_DECREF(done);
    }
    if (self->used + self->handed_over >= MAX_RECORDS * RECORD_WORDS || end >= self->due)
        return flush(self, end);
    return true;
}

/* ---- calls ----------------------------------------------------------------- */

static interest begin_call(thread_calls *thread, PyObject *code) {
    recorder *self = thread->recorder;
    function *called;
    interest found = self->is_stopped ? UNWANTED : find_function(self, code, &called);
    if (found != WANTED) return found;
    if (thread->depth == thread->space) {
        size_t space = thread->space == 0 ? 64 : 2 * thread->space;
        open_call *calls = PyMem_Realloc(thread->calls, space * sizeof *calls);
        if (calls == NULL) {
            PyErr_NoMemory();
            return FAILED;
        }
        thread->calls = calls;
        thread->space = space;
    }
    thread->calls[thread->depth++] = (open_call){called, now()};
    return WANTED;
}

static interest end_call(thread_calls *thread, PyObject *code) {
    recorder *self = thread->recorder;
    int64_t begin, end = now();
    function *called;
    size_t at = thread->depth;
    interest found = self->is_stopped ? UNWANTED : find_function(self, code, &called);
    if (found != WANTED) return found;
    /* Calls in it may have no end, as with greenlets. */
    while (at > 0 && thread->calls[at - 1].called != called) --at;
    if (at == 0) return WANTED; /* it began before all this */
    thread->depth = at - 1;
    begin = thread->calls[at - 1].begin;
    if (end - begin < self->minimum) {
        ++self->left_out;
        return WANTED;
    }
    return write_call(thread, called, begin, end) ? WANTED : FAILED;
}

static thread_calls *new_thread(recorder *self) {
    thread_calls *thread = PyObject_New(thread_calls, self->thread_type);
    if (thread == NULL) return NULL;
    Py_INCREF(self);
    thread->recorder = self;
    thread->calls = NULL;
    thread->depth = thread->space = 0;
    thread->index = 0;
    thread->tables = self->tables - 1; /* not entered yet */
    return thread;
}

static void thread_dealloc(thread_calls *thread) {
    PyTypeObject *type = Py_TYPE(thread);
    /* A thread of C may go on, and call Python again. */
    if (PyThread_tss_get(thread->recorder->current) == thread)
        PyThread_tss_set(thread->recorder->current, NULL);
    PyMem_Free(thread->calls);
    Py_DECREF(thread->recorder);
    PyObject_Free(thread);
    Py_DECREF(type);
}

/* ---- before Python 3.12: profile functions of threads ---------------------- */

typedef int (*profile_function)(PyObject *, PyFrameObject *, int, PyObject *);
enum { PROFILE_CALL = 0, PROFILE_RETURN = 3 };

static int on_profile(PyObject *thread, PyFrameObject *frame, int event,
                      PyObject *Py_UNUSED(argument)) {
    PyObject *code;
    interest found;
    if (event != PROFILE_CALL && event != PROFILE_RETURN) return 0;
    code = (PyObject *)PyFrame_GetCode(frame);
    found = event == PROFILE_CALL ? begin_call((thread_calls *)thread, code)
                                  : end_call((thread_calls *)thread, code);
    Py_DECREF(code);
    return found == FAILED ? -1 : 0;
}

/* PyEval_SetProfile is not in the limited API, but the same in all versions before 3.12;
 * a module for all versions must not be linked with it. */
static bool set_profile(PyObject *thread) {
    typedef void (*profile_setter)(profile_function, PyObject *);
    profile_setter set = (profile_setter)dlsym(RTLD_DEFAULT, "PyEval_SetProfile");
    if (set == NULL) {
        PyErr_SetString(PyExc_RuntimeError, "this Python has no PyEval_SetProfile");
        return false;
    }
    set(on_profile, thread);
    return true;
}

/* As sys.setprofile calls it: once, for it puts `on_profile` in its place. */
static PyObject *thread_profile(PyObject *thread, PyObject *arguments,
                                PyObject *Py_UNUSED(named)) {
    PyObject *frame, *event, *argument;
    int status = 0;
    if (!PyArg_ParseTuple(arguments, "OUO", &frame, &event, &argument)) return NULL;
    if (!set_profile(thread)) return NULL;
    if (PyUnicode_CompareWithASCIIString(event, "call") == 0)
        status = on_profile(thread, (PyFrameObject *)frame, PROFILE_CALL, argument);
    else if (PyUnicode_CompareWithASCIIString(event, "return") == 0)
        status = on_profile(thread, (PyFrameObject *)frame, PROFILE_RETURN, argument);
    if (status < 0) return NULL;
    Py_RETURN_NONE;
}

static PyObject *recorder_profile(PyObject *self, PyObject *arguments, PyObject *named) {
    PyObject *done, *thread = (PyObject *)new_thread((recorder *)self);
    if (thread == NULL) return NULL;
    done = thread_profile(thread, arguments, named);
    Py_DECREF(thread);
    return done;
}

/* ---- from Python 3.12 on: callbacks of sys.monitoring ----------------------- */

static thread_calls *current_thread(recorder *self) {
    thread_calls *thread = PyThread_tss_get(self->current);
    PyObject *kept;
    if (thread != NULL) return thread;
    kept = PyThreadState_GetDict();
    thread = kept == NULL ? (thread_calls *)PyErr_NoMemory() : new_thread(self);
    if (thread == NULL) return NULL;
    /* The state of the thread owns it. */
    if (PyDict_SetItem(kept, (PyObject *)self, (PyObject *)thread) < 0 ||
        PyThread_tss_set(self->current, thread) != 0) {
        Py_DECREF(thread);
        return PyErr_Occurred() ? NULL : (thread_calls *)PyErr_NoMemory();
    }
    Py_DECREF(thread);
    return thread;
}

static PyObject *monitor(PyObject *self, PyObject *code,
                         interest (*take)(thread_calls *, PyObject *)) {
    thread_calls *thread = current_thread((recorder *)self);
    interest found = thread == NULL ? FAILED : take(thread, code);
    PyObject *answer = found == UNWANTED ? ((recorder *)self)->disable : Py_None;
    if (found == FAILED) return NULL;
    Py_INCREF(answer);
    return answer;
}

static PyObject *monitor_begin(PyObject *self, PyObject *const *arguments,
                               Py_ssize_t Py_UNUSED(count)) {
    return monitor(self, arguments[0], begin_call);
}

static PyObject *monitor_end(PyObject *self, PyObject *const *arguments,
                             Py_ssize_t Py_UNUSED(count)) {
    return monitor(self, arguments[0], end_call);
}

/* Throws and unwinds cannot be switched off for some code only. */
static PyObject *without_disable(PyObject *answer) {
    if (answer == NULL) return NULL;
    Py_DECREF(answer);
    Py_RETURN_NONE;
}

static PyObject *monitor_throw(PyObject *self, PyObject *const *arguments,
                               Py_ssize_t count) {
    return without_disable(monitor_begin(self, arguments, count));
}

static PyObject *monitor_unwind(PyObject *self, PyObject *const *arguments,
                                Py_ssize_t count) {
    return without_disable(monitor_end(self, arguments, count));
}

/* ---- the type -------------------------------------------------------------- */

static PyObject *recorder_hand_over(recorder *self, PyObject *Py_UNUSED(none)) {
    if (!hand_over(self)) return NULL;
    Py_RETURN_NONE;
}

static PyObject *recorder_write_to(recorder *self, PyObject *blocks) {
    PyObject *old = self->blocks;
    if (!PyList_Check(blocks)) {
        PyErr_SetString(PyExc_TypeError, "blocks are appended to a list");
        return NULL;
    }
    Py_INCREF(blocks);
    self->blocks = blocks;
    self->used = self->handed_over = 0;
    self->due = now() + HELD_FOR;
    ++self->tables;
    Py_XDECREF(old);
    Py_RETURN_NONE;
}

static void recorder_dealloc(recorder *self) {
    PyTypeObject *type = Py_TYPE(self);
    for (size_t i = 0; self->functions != NULL && i < (size_t)1 << self->bits; ++i) {
        if (self->functions[i] == NULL) continue;
        Py_DECREF(self->functions[i]->code);
        PyMem_Free(self->functions[i]);
    }
    PyMem_Free(self->functions);
    Py_XDECREF(self->blocks);
    Py_XDECREF(self->disable);
    Py_XDECREF((PyObject *)self->thread_type);
    if (self->current != NULL) PyThread_tss_free(self->current);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

static PyType_Slot thread_slots[] = {
    {Py_tp_doc, "The open calls of a thread."},
    {Py_tp_dealloc, (void *)thread_dealloc},
    {Py_tp_call, (void *)thread_profile},
    {0, NULL},
};

static PyType_Spec thread_spec = {
    .name = "gsym.trace.recording._calls.ThreadCalls",
    .basicsize = sizeof(thread_calls),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = thread_slots,
};

static PyObject *recorder_new(PyTypeObject *type, PyObject *Py_UNUSED(arguments),
                              PyObject *Py_UNUSED(named)) {
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    recorder *self = (recorder *)allocate(type, 0);
    if (self == NULL) return NULL;
    self->thread_type = (PyTypeObject *)PyType_FromSpec(&thread_spec);
    self->current = PyThread_tss_alloc();
    self->blocks = PyList_New(0);
    Py_INCREF(Py_None);
    self->disable = Py_None;
    if (self->thread_type == NULL || self->blocks == NULL || !grow_functions(self) ||
        self->current == NULL || PyThread_tss_create(self->current) != 0) {
        Py_DECREF(self);
        return PyErr_Occurred() ? NULL : PyErr_NoMemory();
    }
    return (PyObject *)self;
}

static PyMethodDef recorder_methods[] = {
    {"hand_over", (PyCFunction)(void *)recorder_hand_over, METH_NOARGS,
     "Append the records that are held to the list."},
    {"write_to", (PyCFunction)(void *)recorder_write_to, METH_O,
     "Append blocks to a list from now on, with new tables; held records are dropped."},
    {"monitor_begin", (PyCFunction)(void *)monitor_begin, METH_FASTCALL, "PY_START."},
    {"monitor_end", (PyCFunction)(void *)monitor_end, METH_FASTCALL, "PY_RETURN."},
    {"monitor_throw", (PyCFunction)(void *)monitor_throw, METH_FASTCALL, "PY_THROW."},
    {"monitor_unwind", (PyCFunction)(void *)monitor_unwind, METH_FASTCALL, "PY_UNWIND."},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef recorder_members[] = {
    {"disable", T_OBJECT_EX, offsetof(recorder, disable), 0, "sys.monitoring.DISABLE."},
    {"minimum", T_LONGLONG, offsetof(recorder, minimum), 0, "Nanoseconds."},
    {"left_out", T_ULONGLONG, offsetof(recorder, left_out), READONLY, "Shorter calls."},
    {"is_stopped", T_BOOL, offsetof(recorder, is_stopped), 0, "Ignore all calls."},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot recorder_slots[] = {
    {Py_tp_doc, "Records calls; a profile function, or callbacks of sys.monitoring."},
    {Py_tp_new, (void *)recorder_new},
    {Py_tp_dealloc, (void *)recorder_dealloc},
    {Py_tp_call, (void *)recorder_profile},
    {Py_tp_methods, recorder_methods},
    {Py_tp_members, recorder_members},
    {0, NULL},
};

static PyType_Spec recorder_spec = {
    .name = "gsym.trace.recording._calls.CallRecorder",
    .basicsize = sizeof(recorder),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .slots = recorder_slots,
};

static int add_types(PyObject *module) {
    PyObject *type = PyType_FromSpec(&recorder_spec);
    int status = type == NULL ? -1 : PyModule_AddObjectRef(module, "CallRecorder", type);
    Py_XDECREF(type);
    return status;
}

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, (void *)add_types},
    {0, NULL},
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "gsym.trace.recording._calls",
    .m_slots = module_slots,
};

PyMODINIT_FUNC PyInit__calls(void) { return PyModuleDef_Init(&module); }
