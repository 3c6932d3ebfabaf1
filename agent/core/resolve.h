/* Symbols of other libraries. The only file that calls dlsym and dlopen, bound to the versions that
 * every glibc since 2.2.5 has, so that the agent loads on systems older than the one it was built
 * on. */
#ifndef GPUPROF_AGENT_CORE_RESOLVE_H
#define GPUPROF_AGENT_CORE_RESOLVE_H

#include <stdbool.h>

void *resolve_open(const char *path, int flags); /* dlopen */
void *resolve_symbol(void *handle, const char *name);
void *resolve_next(const char *name);   /* the next one after us in search order, or NULL */
void *resolve_global(const char *name); /* the first one in search order, ours included */

/* A library that the process has loaded (never loads one). NULL: not there. It stays loaded until
 * resolve_close: keep it open while its functions may be called. */
void *resolve_loaded(const char *soname);
void resolve_close(void *handle);
/* The path of a loaded library whose file name starts with `stem`. -1: none. */
int resolve_path(const char *stem, char *path, unsigned long size);
/* The loaded object that holds `address`, a function of it. False: none does. */
struct resolve_object {
    const char *path; /* of the loader; "" is the program itself */
    unsigned long low, high;
};
bool resolve_object_of(const void *address, struct resolve_object *object);
/* How many loaded libraries have a file name that starts with `stem`. */
unsigned resolve_count(const char *stem);
/* Changes whenever a library is loaded. */
unsigned long long resolve_loads(void);

#endif
