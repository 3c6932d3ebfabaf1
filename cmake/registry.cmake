# The file is the registration. registry(TARGET DIR PREFIX TYPE HEADER SYMBOL COUNT) compiles every
# PREFIX_x.c in DIR and below into TARGET; each defines `const struct TYPE PREFIX_x`. A generated source collects them:
#   const struct TYPE *const SYMBOL[] = { &PREFIX_a, ... }; const size_t COUNT = n;
# With one more argument, a path as in an #include, it writes a header there that declares each PREFIX_x, for those who
# name them.
function(registry target dir prefix type header symbol count)
    file(GLOB_RECURSE files CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${dir}/${prefix}_*.c)
    list(SORT files COMPARE FILE_BASENAME)
    set(declared "")
    set(rows "")
    foreach(f ${files})
        get_filename_component(name ${f} NAME_WE)
        string(APPEND declared "extern const struct ${type} ${name};\n")
        string(APPEND rows "    &${name},\n")
    endforeach()
    list(LENGTH files n)
    set(out ${CMAKE_CURRENT_BINARY_DIR}/${prefix}_registry.c)
    file(CONFIGURE OUTPUT ${out} CONTENT
"/* Made by cmake/registry.cmake from ${dir}/${prefix}_*.c. */
#include \"${header}\"
${declared}
const struct ${type} *const ${symbol}[] = {
${rows}    NULL
};
const size_t ${count} = ${n};
" @ONLY)
    target_sources(${target} PRIVATE ${files} ${out})
    if(ARGC GREATER 7)
        file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/made/${ARGV7} CONTENT
"/* Made by cmake/registry.cmake from ${dir}/${prefix}_*.c; ${header} includes it. */
${declared}" @ONLY)
        target_include_directories(${target} PUBLIC ${CMAKE_CURRENT_BINARY_DIR}/made)
    endif()
endfunction()

# embed(TARGET FILE SYMBOL): FILE becomes `const char SYMBOL[]` (NUL-terminated) and
# `const size_t SYMBOL_size` in TARGET.
function(embed target file symbol)
    get_filename_component(path ${file} ABSOLUTE)
    set(out ${CMAKE_CURRENT_BINARY_DIR}/${symbol}.c)
    add_custom_command(OUTPUT ${out}
        COMMAND ${CMAKE_COMMAND} -DIN=${path} -DOUT=${out} -DSYMBOL=${symbol}
                -P ${CMAKE_SOURCE_DIR}/cmake/embed.cmake
        DEPENDS ${path} ${CMAKE_SOURCE_DIR}/cmake/embed.cmake VERBATIM)
    target_sources(${target} PRIVATE ${out})
endfunction()
