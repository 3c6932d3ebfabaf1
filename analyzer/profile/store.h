/* The profile on disk: a SQLite database, schema in schema.sql, described for users in
 * docs/profile.md. Only sql/ knows SQLite itself.
 *
 * Writing: rows go into one big transaction that is committed every ~100,000 rows, of a recording
 * when its collector says so; indices and views are made by store_finish. A profile grows in a file
 * of its own (place.h) and is renamed by store_finish, so no half-written one is ever found under
 * its own name.
 *
 * Errors: -1 with *e set (path, what, cure). Ownership: open/create give a heap object, close
 * frees.
 */
#ifndef GPUPROF_PROFILE_STORE_H
#define GPUPROF_PROFILE_STORE_H

#include "analyzer/profile/rows.h"

#include <stdbool.h>

#define STORE_SCHEMA_VERSION 10 /* PRAGMA user_version */

struct store;

/* New profile at `path`; `as` tells what to do with an existing file (enum place_as; 1 replaces
 * it).
 */
struct store *store_create(const char *path, int as, struct err *e);
/* As store_create, for a recording: it can be killed at any moment, and what was committed until
 * then is whole. `tag`, six letters of its own, stands in the name of the file in which it grows.
 */
struct store *store_create_kept(const char *path, int as, const char *tag, struct err *e);
/* Of such a one: what its writer knows besides, by name; it goes with the next commit, and none is
 * left when the profile is finished. n 0 removes it. */
int store_put_state(struct store *s, const char *name, const void *state, size_t n, struct err *e);
int store_commit_rows(struct store *s, struct err *e);
/* Of such a one, when a row or a commit failed because the disk is full: goes back to what is
 * committed, which gives its room back, and takes rows again. Rows without a time, of which there
 * are few, go with the next commit that finds room. -1: it cannot. */
int store_roll_back(struct store *s, struct err *e);
/* What a killed writer left (place_left), read-only; *s NULL: nothing was committed. Its states,
 * malloc'ed, NULL: there is none. */
int store_open_left(struct store **s, const char *partial, struct err *e);
bool store_is_whole(const struct store *s); /* all of it is there, but for its name */
void *store_state(struct store *s, const char *name, size_t *n);
const char *store_place(const struct store *s); /* of a new one: its name, once it is finished */
/* Existing profile, read-only (0) or for adding findings (1). Of an older one,
 * columns that came later read as -1 (tables.c says which); a newer one is refused ("made by a
 * newer gpuprof"); a truncated or foreign file gets one clear line. */
struct store *store_open(const char *path, int writable, struct err *e);
int store_is_profile(
    const char *path); /* 1 yes, 0 no: looks at the first bytes and application_id */
/* The sink that writes into it. */
struct sink store_sink(struct store *s);
/* Writes derived `process.end_ns`, indices, views; commits; renames into place. */
int store_finish(struct store *s, struct err *e);
/* Closes; without a store_finish before, a created profile is discarded. NULL is fine. */
void store_close(struct store *s);

/* Pours every row, table by table in enum row_kind order, into `out`. */
int store_read(struct store *s, struct sink *out, struct err *e);
/* Unix ns of its time 0; 0 = not known. */
int64_t store_start_realtime(struct store *s);
/* Rows written so far (all tables). */
int64_t store_rows(const struct store *s);
/* How large the profile will be, if nothing more is put: with its index and with what the analysis
 * will add. An estimate from above. */
int64_t store_expected_bytes(struct store *s);

/* Results kept with the profile, so that an old one reopens with what was said of it. `row` is the
 * struct of `kind` (rows.h); texts come from store_intern. store_clear_derived empties all of them
 * but trials. Between the two, store_begin / store_commit make it one transaction. */
uint32_t store_intern(struct store *s, const char *text);
int store_begin(struct store *s, struct err *e);
int store_commit(struct store *s, struct err *e);
int store_clear_derived(struct store *s, struct err *e);
int store_put_derived(struct store *s, enum derived_kind kind, const void *row, struct err *e);
/* Id for the next row of the table trial. */
int64_t store_next_trial(struct store *s);

/* JSON text as `gpuprof analyze --json` printed it; the newest of its kind replaces older ones. */
int store_put_result(struct store *s, const char *kind, const char *json, struct err *e);
/* malloc'ed JSON of `kind`, NULL when there is none. */
char *store_get_result(struct store *s, const char *kind, struct err *e);

#endif
