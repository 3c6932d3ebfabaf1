# Builds with the old C library that scripts/sysroot.py puts into GPUPROF_SYSROOT. Read before the compiler is looked at.
# Debian's GCC looks for start files and libraries beside itself first, so their folder is named with -B and -L. The agent alone
# is linked to this machine's library, under names that old ones have (agent/core/resolve.c): in theirs, what it calls of
# libdl and libpthread is in libraries that it must not need.
set(CMAKE_SYSROOT_COMPILE ${GPUPROF_SYSROOT})
file(GLOB folder ${GPUPROF_SYSROOT}/usr/lib/*-linux-gnu)
cmake_path(GET folder FILENAME machine)
set(old --sysroot=${GPUPROF_SYSROOT} -B${folder} -L${folder} -L${GPUPROF_SYSROOT}/lib/${machine})
add_link_options("$<$<NOT:$<STREQUAL:$<TARGET_PROPERTY:NAME>,gpuprof_agent>>:${old}>")
set(CMAKE_HAVE_LIBC_PTHREAD OFF CACHE INTERNAL "in a library of its own")
