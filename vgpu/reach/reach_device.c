/* Answers questions to the operating system as if the machine had a card.
 *
 * Some programs (JAX, for one) look for a card's device file before they call CUDA. Calls that ask
 * whether such a file exists get the answer for /dev/null. This costs one comparison per call. */
#include <dlfcn.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SHOWN __attribute__((visibility("default")))

static const char *path_of(const char *path)
{
    static const char *const device[] = {"/dev/nvidia0", "/dev/nvidiactl", "/dev/nvidia-uvm"};
    if (!path || strncmp(path, "/dev/nvidia", strlen("/dev/nvidia")) != 0)
        return path;
    for (size_t i = 0; i < sizeof device / sizeof *device; i++)
        if (strcmp(path, device[i]) == 0)
            return "/dev/null";
    return path;
}

/* The struct has the kernel's layout on 64-bit machines. The system call is made directly, because
 * a glibc before 2.33 has no function named stat to call; programs built for one call __xstat. */
static int status(int folder, const char *path, void *out, int flags)
{
    return (int)syscall(SYS_newfstatat, folder, path_of(path), out, flags);
}

/* The address of libc's own function of this name. */
static void *libcs(void **known, const char *name)
{
    if (!*known)
        *known = dlsym(RTLD_NEXT, name);
    return *known;
}

typedef int access_call(const char *path, int mode);
typedef int access_at_call(int folder, const char *path, int mode, int flags);

int __xstat(int version, const char *path, struct stat *out);
int __xstat64(int version, const char *path, struct stat64 *out);

SHOWN int stat(const char *restrict path, struct stat *restrict out)
{
    return status(AT_FDCWD, path, out, 0);
}

SHOWN int stat64(const char *restrict path, struct stat64 *restrict out)
{
    return status(AT_FDCWD, path, out, 0);
}

SHOWN int __xstat(int version, const char *path, struct stat *out)
{
    (void)version; /* 64-bit machines know only one version */
    return stat(path, out);
}

SHOWN int __xstat64(int version, const char *path, struct stat64 *out)
{
    (void)version;
    return stat64(path, out);
}

SHOWN int fstatat(int folder, const char *restrict path, struct stat *restrict out, int flags)
{
    return status(folder, path, out, flags);
}

SHOWN int fstatat64(int folder, const char *restrict path, struct stat64 *restrict out, int flags)
{
    return status(folder, path, out, flags);
}

SHOWN int access(const char *path, int mode)
{
    static void *next;
    return ((access_call *)libcs(&next, "access"))(path_of(path), mode);
}

SHOWN int faccessat(int folder, const char *path, int mode, int flags)
{
    static void *next;
    return ((access_at_call *)libcs(&next, "faccessat"))(folder, path_of(path), mode, flags);
}

/* The virtual card's memory is a large address range of the host. Locking all memory would fill it;
 * with MCL_ONFAULT only pages that are in use are locked. */
SHOWN int mlockall(int flags)
{
    return (int)syscall(SYS_mlockall, flags | MCL_ONFAULT);
}
