/* See ranks.h. */
#include "reference_workloads/ddp/ranks.h"

#include "reference_workloads/common/check.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 16, GRACE_S = 5, PATIENCE_S = 60 };

/* ---- starting ---- */

static pid_t started[MOST];
static int started_n;

static void pass_on(int sig)
{
    for (int i = 0; i < started_n; i++)
        if (started[i] > 0)
            kill(started[i], sig);
}

static void set_number(const char *name, int value)
{
    char text[16];
    snprintf(text, sizeof text, "%d", value);
    setenv(name, text, 1);
}

/* A port that nobody uses now. */
static int free_port(void)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof a;
    int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (s < 0 || bind(s, (struct sockaddr *)&a, sizeof a) < 0 ||
        getsockname(s, (struct sockaddr *)&a, &n) < 0)
        die(1, "no free port for the rendezvous of the ranks: %s", strerror(errno));
    close(s);
    return ntohs(a.sin_port);
}

static pid_t start_one(int rank, char **argv)
{
    pid_t parent = getpid(), pid = fork();
    if (pid != 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGTERM); /* a rank is nothing without the one that waits for it */
    if (getppid() != parent)
        _exit(1);
    set_number("RANK", rank);
    set_number("LOCAL_RANK", rank);
    execv("/proc/self/exe", argv);
    _exit(127);
}

/* Waits for all; the first that fails ends the others. Returns the status to exit with. */
static int await_all(void)
{
    int status, result = 0, left = started_n;
    while (left > 0) {
        pid_t pid = waitpid(-1, &status, 0);
        if (pid < 0 && errno == EINTR)
            continue;
        if (pid < 0)
            break;
        int ended = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
        for (int i = 0; i < started_n; i++)
            if (started[i] == pid) {
                started[i] = 0;
                left--;
                if (ended != 0)
                    fprintf(stderr, "train_ddp: rank %d exited with status %d\n", i, ended);
            }
        if (ended != 0 && result == 0) {
            result = ended;
            pass_on(SIGTERM);
            alarm(GRACE_S);
        }
    }
    return result;
}

static void insist(int sig)
{
    (void)sig;
    pass_on(SIGKILL);
}

static _Noreturn void start_all(int wanted, char **argv)
{
    if (wanted > MOST)
        die(2, "at most %d ranks", MOST);
    set_number("WORLD_SIZE", wanted);
    set_number("LOCAL_WORLD_SIZE", wanted);
    setenv("MASTER_ADDR", "127.0.0.1", 1);
    set_number("MASTER_PORT", free_port());
    signal(SIGINT, pass_on);
    signal(SIGTERM, pass_on);
    signal(SIGALRM, insist);
    fflush(stdout);
    for (int i = 0; i < wanted; i++) {
        started[i] = start_one(i, argv);
        if (started[i] < 0) {
            pass_on(SIGKILL);
            die(1, "cannot start rank %d: %s", i, strerror(errno));
        }
        started_n++;
    }
    exit(await_all());
}

static int number_of(const char *name)
{
    const char *text = getenv(name);
    if (!text)
        die(2, "RANK is set, but %s is not", name);
    return atoi(text);
}

void ranks_start(struct ranks *r, int wanted, char **argv)
{
    *r = (struct ranks){0, 1, 0};
    if (!getenv("RANK") && wanted > 1)
        start_all(wanted, argv);
    if (!getenv("RANK"))
        return;
    r->rank = number_of("RANK");
    r->world = number_of("WORLD_SIZE");
    r->local = number_of("LOCAL_RANK");
    if (r->world < 1 || r->rank < 0 || r->rank >= r->world)
        die(2, "RANK=%d does not fit WORLD_SIZE=%d", r->rank, r->world);
}

/* ---- meeting ---- */

/* torchrun's own store listens at MASTER_PORT, so its ranks meet at the next one. */
static void master(char *host, size_t n, char *port, size_t port_n)
{
    const char *address = getenv("MASTER_ADDR"), *store = getenv("TORCHELASTIC_USE_AGENT_STORE");
    snprintf(host, n, "%s", address ? address : "127.0.0.1");
    snprintf(port, port_n, "%d",
             number_of("MASTER_PORT") + (store && strcmp(store, "True") == 0 ? 1 : 0));
}

static int open_socket(int listening)
{
    char host[256], port[16];
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *found = NULL;
    int yes = 1;
    master(host, sizeof host, port, sizeof port);
    hints.ai_flags = listening ? AI_PASSIVE : 0;
    if (getaddrinfo(listening ? NULL : host, port, &hints, &found) != 0 || !found)
        die(1, "MASTER_ADDR=%s is not an address", host);
    int s = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int rc = s < 0 ? -1 : 0;
    if (rc == 0 && listening) {
        setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
        rc = bind(s, found->ai_addr, found->ai_addrlen) < 0 || listen(s, MOST) < 0 ? -1 : 0;
        if (rc < 0)
            die(1, "cannot listen at port %s: %s", port, strerror(errno));
    } else if (rc == 0) {
        rc = connect(s, found->ai_addr, found->ai_addrlen);
    }
    freeaddrinfo(found);
    if (rc < 0 && s >= 0)
        close(s);
    return rc < 0 ? -1 : s;
}

static void give(int world, const void *data, size_t bytes)
{
    int s = open_socket(1);
    struct timeval patience = {.tv_sec = PATIENCE_S};
    setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    for (int i = 1; i < world; i++) {
        int peer = accept(s, NULL, NULL);
        if (peer < 0)
            die(1, "%d of %d ranks did not connect: %s", world - i, world, strerror(errno));
        if (send(peer, data, bytes, MSG_NOSIGNAL) != (ssize_t)bytes)
            die(1, "a rank disconnected: %s", strerror(errno));
        close(peer);
    }
    close(s);
}

static void take(void *data, size_t bytes)
{
    int s = -1;
    for (int tries = 0; s < 0 && tries < PATIENCE_S * 50; tries++) {
        s = open_socket(0);
        if (s < 0)
            usleep(20000);
    }
    if (s < 0)
        die(1, "rank 0 does not answer: %s", strerror(errno));
    if (recv(s, data, bytes, MSG_WAITALL) != (ssize_t)bytes)
        die(1, "rank 0 disconnected");
    close(s);
}

void ranks_share(const struct ranks *r, void *data, size_t bytes)
{
    if (r->world == 1)
        return;
    if (r->rank == 0)
        give(r->world, data, bytes);
    else
        take(data, bytes);
}
