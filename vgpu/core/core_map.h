/* Memory in two parts (core_map.c): memory of a device without an address, and addresses without
 * memory. A program maps one to the other. Functions return a cudaError_t number. */
#ifndef VGPU_CORE_MAP_H
#define VGPU_CORE_MAP_H

#include "core/core_state.h"

enum { VG_MAP_GRAIN = 2 << 20, VG_MAP_NOTES = 64 };

/* Memory of a device without an address. It is freed when it has no holder and no mapping. */
struct vg_physical {
    uint32_t magic;
    int device;
    size_t bytes;
    unsigned held, mapped;
    _Alignas(8) unsigned char notes[VG_MAP_NOTES]; /* notes of its maker, which can be read later */
};

int vg_physical_new(int device, size_t bytes, struct vg_physical **out);
struct vg_physical *vg_physical_check(struct vg_physical *p); /* NULL: not a living one */
int vg_physical_hold(struct vg_physical *p);
int vg_physical_release(struct vg_physical *p);

int vg_reserve(void **out, size_t bytes, size_t align);
int vg_unreserve(void *base, size_t bytes);
int vg_map(void *at, size_t bytes, struct vg_physical *p);
/* Unmaps a whole number of mappings. */
int vg_unmap(void *at, size_t bytes);
/* The memory mapped there; NULL: none. */
struct vg_physical *vg_mapped(const void *at);
/* True if all of these addresses are mapped. */
bool vg_all_mapped(const void *at, size_t bytes);

#endif
