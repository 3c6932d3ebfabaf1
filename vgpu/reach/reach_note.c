/* Writes the note for the recorder that says why a program's calls do not reach the virtual GPU. */
#include "reach/reach.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void note_leave(enum note what, const char *path)
{
    static const char *const words[] = {"stripped", "library", "driver"};
    char file[4096], line[1024];
    const char *folder = getenv("GPUPROF_DIR");
    if (!folder || (size_t)snprintf(file, sizeof file, "%s/unreached", folder) >= sizeof file)
        return;
    int n = snprintf(line, sizeof line, "%s %.900s", words[what], path);
    int fd = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return;
    if (write(fd, line, (size_t)n) < 0)
        unlink(file);
    close(fd);
}
