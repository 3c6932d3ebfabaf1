/* Detects a truncated database: an interrupted copy, or a full disk. By SQLite's file format its
 * first 100 bytes contain the size: bytes 16 and 17 the page size (1 stands for 65,536), bytes 28
 * to 31 the number of pages, which is valid if bytes 24 to 27 equal bytes 92 to 95. */
#include "analyzer/profile/sql/sql.h"
#include "base/plain.h"

#include <string.h>

enum { HEAD = 100, PAGE = 16, CHANGES = 24, PAGES = 28, VALID_FOR = 92, MOST_PAGE = 65536 };

static uint32_t number_at(const unsigned char *head, int at)
{
    return (uint32_t)head[at] << 24 | (uint32_t)head[at + 1] << 16 | (uint32_t)head[at + 2] << 8 |
           head[at + 3];
}

int sql_check_whole(const char *path, struct err *e)
{
    unsigned char head[HEAD] = {0};
    struct stat st;
    int fd = plain_open(path);
    if (fd < 0 || fstat(fd, &st) != 0 || sql_has_journal(path)) {
        if (fd >= 0)
            close(fd);
        return 0; /* opening it will report the reason, or restore the journal */
    }
    ssize_t n = read(fd, head, sizeof head);
    close(fd);
    if (n < 16 || memcmp(head, "SQLite format 3", 16) != 0)
        return 0;
    uint32_t page = (uint32_t)head[PAGE] << 8 | head[PAGE + 1];
    int64_t bytes = HEAD;
    if (n == HEAD && number_at(head, CHANGES) == number_at(head, VALID_FOR))
        bytes = (int64_t)(page == 1 ? MOST_PAGE : page) * number_at(head, PAGES);
    if (st.st_size >= bytes)
        return 0;
    return err_set(e, "%s was cut off: %lld of its %s%lld bytes are there; copy it again", path,
                   (long long)st.st_size, n == HEAD ? "" : "at least ", (long long)bytes);
}
