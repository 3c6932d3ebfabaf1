/* Variables of an image. In a cubin they are symbols; in PTX they are declared outside of
 * functions: `.visible .global .attribute(.managed) .align 4 .b8 name[64] = {...};`. */
#include "code/image.h"
#include "ptx/fatbin.h"

#include <ctype.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>

enum { STO_CUDA_MANAGED = 4 };

static bool cubin_variable(const char *image, const char *name, struct vg_variable *out)
{
    const Elf64_Ehdr *e = (const Elf64_Ehdr *)(const void *)image;
    const Elf64_Shdr *all = (const Elf64_Shdr *)(const void *)(image + e->e_shoff);
    for (int i = 0; i < e->e_shnum; i++) {
        if (all[i].sh_type != SHT_SYMTAB || all[i].sh_link >= e->e_shnum)
            continue;
        const Elf64_Sym *sym = (const Elf64_Sym *)(const void *)(image + all[i].sh_offset);
        const char *names = image + all[all[i].sh_link].sh_offset;
        for (size_t n = all[i].sh_size / sizeof *sym; n > 0; n--, sym++)
            if (ELF64_ST_TYPE(sym->st_info) == STT_OBJECT && sym->st_shndx != SHN_UNDEF &&
                strcmp(names + sym->st_name, name) == 0) {
                *out = (struct vg_variable){sym->st_size, sym->st_other & STO_CUDA_MANAGED};
                return true;
            }
    }
    return false;
}

static bool in_name(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$';
}

static bool holds(const char *from, const char *to, const char *word)
{
    size_t n = strlen(word);
    for (; to - from >= (long)n; from++)
        if (memcmp(from, word, n) == 0 && !in_name(from[n]))
            return true;
    return false;
}

/* Bytes of a type such as `.v4 .f32`, whose last letter is before `end`; 0: no such type. */
static size_t type_bytes(const char *from, const char *end)
{
    size_t bits = 0, lanes = holds(from, end, ".v4") ? 4 : holds(from, end, ".v2") ? 2 : 1;
    const char *s = end;
    while (s > from && *s != '.')
        s--;
    if (*s == '.' && strchr("bsuf", s[1]))
        bits = strtoul(s + 2, NULL, 10);
    return bits / 8 * lanes;
}

/* True if `name` is declared by the declaration that begins at `from`; `[3][4]` may follow the
 * name. */
static bool declared(const char *from, const char *name, size_t length, struct vg_variable *out)
{
    const char *end = name, *s = name + length;
    while (end > from && isspace((unsigned char)end[-1]))
        end--;
    size_t bytes = end > from ? type_bytes(from, end - 1) : 0;
    if (bytes == 0 || holds(from, name, ".extern") ||
        (!holds(from, name, ".global") && !holds(from, name, ".const")))
        return false;
    for (; *s == '[' || isspace((unsigned char)*s); s++)
        if (*s == '[') {
            bytes *= strtoul(s + 1, NULL, 0);
            s += strcspn(s, "]");
            if (!*s)
                return false;
        }
    *out = (struct vg_variable){bytes, holds(from, name, ".managed")};
    return bytes > 0 && (*s == ';' || *s == '=');
}

static bool ptx_variable(const char *text, const char *name, struct vg_variable *out)
{
    const char *from = text;
    size_t n = strlen(name);
    for (const char *s = text; *s && n > 0; s++) {
        if (*s == ';' || *s == '{' || *s == '}')
            from = s + 1;
        else if (s > text && !in_name(s[-1]) && s[-1] != '.' && s[-1] != '%' &&
                 strncmp(s, name, n) == 0 && !in_name(s[n]) && declared(from, s, n, out))
            return true;
    }
    return false;
}

enum vg_found vg_image_variable(const void *image, const char *name, struct vg_variable *out)
{
    bool opaque = false, found = false;
    struct fat_entry e;
    if (!vg_image_is_fat(image)) {
        bool elf = memcmp(image, ELFMAG, SELFMAG) == 0;
        found = elf ? cubin_variable(image, name, out) : ptx_variable(image, name, out);
        return found ? VG_FOUND : VG_NOT_THERE;
    }
    for (struct fat_walk w = fat_walk(image); !found && fat_next(&w, &e);) {
        char *data = fat_unpack(&e);
        opaque |= !data;
        if (data && e.kind == FAT_CUBIN && memcmp(data, ELFMAG, SELFMAG) == 0)
            found = cubin_variable(data, name, out);
        else if (data && e.kind == FAT_PTX)
            found = ptx_variable(data, name, out);
        free(data);
    }
    return found ? VG_FOUND : opaque ? VG_CANNOT_TELL : VG_NOT_THERE;
}
