/* bus_errors.c - lets a server survive the truncation of files that it has mapped.
 *
 * A read of a mapped page beyond the end of its file is SIGBUS, as is one that the disk
 * fails. Here such a page becomes one of zeros, as in systemd's journal and in X servers,
 * and is counted: whoever reads compares the counts before and after. Only a process that
 * belongs to gsym calls `guard`, since signals belong to the whole process.
 */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include <Python.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

static atomic_ulong bus_errors;
static size_t page_size;
static struct sigaction before; /* such as that of faulthandler, which prints a traceback */

/* Any other bus error is passed to the previous handler, which by default ends the process;
 * it is raised again, since no read would repeat one that was sent by `kill`. */
static void on_bus_error(int number, siginfo_t *info, void *context) {
    (void)context;
    int kept = errno;
    char *address = info->si_addr;
    char *page = address - ((uintptr_t)address & (page_size - 1));
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
    if (info->si_code != BUS_ADRERR ||
        mmap(page, page_size, PROT_READ | PROT_WRITE, flags, -1, 0) == MAP_FAILED) {
        sigaction(number, &before, NULL);
        raise(number);
    } else {
        atomic_fetch_add(&bus_errors, 1);
    }
    errno = kept;
}

static PyObject *guard(PyObject *module, PyObject *unused) {
    (void)module;
    (void)unused;
    page_size = (size_t)sysconf(_SC_PAGESIZE);
    struct sigaction action = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO};
    struct sigaction found;
    sigemptyset(&action.sa_mask);
    if (sigaction(SIGBUS, &action, &found)) return PyErr_SetFromErrno(PyExc_OSError);
    if (found.sa_sigaction != on_bus_error) before = found;
    Py_RETURN_NONE;
}

static PyObject *count(PyObject *module, PyObject *unused) {
    (void)module;
    (void)unused;
    return PyLong_FromUnsignedLong(atomic_load(&bus_errors));
}

static PyMethodDef methods[] = {
    {"guard", guard, METH_NOARGS, "Let bus errors of this process become zeros."},
    {"count", count, METH_NOARGS, "How many bus errors became zeros."},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {
#ifdef Py_GIL_DISABLED
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "gsym.server._bus_errors",
    .m_methods = methods,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__bus_errors(void) { return PyModuleDef_Init(&module); }
