/* Memory in two halves (core_map.c): what a device gives, without an address, and addresses without
 * memory. A program maps the one at the other. Functions return a cudaError_t number. */
#ifndef VGPU_CORE_MAP_H
#define VGPU_CORE_MAP_H

#include "core/core_state.h"

enum { VG_MAP_GRAIN = 2 << 20, VG_MAP_NOTES = 64 };

/* Memory of a device without an address. It goes back when nobody holds it and nothing maps it. */
struct vg_physical {
    uint32_t magic;
    int device;
    size_t bytes;
    unsigned held, mapped;
    _Alignas(8) unsigned char notes[VG_MAP_NOTES]; /* of who made it, to ask for later */
};

int vg_physical_new(int device, size_t bytes, struct vg_physical **out);
struct vg_physical *vg_physical_check(struct vg_physical *p); /* NULL: not one that lives */
int vg_physical_hold(struct vg_physical *p);
int vg_physical_release(struct vg_physical *p);

int vg_reserve(void **out, size_t bytes, size_t align);
int vg_unreserve(void *base, size_t bytes);
int vg_map(void *at, size_t bytes, struct vg_physical *p);
/* A whole number of mappings. */
int vg_unmap(void *at, size_t bytes);
/* What is mapped there; NULL: nothing. */
struct vg_physical *vg_mapped(const void *at);
/* Whether all of these addresses are mapped. */
bool vg_all_mapped(const void *at, size_t bytes);

#endif
