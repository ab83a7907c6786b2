# The library as one shared object, which the Python package holds: the module and the command there are a few lines over it.
# It is made of the objects of the command, and shows what its two users call (shared.map): the rest is bound, folded and left
# out by the linker as in a program.
add_library(convoy_shared SHARED EXCLUDE_FROM_ALL $<TARGET_OBJECTS:convoy_cli>)
# The version is in the name: another copy in the same process is another library.
set_target_properties(convoy_shared PROPERTIES OUTPUT_NAME convoy-${PROJECT_VERSION} LINKER_LANGUAGE CXX)
target_include_directories(convoy_shared INTERFACE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
target_compile_features(convoy_shared INTERFACE cxx_std_23)
set(shared_exports ${PROJECT_SOURCE_DIR}/cmake/shared.map)
set_target_properties(convoy_shared PROPERTIES LINK_DEPENDS "${shared_exports};$<TARGET_FILE:convoy_core>")
target_link_libraries(convoy_shared PRIVATE -Wl,--whole-archive $<TARGET_FILE:convoy_core> -Wl,--no-whole-archive
  Threads::Threads)
if(CONVOY_ZLIB_ARCHIVE)
  target_link_libraries(convoy_shared PRIVATE ${CONVOY_ZLIB_ARCHIVE})
else()
  target_link_libraries(convoy_shared PRIVATE ZLIB::ZLIB)
endif()
target_link_options(convoy_shared PRIVATE -Wl,--version-script=${shared_exports} -Wl,--gc-sections
  $<$<CONFIG:Release>:-s -Wl,-z,relro,-z,now>)
convoy_fold_functions(convoy_shared)
