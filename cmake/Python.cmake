# ppsim._native, the extension of the Python package (runtime/python): with PPSIM_EXTENSION, which pyproject.toml sets.
# It contains libppsim.a, so that it depends on no place; the component `python` has it and the command.
find_package(Python 3.10 REQUIRED COMPONENTS Interpreter Development.Module)
set(source ${PROJECT_BINARY_DIR}/generated/ppsim_native.c)
set(header ${PROJECT_SOURCE_DIR}/tools/library/ppsim.h)
set(writer ${PROJECT_SOURCE_DIR}/runtime/python/native.py)
add_custom_command(OUTPUT ${source} COMMAND ${Python_EXECUTABLE} ${writer} ${header} ${source}
    DEPENDS ${writer} ${header} VERBATIM COMMENT "Writing ppsim._native")
# The stable interface of Python 3.10: one extension for all later ones. CMake 3.26 has USE_SABI for this.
add_library(ppsim_python MODULE ${source})
target_compile_definitions(ppsim_python PRIVATE Py_LIMITED_API=0x030a0000)
target_include_directories(ppsim_python PRIVATE ${PROJECT_SOURCE_DIR})
target_link_libraries(ppsim_python PRIVATE Python::Module ppsim_static PkgConfig::JANSSON ${library_needs})
target_link_options(ppsim_python PRIVATE -Wl,--as-needed -Wl,--exclude-libs,ALL
    $<$<BOOL:${PPSIM_SANITIZE}>:-fsanitize=${PPSIM_SANITIZE}>)
set_target_properties(ppsim_python PROPERTIES PREFIX "" OUTPUT_NAME _native SUFFIX .abi3.so
    C_VISIBILITY_PRESET hidden)
install(TARGETS ppsim_python DESTINATION . COMPONENT python)
install(PROGRAMS $<TARGET_FILE:ppsim> DESTINATION bin COMPONENT python)
