/* Finds the layout of an interpreter in another process (wire/python_layout.h). */
#ifndef GPUPROF_PYFRAMES_LAYOUT_H
#define GPUPROF_PYFRAMES_LAYOUT_H

#include "analyzer/pyframes/find.h"
#include "analyzer/pyframes/memory.h"
#include "wire/python_layout.h"

/* For the interpreter at `place`: the layout that it states itself (3.13 and later),
 * or that of its version. */
enum layout_result layout_find(struct memory *m, const struct python_place *place,
                               struct python_layout *layout);

#endif
