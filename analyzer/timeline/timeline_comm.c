#include "analyzer/timeline/build.h"

#include <ctype.h>
#include <string.h>

enum { LONGEST = 96 };

/* A whole word of a name such as "mesh_dp_shard" or "DATA_PARALLEL_GROUP"; both in lower case. */
static bool has_word(const char *name, const char *word)
{
    size_t n = strlen(word);
    for (const char *at = strstr(name, word); at; at = strstr(at + 1, word))
        if ((at == name || !isalpha((unsigned char)at[-1])) && !isalpha((unsigned char)at[n]))
            return true;
    return false;
}

static bool has_any(const char *name, const char *const *words)
{
    for (; *words; words++)
        if (has_word(name, *words))
            return true;
    return false;
}

/* PyTorch's meshes: mesh_tp, mesh_dp_shard; Megatron: TENSOR_MODEL_PARALLEL_GROUP,
 * EXPERT_DATA_PARALLEL_GROUP; others: tp, ep. Who shares data shares gradients. */
enum comm_kind comm_kind_of(const char *group, const char *collective)
{
    static const char *const pairs[] = {"send", "recv", "ncclsend", "ncclrecv", NULL};
    static const char *const data[] = {"data", "dp", "ddp", "fsdp", "default", "world", NULL};
    static const char *const model[] = {"tensor",    "tp",      "pipeline",   "pp", "context", "cp",
                                        "sequence",  "sp",      "expert",     "ep", "model",   "mp",
                                        "embedding", "ulysses", "embeddings", NULL};
    char low[2][LONGEST];
    const char *texts[] = {group, collective};
    for (int k = 0; k < 2; k++) {
        size_t n = 0;
        for (; texts[k][n] && n < LONGEST - 1; n++)
            low[k][n] = (char)tolower((unsigned char)texts[k][n]);
        low[k][n] = 0;
    }
    if (has_any(low[1], pairs))
        return COMM_PAIR;
    return has_any(low[0], model) && !has_any(low[0], data) ? COMM_MODEL : COMM_GRADIENTS;
}
