# cmake -DIN=exports/x.txt -DLIBRARY=libx.so.1 -DOUT=x_traps.c -DWIDE=x_wide.rsp -P traps.cmake
# Every name that the real library exports becomes a weak function that ends the program with one line
# naming it; what the shim implements is strong and wins at link time.
#
# A list has a name a line. `NAME _64` stands for NAME and its form for 64-bit sizes. `like y.txt` takes the names of
# another list, `+ NAME` and `- NAME` what this library has besides and what it lacks.
#
# A form for 64-bit sizes is the plain one: each argument has eight bytes of its own, and the plain one reads the lower
# four. Those with a 64-bit result (cublasI...) have to be written.
file(STRINGS ${IN} lines)
set(names "")
foreach(line ${lines})
    if(line MATCHES "^like (.*)")
        cmake_path(REPLACE_FILENAME IN ${CMAKE_MATCH_1} OUTPUT_VARIABLE other)
        file(STRINGS ${other} names)
    elseif(line MATCHES "^- (.*)")
        list(REMOVE_ITEM names ${CMAKE_MATCH_1})
    else()
        string(REGEX REPLACE "^[+] " "" line ${line})
        list(APPEND names ${line})
    endif()
endforeach()
set(body "")
set(forms "")
foreach(line ${names})
    string(REGEX REPLACE " _64$" "" plain ${line})
    string(APPEND body "TRAP(${plain})\n")
    if(NOT plain STREQUAL line AND plain MATCHES "^cublasI")
        string(APPEND body "TRAP(${plain}_64)\n")
    elseif(NOT plain STREQUAL line)
        string(APPEND forms "-Wl,--defsym=${plain}_64=${plain}\n")
    endif()
endforeach()
file(WRITE ${WIDE} "${forms}")
file(WRITE ${OUT} "/* Made by traps.cmake from the real library's list of exports. */
void vg_trap(const char *library, const char *name);
#define TRAP(f) void f(void); __attribute__((weak)) void f(void) { vg_trap(\"${LIBRARY}\", #f); }
${body}")
