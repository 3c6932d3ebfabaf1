/* The profile on disk: a SQLite database with the schema in schema.sql, described for users in
 * docs/profile.md. Only sql/ uses SQLite's own functions.
 *
 * Writing: rows go into one transaction, which is committed every 100,000 rows; for a recording,
 * when its collector says so. store_finish makes the indices. A profile is written to a file of its
 * own (place.h), and store_finish renames it, so an incomplete profile never has the final name.
 *
 * Errors: -1 with *e set (path, what, cure). Ownership: open and create return a heap object,
 * which store_close frees. */
#ifndef GPUPROF_PROFILE_STORE_H
#define GPUPROF_PROFILE_STORE_H

#include "analyzer/profile/rows.h"

#include <stdbool.h>

#define STORE_SCHEMA_VERSION 12 /* PRAGMA user_version */

struct store;

/* Creates a profile at `path`. `as` says what to do with an existing file (enum place_as; 1
 * replaces it). NULL with *e set. */
struct store *store_create(const char *path, int as, struct err *e);
/* Like store_create, for a recording: it may be killed at any moment, and what was committed
 * until then is intact. `tag`: six letters that become part of the name of the file it is
 * written to. NULL with *e set. */
struct store *store_create_kept(const char *path, int as, const char *tag, struct err *e);
/* For a recording. store_put_state stores what its writer needs besides the rows, by
 * name; it becomes durable with the next store_commit_rows. store_finish removes all
 * states. n 0 removes one. */
int store_put_state(struct store *s, const char *name, const void *state, size_t n, struct err *e);
int store_commit_rows(struct store *s, struct err *e);
/* Sets the function that is called when a write finds no space on the disk, in any of these calls. It
 * returns true if the write should be tried again. */
void store_on_full(struct store *s, bool (*make_room)(void *self), void *self);
/* For a recording, after a row or a commit failed because the disk is full: rolls back to the last
 * commit, which frees space, and then accepts rows again. Rows without a time, which are few, are
 * put again by the next commit that finds space. -1 with *e set. */
int store_roll_back(struct store *s, struct err *e);
/* Opens what a killed writer left (place_left), read-only; *s NULL: nothing was committed.
 * store_state returns one of its states, malloc'ed with *n bytes; NULL: there is none. */
int store_open_left(struct store **s, const char *partial, struct err *e);
bool store_is_whole(const struct store *s); /* everything is there, only the final name is
                                               missing */
void *store_state(struct store *s, const char *name, size_t *n);
/* the name that a new profile gets when it is finished */
const char *store_place(const struct store *s);
/* Opens an existing profile, read-only (0) or for adding findings (1). In a profile of an older
 * version, columns added later read as -1 (see tables.c). NULL with *e set, also for a profile of a
 * newer version or a truncated or foreign file. */
struct store *store_open(const char *path, int writable, struct err *e);
int store_is_profile(
    const char *path); /* 1 yes, 0 no, judged by the first bytes and the application_id */
/* A sink that writes into the profile. */
struct sink store_sink(struct store *s);
/* Leaves out the indices, which only users' joins need: half of the time of store_finish, and more. */
void store_hurry(struct store *s);
/* Commits, makes the indices, and renames the profile into place. -1 with *e set. */
int store_finish(struct store *s, struct err *e);
/* Closes it. A created profile that was not finished is discarded. Accepts NULL. */
void store_close(struct store *s);

/* Pours every row into `out`, table by table in the order of enum row_kind. -1 with *e set. */
int store_read(struct store *s, struct sink *out, struct err *e);
/* Unix ns of the profile's time 0; 0 = not known. */
int64_t store_start_realtime(struct store *s);
/* Number of rows written so far, in all tables. */
int64_t store_rows(const struct store *s);
/* An upper estimate of the profile's size in bytes if no more rows are put, including its indices
 * and the results of the analysis. */
int64_t store_expected_bytes(struct store *s);

/* Results kept with the profile, so that it can be shown later with its findings. `row` is
 * the struct of `kind` (rows.h); texts come from store_intern. store_clear_derived removes
 * all results except trials. store_begin and store_commit make several changes one
 * transaction. -1 with *e set. */
uint32_t store_intern(struct store *s, const char *text);
int store_begin(struct store *s, struct err *e);
int store_commit(struct store *s, struct err *e);
int store_clear_derived(struct store *s, struct err *e);
int store_put_derived(struct store *s, enum derived_kind kind, const void *row, struct err *e);
/* The id for the next row of the table trial. */
int64_t store_next_trial(struct store *s);

/* Stores JSON as `gpuprof analyze --json` prints it; replaces an earlier text of the
 * same kind. -1 with *e set. */
int store_put_result(struct store *s, const char *kind, const char *json, struct err *e);
/* malloc'ed JSON of `kind`; NULL if there is none. */
char *store_get_result(struct store *s, const char *kind, struct err *e);

#endif
