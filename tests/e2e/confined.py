#!/usr/bin/env python3
"""What a reader of foreign files can reach. A library is preloaded whose own version of read() plays a reader that a hostile
file has taken over: it reads a file beside the input, writes one elsewhere, starts a program, opens a socket, looks into
another process. Nothing of it may succeed in any command that reads; what the commands are for must.

usage: confined.py BUILD
"""
import ctypes
import gzip
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from support import Build, Checks

EXAMPLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/examples/train_conv-workers0.gpuprof.gz")
TAKEN_OVER = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static void tell(const char *what, int got)
{
    char line[64];
    int fd = atoi(getenv("TOLD_TO"));
    int n = snprintf(line, sizeof line, "%s %s\n", what, got >= 0 ? "reached" : "refused");
    if (write(fd, line, (size_t)n) != n)
        abort();
}

static int start(void)
{
    int status = -1;
    pid_t pid = fork();
    if (pid == 0) {
        execl("/bin/true", "true", (char *)NULL);
        _exit(9);
    }
    return waitpid(pid, &status, 0) == pid && status == 0 ? 0 : -1;
}

/* into a process of one's own, which has a copy of this memory */
static int look(void)
{
    int word = 0;
    struct iovec here = {&word, sizeof word};
    pid_t pid = fork();
    if (pid == 0)
        for (;;)
            pause();
    int got = (int)syscall(SYS_process_vm_readv, pid, &here, 1, &here, 1, 0);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    return got;
}

static void reach(void)
{
    static int done;
    if (done++ || !getenv("SECRET"))
        return;
    int saved = errno;
    tell("secret", open(getenv("SECRET"), O_RDONLY));
    tell("elsewhere", open(getenv("ELSEWHERE"), O_WRONLY | O_CREAT, 0600));
    tell("program", start());
    tell("socket", socket(AF_INET, SOCK_STREAM, 0));
    tell("unix", socket(AF_UNIX, SOCK_STREAM, 0));
    tell("process", look());
    tell("uring", (int)syscall(425, 1, (char[120]){0}));
    errno = saved;
}

ssize_t pread64(int fd, void *to, size_t n, off64_t at) /* SQLite */
{
    reach();
    return ((ssize_t(*)(int, void *, size_t, off64_t))dlsym(RTLD_NEXT, "pread64"))(fd, to, n, at);
}

int inflate(void *stream, int how) /* zlib */
{
    reach();
    return ((int (*)(void *, int))dlsym(RTLD_NEXT, "inflate"))(stream, how);
}
"""


def has_landlock():
    """Whether the kernel has a version of Landlock, and it is turned on."""
    return ctypes.CDLL(None).syscall(444, None, 0, 1) >= 1


def main():
    build, checks = Build(sys.argv[1]), Checks()
    library = build.path("taken_over.so")
    made = subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", library, "-ldl"], input=TAKEN_OVER, text=True, check=False,
                          capture_output=True)
    if made.returncode != 0:
        print("skipped: no C compiler here")
        sys.exit(77)
    os.mkdir(build.path("in"))
    os.mkdir(build.path("out"))
    with gzip.open(EXAMPLE) as packed, open(build.path("in/a.gpuprof"), "wb") as profile:
        shutil.copyfileobj(packed, profile)
    with open(build.path("in/secret"), "w", encoding="ascii") as f:
        f.write("secret")
    done = build.run([build.gpuprof, "export", "in/a.gpuprof", "-o", "in/a.json.gz"])
    checks.check(done.returncode == 0, "a trace to read", done.stderr)
    os.mkdir(build.path("links"))
    os.symlink("../in/a.gpuprof", build.path("links/a.gpuprof"))
    temporary = build.path("temporary")
    os.mkdir(temporary)
    files = has_landlock()
    if not files:
        print("this kernel has no Landlock: files are not looked at")
    told = os.open(build.path("told"), os.O_RDWR | os.O_CREAT)
    os.set_inheritable(told, True)
    for name, arguments in {
            "analyze": ["analyze", "in/a.gpuprof"],
            "analyze with rows": ["analyze", "--json", "--rows", "2", "in/a.gpuprof"],
            "analyze a trace": ["analyze", "--json", "in/a.json.gz"],
            "analyze a folder of links": ["analyze", "links"],
            "report": ["report", "in/a.gpuprof", "-o", "out/a.html"],
            "report beside it": ["report", "in/a.gpuprof"],
            "export": ["export", "in/a.gpuprof", "-o", "out/a.json"],
            "export tables": ["export", "--format", "csv", "in/a.gpuprof", "-o", "out/tables/"],
            "import": ["import", "in/a.json.gz", "-o", "out/a.gpuprof"],
            "lint-trace": ["lint-trace", "in/a.json.gz"],
            "diff": ["diff", "in/a.gpuprof", "in/a.gpuprof"],
            "gate": ["gate", "in/a.gpuprof", "in/a.gpuprof"],
            "gate with a history": ["gate", "--history", "links", "in/a.gpuprof", "--junit", "out/j.xml"]}.items():
        os.ftruncate(told, 0)
        os.lseek(told, 0, os.SEEK_SET)
        done = subprocess.run([build.gpuprof, *arguments], capture_output=True, text=True, cwd=build.folder.name, check=False,
                              pass_fds=[told], timeout=120,
                              env={**build.env, "LD_PRELOAD": library, "SECRET": build.path("in/secret"), "TOLD_TO": str(told),
                                   "ELSEWHERE": build.path("elsewhere"), "TMPDIR": temporary})
        checks.check(done.returncode in (0, 3), f"{name}: does what it is for", f"{done.returncode} {done.stderr}")
        with open(build.path("told"), encoding="ascii") as f:
            said = dict(line.split() for line in f)
        calls = ("program", "socket", "unix", "process", "uring")
        reached = [what for what, how in said.items() if how == "reached" and (files or what in calls)]
        # what is written beside its input may be read there: the folder is that of the output
        if name == "report beside it" and reached == ["secret"]:
            reached = []
        checks.check(len(said) == 7 and not reached, f"{name}: reaches nothing else", str(said))
        checks.check(os.listdir(temporary) == [], f"{name}: leaves nothing in $TMPDIR", str(os.listdir(temporary)))
    cut = subprocess.run(f"{build.gpuprof} analyze -v in/a.gpuprof | head -c 1", shell=True, capture_output=True, cwd=build.folder.name,
                         check=False, env={**build.env, "TMPDIR": temporary})
    checks.check(cut.stdout != b"" and os.listdir(temporary) == [], "cut short by SIGPIPE: leaves nothing in $TMPDIR",
                 str(os.listdir(temporary)))
    checks.done()


if __name__ == "__main__":
    main()
