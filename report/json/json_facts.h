/* The parts of the JSON report that hold measurements; export_json.c writes the rest. Each writes
 * its keys into the open object; docs/json.schema.json describes them. */
#ifndef GPUPROF_REPORT_JSON_JSON_FACTS_H
#define GPUPROF_REPORT_JSON_JSON_FACTS_H

#include "analyzer/advice/advice.h"
#include "report/json/json_tree.h"

/* "device" to "ranks". */
void json_facts(struct json_tree *j, const struct advice *a);
/* "lines"; nothing if nothing was sampled. */
void json_lines(struct json_tree *j, const struct advice *a);
/* "work". */
void json_work(struct json_tree *j, const struct facts *f);
/* "memory". */
void json_memory(struct json_tree *j, const struct advice *a);
/* "gaps". */
void json_gaps(struct json_tree *j, const struct facts *f);
/* "remedy": words by framework. */
void json_remedy(struct json_tree *j, const struct remedy *r, const char *const words[]);
/* "health". */
void json_health(struct json_tree *j, const struct advice *a);

#endif
