# Finds CUDA's own headers, nvcc and link libraries in the places that scripts/cuda_places.sh lists. Sets
#   GPUPROF_CUDA_FOUND: the headers of the runtime, CUPTI and NVTX are there, and with them agent and virtual GPU are built
#   GPUPROF_NVCC: the compiler, which the reference workloads need besides; empty without one
#   GPUPROF_CUDA_INCLUDES, GPUPROF_CUDA_LIBDIRS
# cuBLAS, cuDNN and NCCL are declared in interfaces/, and linked from the toolkit or else from the virtual GPU.
set(CUDA_ROOT "" CACHE PATH "CUDA Toolkit or NVIDIA's pip wheels")
option(GPUPROF_CUDA "Build what needs CUDA's headers: agent, virtual GPU, workloads" ON)
option(GPUPROF_NEED_RECORDER "Fail where the agent cannot be built, instead of leaving it out" OFF)
if(NOT GPUPROF_CUDA)
    set(GPUPROF_CUDA_FOUND OFF)
    return()
endif()
execute_process(COMMAND ${CMAKE_SOURCE_DIR}/scripts/cuda_places.sh "${CUDA_ROOT}" OUTPUT_VARIABLE places
    OUTPUT_STRIP_TRAILING_WHITESPACE)
string(REPLACE "\n" ";" places "${places}")

set(GPUPROF_CUDA_INCLUDES ${CMAKE_SOURCE_DIR}/interfaces)
set(missing "")
foreach(h cuda_runtime_api.h cupti.h nvtx3/nvToolsExt.h)
    string(MAKE_C_IDENTIFIER "GPUPROF_INC_${h}" var)
    find_path(${var} ${h} PATHS ${places} PATH_SUFFIXES include NO_DEFAULT_PATH)
    if(${var})
        list(APPEND GPUPROF_CUDA_INCLUDES ${${var}})
    else()
        list(APPEND missing ${h})
    endif()
endforeach()
list(REMOVE_DUPLICATES GPUPROF_CUDA_INCLUDES)
find_program(GPUPROF_NVCC nvcc PATHS ${places} PATH_SUFFIXES bin NO_DEFAULT_PATH)
if(GPUPROF_NVCC)
    set(GPUPROF_NVCC ${GPUPROF_NVCC} ${GPUPROF_NVCC_FOR})
endif()
set(GPUPROF_CUDA_LIBDIRS "")
set(seen "") # most of these are links to one another
foreach(p ${places})
    foreach(l lib64 lib)
        get_filename_component(real ${p}/${l} REALPATH)
        if(IS_DIRECTORY ${real} AND NOT real IN_LIST seen)
            list(APPEND seen ${real})
            list(APPEND GPUPROF_CUDA_LIBDIRS ${p}/${l})
        endif()
    endforeach()
endforeach()

set(cure "  `make` offers to fetch them. Or install the CUDA Toolkit 12 or newer and set CUDA_HOME, or point -DCUDA_ROOT= at\n"
    "  the folder `nvidia` of NVIDIA's pip wheels.")
list(JOIN missing ", " missing)
if(missing)
    set(GPUPROF_CUDA_FOUND OFF)
    if(GPUPROF_NEED_RECORDER)
        message(FATAL_ERROR "CUDA: not complete (missing: ${missing}), so the recorder cannot be built, and this build must have it.\n" ${cure})
    endif()
    message(NOTICE "CUDA: not complete (missing: ${missing}).\n"
        "  Built without the recorder, the virtual GPU and the reference workloads. Analyzer, importers, reports and gates work.\n" ${cure})
else()
    set(GPUPROF_CUDA_FOUND ON)
    message(STATUS "CUDA: ${GPUPROF_CUDA_INCLUDES}, nvcc ${GPUPROF_NVCC}")
    if(NOT GPUPROF_NVCC)
        message(NOTICE "CUDA: no nvcc. Built without the reference workloads, and without what is tested with them.\n" ${cure})
        set(GPUPROF_NVCC "")
    endif()
endif()

# cuda_library(VARIABLE TARGET NAMES...): the first of these libraries there is, or else the virtual GPU's TARGET.
function(cuda_library variable target)
    find_library(${variable} NAMES ${ARGN} PATHS ${GPUPROF_CUDA_LIBDIRS} NO_DEFAULT_PATH)
    if(NOT ${variable} AND GPUPROF_VGPU)
        set(${variable} ${target} CACHE STRING "linked where NVIDIA's library is not there" FORCE)
    endif()
    if(NOT ${variable})
        message(FATAL_ERROR "CUDA: none of ${ARGN} is there to link the reference workloads with; -DGPUPROF_VGPU=ON has stand-ins")
    endif()
endfunction()

# cuda_linked(TARGET): a program of these, which finds NVIDIA's libraries without LD_LIBRARY_PATH where they are, but never the virtual GPU's,
# which are chosen by name.
function(cuda_linked target)
    target_link_options(${target} PRIVATE -Wl,--allow-shlib-undefined -Wl,--enable-new-dtags)
    set_target_properties(${target} PROPERTIES SKIP_BUILD_RPATH ON)
    list(JOIN GPUPROF_CUDA_LIBDIRS ":" folders)
    if(folders)
        target_link_options(${target} PRIVATE -Wl,-rpath,${folders})
    endif()
endfunction()

# cuda_test(TEST...): tests that start a program of these by itself. It must load where only the virtual GPU's libraries are.
function(cuda_test)
    if(NOT IS_ABSOLUTE "${CUBLAS_LIBRARY}" OR NOT IS_ABSOLUTE "${CUDNN_LIBRARY}" OR NOT IS_ABSOLUTE "${NCCL_LIBRARY}")
        set_tests_properties(${ARGN} PROPERTIES ENVIRONMENT "LD_LIBRARY_PATH=${CMAKE_BINARY_DIR}/lib/vgpu")
    endif()
endfunction()
