# pp_install_package(ppsim): lets other projects find the library with find_package(ppsim) and pkg-config ppsim.
# Both files use paths relative to themselves, so that an installed tree can be moved.
include(CMakePackageConfigHelpers)

function(pp_install_package export)
    set(folder ${CMAKE_INSTALL_LIBDIR}/cmake/ppsim)
    install(EXPORT ${export} NAMESPACE ppsim:: FILE ppsim-targets.cmake DESTINATION ${folder})
    configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/ppsim-config.cmake.in
        ${PROJECT_BINARY_DIR}/ppsim-config.cmake INSTALL_DESTINATION ${folder})
    write_basic_package_version_file(${PROJECT_BINARY_DIR}/ppsim-config-version.cmake
        COMPATIBILITY SameMinorVersion)
    install(FILES ${PROJECT_BINARY_DIR}/ppsim-config.cmake
        ${PROJECT_BINARY_DIR}/ppsim-config-version.cmake DESTINATION ${folder})

    # pcfiledir is ${libdir}/pkgconfig
    cmake_path(RELATIVE_PATH CMAKE_INSTALL_FULL_INCLUDEDIR
        BASE_DIRECTORY ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig OUTPUT_VARIABLE include_from_pc)
    configure_file(${PROJECT_SOURCE_DIR}/cmake/ppsim.pc.in ${PROJECT_BINARY_DIR}/ppsim.pc @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/ppsim.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()
