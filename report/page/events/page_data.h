/* The data behind the timeline while they are written: page_choice.c chooses the events,
 * page_data.c writes them, page_data_steps.c writes the rest. */
#ifndef GPUPROF_REPORT_PAGE_EVENTS_PAGE_DATA_H
#define GPUPROF_REPORT_PAGE_EVENTS_PAGE_DATA_H

#include "base/str.h"
#include "report/trace/rows.h"
#include "report/json/json_write.h"
#include "report/page/page.h"

/* The timeline's data: all events if they are at most PAGE_EVENTS; of more, PAGE_SOME, those of whole
 * steps, the most informative first; fewer if they would take more than PAGE_BYTES.
 * page_data_open chooses the events and fills p->data and p->events, so call it before any button
 * is written. -1 with *e set. */
enum { PAGE_EVENTS = 120000, PAGE_SOME = 80000, PAGE_BYTES = 600000 };
int page_data_open(struct page *p, struct err *e);
int page_data_write(const struct page *p, struct err *e); /* packed */
void page_data_close(struct data *d);

/* ---- for this room only ---- */

enum { PAGE_AFTER = 3 }; /* findings whose replayed step is on the page */

struct data {
    struct json j;
    const struct page *p;
    const struct timeline *t;
    const struct steps *steps;
    struct rows rows;
    struct items items;
    bool *several_gpus; /* points to the page's */
    uint32_t *name;     /* by string id: number on the page + 1 */
    uint32_t *listed;   /* string ids by number */
    uint32_t names;
    struct str_table mores; /* further texts of events, besides their names */
    uint32_t *events;       /* per step */
    bool *detail;           /* per step: its events are on the page */
    /* By string id, if not all events are on the page: the kernel's longest call there, or
     * TL_NONE. */
    uint32_t *longest;
    bool all;
    size_t chosen;      /* events on the page */
    const char **shown; /* ranks whose lanes are on the page (page_shown.h) */
    struct after after[PAGE_AFTER];
    size_t after_count;
    int64_t from_ns, to_ns; /* of the run */
    /* If no whole step fits: the part of a step that is on the page; else 0, 0. */
    int64_t window_from_ns, window_to_ns;
};

int data_choose(struct data *d, size_t most);                 /* events; -1: out of memory */
extern const struct page_events data_events;                  /* answers about the chosen events */
bool data_wanted(const struct data *d, const struct item *i); /* the item is on the page */
/* True if the lanes of a process, or the lane of a thread, are on the page. */
bool data_shows(const struct data *d, uint32_t process);
bool data_shows_thread(const struct data *d, uint32_t thread);

void page_data_steps(struct data *d);
void page_data_span(struct data *d);       /* from_ns, to_ns */
void page_data_unrecorded(struct data *d); /* what lies between the windows */
void page_data_gaps(struct data *d);       /* of the steps whose events are on the page */
void page_data_findings(struct data *d);

/* page_data_after.c: the best findings, each with a step as replayed after the change. */
int page_data_after_find(struct data *d, struct err *e);
void page_data_after(struct data *d);
/* Writes a row: of a stream (thread TL_NONE), or of a thread. */
void page_data_after_row(struct data *d, uint32_t thread);

#endif
