/* Buffers for CUPTI whose records are discarded: they are handed out, taken back and handed out
 * again. */
#ifndef VGPU_TESTS_CALIBRATE_CUPTI_POOL_H
#define VGPU_TESTS_CALIBRATE_CUPTI_POOL_H

#include <cupti.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

enum { POOL_BYTES = 1 << 20, POOL_MOST = 64 };

static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;
static uint8_t *pool[POOL_MOST];
static int pooled;

static void CUPTIAPI pool_give(uint8_t **buffer, size_t *size, size_t *most)
{
    pthread_mutex_lock(&pool_lock);
    *buffer = pooled > 0 ? pool[--pooled] : NULL;
    pthread_mutex_unlock(&pool_lock);
    if (!*buffer)
        *buffer = (uint8_t *)aligned_alloc(64, POOL_BYTES);
    *size = *buffer ? POOL_BYTES : 0;
    *most = 0;
}

static void CUPTIAPI pool_take(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
                               size_t valid)
{
    (void)context, (void)stream, (void)size, (void)valid;
    pthread_mutex_lock(&pool_lock);
    bool kept = pooled < POOL_MOST;
    if (kept)
        pool[pooled++] = buffer;
    pthread_mutex_unlock(&pool_lock);
    if (!kept)
        free(buffer);
}

#endif
