# One libFuzzer program per reader that strangers' bytes reach, over a library of its own: only what readers need, with
# coverage counters. And the same targets as one plain program, which runs what is kept in fuzz/ at every test.
set(fuzz_targets pickle checkpoint exported safetensors onnx hdf5 keras python source graphdef bundle tflite)

if(CONVOY_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "CONVOY_FUZZ needs clang: cmake --preset fuzz")
  endif()
  set(read_sources ${core_sources})
  list(FILTER read_sources INCLUDE REGEX "/src/(base|containers|ops|graph|run|formats)/")
  list(FILTER read_sources EXCLUDE REGEX "/base/formatting")  # clang takes fmt's own library
  add_library(convoy_fuzzed STATIC EXCLUDE_FROM_ALL ${read_sources})
  target_include_directories(convoy_fuzzed PUBLIC include src ${PROJECT_SOURCE_DIR})
  target_compile_options(convoy_fuzzed PUBLIC -fsanitize=fuzzer-no-link)
  target_link_libraries(convoy_fuzzed PUBLIC convoy_flags fmt::fmt nlohmann_json::nlohmann_json Threads::Threads ZLIB::ZLIB)
  # Every byte of an archive and of JSON is compared many times over: following each comparison takes half the time there
  # and leads nowhere.
  set_source_files_properties(src/containers/json.cpp src/containers/zip.cpp src/base/crc32.cpp
                              PROPERTIES COMPILE_OPTIONS -fno-sanitize-coverage=trace-cmp)
  add_custom_target(fuzzers)
  foreach(target IN LISTS fuzz_targets)
    add_executable(fuzz_${target} EXCLUDE_FROM_ALL fuzz/entry.cpp fuzz/mutated_archive.cpp fuzz/mutated_json.cpp fuzz/${target}.cpp)
    target_compile_definitions(fuzz_${target} PRIVATE FUZZ_TARGET=${target})
    target_link_libraries(fuzz_${target} PRIVATE convoy_fuzzed)
    target_link_options(fuzz_${target} PRIVATE -fsanitize=fuzzer)
    add_dependencies(fuzzers fuzz_${target})
  endforeach()
endif()

if(CONVOY_TESTS)
  list(TRANSFORM fuzz_targets REPLACE "(.+)" "\\1.cpp" OUTPUT_VARIABLE replayed)
  list(TRANSFORM replayed PREPEND ${PROJECT_SOURCE_DIR}/fuzz/)
  foreach(part replay mutated_archive mutated_bytes mutated_json written)
    list(APPEND replayed ${PROJECT_SOURCE_DIR}/fuzz/${part}.cpp)
  endforeach()
  add_executable(replay ${replayed} ${PROJECT_SOURCE_DIR}/src/cli/held_memory.cpp)
  convoy_compile_in_batches(replay)
  target_include_directories(replay PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(replay PRIVATE convoy_core)
  set(made_of_each 20000)
  if(CONVOY_SANITIZE)
    set(made_of_each 1000)  # a sample: sanitizers are slow
  endif()
  foreach(target IN LISTS fuzz_targets)
    file(GLOB kept CONFIGURE_DEPENDS fuzz/seeds/${target}/* fuzz/found/${target}/*)
    if(kept)
      add_test(NAME "kept inputs ${target}" COMMAND replay ${target} ${kept} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
      set_tests_properties("kept inputs ${target}" PROPERTIES TIMEOUT 120)
    endif()
    # Inputs made of them, and what each takes.
    add_test(NAME "made inputs ${target}" COMMAND fuzz/made.sh $<TARGET_FILE:replay> ${target} ${made_of_each}
      ${PROJECT_BINARY_DIR}/fuzz WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    set_tests_properties("made inputs ${target}" PROPERTIES TIMEOUT 900 SKIP_RETURN_CODE 77)
  endforeach()
endif()
