# cmake -DIN=exports/x.txt -DLIBRARY=libx.so.1 -DOUT=x_traps.c -P traps.cmake
# Every name that the real library exports becomes a weak function that ends the program with one line
# naming it; what the shim implements is strong and wins at link time.
file(STRINGS ${IN} names)
set(body "")
foreach(n ${names})
    string(APPEND body "TRAP(${n})\n")
endforeach()
file(WRITE ${OUT} "/* Made by traps.cmake from the real library's list of exports. */
void vg_trap(const char *library, const char *name);
#define TRAP(f) void f(void); __attribute__((weak)) void f(void) { vg_trap(\"${LIBRARY}\", #f); }
${body}")
