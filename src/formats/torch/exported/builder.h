// What an exported program that is being read has come to: its graph, and what its names mean where the reader is.
#pragma once
#include "formats/format.h"
#include "formats/torch/catalogue/aten.h"
#include "formats/torch/exported/archive.h"
#include "formats/torch/exported/arguments.h"
#include "formats/torch/exported/views.h"
#include "formats/torch/reordered_weights.h"
#include "run/cost.h"

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace convoy::torch {

inline constexpr std::string_view exported_in_training =
    "was exported for training; call model.eval() before torch.export.export, so that BatchNorm and dropout are at "
    "rest";

struct ExportedBuilder {
  const ExportedArchive& archive;
  const LoadOptions& options;
  Graph graph = {};
  Symbols symbols = {};
  const Json* values = nullptr;  // what the file records of the tensors, by their names
  ExportedTensors tensors = {};
  Views views = {};
  std::map<std::string, ValueId> weights = {};  // and buffers, by their names in the archive
  std::set<ValueId> parameters = {};
  Reordered reordered = {};
  std::set<std::string> around = {};  // paths of modules that have others inside
  Allowance allowance = {};
  UnknownSizes* free_sizes = nullptr;  // which are equal in every run
  bool is_resized = false;  // read at other sizes than those it was exported for

  // For the user, where somebody listens.
  void remark(std::string what) const;
  // What the file records of a tensor; null where it is silent.
  const Json* meta_of(const std::string& name) const;
  Result<TensorType> declared(const std::string& name) const;
  // Whose free sizes a later shape may take from this tensor.
  void own_sizes(const std::string& name);

  // The nodes of one operator ("copy.default" of ATen), under the name and in the scopes of the module that called it; its first
  // `wanted` results.
  Result<std::vector<ValueId>> add(const Json& node, const std::string& overload, Json arguments, TensorArguments given,
                                   std::size_t wanted);
  Result<std::vector<ValueId>> add(const Json& node, const AtenRow& meant, TensorArguments given, std::size_t wanted);

 private:
  bool asks_number_along_axis(const FunctionRow& row, const Json& plain, const TensorArguments& given) const;
  Status fold(std::size_t first, std::size_t first_value);
};

}  // namespace convoy::torch
