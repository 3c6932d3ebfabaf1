# cmake -DIN=cupti_x_cbid.h -DPREFIX=CUPTI_X_TRACE_CBID_ -DOUT=x_cbid_names.inc -P cbid_names.cmake
# The names of CUPTI's callback ids as designated initialisers.
file(STRINGS ${IN} lines REGEX "${PREFIX}[A-Za-z0-9_]+ *= *[0-9]+")
set(body "")
foreach(l ${lines})
    string(REGEX REPLACE ".*${PREFIX}([A-Za-z0-9_]+) *= *([0-9]+).*" "\\2;\\1" pair "${l}")
    list(GET pair 0 id)
    list(GET pair 1 name)
    if(NOT name MATCHES "^(INVALID|SIZE|FORCE_INT)$")
        string(APPEND body "[${id}] = \"${name}\",\n")
    endif()
endforeach()
file(WRITE ${OUT} "${body}")
