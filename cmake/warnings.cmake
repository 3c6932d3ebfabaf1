# gpuprof_target(TARGET): language level, include root, warnings, sanitizers by preset.
option(GPUPROF_PORTABLE "Link SQLite and zlib statically" OFF)
option(GPUPROF_WERROR "Warnings are errors" OFF) # a newer compiler must not stop a user; CI turns it on
set(GPUPROF_SANITIZE "" CACHE STRING "address,undefined or thread")
function(gpuprof_target target)
    target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR} ${CMAKE_CURRENT_BINARY_DIR})
    target_compile_definitions(${target} PRIVATE _GNU_SOURCE GPUPROF_VERSION="${PROJECT_VERSION}")
    target_compile_options(${target} PRIVATE
        $<$<COMPILE_LANGUAGE:C>:-Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion
            -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wvla -fno-common>)
    if(GPUPROF_WERROR)
        target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:C>:-Werror>)
    endif()
    if(GPUPROF_SANITIZE)
        target_compile_options(${target} PRIVATE
            $<$<COMPILE_LANGUAGE:C>:-fsanitize=${GPUPROF_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all>
            $<$<AND:$<COMPILE_LANGUAGE:C>,$<C_COMPILER_ID:GNU>>:-Wno-format-truncation
                -Wno-maybe-uninitialized>) # GCC sees less through a sanitizer's checks
        target_link_options(${target} PRIVATE -fsanitize=${GPUPROF_SANITIZE})
    endif()
endfunction()
