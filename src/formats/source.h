// Python source as a model: read, never run by Python. Both frameworks may be met in one file.
#pragma once
#include "formats/format.h"

namespace convoy {

// "net.py:Net" names a part of a file, "net.py:Net(3, stride=2)" says what it is called with, "net.py:Net.from_name('b0')"
// is any expression of its names, "book.ipynb" a notebook's code, "-" standard input.
std::filesystem::path file_of(const std::filesystem::path& file);
bool is_source(const std::filesystem::path& file);

// The weights of a program that names their hash, as every port does (WEIGHTS_SHA256 = "..."): the file beside it with the
// program's own stem and that hash. Nothing: there is none. Fails (Usage): what lies there holds other numbers.
Result<std::optional<std::filesystem::path>> weights_beside(const std::filesystem::path& file);

// Without a name: the last model that the file leaves behind; else the last class of a module in it that no other
// class derives from or makes; else its last function that gives a model as it stands. A shape without a name in the options is that of the first input.
// Fails: what Python would refuse, or what is not known here, with "file:line:column" as place and the line shown.
Result<Graph> read_source(const std::filesystem::path& file, const LoadOptions& options);
// The state_dict of the module that read_source takes for the model: tied tensors are one. Fails: as it does; Unsupported:
// weights that a parametrization computes of others.
Result<std::vector<LoadedTensor>> state_of_source(const std::filesystem::path& file, const LoadOptions& options);
// The graph of a program that is no file yet: the class, function or variable `part` of `text`.
Result<Graph> read_source_text(std::string text, const std::string& part, const LoadOptions& options);

}  // namespace convoy
