/* What kind of file the program is, because that decides whether the agent can be loaded into it.
 * Only the started file is looked at: what a shell or launcher will start is not known yet. */
#include "cli/run/run.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { SCRIPTS = 4, HEAD_BYTES = 4096 };

static bool is_program(const char *path)
{
    struct stat s;
    return access(path, X_OK) == 0 && stat(path, &s) == 0 && S_ISREG(s.st_mode);
}

/* Finds the file that execvp would run. -1: none. */
static int find(const char *name, char *out, size_t n)
{
    const char *path = getenv("PATH");
    if (strchr(name, '/'))
        return (size_t)snprintf(out, n, "%s", name) < n && is_program(out) ? 0 : -1;
    for (const char *at = path ? path : "/bin:/usr/bin"; *at;) {
        size_t length = strcspn(at, ":");
        if ((size_t)snprintf(out, n, "%.*s/%s", (int)length, length ? at : ".", name) < n &&
            is_program(out))
            return 0;
        at += length + (at[length] == ':');
    }
    return -1;
}

/* Reads the start of a file. Returns the bytes read, 0 on failure. */
static size_t head(const char *path, char *to, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? read(fd, to, size) : -1;
    if (fd >= 0)
        close(fd);
    return got > 0 ? (size_t)got : 0;
}

/* Finds the program that runs a script: `#!/usr/bin/env NAME` or `#!/PATH`. -1: none. */
static int interpreter(const char *line, size_t n, char *out, size_t size)
{
    char first[256], word[128] = "", next[128] = "";
    snprintf(first, sizeof first, "%.*s", (int)(n < 255 ? n : 255), line);
    first[strcspn(first, "\n")] = 0;
    if (strncmp(first, "#!", 2) != 0 || sscanf(first + 2, "%127s %127s", word, next) < 1)
        return -1;
    const char *slash = strrchr(word, '/');
    bool env = slash && strcmp(slash, "/env") == 0 && next[0] && next[0] != '-';
    return find(env ? next : word, out, size);
}

/* Judges an ELF file by its header and by the loader that it names (PT_INTERP). Without one it is
 * linked statically. */
static enum program_kind classify(const char *bytes, size_t n)
{
    Elf64_Ehdr h;
    if (n < sizeof h || memcmp(bytes, ELFMAG, SELFMAG) != 0)
        return PROGRAM_PLAIN; /* no ELF file: execvp reports what is wrong */
    memcpy(&h, bytes, sizeof h);
#if defined(__x86_64__)
    const int machine = EM_X86_64;
#else
    const int machine = EM_AARCH64;
#endif
    if (h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_machine != machine)
        return PROGRAM_FOREIGN;
    for (unsigned i = 0; i < h.e_phnum; i++) {
        Elf64_Phdr p;
        uint64_t at = h.e_phoff + (uint64_t)i * sizeof p;
        if (at + sizeof p > n)
            return PROGRAM_PLAIN;
        memcpy(&p, bytes + at, sizeof p);
        if (p.p_type != PT_INTERP)
            continue;
        bool here = p.p_offset < n && p.p_filesz <= n - p.p_offset;
        return here && !memmem(bytes + p.p_offset, p.p_filesz, "/ld-linux", 9) ? PROGRAM_MUSL
                                                                               : PROGRAM_PLAIN;
    }
    return PROGRAM_STATIC;
}

/* True if the loader will run in secure mode, in which it preloads nothing of gpuprof. */
static bool privileged(const char *path)
{
    struct stat s;
    if (stat(path, &s) != 0)
        return false;
    bool user = (s.st_mode & S_ISUID) && s.st_uid != geteuid();
    bool group = (s.st_mode & S_ISGID) && (s.st_mode & S_IXGRP) && s.st_gid != getegid();
    bool capable = geteuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0;
    return user || group || capable;
}

bool program_is_there(const char *name)
{
    char path[PATH_MAX];
    return find(name, path, sizeof path) == 0;
}

bool program_enters_container(const char *name)
{
    static const char *const runtimes[] = {"apptainer", "singularity", "podman", "docker",
                                           "nerdctl",   "enroot",      "ch-run", "shifter"};
    const char *slash = strrchr(name, '/');
    for (size_t i = 0; i < sizeof runtimes / sizeof *runtimes; i++)
        if (strcmp(slash ? slash + 1 : name, runtimes[i]) == 0)
            return true;
    return false;
}

enum program_kind program_kind(const char *name)
{
    char path[PATH_MAX], bytes[HEAD_BYTES];
    if (find(name, path, sizeof path) != 0)
        return PROGRAM_PLAIN;
    for (int i = 0; i < SCRIPTS; i++) {
        size_t n = head(path, bytes, sizeof bytes);
        if (n >= 2 && memcmp(bytes, "#!", 2) == 0 && interpreter(bytes, n, path, sizeof path) == 0)
            continue;
        return privileged(path) ? PROGRAM_PRIVILEGED : classify(bytes, n);
    }
    return PROGRAM_PLAIN;
}

const char *program_lacks(const char *name)
{
    char path[PATH_MAX], bytes[256];
    size_t n = find(name, path, sizeof path) == 0 ? head(path, bytes, sizeof bytes - 1) : 0;
    bytes[n] = 0;
    if (strncmp(bytes, "#!", 2) != 0)
        return "no such program";
    return bytes[strcspn(bytes, "\r\n")] == '\r'
               ? "its lines end as on Windows, and no interpreter has a name with that end: sed -i "
                 "'s/\\r$//' FILE"
               : "the interpreter that its first line names is not there";
}

const char *program_says(enum program_kind kind)
{
    switch (kind) {
    case PROGRAM_STATIC:
        return "is statically linked: it runs as usual, and gpuprof records only the programs that "
               "it starts. Link it dynamically to record it";
    case PROGRAM_PRIVILEGED:
        return "runs with other rights than yours (set-user-ID or capabilities), so the system "
               "does not load the agent: it runs as usual, unrecorded. Put gpuprof run after it, "
               "as in `sudo gpuprof run ...`";
    case PROGRAM_FOREIGN:
        return "is a 32-bit program or one for another processor: it runs as usual, unrecorded";
    case PROGRAM_MUSL:
        return "uses a C library other than glibc, which cannot load the agent: it runs as usual, "
               "unrecorded";
    default:
        return NULL;
    }
}

bool program_takes_agent(enum program_kind kind)
{
    /* With the agent preloaded, those fail or complain. */
    return kind != PROGRAM_FOREIGN && kind != PROGRAM_MUSL;
}
