/* What the fuzz targets share: the input as a file, its import, and the analysis of the result. */
#include "tests/fuzz/fuzz.h"

#include "analyzer/advice/advice.h"
#include "analyzer/import/import.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int fuzz_import(const struct importer *importer, const uint8_t *data, size_t size)
{
    struct err e = ERR_INIT;
    char path[64];
    snprintf(path, sizeof path, "/dev/shm/gpuprof-fuzz-%d", getpid());
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        return 0;
    struct timeline *t = write(fd, data, size) == (ssize_t)size ? timeline_new(&e) : NULL;
    if (t) {
        struct sink sink = timeline_sink(t);
        if (importer->read(path, &sink, &e) == 0 && timeline_finish(t, &e) == 0)
            advice_free(advise(t, &e));
        timeline_free(t);
    }
    close(fd);
    unlink(path);
    return 0;
}
