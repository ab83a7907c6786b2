// Reads what torch.jit.save wrote, traced or scripted: its code is followed on known values, its operators become a graph
// through the rows that read them everywhere.
#pragma once
#include "containers/zip.h"
#include "formats/format.h"

namespace convoy::torch {

bool is_script(const ZipArchive& zip);

// Layers are named by the modules that called them. Sizes: those that the options give, else those of a trace, the batch
// free where the code allows it, else what the first layer says. A module that was saved in training is read in eval mode.
// Fails: code that decides by the numbers of a tensor, operators that no row reads, what changes the model, each with file,
// line and column of the code; a trace in training; archives of torch before 1.4.
Result<Graph> read_script(const ZipArchive& zip, const LoadOptions& options);
// Parameters and buffers by their names in the state_dict, and the constants of frozen code as "CONSTANTS.c0".
Result<std::vector<LoadedTensor>> weights_of_script(const ZipArchive& zip);

}  // namespace convoy::torch
