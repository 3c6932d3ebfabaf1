/* Reads an HTTP request, as far as view needs it. */
#include "cli/view/serve.h"

#include <stdio.h>
#include <string.h>

/* Compares in the same time for right and wrong paths, so that timing tells nothing. */
static bool same_path(const char *s, size_t n, const char *path)
{
    size_t wanted = strlen(path);
    unsigned char differs = n != wanted;
    for (size_t i = 0; i < wanted; i++)
        differs |= (unsigned char)((i < n ? s[i] : 0) ^ path[i]);
    return differs == 0;
}

static bool is(const char *s, size_t n, const char *text)
{
    return strlen(text) == n && memcmp(s, text, n) == 0;
}

struct request {
    const char *method, *path, *host, *origin;
    size_t method_n, path_n, host_n, origin_n;
};

/* Reads "GET /path HTTP/1.1". */
static bool read_first_line(struct request *r, const char *s, size_t n)
{
    const char *blank = memchr(s, ' ', n);
    if (!blank)
        return false;
    r->method = s;
    r->method_n = (size_t)(blank - s);
    r->path = blank + 1;
    const char *end = memchr(r->path, ' ', n - r->method_n - 1);
    if (!end)
        return false;
    r->path_n = (size_t)(end - r->path);
    size_t left = (size_t)(s + n - end - 1);
    return is(end + 1, left, "HTTP/1.1") || is(end + 1, left, "HTTP/1.0");
}

static void trim(const char **s, size_t *n)
{
    while (*n && (**s == ' ' || **s == '\t')) {
        ++*s;
        --*n;
    }
    while (*n && ((*s)[*n - 1] == ' ' || (*s)[*n - 1] == '\t'))
        --*n;
}

/* Reads "Name: value". False: a header occurs twice, or a name has blanks. */
static bool read_header(struct request *r, const char *s, size_t n)
{
    const char *colon = memchr(s, ':', n);
    if (!colon || colon == s || memchr(s, ' ', (size_t)(colon - s)) ||
        memchr(s, '\t', (size_t)(colon - s)))
        return false;
    const char *value = colon + 1;
    size_t name = (size_t)(colon - s), left = n - name - 1;
    bool host = name == 4 && strncasecmp(s, "host", 4) == 0;
    bool origin = name == 6 && strncasecmp(s, "origin", 6) == 0;
    trim(&value, &left);
    if ((host && r->host) || (origin && r->origin))
        return false;
    if (host) {
        r->host = value;
        r->host_n = left;
    } else if (origin) {
        r->origin = value;
        r->origin_n = left;
    }
    return true;
}

static bool read_request(struct request *r, const char *s, size_t n)
{
    *r = (struct request){0};
    if (n < 4 || memcmp(s + n - 4, "\r\n\r\n", 4) != 0 || memchr(s, 0, n))
        return false;
    for (const char *line = s, *end; line < s + n - 2; line = end + 2) {
        end = memmem(line, (size_t)(s + n - line), "\r\n", 2);
        size_t length = (size_t)(end - line);
        if (!(line == s ? read_first_line(r, line, length) : read_header(r, line, length)))
            return false;
    }
    return true;
}

enum serve_reply serve_judge(const char *s, size_t n, const char *path, bool *page)
{
    struct request r;
    char by_number[32], by_name[32];
    *page = false;
    if (!read_request(&r, s, n) || !r.host)
        return SERVE_BAD;
    snprintf(by_number, sizeof by_number, "127.0.0.1:%d", SERVE_PORT);
    snprintf(by_name, sizeof by_name, "localhost:%d", SERVE_PORT);
    if (!is(r.host, r.host_n, by_number) && !is(r.host, r.host_n, by_name))
        return SERVE_FORBIDDEN;
    if (r.origin && !is(r.origin, r.origin_n, SERVE_ORIGIN))
        return SERVE_FORBIDDEN;
    *page = r.origin != NULL;
    bool get = is(r.method, r.method_n, "GET"), head = is(r.method, r.method_n, "HEAD");
    bool asks = is(r.method, r.method_n, "OPTIONS");
    if (!get && !head && !asks)
        return SERVE_METHOD;
    if (!same_path(r.path, r.path_n, path))
        return SERVE_NOT_FOUND;
    return get ? SERVE_FILE : head ? SERVE_HEADERS : SERVE_ALLOWED;
}

size_t serve_answer(char *out, size_t cap, enum serve_reply reply, long long size, bool page)
{
    static const char *const status[] = {
        [SERVE_FILE] = "200 OK",
        [SERVE_HEADERS] = "200 OK",
        [SERVE_ALLOWED] = "204 No Content",
        [SERVE_BAD] = "400 Bad Request",
        [SERVE_FORBIDDEN] = "403 Forbidden",
        [SERVE_NOT_FOUND] = "404 Not Found",
        [SERVE_METHOD] = "405 Method Not Allowed",
        [SERVE_BUSY] = "409 Conflict",
        [SERVE_LONG] = "431 Request Header Fields Too Large",
    };
    static const char may[] = "Access-Control-Allow-Origin: " SERVE_ORIGIN "\r\n"
                              "Access-Control-Allow-Private-Network: true\r\n"
                              "Access-Control-Allow-Methods: GET\r\n";
    bool file = reply == SERVE_FILE || reply == SERVE_HEADERS;
    int n = snprintf(out, cap,
                     "HTTP/1.1 %s\r\n%s%sVary: Origin\r\nCache-Control: no-store\r\n"
                     "X-Content-Type-Options: nosniff\r\nContent-Type: application/octet-stream\r\n"
                     "Content-Length: %lld\r\nConnection: close\r\n\r\n",
                     status[reply], page ? may : "",
                     reply == SERVE_METHOD ? "Allow: GET, HEAD, OPTIONS\r\n" : "", file ? size : 0);
    return n > 0 && (size_t)n < cap ? (size_t)n : 0;
}
