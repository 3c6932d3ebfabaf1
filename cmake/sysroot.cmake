# A toolchain: builds for GPUPROF_MACHINE by what scripts/sysroot.py puts into GPUPROF_SYSROOT. Debian's GCC looks for headers, start
# files and libraries beside itself first, so the old ones are named. The agent alone is linked to the C library of this system's
# compiler, under names that old ones have (agent/core/old_names.h): in theirs, what it calls of libdl and libpthread is in
# libraries that it must not need.
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES GPUPROF_SYSROOT GPUPROF_MACHINE)
set(CMAKE_LIBRARY_ARCHITECTURE ${GPUPROF_MACHINE}-linux-gnu)
set(CMAKE_C_COMPILER ${CMAKE_LIBRARY_ARCHITECTURE}-gcc)
set(CMAKE_FIND_ROOT_PATH ${GPUPROF_SYSROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
if(NOT GPUPROF_MACHINE STREQUAL CMAKE_HOST_SYSTEM_PROCESSOR)
    set(CMAKE_SYSTEM_NAME Linux)
    set(CMAKE_SYSTEM_PROCESSOR ${GPUPROF_MACHINE})
    set(CMAKE_CROSSCOMPILING_EMULATOR qemu-${GPUPROF_MACHINE}-static -L ${GPUPROF_SYSROOT}/run)
endif()
execute_process(COMMAND ${CMAKE_C_COMPILER} -print-file-name=include OUTPUT_VARIABLE own OUTPUT_STRIP_TRAILING_WHITESPACE)
add_compile_options(-nostdinc "SHELL:-isystem ${own}" "SHELL:-isystem ${GPUPROF_SYSROOT}/usr/include" -D__GLIBC_MINOR__=28)
set(libraries ${GPUPROF_SYSROOT}/usr/lib/${CMAKE_LIBRARY_ARCHITECTURE})
add_link_options("$<$<NOT:$<STREQUAL:$<TARGET_PROPERTY:NAME>,gpuprof_agent>>:--sysroot=${GPUPROF_SYSROOT};-B${libraries};-L${libraries}>")
set(CMAKE_HAVE_LIBC_PTHREAD OFF CACHE INTERNAL "in a library of its own")
