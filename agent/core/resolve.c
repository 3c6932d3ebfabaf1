/* Looks up symbols of other libraries: the only file that calls dlsym and dlopen. */
#include "agent/core/resolve.h"

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <string.h>

#include "agent/core/old_names.h"

OLD_NAME(dlsym);
OLD_NAME(dlopen);
OLD_NAME(dlclose);
OLD_NAME(dlerror);

void *resolve_open(const char *path, int flags)
{
    void *handle = dlopen(path, flags);
    if (!handle)
        dlerror(); /* clears the message: the program must not find our error in dlerror */
    return handle;
}

void *resolve_symbol(void *handle, const char *name)
{
    return handle ? dlsym(handle, name) : NULL;
}

void *resolve_next(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

void *resolve_global(const char *name)
{
    return dlsym(RTLD_DEFAULT, name);
}

void *resolve_loaded(const char *soname)
{
    return resolve_open(soname, RTLD_LAZY | RTLD_NOLOAD);
}

void resolve_close(void *handle)
{
    if (handle)
        dlclose(handle);
}

static bool begins(const struct dl_phdr_info *info, const char *stem)
{
    const char *slash = strrchr(info->dlpi_name, '/');
    return strncmp(slash ? slash + 1 : info->dlpi_name, stem, strlen(stem)) == 0;
}

struct search {
    const char *stem;
    char *path;
    size_t size;
    unsigned count;
};

static int match(struct dl_phdr_info *info, size_t bytes, void *arg)
{
    (void)bytes;
    const struct search *s = arg;
    if (!begins(info, s->stem) || strlen(info->dlpi_name) >= s->size)
        return 0;
    strcpy(s->path, info->dlpi_name);
    return 1;
}

int resolve_path(const char *stem, char *path, unsigned long size)
{
    struct search s = {stem, path, size, 0};
    return dl_iterate_phdr(match, &s) ? 0 : -1;
}

static int count(struct dl_phdr_info *info, size_t bytes, void *arg)
{
    (void)bytes;
    struct search *s = arg;
    s->count += begins(info, s->stem);
    return 0;
}

unsigned resolve_count(const char *stem)
{
    struct search s = {.stem = stem};
    dl_iterate_phdr(count, &s);
    return s.count;
}

struct place {
    unsigned long address;
    struct resolve_object *object;
};

static int holds(struct dl_phdr_info *info, size_t bytes, void *arg)
{
    (void)bytes;
    const struct place *p = arg;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *h = &info->dlpi_phdr[i];
        unsigned long low = info->dlpi_addr + h->p_vaddr;
        if (h->p_type != PT_LOAD || p->address < low || p->address >= low + h->p_memsz)
            continue;
        *p->object = (struct resolve_object){info->dlpi_name, low, low + h->p_memsz};
        return 1;
    }
    return 0;
}

bool resolve_object_of(const void *address, struct resolve_object *object)
{
    struct place p = {(unsigned long)address, object};
    return dl_iterate_phdr(holds, &p) != 0;
}

static int loads(struct dl_phdr_info *info, size_t bytes, void *arg)
{
    (void)bytes;
    *(unsigned long long *)arg = info->dlpi_adds;
    return 1;
}

unsigned long long resolve_loads(void)
{
    unsigned long long n = 0;
    dl_iterate_phdr(loads, &n);
    return n;
}
