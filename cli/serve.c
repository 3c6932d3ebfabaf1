#include "cli/serve.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

int server_open(struct server *s, const char *path, const char *name, struct err *e)
{
    struct stat st;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(SERVE_PORT)};
    int one = 1;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    *s = (struct server){.listening = -1};
    snprintf(s->name, sizeof s->name, "%s", name);
    s->file = open(path, O_RDONLY | O_CLOEXEC);
    if (s->file < 0 || fstat(s->file, &st) || !S_ISREG(st.st_mode)) {
        err_set(e, "cannot read %s: %s", path, s->file < 0 ? strerror(errno) : "not a file");
        server_close(s);
        return -1;
    }
    s->size = st.st_size;
    s->listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(s->listening, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (s->listening < 0 || bind(s->listening, (struct sockaddr *)&at, sizeof at) ||
        listen(s->listening, 8)) {
        err_set(e, "cannot listen on 127.0.0.1:%d (%s); is another `gpuprof view` running?",
                SERVE_PORT, strerror(errno));
        server_close(s);
        return -1;
    }
    signal(SIGPIPE, SIG_IGN); /* a browser that goes away is no reason to end */
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

static int send_all(int to, const char *data, size_t n)
{
    while (n) {
        ssize_t sent = send(to, data, n, 0);
        if (sent <= 0)
            return -1;
        data += sent;
        n -= (size_t)sent;
    }
    return 0;
}

/* The head of a request, up to its empty line; only its first line matters. */
static int read_request(int from, char *buf, size_t cap)
{
    size_t n = 0;
    while (n + 1 < cap) {
        ssize_t got = recv(from, buf + n, cap - n - 1, 0);
        if (got <= 0)
            return -1;
        n += (size_t)got;
        buf[n] = 0;
        if (strstr(buf, "\r\n\r\n"))
            return 0;
    }
    return -1;
}

static int answer(int to, const char *status, long long size)
{
    char head[512];
    int n = snprintf(head, sizeof head,
                     "HTTP/1.1 %s\r\nAccess-Control-Allow-Origin: " SERVE_ORIGIN "\r\n"
                     "Access-Control-Allow-Private-Network: true\r\n"
                     "Access-Control-Allow-Methods: GET\r\nCache-Control: no-store\r\n"
                     "Content-Type: application/octet-stream\r\nContent-Length: %lld\r\n"
                     "Connection: close\r\n\r\n",
                     status, size);
    return send_all(to, head, (size_t)n);
}

/* 1 when the file went out whole. */
static int serve_one(const struct server *s, int to)
{
    char request[8192], wanted[80];
    struct timeval patience = {.tv_sec = 10};
    setsockopt(to, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(to, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    snprintf(wanted, sizeof wanted, "GET /%s ", s->name);
    if (read_request(to, request, sizeof request))
        return 0;
    if (strncmp(request, "OPTIONS ", 8) == 0)
        return answer(to, "204 No Content", 0), 0;
    if (strncmp(request, wanted, strlen(wanted)) != 0)
        return answer(to, "404 Not Found", 0), 0;
    if (answer(to, "200 OK", s->size))
        return 0;
    char data[1 << 16];
    long long left = s->size;
    lseek(s->file, 0, SEEK_SET);
    while (left > 0) {
        ssize_t n = read(s->file, data, sizeof data);
        if (n <= 0 || send_all(to, data, (size_t)n))
            return 0;
        left -= n;
    }
    return 1;
}

int server_run(struct server *s, int timeout_s, struct err *e)
{
    time_t end = time(NULL) + timeout_s;
    for (;;) {
        struct pollfd p = {.fd = s->listening, .events = POLLIN};
        long left_s = (long)(end - time(NULL));
        if (left_s <= 0)
            return err_set(e, "nobody fetched the trace within %d s", timeout_s);
        int ready = poll(&p, 1, (int)(left_s > 1000 ? 1000 : left_s) * 1000);
        if (ready < 0 && errno != EINTR)
            return err_set(e, "cannot wait for the browser: %s", strerror(errno));
        if (ready <= 0)
            continue;
        int to = accept4(s->listening, NULL, NULL, SOCK_CLOEXEC);
        if (to < 0)
            continue;
        int sent = serve_one(s, to);
        shutdown(to, SHUT_WR);
        close(to);
        if (sent)
            return 0;
    }
}
