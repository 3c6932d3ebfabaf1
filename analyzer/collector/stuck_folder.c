/* Exchanges places of ranks between gpuprofs. Each rank of a job may have a gpuprof of its own,
 * on nodes that share a folder. A gpuprof with slow ranks publishes where they are: a text file
 * in its folder of spools, rewritten every few seconds, with a line for each rank and
 * communicator. The others read it. A file counts if it is about as new as our own; clocks of
 * nodes are not compared. */
#include "analyzer/collector/stuck.h"

#include "analyzer/profile/spools_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_BYTES = 256 << 10, MOST_PLACES = 16384, FOLDERS_A_SECOND = 16, FIELDS = 14 };
static const int64_t again_ns = 3000000000, old_ns = 10000000000;
static const char name[] = "where", format[] = "gpuprof ranks 1\n", end[] = "end\n";

static bool path_in(const char *folder, const char *file, char *out)
{
    return snprintf(out, PATH_MAX, "%s/%s", folder, file) < PATH_MAX;
}

/* ---- our ranks ---- */

static void write_lines(FILE *f, const struct collector *c, const struct rank_places *p,
                        int64_t now_ns)
{
    char line[STUCK_LINE];
    for (size_t i = 0; i < c->spools.n; i++) {
        const struct spool *s = c->spools.at[i];
        if (!stuck_counts(s, p))
            continue;
        stuck_describe_process(s, p, now_ns, line, sizeof line);
        fprintf(f, "# %" PRId64 " %s: %s\n", s->row.rank, c->host, line);
    }
}

static void write_places(FILE *f, const struct rank_places *p)
{
    for (size_t i = 0; i < p->n; i++) {
        const struct rank_place *x = &p->at[i];
        char where[STUCK_WHERE];
        stuck_where(x->pid, where, sizeof where);
        fprintf(f,
                "%" PRIx64 "\t%" PRIu64 "\t%" PRId64 "\t%" PRId32 "\t%" PRId32 "\t%" PRId32
                "\t%u\t%u\t%u\t%u\t%u\t%u\t%s\t%s\t%s\n",
                x->comm, x->begun, x->waited_ns, x->rank, x->ranks, x->pid, x->in_pairs, x->inside,
                x->marks, x->stopped, x->idle, x->waits, x->host, x->function, where);
    }
}

void stuck_show(struct collector *c, const struct rank_places *p, int64_t now_ns, bool show)
{
    char path[PATH_MAX], fresh[PATH_MAX];
    if ((!show && !c->shown) || !path_in(c->meeting, name, path) ||
        !path_in(c->meeting, "where.new", fresh))
        return;
    if (!show) {
        unlink(path);
        vec_release(&c->others);
        c->shown = false;
        return;
    }
    if (c->shown && now_ns < c->next_show_ns)
        return;
    c->shown = true;
    c->next_show_ns = now_ns + again_ns;
    int fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    FILE *f = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (!f && fd >= 0)
        close(fd);
    if (!f)
        return;
    fputs(format, f);
    write_lines(f, c, p, now_ns);
    write_places(f, p);
    fputs(end, f);
    bool bad = ferror(f) != 0;
    bad |= fclose(f) != 0;
    if (bad || rename(fresh, path) != 0)
        unlink(fresh);
}

/* ---- ranks of others ---- */

struct reading {
    int64_t since_ns; /* older files are ignored */
    struct rank_places *places;
    struct shown_lines *lines; /* NULL: lines for people are not read */
};

static int64_t written_ns(const struct stat *st)
{
    return (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
}

/* The text of a complete file that is new enough; NULL: none. The caller frees it. */
static char *read_file(const char *path, int64_t since_ns)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    char *text = NULL;
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
        (st.st_uid == geteuid() || geteuid() == 0) && st.st_size < FILE_BYTES &&
        written_ns(&st) >= since_ns)
        text = calloc(1, FILE_BYTES);
    ssize_t n = text ? read(fd, text, FILE_BYTES - 1) : 0;
    if (fd >= 0)
        close(fd);
    size_t used = n > 0 ? (size_t)n : 0, last = sizeof end - 1;
    if (used > last && strcmp(text + used - last, end) == 0)
        return text;
    free(text);
    return NULL;
}

static void copy_field(char *out, size_t n, const char *field)
{
    snprintf(out, n, "%s", field);
    for (char *p = out; *p; p++)
        if ((unsigned char)*p < ' ' || *p == 127)
            *p = '?';
}

/* Reads a line that another gpuprof wrote, and modifies it. False: the line is malformed. */
static bool read_place(char *line, struct rank_place *x)
{
    char *field[FIELDS + 1];
    size_t n = 0;
    for (char *next = line; next && n <= FIELDS; n++) {
        field[n] = next;
        next = strchr(next, '\t');
        if (next)
            *next++ = 0;
    }
    if (n != FIELDS + 1)
        return false;
    *x = (struct rank_place){.comm = strtoull(field[0], NULL, 16),
                             .begun = strtoull(field[1], NULL, 10),
                             .waited_ns = strtoll(field[2], NULL, 10),
                             .rank = atoi(field[3]),
                             .ranks = atoi(field[4]),
                             .pid = atoi(field[5])};
    uint32_t *flags[] = {&x->in_pairs, &x->inside, &x->marks, &x->stopped, &x->idle, &x->waits};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        *flags[i] = *field[6 + i] == '1';
    copy_field(x->host, sizeof x->host, field[12]);
    copy_field(x->function, sizeof x->function, field[13]);
    copy_field(x->where, sizeof x->where, field[14]);
    return x->comm && x->begun;
}

static void read_line(char *line, const struct reading *r)
{
    struct rank_place x;
    char *text;
    if (*line == '#' && r->lines) {
        int64_t rank = strtoll(line + 1, &text, 10);
        struct shown_line *slot = *text == ' ' ? vec_push(r->lines) : NULL;
        if (!slot)
            return;
        slot->rank = rank >= 0 ? rank : INT64_MAX;
        copy_field(slot->text, sizeof slot->text, text + 1);
    } else if (r->places->n < MOST_PLACES && read_place(line, &x)) {
        struct rank_place *slot = vec_push(r->places);
        if (slot)
            *slot = x;
    }
}

static bool read_shown(const char *path, const struct reading *r)
{
    char *text = read_file(path, r->since_ns), *rest = NULL;
    bool ours = text && strncmp(text, format, sizeof format - 1) == 0;
    for (char *line = ours ? strtok_r(text, "\n", &rest) : NULL; line;
         line = strtok_r(NULL, "\n", &rest))
        read_line(line, r);
    free(text);
    return ours;
}

/* Reads all folders of spools in `parent` except `own`. Returns how many publish their ranks;
 * *others: how many there are. */
static size_t visit(const char *parent, const char *own, const struct reading *r, size_t *others)
{
    char path[PATH_MAX + NAME_MAX];
    size_t answered = 0;
    DIR *d = opendir(parent);
    *others = 0;
    for (struct dirent *f; d && (f = readdir(d));) {
        if (!spools_folder_is(f->d_name) || strcmp(f->d_name, own) == 0)
            continue;
        ++*others;
        if (snprintf(path, sizeof path, "%s/%s/%s", parent, f->d_name, name) < PATH_MAX)
            answered += read_shown(path, r);
    }
    if (d)
        closedir(d);
    return answered;
}

/* Reads the other folders again if it is time. In a large job each gpuprof reads less often,
 * because all share one file system. */
static void look_again(struct collector *c, const struct rank_places *ours)
{
    char parent[PATH_MAX], path[PATH_MAX];
    struct stat st;
    const char *slash = strrchr(c->meeting, '/');
    bool stopped = false;
    int64_t now_ns = clock_monotonic_ns();
    size_t others;
    for (size_t i = 0; i < ours->n; i++)
        stopped |= ours->at[i].stopped != 0;
    if ((!stopped && now_ns < c->next_others_ns) || !slash || !path_in(c->meeting, name, path) ||
        stat(path, &st) != 0)
        return;
    snprintf(parent, sizeof parent, "%.*s", (int)(slash - c->meeting), c->meeting);
    c->others.n = 0;
    visit(parent, slash + 1, &(struct reading){written_ns(&st) - old_ns, &c->others, NULL},
          &others);
    c->next_others_ns = now_ns + (int64_t)(others / FOLDERS_A_SECOND) * 1000000000;
}

void stuck_read_others(struct collector *c, struct rank_places *p)
{
    look_again(c, p);
    for (size_t i = 0; i < c->others.n; i++) {
        struct rank_place *slot = vec_push(p);
        if (slot)
            *slot = c->others.at[i];
    }
}

size_t stuck_read_folder(const char *folder, int64_t since_ns, struct rank_places *p,
                         struct shown_lines *lines, size_t *silent)
{
    size_t answered = visit(folder, "", &(struct reading){since_ns, p, lines}, silent);
    *silent -= answered;
    return answered;
}
