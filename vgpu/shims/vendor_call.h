/* For shims of libraries whose headers the build does not ask for. The types are those of the
 * binary interface: enumerations are ints, handles and descriptors are pointers. */
#ifndef VGPU_VENDOR_CALL_H
#define VGPU_VENDOR_CALL_H

/* Declares and begins a call that returns a status. */
#define CALL(name, ...)                                                                            \
    int name(__VA_ARGS__);                                                                         \
    int name(__VA_ARGS__)

#endif
