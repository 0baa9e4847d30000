# libppsim.so and libppsim.a, which others link: the objects of all layers. Its headers are pp_runtime.h, about
# running steps, and ppsim.h, about planning them; the symbol file says which functions it shows.
get_property(layers GLOBAL PROPERTY PPSIM_LAYERS)
set(library_objects $<TARGET_OBJECTS:ppsim_cpu_float> $<TARGET_OBJECTS:ppsim_products_float>)
foreach(layer IN LISTS layers)
    list(APPEND library_objects $<TARGET_OBJECTS:${layer}>)
endforeach()
set(library_needs GSL::gsl PkgConfig::NETTLE ZLIB::ZLIB Threads::Threads ${CMAKE_DL_LIBS} m)
set(symbols ${PROJECT_SOURCE_DIR}/tools/library/libppsim.map)
add_library(ppsim_shared SHARED ${library_objects})
target_link_libraries(ppsim_shared PRIVATE ppsim_flags PkgConfig::JANSSON ${library_needs})
target_link_options(ppsim_shared PRIVATE -Wl,--as-needed -Wl,--version-script=${symbols})
set_property(TARGET ppsim_shared PROPERTY LINK_DEPENDS ${symbols})
if(NOT PPSIM_SANITIZE) # whose functions come with the program
    target_link_options(ppsim_shared PRIVATE -Wl,--no-undefined)
endif()
# The static library is one object, in which all other symbols are local: none can meet one of the program's.
file(STRINGS ${symbols} shown REGEX "^ *pp[a-z]*_[a-z_]+;")
string(REGEX MATCHALL "pp[a-z]*_[a-z_]+" shown "${shown}")
list(JOIN shown "\n" shown)
set(static ${PROJECT_BINARY_DIR}/generated/libppsim)
file(CONFIGURE OUTPUT ${static}.symbols CONTENT "${shown}\n" @ONLY)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${symbols})
add_custom_command(OUTPUT ${static}.o
    COMMAND ${CMAKE_C_COMPILER} -r -nostdlib -o ${static}-whole.o ${library_objects}
    COMMAND ${CMAKE_OBJCOPY} --keep-global-symbols=${static}.symbols ${static}-whole.o ${static}.o
    DEPENDS ${layers} ${static}.symbols COMMAND_EXPAND_LISTS VERBATIM COMMENT "Joining libppsim.a")
add_library(ppsim_static STATIC ${static}.o)
set_source_files_properties(${static}.o PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
# Before 1.0 every minor version may change the binary interface.
set_target_properties(ppsim_shared PROPERTIES OUTPUT_NAME ppsim EXPORT_NAME ppsim LINKER_LANGUAGE C
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
set_target_properties(ppsim_static PROPERTIES OUTPUT_NAME ppsim LINKER_LANGUAGE C)
foreach(target IN ITEMS ppsim_shared ppsim_static)
    set_target_properties(${target} PROPERTIES ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}
        LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
endforeach()
target_include_directories(ppsim_shared INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)

install(FILES runtime/library/pp_runtime.h tools/library/ppsim.h
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/ppsim)
install(TARGETS ppsim_shared EXPORT ppsim)
install(TARGETS ppsim_static)
pp_install_package(ppsim)
