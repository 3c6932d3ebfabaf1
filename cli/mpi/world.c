/* The calls of MPI that gpuprof-mpi makes (world.h). */
#include "cli/mpi/world.h"

#include "cli/common/command.h"

#include <limits.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

enum tag { TAG_FILE = 1, TAG_END, TAG_FAILED };

static void must(int rc)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int n;
    if (rc == MPI_SUCCESS)
        return;
    MPI_Error_string(rc, text, &n);
    usage_error("mpi: a call of MPI failed: %s", text);
    MPI_Abort(MPI_COMM_WORLD, 2);
}

/* Ends all processes if there is no memory, at points where others wait for this one. */
static void *needed(void *memory)
{
    struct err e = ERR_INIT;
    if (!memory) {
        err_no_memory(&e);
        fail(&e);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    return memory;
}

void world_open(struct world *w)
{
    int threads;
    must(MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &threads));
    must(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    must(MPI_Comm_rank(MPI_COMM_WORLD, &w->process));
    must(MPI_Comm_size(MPI_COMM_WORLD, &w->processes));
}

void world_close(void)
{
    must(MPI_Finalize());
}

void world_share(const struct world *w, struct bytes *b)
{
    int n = (int)b->n;
    must(MPI_Bcast(&n, 1, MPI_INT, 0, MPI_COMM_WORLD));
    if (w->process > 0 && n > 0)
        *b = (struct bytes){.at = needed(malloc((size_t)n)), .n = (size_t)n, .cap = (size_t)n};
    if (n > 0)
        must(MPI_Bcast(b->at, n, MPI_BYTE, 0, MPI_COMM_WORLD));
}

/* ---- merging along a tree ---- */

static int send_file(const struct job *j, const struct job_file *f, int to, struct err *e)
{
    struct bytes b = {0};
    int rc = job_put_file(j, f, &b, e);
    if (rc == 0 && b.n > INT_MAX)
        rc = err_set(e, "%s: its summary is larger than 2 GiB", f->path);
    if (rc == 0)
        must(MPI_Send(b.at, (int)b.n, MPI_BYTE, to, TAG_FILE, MPI_COMM_WORLD));
    bytes_release(&b);
    return rc;
}

static void send_job(struct job *j, bool failed, int to, struct err *e)
{
    for (size_t i = 0; !failed && i < j->files.n; i++) {
        failed = send_file(j, &j->files.at[i], to, e) < 0;
        bytes_release(&j->files.at[i].rows);
    }
    must(MPI_Send(e->text, sizeof e->text, MPI_BYTE, to, failed ? TAG_FAILED : TAG_END,
                  MPI_COMM_WORLD));
    job_release(j);
}

/* Receives the next message of a process. Returns its tag. */
static int receive(int from, struct bytes *b)
{
    MPI_Status s;
    int n;
    must(MPI_Probe(from, MPI_ANY_TAG, MPI_COMM_WORLD, &s));
    must(MPI_Get_count(&s, MPI_BYTE, &n));
    *b = (struct bytes){.at = needed(malloc((size_t)n + 1)), .n = (size_t)n, .cap = (size_t)n + 1};
    must(MPI_Recv(b->at, n, MPI_BYTE, from, s.MPI_TAG, MPI_COMM_WORLD, &s));
    return s.MPI_TAG;
}

/* Adds the job of a process. Receives all that the process sends, also after a failure. */
static int receive_job(struct job *j, int from, bool failed, struct err *e)
{
    struct bytes b;
    for (int tag = TAG_FILE; tag == TAG_FILE; bytes_release(&b)) {
        size_t at = 0;
        tag = receive(from, &b);
        if (tag == TAG_FAILED && !failed)
            memcpy(e->text, b.at, sizeof e->text);
        int rc = tag == TAG_FILE && !failed ? job_get_file(j, &b, &at) : 1;
        if (rc < 0)
            err_no_memory(e);
        else if (rc > 0)
            job_spill(j);
        else
            err_set(e, "mpi: a damaged summary came from process %d", from);
        failed = failed || tag == TAG_FAILED || rc <= 0;
    }
    return failed ? -1 : 0;
}

int world_merge(const struct world *w, struct job *j, bool failed, struct err *e)
{
    for (int bit = 1; bit < w->processes; bit *= 2) {
        if (w->process & bit) {
            send_job(j, failed, w->process - bit, e);
            return 0;
        }
        if (w->process + bit < w->processes)
            failed = receive_job(j, w->process + bit, failed, e) < 0;
    }
    return failed ? -1 : 0;
}
