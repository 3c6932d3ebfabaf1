/* Restricts by the kernel what a process that reads foreign files may do: Landlock's rules for
 * files, and a filter of system calls. */
#include "cli/load/confine.h"

#include "analyzer/import/import.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- files: names from linux/landlock.h, which older systems lack ---- */

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule       445
#define SYS_landlock_restrict_self  446
#endif

enum {
    CREATE_RULESET_VERSION = 1, /* a flag: return the version that the kernel has */
    RULE_PATH_BENEATH = 1,
};
enum access_fs {
    EXECUTE = 1 << 0,
    WRITE_FILE = 1 << 1,
    READ_FILE = 1 << 2,
    READ_DIR = 1 << 3,
    REMOVE_DIR = 1 << 4,
    REMOVE_FILE = 1 << 5,
    MAKE_DIR = 1 << 7,
    MAKE_REG = 1 << 8,
    FIRST_VERSION = (1 << 13) - 1, /* all rights of the first version */
    REFER = 1 << 13,               /* since the second version: links and moves between folders */
    TRUNCATE = 1 << 14,            /* since the third version */
    OF_A_FILE = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE,
    READ = READ_FILE | READ_DIR,
    WRITE = READ | WRITE_FILE | TRUNCATE | REMOVE_FILE | MAKE_DIR | MAKE_REG,
};

struct ruleset_attr {
    uint64_t handled_access_fs;
};

struct path_beneath_attr {
    uint64_t allowed_access;
    int32_t parent_fd;
} __attribute__((packed));

struct rules {
    int fd;
    uint64_t handled; /* rights that this kernel's version knows */
};

/* Grants `access` to a file, or to all files below a folder. */
static void grant(const struct rules *r, const char *path, uint64_t access)
{
    struct stat st;
    int fd = open(path, O_PATH | O_CLOEXEC);
    if (fd < 0)
        return;
    if (fstat(fd, &st) == 0) {
        if (!S_ISDIR(st.st_mode))
            access &= OF_A_FILE;
        struct path_beneath_attr rule = {access & r->handled, fd};
        syscall(SYS_landlock_add_rule, r->fd, RULE_PATH_BENEATH, &rule, 0);
    }
    close(fd);
}

static void grant_folder_of(const struct rules *r, const char *path, uint64_t access)
{
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/') /* a folder that does not exist yet */
        n--;
    const char *slash = memrchr(path, '/', n);
    char folder[PATH_MAX];
    if (!slash)
        snprintf(folder, sizeof folder, ".");
    else
        snprintf(folder, sizeof folder, "%.*s", slash == path ? 1 : (int)(slash - path), path);
    grant(r, folder, access);
}

/* Grants the recordings in a folder, as the importers list them, because links in it lead
 * elsewhere. */
static void grant_recordings(const struct rules *r, const char *folder)
{
    struct import_files files;
    struct err unused = ERR_INIT;
    if (import_list(&folder, 1, &files, &unused) < 0)
        return;
    for (size_t i = 0; i < files.n; i++)
        grant(r, files.at[i], READ);
    import_list_release(&files);
}

/* If a profile's writer was killed, SQLite repairs it from its journal, and that needs writing. If
 * the profile does not exist, it may be in the making, which the files beside it show. */
static void grant_input(const struct rules *r, const char *path)
{
    char journal[PATH_MAX];
    struct stat st;
    int n = snprintf(journal, sizeof journal, "%s-journal", path);
    grant(r, path, READ);
    if (stat(path, &st) != 0)
        grant_folder_of(r, path, READ);
    else if (S_ISDIR(st.st_mode))
        grant_recordings(r, path);
    else if (n > 0 && (size_t)n < sizeof journal && access(journal, F_OK) == 0)
        grant_folder_of(r, path, WRITE);
}

/* What the C library, SQLite and zlib open by themselves. No folder in which users keep files. */
static void grant_system(const struct rules *r)
{
    static const char *const read[] = {
        "/usr",           "/lib",          "/lib64",
        "/etc/localtime", "/proc/meminfo", "/etc/ld.so.cache",
        "/proc/cpuinfo",  "/proc/self",    "/sys/devices/system/cpu"};
    static const char *const write[] = {"/dev/null", "/dev/tty", "/dev/full"};
    for (size_t i = 0; i < sizeof read / sizeof *read; i++)
        grant(r, read[i], READ);
    for (size_t i = 0; i < sizeof write / sizeof *write; i++)
        grant(r, write[i], READ_FILE | WRITE_FILE);
}

/* ---- temporary files for what does not fit into memory ---- */

static char own_folder[PATH_MAX];
static pid_t own_pid;

static void remove_own_folder(void)
{
    if (getpid() == own_pid) /* false in a forked process */
        rmdir(own_folder);
}

static void remove_and_die(int sig)
{
    remove_own_folder();
    raise(sig); /* kills, because SA_RESETHAND restored the default */
}

/* $TMPDIR also holds files of others, so this process makes a folder of its own there and points
 * TMPDIR to it. The folder is removed at the end, except after SIGKILL. */
static void grant_temporary(const struct rules *r)
{
    const char *set = getenv("TMPDIR"), *folder = set && *set ? set : "/tmp";
    int n = snprintf(own_folder, sizeof own_folder, "%s/gpuprof-XXXXXX", folder);
    if (n < 0 || (size_t)n >= sizeof own_folder || !mkdtemp(own_folder))
        return; /* no temporary file can be written then */
    grant(r, folder, REMOVE_DIR);
    grant(r, own_folder, WRITE);
    setenv("TMPDIR", own_folder, 1);
    own_pid = getpid();
    atexit(remove_own_folder);
    static const int deadly[] = {SIGHUP, SIGINT, SIGTERM, SIGPIPE};
    for (size_t i = 0; i < sizeof deadly / sizeof *deadly; i++) {
        struct sigaction before,
            own = {.sa_handler = remove_and_die, .sa_flags = SA_RESETHAND | SA_NODEFER};
        if (sigaction(deadly[i], NULL, &before) == 0 && before.sa_handler == SIG_DFL)
            sigaction(deadly[i], &own, NULL);
    }
}

static void guard_files(const struct confined *to)
{
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0, CREATE_RULESET_VERSION);
    struct rules r = {.fd = -1, .handled = FIRST_VERSION};
    if (version < 1)
        return;
    r.handled |= (version >= 2 ? REFER : 0) | (version >= 3 ? TRUNCATE : 0);
    struct ruleset_attr attr = {r.handled};
    r.fd = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof attr, 0);
    if (r.fd < 0)
        return;
    grant_system(&r);
    grant_temporary(&r);
    for (size_t i = 0; i < to->count; i++)
        grant_input(&r, to->inputs[i]);
    for (size_t i = 0; i < sizeof to->also / sizeof *to->also; i++)
        if (to->also[i])
            grant_input(&r, to->also[i]);
    for (size_t i = 0; i < sizeof to->outputs / sizeof *to->outputs; i++) {
        if (!to->outputs[i])
            continue;
        grant_folder_of(&r, to->outputs[i], WRITE);
        grant(&r, to->outputs[i], WRITE);
    }
    syscall(SYS_landlock_restrict_self, r.fd, 0);
    close(r.fd);
}

/* ---- system calls ---- */

#if defined(__x86_64__)
enum { THIS_MACHINE = AUDIT_ARCH_X86_64, OTHER_CALLS = 0x40000000 /* of the x32 interface */ };
#elif defined(__aarch64__)
enum { THIS_MACHINE = AUDIT_ARCH_AARCH64, OTHER_CALLS = INT_MAX };
#endif

#ifndef __has_feature /* clang's counterpart of __SANITIZE_ADDRESS__ */
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
enum { LOOKS_AT_ITSELF = true }; /* its search for leaks stops the threads by ptrace */
#else
enum { LOOKS_AT_ITSELF = false };
#endif

/* Calls that no reader needs: starting programs, networks, other processes, changes of the
 * kernel. */
static const int refused[] = {
    SYS_ptrace,
    SYS_execve,
    SYS_execveat,
    SYS_socket,
    SYS_connect,
    SYS_bind,
    SYS_listen,
    SYS_accept,
    SYS_accept4,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_pidfd_open,
    SYS_perf_event_open,
    SYS_bpf,
    SYS_keyctl,
    SYS_add_key,
    SYS_request_key,
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    SYS_setns,
    SYS_unshare,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_kexec_load,
    SYS_reboot,
    SYS_open_by_handle_at,
    SYS_userfaultfd,
    425 /* io_uring_setup */,
};
enum { REFUSED = sizeof refused / sizeof *refused };

static void guard_calls(void)
{
    struct sock_filter rules[REFUSED + 8];
    unsigned n = 0;
    rules[n++] =
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch));
    rules[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, THIS_MACHINE, 1, 0);
    rules[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    rules[n++] =
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    unsigned last = n + 1 + REFUSED - LOOKS_AT_ITSELF; /* index of the rule that allows a call */
    unsigned refuse = last + 1;
    rules[n] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, OTHER_CALLS,
                                            (uint8_t)(refuse - n - 1), 0);
    n++;
    for (unsigned i = LOOKS_AT_ITSELF; i < REFUSED; i++, n++)
        rules[n] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)refused[i],
                                                (uint8_t)(refuse - n - 1), 0);
    rules[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    rules[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
    struct sock_fprog filter = {(unsigned short)n, rules};
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

void confine(const struct confined *to)
{
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return; /* before Linux 3.5 neither restriction is possible */
    guard_files(to);
#if defined(__x86_64__) || defined(__aarch64__)
    guard_calls();
#endif
}
