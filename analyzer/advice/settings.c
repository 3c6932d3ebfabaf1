/* See settings.h. tests/settings.sh holds the table against the hook and the trainers. */
#include "analyzer/advice/settings.h"

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

const struct setting *setting_find(const char *text)
{
    size_t n = strcspn(text, "=;");
    for (size_t i = 0; i < setting_count; i++)
        if (strlen(setting_table[i].name) == n && memcmp(setting_table[i].name, text, n) == 0)
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
    for (const char *p = text; *p; p += *p == ';') {
        const struct setting *s = setting_find(p);
        const char *value = p + strcspn(p, "=;");
        size_t n = strcspn(p, ";");
        if (s && s->other && *value == '=' &&
            among(s->other, value + 1, n - (size_t)(value + 1 - p)))
            return true;
        p += n;
    }
    return false;
}
