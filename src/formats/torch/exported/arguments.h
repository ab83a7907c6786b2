// The arguments of one node of an exported program, as the rows of functions/ take them: by the names of
// torch.nn.functional, sizes that are expressions resolved where they can be.
#pragma once
#include "containers/json.h"
#include "formats/function.h"
#include "formats/torch/exported/expressions.h"

#include <nlohmann/json.hpp>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace convoy::torch {

using ExportedTensors = std::map<std::string, ValueId>;

// A size: a number, or an expression over the free sizes, by its text. Equal texts are equal sizes.
struct SymbolicSize {
  std::optional<Size> known;
  std::string expression;
  bool same(const SymbolicSize& b) const { return known ? known == b.known : !b.known && expression == b.expression; }
};

// scale * n + offset, where `like` has n cells along the axis.
struct FreeNumber {
  ValueId like;
  Size axis = 0, scale = 1, offset = 0;
};

class Symbols {
 public:
  void read(const Json& graph);
  SymbolicSize named(const std::string& name) const;
  // From now on the size `expression` is `value`: the symbol in it has a number, and sizes that are computed from it.
  void set(const std::string& expression, Size value);
  // With the number that its symbols give, if they have one.
  SymbolicSize worked_out(SymbolicSize size) const;
  // An input whose axis has a free size, by the size's expression.
  struct Owner {
    ValueId value;
    Size axis = 0;
  };
  void add_owner(const std::string& expression, Owner owner) { owners_.emplace(expression, owner); }
  const Owner* owner(const std::string& expression) const {
    const auto found = owners_.find(expression);
    return found == owners_.end() ? nullptr : &found->second;
  }
  // What grows steadily with one free size. Nothing: what does otherwise.
  std::optional<FreeNumber> steady(const std::string& expression) const;
  // The sizes of a tensor by its metadata.
  static std::vector<SymbolicSize> sizes_of(const Json* meta);

 private:
  std::map<std::string, SymbolicSize> named_;
  KnownSymbols numbers_;
  std::map<std::string, Owner> owners_;
};

struct ExportedArguments {
  Json plain = Json::object();
  TensorArguments tensors;
  std::map<std::string, FreeNumber> free_numbers;  // that tensors are computed with
  bool trains = false;  // BatchNorm or dropout would act
};

// Fails: an argument of a kind that is not known; a size that is an expression where the meaning needs its number.
Result<ExportedArguments> call_arguments(const Json& node, const ExportedTensors& tensors, const Symbols& symbols,
                                         const Json* values);

}  // namespace convoy::torch
