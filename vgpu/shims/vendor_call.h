/* For shims of libraries whose headers the build does not need. Types follow the binary interface:
 * enumerations are ints, handles and descriptors are pointers. */
#ifndef VGPU_VENDOR_CALL_H
#define VGPU_VENDOR_CALL_H

/* Declares a call that returns a status and begins its definition. */
#define CALL(name, ...)                                                                            \
    int name(__VA_ARGS__);                                                                         \
    int name(__VA_ARGS__)

#endif
