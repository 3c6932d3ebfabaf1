/* Opens libdw, and fills the table of its functions. */
#ifdef GPUPROF_LIBDW
#include "analyzer/unwind/libdw.h"

#include <dlfcn.h>
#include <string.h>

const struct libdw *libdw(void)
{
    static struct libdw table;
    static enum { UNTRIED, THERE, NOT_THERE } state;
    if (state != UNTRIED)
        return state == THERE ? &table : NULL;
    void *handle = dlopen("libdw.so.1", RTLD_LAZY | RTLD_LOCAL), *symbol;
    state = NOT_THERE;
    if (!handle)
        return NULL;
#define X(name)                                                                                    \
    if (!(symbol = dlsym(handle, #name)))                                                          \
        return NULL;                                                                               \
    memcpy(&table.name, &symbol, sizeof symbol);
    LIBDW_FUNCTIONS(X)
#undef X
    state = THERE;
    return &table;
}
#else
typedef int libdw_is_not_built;
#endif
