/* What the NVTX handler keeps between calls: texts behind the program's handles, and another tool's
 * functions when there is one.
 *
 * Without another tool a handle is a pointer to the text, which lives as long as the process,
 * because programs keep handles and pass them between copies of NVTX and across fork. With another
 * tool the handles are its own, so that functions which we do not handle work too; texts are found
 * by them. */
#ifndef GPUPROF_AGENT_NVTX_NVTX_H
#define GPUPROF_AGENT_NVTX_NVTX_H

#include <wchar.h>

#define NVTX_NO_IMPL /* declarations only: we are the tool, not a client */
#include <nvtx3/nvToolsExt.h>

#include "agent/core/spool.h"

struct nvtx_text;

struct nvtx_text *nvtx_keep(const char *text); /* NULL: no room, or no text */
struct nvtx_text *nvtx_keep_wide(const wchar_t *text);
struct nvtx_text *nvtx_text(void *handle); /* NULL: none of ours */
uint32_t nvtx_text_id(const struct thread *t, struct nvtx_text *text);
bool nvtx_is_nccl(const struct nvtx_text *text);
/* The handle for a text; `theirs` is what the other tool made of it. */
void *nvtx_handle(struct nvtx_text *text, void *theirs);

/* What is recorded of a call (nvtx_record.c); nothing outside of a thread's recording. `domain`:
 * NULL = the default one. */
void nvtx_record_push(void *domain, const nvtxEventAttributes_t *a);
void nvtx_record_push_a(const char *message);
void nvtx_record_push_w(const wchar_t *message);
void nvtx_record_pop(void *domain);
void nvtx_record_mark(void *domain, const nvtxEventAttributes_t *a);
/* `id`: another tool's, for the same range; 0 = none. Returns the range's id for the program. */
nvtxRangeId_t nvtx_record_start(void *domain, const nvtxEventAttributes_t *a, nvtxRangeId_t id);
void nvtx_record_end(nvtxRangeId_t id);
void nvtx_record_thread_name(uint32_t tid, const char *name);

/* The tool that the user had named in NVTX_INJECTION64_PATH takes this copy of NVTX first. */
void nvtx_chain(NvtxGetExportTableFunc_t get_table);
/* Its functions, by NVTX's numbers; NULL where it has none. */
enum { NVTX_NEXT = 32 };
extern NvtxFunctionPointer nvtx_next_core[NVTX_NEXT], nvtx_next_core2[NVTX_NEXT];

#endif
