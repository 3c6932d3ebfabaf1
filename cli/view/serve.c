/* Serves one file once, on loopback, to one web page. */
#include "cli/view/serve.h"

#include "base/clock.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    CLIENTS = 16,
    ASK_MS = 5000,   /* for a request to arrive */
    TAKE_MS = 10000, /* between two parts of the answer */
    LEAVE_MS = 2000, /* for the other end to close */
    CHUNK = 1 << 16
};

enum state { ASKING, TAKING, LEAVING };

struct client {
    int fd;
    enum state state;
    bool stranger;
    bool takes_file; /* the file follows the answer */
    char head[SERVE_HEAD], answer[1024];
    size_t got, answer_n, answer_at;
    long long at; /* position in the file */
    int64_t deadline_ms, since_ms;
};

struct serving {
    struct server *s;
    struct client *at;
    size_t n;
    bool served;
};

static int64_t now_ms(void)
{
    return clock_monotonic_ns() / 1000000;
}

/* A path that cannot be guessed: 16 random bytes from the kernel. */
static int choose_path(struct server *s, const char *name, struct err *e)
{
    unsigned char secret[16];
    char hex[2 * sizeof secret + 1];
    if (getrandom(secret, sizeof secret, 0) != (ssize_t)sizeof secret)
        return err_set(e, "cannot get random numbers from the kernel: %s", strerror(errno));
    for (size_t i = 0; i < sizeof secret; i++)
        snprintf(hex + 2 * i, 3, "%02x", secret[i]);
    snprintf(s->path, sizeof s->path, "/%s/%s", hex, name);
    return 0;
}

int server_open(struct server *s, int file, const char *name, struct err *e)
{
    struct stat st;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(SERVE_PORT)};
    int one = 1;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    *s = (struct server){.listening = -1, .file = file};
    if (fstat(file, &st) || !S_ISREG(st.st_mode)) {
        err_set(e, "only a file can be served");
        server_close(s);
        return -1;
    }
    s->size = st.st_size;
    if (choose_path(s, name, e)) {
        server_close(s);
        return -1;
    }
    s->listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    setsockopt(s->listening, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (s->listening < 0 || bind(s->listening, (struct sockaddr *)&at, sizeof at) ||
        listen(s->listening, CLIENTS)) {
        err_set(e, "cannot listen on 127.0.0.1:%d (%s); is another `gpuprof view` running?",
                SERVE_PORT, strerror(errno));
        server_close(s);
        return -1;
    }
    return 0;
}

void server_close(struct server *s)
{
    if (s->listening >= 0)
        close(s->listening);
    if (s->file >= 0)
        close(s->file);
    s->listening = s->file = -1;
}

static void drop(struct serving *v, size_t i)
{
    close(v->at[i].fd);
    v->at[i] = v->at[--v->n];
}

/* Closes the oldest connection that has sent no request yet. False: there is none. */
static bool make_room(struct serving *v)
{
    size_t oldest = v->n;
    for (size_t i = 0; i < v->n; i++)
        if (v->at[i].state != TAKING &&
            (oldest == v->n || v->at[i].since_ms < v->at[oldest].since_ms))
            oldest = i;
    if (oldest == v->n)
        return false;
    drop(v, oldest);
    return true;
}

static void welcome(struct serving *v)
{
    int fd = accept4(v->s->listening, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) {
        if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
            poll(NULL, 0, 50); /* no descriptors left: do not try again at once */
        return;
    }
    if (v->n == CLIENTS && !make_room(v)) {
        close(fd);
        return;
    }
    struct client *c = &v->at[v->n++];
    int64_t now = now_ms();
    c->fd = fd;
    c->state = ASKING;
    c->stranger = serve_stranger(fd);
    c->takes_file = false;
    c->got = c->answer_n = c->answer_at = 0;
    c->at = 0;
    c->since_ms = now;
    c->deadline_ms = now + ASK_MS;
}

static bool file_is_taken(const struct serving *v)
{
    for (size_t i = 0; i < v->n; i++)
        if (v->at[i].takes_file)
            return true;
    return false;
}

static void reply(struct serving *v, struct client *c, enum serve_reply r, bool page)
{
    if (r == SERVE_FILE && file_is_taken(v))
        r = SERVE_BUSY;
    c->takes_file = r == SERVE_FILE;
    c->answer_n = serve_answer(c->answer, sizeof c->answer, r, v->s->size, page);
    c->state = TAKING;
    c->deadline_ms = now_ms() + TAKE_MS;
}

/* Reads the request. False: the connection is over. Bytes behind the request are ignored. */
static bool take_request(struct serving *v, struct client *c)
{
    ssize_t n = recv(c->fd, c->head + c->got, sizeof c->head - c->got, 0);
    if (n < 0)
        return errno == EAGAIN || errno == EINTR;
    if (n == 0)
        return false;
    c->got += (size_t)n;
    const char *end = memmem(c->head, c->got, "\r\n\r\n", 4);
    bool page = false;
    if (end) {
        enum serve_reply r = serve_judge(c->head, (size_t)(end + 4 - c->head), v->s->path, &page);
        reply(v, c, c->stranger ? SERVE_FORBIDDEN : r, page && !c->stranger);
    } else if (c->got == sizeof c->head) {
        reply(v, c, SERVE_LONG, false);
    }
    return true;
}

/* Returns the bytes sent; 0: not possible now; -1: the connection is over. */
static ssize_t send_some(int fd, const char *data, size_t n)
{
    ssize_t sent = send(fd, data, n, MSG_NOSIGNAL);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    return sent;
}

static bool give_answer(struct serving *v, struct client *c)
{
    char data[CHUNK];
    const char *from = c->answer + c->answer_at;
    size_t n = c->answer_n - c->answer_at;
    if (n == 0 && c->takes_file && c->at < v->s->size) {
        ssize_t got = pread(v->s->file, data, sizeof data, c->at);
        if (got <= 0)
            return false;
        from = data;
        n = (size_t)got;
    }
    if (n == 0) {
        shutdown(c->fd, SHUT_WR);
        c->state = LEAVING;
        c->deadline_ms = now_ms() + LEAVE_MS;
        return true;
    }
    ssize_t sent = send_some(c->fd, from, n);
    if (sent > 0)
        c->deadline_ms = now_ms() + TAKE_MS;
    if (sent > 0 && from == data)
        c->at += sent;
    else if (sent > 0)
        c->answer_at += (size_t)sent;
    return sent >= 0;
}

/* Waits until the other end has closed. Closing first would discard what it has not read. */
static bool see_off(struct client *c)
{
    char rest[4096];
    ssize_t n = recv(c->fd, rest, sizeof rest, 0);
    return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

/* Handles a connection. True: it goes on. */
static bool attend(struct serving *v, struct client *c, bool ready)
{
    bool on = c->deadline_ms > now_ms();
    if (on && ready)
        on = c->state == ASKING   ? take_request(v, c)
             : c->state == TAKING ? give_answer(v, c)
                                  : see_off(c);
    if (!on && c->state == LEAVING && c->takes_file)
        v->served = true;
    return on;
}

static int wait_and_attend(struct serving *v, int64_t end_ms, struct err *e)
{
    struct pollfd p[CLIENTS + 1] = {{.fd = v->s->listening, .events = POLLIN}};
    int64_t until = file_is_taken(v) ? INT64_MAX : end_ms, now = now_ms();
    size_t n = v->n;
    for (size_t i = 0; i < n; i++) {
        p[i + 1] = (struct pollfd){.fd = v->at[i].fd,
                                   .events = v->at[i].state == TAKING ? POLLOUT : POLLIN};
        if (v->at[i].deadline_ms < until)
            until = v->at[i].deadline_ms;
    }
    int left = until <= now ? 0 : until - now > 60000 ? 60000 : (int)(until - now);
    if (poll(p, (nfds_t)n + 1, left) < 0 && errno != EINTR)
        return err_set(e, "cannot wait for the browser: %s", strerror(errno));
    for (size_t i = n; i-- > 0;) /* backwards, because drop moves the last one into its place */
        if (!attend(v, &v->at[i], p[i + 1].revents != 0))
            drop(v, i);
    if (p[0].revents)
        welcome(v);
    return 0;
}

int server_run(struct server *s, int timeout_s, struct err *e)
{
    struct serving v = {.s = s, .at = calloc(CLIENTS, sizeof(struct client))};
    int64_t end_ms = now_ms() + (int64_t)timeout_s * 1000;
    int rc = v.at ? 0 : err_set(e, "out of memory");
    while (rc == 0 && !v.served) {
        if (now_ms() >= end_ms && !file_is_taken(&v))
            rc = err_set(e, "no browser fetched the trace within %d s", timeout_s);
        else
            rc = wait_and_attend(&v, end_ms, e);
    }
    while (v.n)
        drop(&v, v.n - 1);
    free(v.at);
    return rc;
}
