# vgpu_target(TARGET): include root, CUDA's headers, warnings, sanitizers. A parent project sets VGPU_WERROR and
# VGPU_SANITIZE (for example "thread").
option(VGPU_WERROR "Warnings are errors" OFF)
option(VGPU_TESTS "Build the virtual GPU's tests" ON)
function(vgpu_target target)
    target_include_directories(${target} PRIVATE ${vgpu_SOURCE_DIR} ${vgpu_SOURCE_DIR}/include ${CMAKE_CURRENT_BINARY_DIR})
    target_include_directories(${target} SYSTEM PRIVATE ${VGPU_CUDA_INCLUDES})
    target_compile_definitions(${target} PRIVATE _GNU_SOURCE)
    target_compile_options(${target} PRIVATE -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion
        -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wvla -fno-common)
    if(VGPU_WERROR)
        target_compile_options(${target} PRIVATE -Werror)
    endif()
    if(VGPU_SANITIZE)
        target_compile_options(${target} PRIVATE -fsanitize=${VGPU_SANITIZE} -fno-omit-frame-pointer
            -fno-sanitize-recover=all $<$<C_COMPILER_ID:GNU>:-Wno-format-truncation;-Wno-maybe-uninitialized>)
        target_link_options(${target} PRIVATE -fsanitize=${VGPU_SANITIZE})
    endif()
endfunction()
