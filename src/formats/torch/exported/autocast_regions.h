// Regions of torch.autocast in an exported program: what is inside is recorded without the casts, which are made whenever it runs.
#pragma once
#include "formats/torch/exported/builder.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace convoy::torch {

class AutocastRegions {
 public:
  explicit AutocastRegions(ExportedBuilder& builder) : builder_(builder) {}

  // From a node torch.autocast(device, dtype, enabled, ...) on, until leave().
  Status enter(const Json& node);
  void leave() { around_.pop_back(); }

  // Puts the casts that the innermost region makes in front of the tensors that `node` is given. Fails: an operator for whose parts
  // autocast casts; a device whose policy is not known.
  Status cast(const Json& node, const std::string& overload, ExportedArguments& arguments);

 private:
  // A weight that several layers read is cast for all of them at once.
  Result<ValueId> cast_once(const Json& node, ValueId value, DType to);

  using LowerTypes = std::map<std::string, DType>;  // by the devices that have autocast
  ExportedBuilder& builder_;
  std::vector<LowerTypes> around_;  // the innermost region last
  std::map<std::pair<ValueId, DType>, ValueId> casts_;
};

}  // namespace convoy::torch
