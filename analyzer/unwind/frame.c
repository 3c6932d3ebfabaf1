/* Names a frame of a stack, and decides whether it is the program's own. */
#ifdef GPUPROF_LIBDW
#include "analyzer/unwind/frame.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { UNITS = 1 << 16 }; /* most compilation units searched */

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* True for files of gpuprof, CUDA and the system: their code is not the user's. */
static bool is_system(const char *path)
{
    static const char *const stems[] = {"libgpuprof",  "libvgpu",     "libcuda",  "libcupti",
                                        "libcublas",   "libcudnn",    "libcufft", "libcurand",
                                        "libcusolver", "libcusparse", "libnccl",  "libnv",
                                        "libc.so",     "libc-",       "libm.so",  "libm-",
                                        "libpthread",  "librt",       "libdl",    "ld-linux",
                                        "libstdc++",   "libgcc_s",    "libc++",   "libgomp",
                                        "libmpi",      "libopen-",    "["};
    for (size_t i = 0; i < sizeof stems / sizeof *stems; i++)
        if (begins(base_of(path), stems[i]))
            return true;
    return false;
}

/* True for CUDA's own functions, which a program with a static runtime contains: cudaMemcpy,
 * cuMemcpyHtoD_v2, __cudart123, cudart::..., libcudart_static_0123abcd. */
static bool is_runtime(const char *function)
{
    const char *upper = begins(function, "cuda") ? function + 4
                        : begins(function, "cu") ? function + 2
                                                 : "";
    return (*upper >= 'A' && *upper <= 'Z') || begins(function, "__cuda") ||
           begins(function, "_ZN6cudart") || begins(function, "libcudart_static");
}

/* True for headers of CUDA, the compiler and its libraries: code inlined from
 * them is not the program's. */
static bool is_header(const char *file)
{
    if (begins(file, "/usr/include/") || begins(file, "/usr/lib/") || strstr(file, "/include/c++/"))
        return true;
    const char *base = base_of(file), *dot = strrchr(base, '.');
    return dot && dot[1] == 'h' && begins(base, "cuda_");
}

/* _ZN7Trainer4stepEi becomes Trainer::step, and _Z4stepi becomes step. Names with other parts
 * (templates, constructors) stay mangled. */
static void unmangle(const char *name, char *text, size_t size)
{
    const char *at = name + 2;
    size_t used = 0;
    bool nested = begins(name, "_ZN"), whole = false;
    for (at += nested; begins(name, "_Z") && !whole;) {
        char *end;
        at += nested && used == 0 ? strspn(at, "KVr") : 0;
        size_t n = *at >= '1' && *at <= '9' ? strtoul(at, &end, 10) : 0;
        if (n == 0 || n > strlen(end) || used + n + 3 > size)
            break;
        if (!begins(end, "_GLOBAL__N_")) /* an anonymous namespace is left out */
            used +=
                (size_t)snprintf(text + used, size - used, "%s%.*s", used ? "::" : "", (int)n, end);
        at = end + n;
        whole = !nested || *at == 'E';
    }
    if (!whole || *at == 'I' || used == 0)
        snprintf(text, size, "%s", name);
}

/* Writes the function's name from its debug information, with classes and namespaces from
 * the symbol if they match. */
static void name_function(const char *own, const char *symbol, char *text, size_t size)
{
    unmangle(symbol ? symbol : "", text, size);
    size_t n = strlen(text), m = own ? strlen(own) : 0;
    bool same =
        m && n > m + 2 && strcmp(text + n - m, own) == 0 && strncmp(text + n - m - 2, "::", 2) == 0;
    if (own && !same)
        snprintf(text, size, "%s", own);
    else if (!n)
        snprintf(text, size, "?");
}

/* ---- with debug information ---- */

struct where {
    const char *file, *function;
    unsigned line;
};

/* Looks from the inlined functions outward for a place that is not in a header. False: even the
 * function itself is in one. */
static bool look_outward(const struct libdw *d, Dwarf_Die *unit, Dwarf_Die *scopes, int n,
                         struct where *w)
{
    Dwarf_Files *files = NULL;
    if (d->dwarf_getsrcfiles(unit, &files, NULL) != 0)
        files = NULL;
    for (int i = 0; i < n; i++) {
        int tag = d->dwarf_tag(&scopes[i]);
        if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_subprogram)
            continue;
        w->function = d->dwarf_diename(&scopes[i]);
        if (!is_header(w->file) || tag == DW_TAG_subprogram)
            return !is_header(w->file);
        Dwarf_Attribute attribute;
        Dwarf_Word file = 0, line = 0;
        if (d->dwarf_formudata(d->dwarf_attr(&scopes[i], DW_AT_call_file, &attribute), &file) !=
                0 ||
            d->dwarf_formudata(d->dwarf_attr(&scopes[i], DW_AT_call_line, &attribute), &line) !=
                0 ||
            !files)
            return false;
        const char *name = d->dwarf_filesrc(files, file, NULL, NULL);
        if (!name)
            return false;
        w->file = name;
        w->line = (unsigned)line;
    }
    return !is_header(w->file);
}

/* The compilation unit of the address. Only gcc writes an index of addresses, so the units
 * may have to be searched. */
static Dwarf_Die *find_unit(const struct libdw *d, Dwfl_Module *m, Dwarf_Addr pc, Dwarf_Addr *bias)
{
    Dwarf_Die *unit = d->dwfl_module_addrdie(m, pc, bias), *next = NULL;
    for (int i = 0; !unit && i < UNITS; i++) {
        if (!(next = d->dwfl_module_nextcu(m, next, bias)))
            return NULL;
        if (d->dwarf_haspc(next, pc - *bias) == 1)
            unit = next;
    }
    return unit;
}

/* 1: found; 0: no line information here; -1: the code belongs to a header. */
static int look_up(const struct libdw *d, Dwfl_Module *m, Dwarf_Addr pc, struct where *w)
{
    int line = 0;
    Dwarf_Addr bias = 0;
    Dwarf_Die *unit = find_unit(d, m, pc, &bias), *inner = NULL, *scopes = NULL;
    Dwarf_Line *found = unit ? d->dwarf_getsrc_die(unit, pc - bias) : NULL;
    w->file = found ? d->dwarf_linesrc(found, NULL, NULL) : NULL;
    if (!w->file || d->dwarf_lineno(found, &line) != 0 || line <= 0)
        return 0;
    w->line = (unsigned)line;
    int rc = 1;
    if (d->dwarf_getscopes(unit, pc - bias, &inner) > 0) {
        int n = d->dwarf_getscopes_die(&inner[0], &scopes);
        rc = n <= 0 || look_outward(d, unit, scopes, n, w) ? 1 : -1;
    }
    free(scopes);
    free(inner);
    return rc;
}

/* ---- any frame ---- */

bool frame_place(const struct libdw *d, Dwfl_Module *m, Dwarf_Addr pc, char *text, size_t size)
{
    Dwarf_Addr start = 0;
    const char *path = d->dwfl_module_info(m, NULL, &start, NULL, NULL, NULL, NULL, NULL);
    if (!path || is_system(path))
        return false;
    GElf_Sym symbol;
    GElf_Off offset = 0;
    const char *function = d->dwfl_module_addrinfo(m, pc, &offset, &symbol, NULL, NULL, NULL);
    if (function && is_runtime(function))
        return false;
    struct where w = {0};
    int known = look_up(d, m, pc, &w);
    char name[256];
    if (known < 0)
        return false;
    if (known) {
        name_function(w.function, function, name, sizeof name);
        snprintf(text, size, "%s:%u (%s)", base_of(w.file), w.line, name);
    } else if (function) {
        unmangle(function, name, sizeof name);
        snprintf(text, size, "%s+0x%llx (%s)", name, (unsigned long long)offset, base_of(path));
    } else {
        snprintf(text, size, "%s+0x%llx", base_of(path), (unsigned long long)(pc - start));
    }
    return true;
}
#else
typedef int frame_is_not_built;
#endif
