/* A profile grows beside its name, or on a disk of this node, from which it is then copied to its
 * name. */
#include "cli/run/run.h"

#include <stdio.h>
#include <string.h>

int apart_begin(struct apart *a, const struct run_folders *f, const char *profile, int as,
                struct err *e)
{
    *a = (struct apart){.is = f->disk[0] != 0, .as = as, .moved = {.lock = -1}};
    if (a->is && moved_reserve(&a->moved, profile, as, e) < 0)
        return -1;
    const char *name = a->is ? a->moved.place.path : profile, *slash = strrchr(name, '/');
    int n = a->is ? snprintf(a->at, sizeof a->at, "%s/%s", f->disk, slash ? slash + 1 : name)
                  : snprintf(a->at, sizeof a->at, "%s", name);
    if (n >= (int)sizeof a->at) {
        apart_release(a);
        return err_set(e, "%s: this name is too long", profile);
    }
    if (a->is)
        a->as = PLACE_SPARE; /* users do not know the name on that disk, so it may differ */
    return 0;
}

const char *apart_name(const struct apart *a)
{
    return a->is ? a->moved.place.path : a->at;
}

int apart_end(struct apart *a, struct err *e)
{
    return a->is ? moved_put(&a->moved, a->at, e) : 0;
}

void apart_release(struct apart *a)
{
    if (a->is)
        moved_release(&a->moved);
    a->is = false;
}
