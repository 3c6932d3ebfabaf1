# make install, find_package(gpuprof), pkg-config. scripts/pack.py makes packages of the components gpuprof and gpuprof-dev.
include(CMakePackageConfigHelpers)

if(GPUPROF_PORTABLE) # with the one library that is not linked statically
    set_target_properties(gpuprof PROPERTIES INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}/gpuprof")
    install(FILES ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/libcjson.so.1 DESTINATION ${CMAKE_INSTALL_LIBDIR}/gpuprof
        COMPONENT gpuprof)
endif()
install(TARGETS gpuprof RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT gpuprof)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/cli/fix ${CMAKE_SOURCE_DIR}/cli/mcp DESTINATION ${CMAKE_INSTALL_LIBDIR}/gpuprof
    COMPONENT gpuprof FILES_MATCHING PATTERN "*.py")
if(TARGET gpuprof-mpi) # of its own: a package of gpuprof must not need MPI
    install(TARGETS gpuprof-mpi RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT gpuprof-mpi)
endif()
if(TARGET gpuprof_agent)
    install(TARGETS gpuprof_agent LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/gpuprof COMPONENT gpuprof)
    install(DIRECTORY ${CMAKE_SOURCE_DIR}/agent/python DESTINATION ${CMAKE_INSTALL_LIBDIR}/gpuprof
        COMPONENT gpuprof FILES_MATCHING PATTERN "*.py")
    install(FILES ${CMAKE_BINARY_DIR}/lib/python/gpuprof_facts.py DESTINATION ${CMAKE_INSTALL_LIBDIR}/gpuprof/python
        COMPONENT gpuprof)
endif()

# gpuprof.h: step marks for C and C++ programs. Header only.
add_library(gpuprof_marks INTERFACE)
set_target_properties(gpuprof_marks PROPERTIES EXPORT_NAME marks)
target_include_directories(gpuprof_marks INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
install(FILES ${CMAKE_SOURCE_DIR}/agent/gpuprof.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
    COMPONENT gpuprof-dev)
install(TARGETS gpuprof_marks EXPORT gpuprofTargets COMPONENT gpuprof-dev)
install(EXPORT gpuprofTargets NAMESPACE gpuprof:: COMPONENT gpuprof-dev
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/gpuprof)
configure_package_config_file(${CMAKE_SOURCE_DIR}/cmake/gpuprofConfig.cmake.in
    ${CMAKE_BINARY_DIR}/gpuprofConfig.cmake
    INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/gpuprof)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/gpuprofConfigVersion.cmake
    COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES ${CMAKE_BINARY_DIR}/gpuprofConfig.cmake ${CMAKE_BINARY_DIR}/gpuprofConfigVersion.cmake
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/gpuprof COMPONENT gpuprof-dev)
# Told from where it lies: another prefix may be given when it is installed, and is when it is packed.
file(RELATIVE_PATH GPUPROF_UP_FROM_PC ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(${CMAKE_SOURCE_DIR}/cmake/gpuprof.pc.in ${CMAKE_BINARY_DIR}/gpuprof.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/gpuprof.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
    COMPONENT gpuprof-dev)
install(FILES ${CMAKE_SOURCE_DIR}/LICENSE ${CMAKE_SOURCE_DIR}/README.md
    DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT gpuprof)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/docs DESTINATION ${CMAKE_INSTALL_DOCDIR} # --help and README.md name them
    COMPONENT gpuprof FILES_MATCHING PATTERN "*.md" PATTERN "*.tsv" PATTERN "*.png" PATTERN "*.schema.json" PATTERN man EXCLUDE PATTERN examples EXCLUDE)

install(DIRECTORY ${CMAKE_SOURCE_DIR}/vgpu/docs DESTINATION ${CMAKE_INSTALL_DOCDIR}/vgpu
    COMPONENT gpuprof FILES_MATCHING PATTERN "*.md")

install(PROGRAMS ${CMAKE_SOURCE_DIR}/ci/gpuprof-gate.sh ${CMAKE_SOURCE_DIR}/ci/gpuprof-comment.sh DESTINATION ${CMAKE_INSTALL_DATADIR}/gpuprof/ci COMPONENT gpuprof)

install(FILES ${CMAKE_SOURCE_DIR}/docs/json.schema.json DESTINATION ${CMAKE_INSTALL_DATADIR}/gpuprof COMPONENT gpuprof)

install(DIRECTORY ${CMAKE_SOURCE_DIR}/skills DESTINATION ${CMAKE_INSTALL_DATADIR}/gpuprof COMPONENT gpuprof)

# Manual pages from docs/man/, and completions as the program prints them.
find_program(AWK NAMES awk mawk gawk REQUIRED)
file(GLOB pages CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/docs/man/*.md)
if(NOT TARGET gpuprof-mpi)
    list(FILTER pages EXCLUDE REGEX "/gpuprof-mpi[.]md$")
endif()
set(manuals "")
foreach(page ${pages})
    cmake_path(GET page STEM name)
    set(manual ${CMAKE_BINARY_DIR}/man/${name}.1)
    add_custom_command(OUTPUT ${manual} DEPENDS ${page} ${CMAKE_SOURCE_DIR}/scripts/man.awk
        COMMAND ${AWK} -v version=${PROJECT_VERSION} -f ${CMAKE_SOURCE_DIR}/scripts/man.awk ${page} > ${manual} VERBATIM)
    list(APPEND manuals ${manual})
endforeach()
add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/rules.md DEPENDS gpuprof
    COMMAND gpuprof rules --markdown > ${CMAKE_BINARY_DIR}/rules.md VERBATIM)
add_custom_target(rules_page ALL DEPENDS ${CMAKE_BINARY_DIR}/rules.md)
install(FILES ${CMAKE_BINARY_DIR}/rules.md DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs COMPONENT gpuprof)
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/man ${CMAKE_BINARY_DIR}/completions)
add_custom_target(manuals ALL DEPENDS ${manuals})
install(FILES ${manuals} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT gpuprof)
foreach(shell bash zsh fish)
    set(file ${CMAKE_BINARY_DIR}/completions/${shell})
    add_custom_command(OUTPUT ${file} DEPENDS gpuprof
        COMMAND gpuprof completion ${shell} > ${file} VERBATIM)
    list(APPEND completions ${file})
endforeach()
add_custom_target(completions ALL DEPENDS ${completions})
install(FILES ${CMAKE_BINARY_DIR}/completions/bash RENAME gpuprof COMPONENT gpuprof
    DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${CMAKE_BINARY_DIR}/completions/zsh RENAME _gpuprof COMPONENT gpuprof
    DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
install(FILES ${CMAKE_BINARY_DIR}/completions/fish RENAME gpuprof.fish COMPONENT gpuprof
    DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)

add_custom_target(packed DEPENDS gpuprof manuals completions rules_page) # all that scripts/pack.py takes
foreach(t gpuprof_agent vgpu vgpu_calls)
    if(TARGET ${t})
        add_dependencies(packed ${t})
    endif()
endforeach()
