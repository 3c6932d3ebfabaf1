/* Finds the interpreter of a process by /proc/PID/maps and the symbols of the mapped files. The
 * files may have been replaced, truncated, or be hostile: all that is read from them is bounded. */
#include "analyzer/pyframes/find.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Python's own tables take 300 KiB; a program that embeds it may export far more. */
enum { MOST_TABLE = 32 << 20, MOST_SECTIONS = 4096, MOST_SEGMENTS = 128, FILES = 8 };

/* Addresses of symbols in one ELF file, before relocation. */
struct symbols {
    uint64_t runtime, code_type, version;
};

static void *read_part(int fd, uint64_t offset, uint64_t size)
{
    void *part = size > 0 && size <= MOST_TABLE && offset <= INT64_MAX - size ? malloc(size) : NULL;
    if (part && pread(fd, part, size, (off_t)offset) == (ssize_t)size)
        return part;
    free(part);
    return NULL;
}

static void take_symbol(struct symbols *s, const char *name, uint64_t value)
{
    if (strcmp(name, "_PyRuntime") == 0)
        s->runtime = value;
    else if (strcmp(name, "PyCode_Type") == 0)
        s->code_type = value;
    else if (strcmp(name, "Py_Version") == 0)
        s->version = value;
}

static void read_symbols(int fd, const Elf64_Shdr *table, const Elf64_Shdr *names,
                         struct symbols *s)
{
    Elf64_Sym *symbol = read_part(fd, table->sh_offset, table->sh_size);
    char *text = read_part(fd, names->sh_offset, names->sh_size);
    if (text)
        text[names->sh_size - 1] = 0;
    for (uint64_t i = 0; symbol && text && i < table->sh_size / sizeof *symbol; i++)
        if (symbol[i].st_shndx != SHN_UNDEF && symbol[i].st_name < names->sh_size)
            take_symbol(s, text + symbol[i].st_name, symbol[i].st_value);
    free(symbol);
    free(text);
}

/* Reads the dynamic symbol table; the other one only if that does not contain the symbols. */
static void read_tables(int fd, const Elf64_Ehdr *head, struct symbols *s)
{
    static const uint32_t kinds[] = {SHT_DYNSYM, SHT_SYMTAB};
    size_t n = head->e_shnum;
    Elf64_Shdr *section = n && n <= MOST_SECTIONS && head->e_shentsize == sizeof *section
                              ? read_part(fd, head->e_shoff, n * sizeof *section)
                              : NULL;
    for (size_t k = 0; section && k < 2 && !s->runtime; k++)
        for (size_t i = 0; i < n; i++)
            if (section[i].sh_type == kinds[k] && section[i].sh_link < n)
                read_symbols(fd, &section[i], &section[section[i].sh_link], s);
    free(section);
}

/* *bias: what the loader added to the file's addresses, given that it mapped `offset`
 * of the file to `start`. */
static bool find_bias(int fd, const Elf64_Ehdr *head, uint64_t start, uint64_t offset,
                      uint64_t *bias)
{
    size_t n = head->e_phnum;
    uint64_t within = (uint64_t)sysconf(_SC_PAGESIZE) - 1;
    bool found = false;
    Elf64_Phdr *part = n && n <= MOST_SEGMENTS && head->e_phentsize == sizeof *part
                           ? read_part(fd, head->e_phoff, n * sizeof *part)
                           : NULL;
    for (size_t i = 0; part && i < n && !found; i++) {
        if (part[i].p_type != PT_LOAD || !(part[i].p_flags & PF_X) ||
            (part[i].p_offset & ~within) != offset)
            continue;
        *bias = start - (part[i].p_vaddr & ~within);
        found = true;
    }
    free(part);
    return found;
}

static int open_mapped(pid_t pid, const char *path)
{
    char inside[PATH_MAX + 32];
    struct stat st;
    snprintf(inside, sizeof inside, "/proc/%d/root%s", (int)pid, path);
    int fd = open(inside, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd >= 0 && (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))) {
        close(fd);
        return -1;
    }
    return fd;
}

static bool look_into(pid_t pid, const char *path, uint64_t start, uint64_t offset,
                      struct python_place *place)
{
    Elf64_Ehdr head;
    struct symbols s = {0};
    uint64_t bias;
    int fd = open_mapped(pid, path);
    if (fd < 0)
        return false;
    bool is_elf = pread(fd, &head, sizeof head, 0) == (ssize_t)sizeof head &&
                  memcmp(head.e_ident, ELFMAG, SELFMAG) == 0 &&
                  head.e_ident[EI_CLASS] == ELFCLASS64;
    if (is_elf)
        read_tables(fd, &head, &s);
    bool found = s.runtime && s.code_type && find_bias(fd, &head, start, offset, &bias);
    close(fd);
    if (!found)
        return false;
    place->runtime = s.runtime + bias;
    place->code_type = s.code_type + bias;
    place->version = s.version ? s.version + bias : 0;
    return true;
}

/* The minor version in the name of a file: 9 for "libpython3.9.so.1.0", "python3.9" and
 * "_ssl.cpython-39-x86_64-linux-gnu.so"; 0: none. */
static int minor_of(const char *path)
{
    static const char *const before[] = {"python3.", "cpython-3"};
    for (size_t i = 0; i < 2; i++) {
        const char *at = strstr(path, before[i]);
        int minor = at ? atoi(at + strlen(before[i])) : 0;
        if (minor > 0)
            return minor;
    }
    return 0;
}

/* Parses a line of maps. True if it maps a file with code. */
static bool parse(char *line, uint64_t *start, uint64_t *offset, char **path)
{
    unsigned long long from, at;
    char rights[8];
    int name = 0;
    line[strcspn(line, "\n")] = 0;
    if (sscanf(line, "%llx-%*x %7s %llx %*s %*s %n", &from, rights, &at, &name) < 3 || !name ||
        line[name] != '/')
        return false;
    *start = from;
    *offset = at;
    *path = line + name;
    return rights[2] == 'x';
}

/* False for files that cannot be the interpreter, such as extension modules
 * (_ssl.cpython-311-....so). The program itself may be Python under any name. */
static bool may_be_python(const char *base, bool is_program)
{
    return is_program || strncmp(base, "python", 6) == 0 || strncmp(base, "libpython", 9) == 0;
}

enum python_found python_find(pid_t pid, struct python_place *place)
{
    char name[64], line[PATH_MAX + 128], program[PATH_MAX] = "", *path;
    uint64_t start, offset;
    int looks = 0, minor = 0;
    bool found = false;
    *place = (struct python_place){0};
    snprintf(name, sizeof name, "/proc/%d/exe", (int)pid);
    ssize_t n = readlink(name, program, sizeof program - 1);
    program[n > 0 ? n : 0] = 0;
    snprintf(name, sizeof name, "/proc/%d/maps", (int)pid);
    FILE *f = fopen(name, "re");
    if (!f)
        return errno == EACCES || errno == EPERM ? PYTHON_FORBIDDEN : PYTHON_NONE;
    while (fgets(line, sizeof line, f)) {
        if (!parse(line, &start, &offset, &path))
            continue;
        const char *base = strrchr(path, '/') + 1;
        if (!minor)
            minor = minor_of(base);
        if (!found && looks < FILES && may_be_python(base, strcmp(path, program) == 0)) {
            looks++;
            found = look_into(pid, path, start, offset, place);
        }
    }
    bool refused = ferror(f) && (errno == EACCES || errno == EPERM);
    fclose(f);
    place->minor = minor;
    return found ? PYTHON_FOUND : refused ? PYTHON_FORBIDDEN : PYTHON_NONE;
}
