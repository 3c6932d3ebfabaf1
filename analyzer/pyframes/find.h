/* Finds Python in a running process: the addresses of three symbols of the interpreter, from the
 * mapped ELF file (the program itself, or libpython). Runs no code in the process. */
#ifndef GPUPROF_PYFRAMES_FIND_H
#define GPUPROF_PYFRAMES_FIND_H

#include <stdint.h>
#include <sys/types.h>

struct python_place {
    uint64_t runtime;   /* &_PyRuntime */
    uint64_t code_type; /* &PyCode_Type */
    uint64_t version;   /* &Py_Version, since Python 3.11; 0 = it does not exist */
    int minor;          /* 9 for Python 3.9, from the names of mapped files; 0 = not known */
};

enum python_found {
    PYTHON_FOUND,
    PYTHON_NONE,     /* the process maps no interpreter now, or has ended */
    PYTHON_FORBIDDEN /* the kernel does not show its mappings */
};
enum python_found python_find(pid_t pid, struct python_place *place);

#endif
