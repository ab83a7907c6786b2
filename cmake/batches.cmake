# Compiles sources in batches: a translation unit reads the standard library, fmt and graph.h once for several of them,
# which is most of what each of them costs. One folder's files share a batch, so that a change is compiled with its neighbours.
option(CONVOY_BATCHES "Compile the sources of a folder in batches (OFF: each file alone)" ON)
set(CONVOY_BATCH_LINES 4000 CACHE STRING "About how many lines of source a batch holds")

function(convoy_compile_in_batches target)
  if(NOT CONVOY_BATCHES)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP
    UNITY_BUILD_RELOCATABLE ON)  # the same text in every checkout, for compiler caches
  get_target_property(sources ${target} SOURCES)
  set(folder "")
  list(FILTER sources INCLUDE REGEX "^/.*\\.cpp$")  # not the objects of another target
  foreach(source IN LISTS sources)
    cmake_path(GET source PARENT_PATH parent)
    if(NOT parent STREQUAL folder)
      set(folder ${parent})
      set(lines 0)
      set(batch 0)
      file(RELATIVE_PATH name ${PROJECT_SOURCE_DIR} ${folder})
      string(MAKE_C_IDENTIFIER "${name}" name)
    endif()
    if(EXISTS ${source})
      file(STRINGS ${source} text)
      list(LENGTH text length)
      math(EXPR lines "${lines} + ${length}")
      if(lines GREATER CONVOY_BATCH_LINES)
        math(EXPR batch "${batch} + 1")
        set(lines ${length})
      endif()
    endif()
    set_property(SOURCE ${source} PROPERTY UNITY_GROUP ${name}_${batch})
  endforeach()
endfunction()

# What nearly every batch includes is read once. Compiler caches mistrust precompiled headers and save more than they do; with
# debugging information each batch writes anew what it took from them, and takes longer.
if(CMAKE_CXX_COMPILER_LAUNCHER OR NOT CMAKE_BUILD_TYPE STREQUAL "Release")
  set(precompile OFF)
else()
  set(precompile ON)
endif()
option(CONVOY_PRECOMPILE "Precompile what nearly every batch includes" ${precompile})

function(convoy_precompile target)
  if(CONVOY_BATCHES AND CONVOY_PRECOMPILE)
    target_precompile_headers(${target} PRIVATE ${ARGN})
    # GCC 12 forgets where a precompiled std::string was inlined, and takes its copies for overruns; other builds ask it.
    target_compile_options(${target} PRIVATE "$<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds;-Wno-stringop-overflow;-Wno-stringop-overread>")
  endif()
endfunction()
