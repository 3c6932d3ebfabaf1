/* libdw as a table of functions, filled by dlopen, so that gpuprof runs without it. */
#ifndef GPUPROF_UNWIND_LIBDW_H
#define GPUPROF_UNWIND_LIBDW_H

#include <dwarf.h>
#include <elfutils/libdwfl.h>

#define LIBDW_FUNCTIONS(X)                                                                         \
    X(dwfl_begin)                                                                                  \
    X(dwfl_end)                                                                                    \
    X(dwfl_report_begin)                                                                           \
    X(dwfl_report_end)                                                                             \
    X(dwfl_linux_proc_maps_report)                                                                 \
    X(dwfl_getmodules)                                                                             \
    X(dwfl_attach_state)                                                                           \
    X(dwfl_getthread_frames)                                                                       \
    X(dwfl_thread_state_registers)                                                                 \
    X(dwfl_frame_pc)                                                                               \
    X(dwfl_addrmodule)                                                                             \
    X(dwfl_module_info)                                                                            \
    X(dwfl_module_addrinfo)                                                                        \
    X(dwfl_module_addrdie)                                                                         \
    X(dwfl_build_id_find_debuginfo)                                                                \
    X(dwfl_module_nextcu)                                                                          \
    X(dwarf_haspc)                                                                                 \
    X(dwarf_getsrc_die)                                                                            \
    X(dwarf_lineno)                                                                                \
    X(dwarf_linesrc)                                                                               \
    X(dwarf_getscopes)                                                                             \
    X(dwarf_getscopes_die)                                                                         \
    X(dwarf_tag)                                                                                   \
    X(dwarf_diename)                                                                               \
    X(dwarf_attr)                                                                                  \
    X(dwarf_formudata)                                                                             \
    X(dwarf_getsrcfiles)                                                                           \
    X(dwarf_filesrc)

struct libdw {
#define X(name) __typeof__(&name) name;
    LIBDW_FUNCTIONS(X)
#undef X
};

const struct libdw *libdw(void); /* NULL: libdw is not installed */

#endif
