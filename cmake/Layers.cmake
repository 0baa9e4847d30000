# ppsim_flags: the options with which all our C is compiled. They are never exported.
add_library(ppsim_flags INTERFACE)
target_include_directories(ppsim_flags INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_definitions(ppsim_flags INTERFACE
    _XOPEN_SOURCE=700 # POSIX 2008 with its XSI part (realpath, M_PI); GNU extensions stay out
    PPSIM_VERSION="${PROJECT_VERSION}")
target_compile_options(ppsim_flags INTERFACE
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes
    $<$<C_COMPILER_ID:Clang>:-Wno-sign-conversion> # GCC does not include it in -Wconversion
    -ffp-contract=off # fused multiply-add would make results depend on the machine
    $<$<BOOL:${PPSIM_WERROR}>:-Werror>)
if(PPSIM_SANITIZE)
    # GCC's string checks give false reports when sanitizers rewrite the code they look at.
    target_compile_options(ppsim_flags INTERFACE
        -fsanitize=${PPSIM_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer
        $<$<C_COMPILER_ID:GNU>:-Wno-format-truncation -Wno-maybe-uninitialized>)
    target_link_options(ppsim_flags INTERFACE -fsanitize=${PPSIM_SANITIZE})
endif()
if(PPSIM_COVERAGE)
    target_compile_options(ppsim_flags INTERFACE --coverage -fprofile-update=atomic)
    target_link_options(ppsim_flags INTERFACE --coverage)
endif()

# Code that may end up in libppsim.so: its address does not matter, and only functions marked public
# are visible from outside. Hidden functions are called directly, so that this costs the command nothing.
function(pp_make_shareable target)
    set_target_properties(${target} PROPERTIES
        POSITION_INDEPENDENT_CODE ON C_VISIBILITY_PRESET hidden)
endfunction()

# pp_add_layer(NAME sim DEPENDS ... [SOURCES generated.c ...] [EXCLUDE main.c ...] [MODULES mpi ...])
# The static library ppsim_<name> of all .c files in this folder and in its plug-in folders, except
# those of the modules.
# DEPENDS are its only link edges: layers that are not named here cannot be called.
function(pp_add_layer)
    cmake_parse_arguments(PARSE_ARGV 0 layer "" "NAME" "DEPENDS;SOURCES;EXCLUDE;MODULES")
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.c)
    list(FILTER sources EXCLUDE REGEX "^${CMAKE_CURRENT_SOURCE_DIR}/data/")
    foreach(file IN LISTS layer_EXCLUDE)
        list(REMOVE_ITEM sources ${CMAKE_CURRENT_SOURCE_DIR}/${file})
    endforeach()
    foreach(module IN LISTS layer_MODULES)
        list(FILTER sources EXCLUDE REGEX "^${CMAKE_CURRENT_SOURCE_DIR}/${module}/")
    endforeach()
    set(target ppsim_${layer_NAME})
    if(sources)
        add_library(${target} STATIC ${sources} ${layer_SOURCES})
        target_link_libraries(${target} PRIVATE ppsim_flags PUBLIC ${layer_DEPENDS})
        pp_make_shareable(${target})
    else() # the folder has no sources yet
        add_library(${target} INTERFACE)
        target_link_libraries(${target} INTERFACE ${layer_DEPENDS})
    endif()
    set_property(GLOBAL APPEND PROPERTY PPSIM_LAYERS ${target})
endfunction()

# pp_add_module(mpi LIBS ...)
# The shared object ppsim_<name>.so of all .c files in this folder's <name>/ and below, loaded on demand: next to
# the command in the build folder, installed to ${libdir}/ppsim. It links no part of ppsim.
function(pp_add_module name)
    cmake_parse_arguments(PARSE_ARGV 1 module "" "" "LIBS")
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${name}/*.c)
    set(target ppsim_${name}_module)
    add_library(${target} MODULE ${sources})
    target_link_libraries(${target} PRIVATE ppsim_flags ${module_LIBS})
    set_target_properties(${target} PROPERTIES PREFIX "" OUTPUT_NAME ppsim_${name}
        C_VISIBILITY_PRESET hidden LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
    install(TARGETS ${target} COMPONENT ${name} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/ppsim)
endfunction()

# pp_embed(OUTPUT file.c KINDS models hardware)
# Makes file.c, which holds <folder>/data/<kind>/*.json of every kind. See cmake/Embed.cmake.
function(pp_embed)
    cmake_parse_arguments(PARSE_ARGV 0 embed "" "OUTPUT" "KINDS")
    set(files)
    foreach(kind IN LISTS embed_KINDS)
        file(GLOB found CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/data/${kind}/*.json)
        list(APPEND files ${found})
    endforeach()
    # The list is also a dependency, so that a removed file is noticed.
    list(JOIN files "\n" lines)
    file(CONFIGURE OUTPUT ${embed_OUTPUT}.list CONTENT "${lines}\n" @ONLY)
    list(JOIN embed_KINDS "," kinds)
    add_custom_command(OUTPUT ${embed_OUTPUT}
        COMMAND ${CMAKE_COMMAND} -DOUTPUT=${embed_OUTPUT} -DKINDS=${kinds}
            -DDATA=${CMAKE_CURRENT_SOURCE_DIR}/data -P ${PROJECT_SOURCE_DIR}/cmake/Embed.cmake
        DEPENDS ${files} ${embed_OUTPUT}.list ${PROJECT_SOURCE_DIR}/cmake/Embed.cmake
        COMMENT "Embedding traces/data" VERBATIM)
endfunction()

# How often a test's time limits are multiplied: on a machine with other work, tests take longer.
# tools/test sets it by the load.
set(PPSIM_TEST_PATIENCE 4 CACHE STRING "Factor of all time limits of tests")
set(PP_ALONE sh ${PROJECT_SOURCE_DIR}/tests/alone.sh) # each test has folders of its own

# pp_add_test(NAME unit.model FILE unit/sim/job/test_model.c LABELS unit [LIBS ...] [SECONDS 300])
# One program, one ctest. It finds fixtures below PPSIM_SOURCE_DIR and skips by exit status 77.
function(pp_add_test)
    cmake_parse_arguments(PARSE_ARGV 0 test "" "NAME;FILE;SECONDS" "LABELS;LIBS")
    if(NOT test_SECONDS)
        set(test_SECONDS 300)
    endif()
    string(REPLACE "." "_" target "test_${test_NAME}")
    get_property(layers GLOBAL PROPERTY PPSIM_LAYERS)
    add_executable(${target} ${test_FILE})
    target_compile_definitions(${target} PRIVATE PPSIM_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
    target_link_libraries(${target} PRIVATE ppsim_flags ${layers} ${test_LIBS})
    if(NOT PPSIM_SANITIZE) # most tests take longer to compile than to run
        target_compile_options(${target} PRIVATE $<$<CONFIG:RelWithDebInfo>:-O1;-g1>)
    endif()
    add_test(NAME ${test_NAME} COMMAND ${PP_ALONE} $<TARGET_FILE:${target}>)
    pp_test_properties(${test_NAME} LABELS ${test_LABELS} SECONDS ${test_SECONDS})
endfunction()

# Properties that all tests share: label, limit, skip status, and one process under sanitizers (leak
# reports of Check's forked children would be lost).
function(pp_test_properties name)
    cmake_parse_arguments(PARSE_ARGV 1 test "" "SECONDS" "LABELS")
    math(EXPR seconds "${test_SECONDS} * ${PPSIM_TEST_PATIENCE}")
    if(PPSIM_SANITIZE) # several times slower
        math(EXPR seconds "2 * ${seconds}")
    endif()
    set_tests_properties(${name} PROPERTIES
        LABELS "${test_LABELS}" TIMEOUT ${seconds} SKIP_RETURN_CODE 77)
    # Check's own limit is 4 s for a test that sets none, which is too short on a busy machine.
    set(environment LC_ALL=C CK_DEFAULT_TIMEOUT=15 CK_TIMEOUT_MULTIPLIER=${PPSIM_TEST_PATIENCE}
        PPSIM_TEST_PATIENCE=${PPSIM_TEST_PATIENCE})
    if(PPSIM_SANITIZE)
        list(APPEND environment CK_FORK=no PPSIM_SANITIZE=${PPSIM_SANITIZE}
            UBSAN_OPTIONS=print_stacktrace=1 ASAN_OPTIONS=detect_stack_use_after_return=1:allocator_may_return_null=1
            TSAN_OPTIONS=halt_on_error=1)
    endif()
    set_tests_properties(${name} PROPERTIES ENVIRONMENT "${environment}")
endfunction()
