/* Where a running process has its Python: the addresses of three symbols of the interpreter, from
 * the ELF file that is mapped (the program itself, or libpython). Nothing runs in the process. */
#ifndef GPUPROF_PYFRAMES_FIND_H
#define GPUPROF_PYFRAMES_FIND_H

#include <stdint.h>
#include <sys/types.h>

struct python_place {
    uint64_t runtime;   /* &_PyRuntime */
    uint64_t code_type; /* &PyCode_Type */
    uint64_t version;   /* &Py_Version, which 3.11 and later have; 0 = it is not there */
    int minor;          /* 9 for 3.9, by the names of mapped files; 0 = they do not tell */
};

enum python_found {
    PYTHON_FOUND,
    PYTHON_NONE,     /* the process maps no interpreter now, or has ended */
    PYTHON_FORBIDDEN /* the kernel does not show what it maps */
};
enum python_found python_find(pid_t pid, struct python_place *place);

#endif
