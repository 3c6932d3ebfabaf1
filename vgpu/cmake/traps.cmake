# cmake -DIN=exports/x.txt -DLIBRARY=libx.so.1 -DOUT=x_traps.c -DWIDE=x_wide.rsp -P traps.cmake
# Every name that the real library exports becomes a weak function that ends the program with one line
# naming it; what the shim implements is strong and wins at link time. A form for 64-bit sizes is the plain
# one: each argument has eight bytes of its own, and the plain one reads the lower four. Those with a
# 64-bit result (cublasI...) have to be written.
cmake_policy(SET CMP0057 NEW) # IN_LIST
file(STRINGS ${IN} names)
set(body "")
set(forms "")
foreach(n ${names})
    string(REGEX REPLACE "_64$" "" plain ${n})
    if(NOT plain STREQUAL n AND plain IN_LIST names AND NOT n MATCHES "^cublasI")
        string(APPEND forms "-Wl,--defsym=${n}=${plain}\n")
    else()
        string(APPEND body "TRAP(${n})\n")
    endif()
endforeach()
file(WRITE ${WIDE} "${forms}")
file(WRITE ${OUT} "/* Made by traps.cmake from the real library's list of exports. */
void vg_trap(const char *library, const char *name);
#define TRAP(f) void f(void); __attribute__((weak)) void f(void) { vg_trap(\"${LIBRARY}\", #f); }
${body}")
