/* Remembers which of the user's own functions launch work, for the hook in Python. Takes no lock and
 * allocates nothing: launches tell of them. */
#include <stdatomic.h>
#include <string.h>

#include "agent/lines/lines.h"

/* The user's own functions that stood on the stack of a launch, the first MOST_SEEN: by name, because
 * the code object may be gone when somebody asks. */
enum { MOST_SEEN = 96, SEEN_FILE = 400, SEEN_FUNCTION = 120 };
static struct {
    char file[SEEN_FILE], function[SEEN_FUNCTION];
    _Atomic bool whole;
} seen[MOST_SEEN];
static _Atomic uint32_t seen_count;

void launchers_note(const char *file, const char *function)
{
    if (strlen(file) >= SEEN_FILE || strlen(function) >= SEEN_FUNCTION ||
        atomic_load(&seen_count) >= MOST_SEEN)
        return;
    uint32_t at = atomic_fetch_add(&seen_count, 1);
    if (at >= MOST_SEEN)
        return;
    strcpy(seen[at].file, file);
    strcpy(seen[at].function, function);
    atomic_store(&seen[at].whole, true);
}

const char *launchers_at(size_t n, const char **file)
{
    if (n >= MOST_SEEN || !atomic_load(&seen[n].whole))
        return NULL;
    *file = seen[n].file;
    return seen[n].function;
}
