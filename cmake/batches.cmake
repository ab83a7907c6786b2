# Compiles sources in batches: a translation unit reads the standard library, fmt and graph.h once for several of them,
# which is most of what each of them costs. One folder's files share a batch, so that a change is compiled with its neighbours,
# and a format's folders do when all of them fit into one.
option(CONVOY_BATCHES "Compile the sources of a folder in batches (OFF: each file alone)" ON)
set(CONVOY_BATCH_LINES 7500 CACHE STRING "How many lines of source a batch holds at most, about")

function(convoy_lines_of source result)
  set(length 0)
  if(EXISTS ${source})
    file(STRINGS ${source} text)
    list(LENGTH text length)
  endif()
  set(${result} ${length} PARENT_SCOPE)
endfunction()

# The folder of a source, and the folder of the format that it is a part of: the same, where it is of none.
function(convoy_folders_of source folder_result format_result)
  cmake_path(GET source PARENT_PATH folder)
  file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR} ${folder})
  string(REGEX REPLACE "^(src/formats/[^/]+)/.*" "\\1" format "${folder}")
  foreach(name folder format)
    string(MAKE_C_IDENTIFIER "${${name}}" ${name})
    set(${${name}_result} ${${name}} PARENT_SCOPE)
  endforeach()
endfunction()

# A folder's batches are about as long as each other, and `least` in number (1 if not said).
function(convoy_compile_in_batches target)
  if(NOT CONVOY_BATCHES)
    return()
  endif()
  set(least 1)
  if(ARGC GREATER 1)
    set(least ${ARGV1})
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP
    UNITY_BUILD_RELOCATABLE ON)  # the same text in every checkout, for compiler caches
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "^/.*\\.cpp$")  # not the objects of another target
  foreach(source IN LISTS sources)
    convoy_folders_of(${source} folder format)
    convoy_lines_of(${source} length)
    math(EXPR total_${folder} "0${total_${folder}} + ${length}")
    math(EXPR whole_${format} "0${whole_${format}} + ${length}")
    set(before_${folder} 0)
  endforeach()
  foreach(source IN LISTS sources)
    convoy_folders_of(${source} folder format)
    if(NOT format STREQUAL folder AND whole_${format} LESS_EQUAL CONVOY_BATCH_LINES)
      set_property(SOURCE ${source} PROPERTY UNITY_GROUP ${format}_0)
      continue()
    endif()
    convoy_lines_of(${source} length)
    math(EXPR batches "(${total_${folder}} + ${CONVOY_BATCH_LINES} - 1) / ${CONVOY_BATCH_LINES}")
    if(batches LESS least)
      set(batches ${least})
    endif()
    math(EXPR batch "(${before_${folder}} + ${length} / 2) * ${batches} / (${total_${folder}} + 1)")
    math(EXPR before_${folder} "${before_${folder}} + ${length}")
    set_property(SOURCE ${source} PROPERTY UNITY_GROUP ${folder}_${batch})
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
    convoy_trust_precompiled(${target})
  endif()
endfunction()

# What was precompiled for `from`, for a target whose options differ in how far the optimiser goes alone.
function(convoy_precompiled_for target from)
  if(CONVOY_BATCHES AND CONVOY_PRECOMPILE)
    target_precompile_headers(${target} REUSE_FROM ${from})
    convoy_trust_precompiled(${target})
  endif()
endfunction()

# GCC 12 forgets where a precompiled std::string was inlined, and takes its copies for overruns; other builds ask it.
function(convoy_trust_precompiled target)
  target_compile_options(${target} PRIVATE "$<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds;-Wno-stringop-overflow;-Wno-stringop-overread>")
endfunction()
