# cmake -DIN=cuda.h -DOUT=cuda_forms.inc -P cuda_forms.cmake
# Functions that have had several forms: {"cuMemAlloc", "cuMemAlloc_v2"}, as this header calls them.
file(STRINGS ${IN} lines REGEX "^ *# *define +cu[A-Z][A-Za-z0-9]* +")
set(body "")
foreach(l ${lines})
    if(l MATCHES "define +(cu[A-Z][A-Za-z0-9]*) +(__CUDA_API_PT[SD][SZ]\\()?(cu[A-Z][A-Za-z0-9]*_v[0-9]+)")
        string(APPEND body "{\"${CMAKE_MATCH_1}\", \"${CMAKE_MATCH_3}\"},\n")
    endif()
endforeach()
file(WRITE ${OUT} "${body}")
