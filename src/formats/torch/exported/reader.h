// Reads a program of torch.export as a graph: its nodes are calls of ATen's operators, which the rows of functions/ read.
#pragma once
#include "containers/zip.h"
#include "formats/format.h"

namespace convoy::torch {

// Layers are named by the modules that called them ("features.conv1"), weights by their names in the state_dict.
// Fails: what the archive or a row refuses; a program exported for training: BatchNorm or dropout that would act, a
// buffer that the program changes.
Result<Graph> read_exported_program(const ZipArchive& zip, const LoadOptions& options);
Result<std::vector<LoadedTensor>> weights_of_exported(const ZipArchive& zip);

}  // namespace convoy::torch
