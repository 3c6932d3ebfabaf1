/* The answers of cudaDeviceGetAttribute and cuDeviceGetAttribute, which number their attributes
 * alike. Properties that no profile holds are the same on all devices of a generation. */
#ifndef VGPU_CORE_ATTRIBUTES_H
#define VGPU_CORE_ATTRIBUTES_H

#include "core/core.h"

size_t vg_shared_per_sm(const struct vg_profile *p);
size_t vg_shared_optin(const struct vg_profile *p);
int vg_threads_per_sm(const struct vg_profile *p);
size_t vg_persisting_l2(const struct vg_profile *p);
int vg_bus_width(const struct vg_profile *p); /* in bits */
/* 0 for what the device does not have. */
int vg_device_attribute(const struct vg_profile *p, int device, int attribute);

#endif
