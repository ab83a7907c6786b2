# Templates make many functions that are the same machine code; a linker that can keeps one of each, which takes a twentieth off
# what users download. Functions whose address is taken stay apart.
include(CheckLinkerFlag)
set(convoy_folding -fuse-ld=gold -Wl,--icf=safe -Wl,--gc-sections)
check_linker_flag(CXX "${convoy_folding}" CONVOY_LINKER_FOLDS)

function(convoy_fold_functions target)
  if(CONVOY_LINKER_FOLDS AND CMAKE_BUILD_TYPE STREQUAL "Release")
    target_link_options(${target} PRIVATE ${convoy_folding})
  endif()
endfunction()
