/* Reads an object's ELF file: which symbols it defines and which functions it imports. */
#include "reach/reach.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const Elf64_Ehdr *header(const struct image *m)
{
    return (const Elf64_Ehdr *)(const void *)m->bytes;
}

int image_open(struct image *m, const char *path)
{
    struct stat st;
    *m = (struct image){0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && fstat(fd, &st) == 0 && (size_t)st.st_size > sizeof(Elf64_Ehdr)) {
        void *at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (at != MAP_FAILED)
            *m = (struct image){at, (size_t)st.st_size};
    }
    if (fd >= 0)
        close(fd);
    if (!m->bytes)
        return -1;
    const Elf64_Ehdr *h = header(m);
    if (memcmp(m->bytes, ELFMAG, SELFMAG) == 0 && h->e_ident[EI_CLASS] == ELFCLASS64 &&
        h->e_shentsize == sizeof(Elf64_Shdr) && h->e_shoff % 8 == 0 && h->e_shoff < m->size &&
        h->e_shnum <= (m->size - h->e_shoff) / sizeof(Elf64_Shdr) && h->e_shstrndx < h->e_shnum)
        return 0;
    image_close(m);
    return -1;
}

void image_close(struct image *m)
{
    if (m->bytes)
        munmap((void *)(uintptr_t)m->bytes, m->size);
    *m = (struct image){0};
}

static const Elf64_Shdr *section(const struct image *m, size_t i)
{
    const Elf64_Ehdr *h = header(m);
    return i < h->e_shnum ? (const Elf64_Shdr *)(const void *)(m->bytes + h->e_shoff) + i : NULL;
}

/* The text at offset `at` of a string table; "" if the file is damaged. */
static const char *text(const struct image *m, const Elf64_Shdr *table, uint64_t at)
{
    if (!table || table->sh_offset > m->size || table->sh_size > m->size - table->sh_offset ||
        at >= table->sh_size)
        return "";
    const char *s = (const char *)m->bytes + table->sh_offset + at;
    return memchr(s, 0, table->sh_size - at) ? s : "";
}

bool image_has_section(const struct image *m, const char *name)
{
    const Elf64_Ehdr *h = header(m);
    for (size_t i = 0; i < h->e_shnum; i++)
        if (strcmp(text(m, section(m, h->e_shstrndx), section(m, i)->sh_name), name) == 0)
            return true;
    return false;
}

/* Calls `each` for the symbols of one kind of table, until it returns true. Returns whether it
 * did. */
static bool symbols(const struct image *m, uint32_t type,
                    bool (*each)(void *arg, const char *name, const Elf64_Sym *s), void *arg)
{
    for (size_t i = 0; i < header(m)->e_shnum; i++) {
        const Elf64_Shdr *t = section(m, i);
        if (t->sh_type != type || t->sh_offset > m->size || t->sh_size > m->size - t->sh_offset ||
            t->sh_offset % 8 != 0)
            continue;
        const Elf64_Sym *s = (const Elf64_Sym *)(const void *)(m->bytes + t->sh_offset);
        for (size_t k = 0; k < t->sh_size / sizeof *s; k++)
            if (each(arg, text(m, section(m, t->sh_link), s[k].st_name), &s[k]))
                return true;
    }
    return false;
}

static bool is_function(const Elf64_Sym *s)
{
    return s->st_shndx != SHN_UNDEF && ELF64_ST_TYPE(s->st_info) == STT_FUNC;
}

struct question {
    const char *name;
    bool defined;
};

static bool is_named(void *arg, const char *name, const Elf64_Sym *s)
{
    const struct question *q = arg;
    return strcmp(name, q->name) == 0 && (!q->defined || is_function(s));
}

bool image_has_symbol(const struct image *m, const char *name, bool defined)
{
    struct question q = {name, defined};
    return symbols(m, SHT_SYMTAB, is_named, &q) || symbols(m, SHT_DYNSYM, is_named, &q);
}

static bool is_import(void *arg, const char *name, const Elf64_Sym *s)
{
    const char *prefix = arg;
    size_t n = strlen(prefix);
    return s->st_shndx == SHN_UNDEF && strncmp(name, prefix, n) == 0 && name[n] >= 'A' &&
           name[n] <= 'Z';
}

bool image_imports(const struct image *m, char *prefix)
{
    return symbols(m, SHT_DYNSYM, is_import, prefix);
}

struct visit {
    void (*each)(void *arg, const char *name, uint64_t at);
    void *arg;
};

static bool visit(void *arg, const char *name, const Elf64_Sym *s)
{
    const struct visit *v = arg;
    if (is_function(s))
        v->each(v->arg, name, s->st_value);
    return false;
}

void image_functions(const struct image *m, void (*each)(void *arg, const char *name, uint64_t at),
                     void *arg)
{
    struct visit v = {each, arg};
    symbols(m, SHT_SYMTAB, visit, &v);
    symbols(m, SHT_DYNSYM, visit,
            &v); /* the only table of a stripped library; writing the same jump twice is harmless */
}
