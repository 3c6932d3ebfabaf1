/* Unpacks a gzip file into a file with a name, because SQLite opens files by name. */
#include "analyzer/import/unpack.h"

#include "base/plain.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

/* Limits on the unpacked size: real exports grow 3 to 15 times, while a file made to fill a disk
 * grows a thousand times. */
enum { GROWS = 50, SMALL_BYTES = 256 << 20 };

bool unpack_is_gzip(const char *path)
{
    unsigned char head[2] = {0};
    FILE *f = plain_file(path);
    size_t n = f ? fread(head, 1, 2, f) : 0;
    if (f)
        fclose(f);
    return n == 2 && head[0] == 0x1f && head[1] == 0x8b;
}

static const char *temporary_folder(void)
{
    const char *dir = getenv("TMPDIR");
    return dir && *dir ? dir : "/tmp";
}

/* Opens a temporary file without a name. If the file system cannot do that: one with a name,
 * which is written to `out`. */
static int open_temporary(char *out, size_t size)
{
    int fd = open(temporary_folder(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    out[0] = 0;
    if (fd >= 0)
        return fd;
    snprintf(out, size, "%s/gpuprof-nsys-XXXXXX", temporary_folder());
    fd = mkostemp(out, O_CLOEXEC);
    if (fd < 0)
        out[0] = 0;
    return fd;
}

static int give_name(int fd, char *out, size_t size)
{
    char own[64];
    snprintf(own, sizeof own, "/proc/self/fd/%d", fd);
    for (int i = 0; i < 100; i++) {
        struct timespec t;
        clock_gettime(CLOCK_REALTIME, &t);
        snprintf(out, size, "%s/gpuprof-nsys-%d-%lx", temporary_folder(), (int)getpid(),
                 (unsigned long)t.tv_nsec);
        if (linkat(AT_FDCWD, own, AT_FDCWD, out, AT_SYMLINK_FOLLOW) == 0)
            return 0;
        if (errno != EEXIST)
            break;
    }
    out[0] = 0;
    return -1;
}

static int64_t most_bytes(const char *path)
{
    struct stat st;
    int64_t packed = stat(path, &st) == 0 ? (int64_t)st.st_size : 0;
    return packed > SMALL_BYTES / GROWS ? packed * GROWS : SMALL_BYTES;
}

static int no_room(const char *path, struct err *e)
{
    return err_set(e, "%s: cannot unpack it into %s (%s)", path, temporary_folder(),
                   strerror(errno));
}

static int copy(const char *path, gzFile in, int fd, struct err *e)
{
    static char buf[1 << 16];
    int64_t total = 0, most = most_bytes(path);
    int got;
    while ((got = gzread(in, buf, sizeof buf)) > 0) {
        total += got;
        if (total > most)
            return err_set(e,
                           "%s: unpacks to more than %" PRId64
                           " MiB, more than a real report of its "
                           "size; if you trust it, unpack it first: gunzip",
                           path, most >> 20);
        if (write(fd, buf, (size_t)got) != got)
            return no_room(path, e);
    }
    int code = Z_OK;
    gzerror(in, &code);
    if (got < 0 || (code != Z_OK && code != Z_STREAM_END))
        return err_set(e, "%s: damaged or cut off", path);
    return 0;
}

int unpack(const char *path, char *out, size_t size, struct err *e)
{
    gzFile in = gzdopen(plain_open(path), "rb");
    if (!in)
        return err_set(e, "cannot read %s", path);
    int fd = open_temporary(out, size);
    int rc = fd < 0 ? no_room(path, e) : copy(path, in, fd, e);
    if (rc == 0 && !*out && give_name(fd, out, size) < 0)
        rc = no_room(path, e);
    gzclose(in);
    if (fd >= 0)
        close(fd);
    if (rc < 0 && *out)
        unlink(out);
    return rc;
}
