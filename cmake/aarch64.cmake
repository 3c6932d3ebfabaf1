# Builds for aarch64 on another machine, with Debian's gcc-aarch64-linux-gnu and g++: -DCMAKE_TOOLCHAIN_FILE=cmake/aarch64.cmake
# -DGPUPROF_ARM64=DIR. DIR is a Debian of arm64 with the packages of packages.txt; tests/fresh/arm64.sh makes one.
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES GPUPROF_ARM64)
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_SYSROOT ${GPUPROF_ARM64})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(GPUPROF_NVCC_FOR "-ccbin;aarch64-linux-gnu-g++" CACHE STRING "nvcc's options for this machine")
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${GPUPROF_ARM64})
set(ENV{PKG_CONFIG_LIBDIR} ${GPUPROF_ARM64}/usr/lib/aarch64-linux-gnu/pkgconfig:${GPUPROF_ARM64}/usr/share/pkgconfig)
