# What `cmake --install` puts beside the command: headers, libconvoy.a, and find_package(convoy) with the one target
# convoy::convoy. Its users need a C++23 compiler and nothing else: zlib comes along as an archive, fmt is a part of the
# library, and no public header shows one of the build's own packages. tests/install/ holds us to that.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

add_library(convoy::convoy ALIAS convoy_core)
set_target_properties(convoy_core PROPERTIES OUTPUT_NAME convoy EXPORT_NAME convoy)
target_compile_features(convoy_core PUBLIC cxx_std_23)
target_include_directories(convoy_core PUBLIC $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/convoy)
find_library(CONVOY_ZLIB_ARCHIVE NAMES libz.a)
mark_as_advanced(CONVOY_ZLIB_ARCHIVE)
if(CONVOY_ZLIB_ARCHIVE)
  install(FILES ${CONVOY_ZLIB_ARCHIVE} DESTINATION ${CMAKE_INSTALL_LIBDIR}/convoy COMPONENT library)
  target_link_libraries(convoy_core
    INTERFACE $<INSTALL_INTERFACE:$<INSTALL_PREFIX>/${CMAKE_INSTALL_LIBDIR}/convoy/libz.a>)
else()
  target_link_libraries(convoy_core INTERFACE $<INSTALL_INTERFACE:ZLIB::ZLIB>)
endif()

# A program holds what it calls: an object of the library holds a whole batch of sources.
target_link_options(convoy_core INTERFACE $<INSTALL_INTERFACE:-Wl$<COMMA>--gc-sections>)

install(DIRECTORY include/convoy DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT library)
install(TARGETS convoy_core EXPORT convoyTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library)
install(EXPORT convoyTargets NAMESPACE convoy:: DESTINATION ${package_dir} COMPONENT library)
configure_package_config_file(cmake/convoyConfig.cmake.in ${PROJECT_BINARY_DIR}/cmake/convoyConfig.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/cmake/convoyConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/cmake/convoyConfig.cmake ${PROJECT_BINARY_DIR}/cmake/convoyConfigVersion.cmake
  DESTINATION ${package_dir} COMPONENT library)
