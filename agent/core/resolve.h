/* Symbols of other libraries. resolve.c is the only file that calls dlsym and dlopen. */
#ifndef GPUPROF_AGENT_CORE_RESOLVE_H
#define GPUPROF_AGENT_CORE_RESOLVE_H

#include <stdbool.h>

void *resolve_open(const char *path, int flags); /* dlopen; leaves no message in dlerror */
void *resolve_symbol(void *handle, const char *name);
void *resolve_next(const char *name);   /* the next one after the agent in search order, or NULL */
void *resolve_global(const char *name); /* the first one in search order, the agent's included */

/* A library that the process has already loaded (this never loads one), or NULL. It stays loaded
 * until resolve_close: call its functions only before that. */
void *resolve_loaded(const char *soname);
void resolve_close(void *handle);
/* Writes the path of the first loaded library whose file name starts with `stem`. -1: there is
 * none. */
int resolve_path(const char *stem, char *path, unsigned long size);
/* Finds the loaded object that holds the function at `address`. False: there is none. */
struct resolve_object {
    const char *path; /* the loader's memory; "" is the program itself */
    unsigned long low, high;
};
bool resolve_object_of(const void *address, struct resolve_object *object);
/* How many loaded libraries have a file name that starts with `stem`. */
unsigned resolve_count(const char *stem);
/* A count that changes whenever a library is loaded. */
unsigned long long resolve_loads(void);

#endif
