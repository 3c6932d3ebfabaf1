/* What the NVTX handler keeps between calls: the texts behind the program's handles, and another
 * tool's functions if there is one.
 *
 * Without another tool a handle is a pointer to its text, which lives as long as the process,
 * because programs keep handles and pass them between copies of NVTX and across fork. With another
 * tool the program gets that tool's handles, so that functions which gpuprof does not handle work
 * too; a map leads from these handles to the texts. */
#ifndef GPUPROF_AGENT_NVTX_NVTX_H
#define GPUPROF_AGENT_NVTX_NVTX_H

#include <wchar.h>

#define NVTX_NO_IMPL /* only declarations: we are the tool, not a client */
#include <nvtx3/nvToolsExt.h>

#include "agent/core/spool.h"

struct nvtx_text;

struct nvtx_text *nvtx_keep(const char *text); /* copies the text; NULL: no room, or no text */
struct nvtx_text *nvtx_keep_wide(const wchar_t *text);
struct nvtx_text *nvtx_text(void *handle); /* NULL: not a handle of ours */
uint32_t nvtx_text_id(const struct thread *t, struct nvtx_text *text);
bool nvtx_is_nccl(const struct nvtx_text *text);
/* The handle that the program gets for a text; `theirs` is the other tool's handle for it, or
 * NULL. */
void *nvtx_handle(struct nvtx_text *text, void *theirs);

/* Record a call (nvtx_record.c); nothing if the thread does not record. domain: NULL: the default
 * domain. */
void nvtx_record_push(void *domain, const nvtxEventAttributes_t *a);
void nvtx_record_push_a(const char *message);
void nvtx_record_push_w(const wchar_t *message);
void nvtx_record_pop(void *domain);
void nvtx_record_mark(void *domain, const nvtxEventAttributes_t *a);
/* id: the other tool's id for this range; 0: none. Returns the id that the program gets. */
nvtxRangeId_t nvtx_record_start(void *domain, const nvtxEventAttributes_t *a, nvtxRangeId_t id);
void nvtx_record_end(nvtxRangeId_t id);
void nvtx_record_thread_name(uint32_t tid, const char *name);

/* Lets the tool that the user had named in NVTX_INJECTION64_PATH fill this copy of NVTX first. */
void nvtx_chain(NvtxGetExportTableFunc_t get_table);
/* That tool's functions, by NVTX's numbers; NULL where it has none. */
enum { NVTX_NEXT = 32 };
extern NvtxFunctionPointer nvtx_next_core[NVTX_NEXT], nvtx_next_core2[NVTX_NEXT];

#endif
