/* The table of settings (settings.h), and which of them a program obeys. tests/settings.sh compares
 * the table with the hook and the trainers. */
#include "analyzer/advice/settings.h"

#include "analyzer/advice/outcome.h"
#include "analyzer/queries/query.h"
#include "base/settings.h"
#include "wire/fact_keys.h"

#include <string.h>

const struct setting setting_table[] = {
    {"batch", NULL, true, NULL},
    {"broadcast_buffers", NULL, true, NULL},
    {"bucket_mb", NULL, true, NULL},
    {"channels_last", "*", true, NULL},
    {"checkpoint", NULL, true, NULL},
    {"clip", NULL, true, NULL},
    {"cuda_graph", NULL, true, NULL},
    {"cudnn_benchmark", "*", true, NULL},
    {"first_bucket_mb", NULL, true, NULL},
    {"fuse_pointwise", NULL, true, NULL},
    {"gc", "freeze", false, NULL},
    {"loader", "*", false, NULL},
    {"mode", NULL, true, NULL},
    {"no_sync", NULL, true, NULL},
    {"non_blocking", "*", true, NULL},
    {"num_workers", "*", true, NULL},
    {"offload", NULL, true, NULL},
    {"optimizer", "fused foreach", true, NULL},
    {"overlap", NULL, true, NULL},
    {"pad_vocab", NULL, true, NULL},
    {"persistent_workers", "*", false, NULL},
    {"pin_memory", "*", true, NULL},
    {"precision", "fp32 tf32 bf16", true, "bf16 fp16"},
    {"prefetch_factor", "*", false, NULL},
    {"scaler", NULL, true, NULL},
    {"sync_every", NULL, true, NULL},
    {"zero_grad", "none", true, NULL},
};
const size_t setting_count = sizeof setting_table / sizeof *setting_table;

static const struct setting *find(const char *name, size_t n)
{
    for (size_t i = 0; i < setting_count; i++)
        if (strlen(setting_table[i].name) == n && memcmp(setting_table[i].name, name, n) == 0)
            return &setting_table[i];
    return NULL;
}

/* Is value[0..n) one of the words in `list`? */
static bool among(const char *list, const char *value, size_t n)
{
    for (const char *p = list; *p; p += strspn(p, " ")) {
        size_t k = strcspn(p, " ");
        if (k == n && memcmp(p, value, n) == 0)
            return true;
        p += k;
    }
    return false;
}

bool settings_change_numbers(const char *text)
{
    struct setting_text at;
    while (settings_next(&text, &at)) {
        const struct setting *s = find(at.name, at.name_size);
        if (s && s->other && among(s->other, at.value, at.value_size))
            return true;
    }
    return false;
}

/* Does the hook's list contain this setting? An entry is a name ("num_workers") if any value is
 * accepted, or name and value ("precision=bf16"). */
static bool knows(const char *list, const char *setting, size_t n)
{
    size_t name = strcspn(setting, "=");
    for (const char *p = list; *p; p += strspn(p, " ")) {
        size_t k = strcspn(p, " ");
        if ((k == n || k == name) && memcmp(p, setting, k) == 0)
            return true;
        p += k;
    }
    return false;
}

/* Returns the list of settings that the program or its runtime said it obeys. NULL: not known
 * (PyTorch programs without such a list, and recordings that do not show which command ran). Other
 * programs read no settings: "". */
static const char *settings_obeyed(const struct facts *f)
{
    static const char *const keys[] = {FACT_TORCH_SETTINGS, FACT_PROGRAM_SETTINGS};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (timeline_meta(f->tl, keys[i]))
            return timeline_meta(f->tl, keys[i]);
    bool unknown = !timeline_meta(f->tl, "command") || (query_of_pytorch(f) && !query_of_xla(f));
    return unknown ? NULL : "";
}

bool outcome_obeyed(const struct facts *f, const char *settings)
{
    const char *list = settings_obeyed(f);
    for (const char *p = settings; list && *p; p += *p == ';') {
        size_t n = strcspn(p, ";");
        if (!knows(list, p, n))
            return false;
        p += n;
    }
    return true;
}
