/* Finds the layout of an interpreter in another process (wire/python_layout.h). */
#ifndef GPUPROF_PYFRAMES_LAYOUT_H
#define GPUPROF_PYFRAMES_LAYOUT_H

#include "analyzer/pyframes/find.h"
#include "analyzer/pyframes/memory.h"
#include "wire/python_layout.h"

/* Finds the layout of the interpreter at `place`. Python 3.13 and later describe it in their own
 * memory; for earlier versions it is known by version. */
enum layout_result layout_find(struct memory *m, const struct python_place *place,
                               struct python_layout *layout);

#endif
