// The arguments of one node of an exported program, as the rows of functions/ take them: by the names of
// torch.nn.functional, sizes that are expressions resolved where they can be.
#pragma once
#include "containers/json.h"
#include "formats/free_length.h"
#include "formats/function.h"
#include "formats/torch/exported/expressions.h"

#include <nlohmann/json.hpp>

#include <functional>
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
  const Owner* owner_of_symbol(const std::string& name) const;
  // The program is not run where the symbol is smaller.
  void set_least(const std::string& name, Size least) { least_[name] = least; }
  // What grows steadily with one free size. Nothing: what does otherwise.
  std::optional<FreeNumber> steady(const std::string& expression) const;
  // What grows in steps with one free size, which alone has a number when `value` is asked.
  std::optional<Growth> growth(const std::function<std::optional<Size>(const KnownSymbols& known)>& value) const;
  std::optional<Growth> growth(const std::string& expression) const;
  // The sizes where every free one is another multiple of many numbers. Nothing: one of them is not computed of those.
  std::optional<Sizes> unlike(const std::vector<SymbolicSize>& sizes) const;
  // The sizes of a tensor by its metadata.
  static std::vector<SymbolicSize> sizes_of(const Json* meta);

 private:
  std::map<std::string, SymbolicSize> named_;
  KnownSymbols numbers_;
  std::map<std::string, Owner> owners_;
  std::map<std::string, Size> least_;
};

struct ExportedArguments {
  Json plain = Json::object();
  TensorArguments tensors;
  std::map<std::string, std::string> free_numbers;  // that tensors are computed with, as expressions
  std::map<std::string, Growth> lengths;  // lists that are so long stand for what tensors are as long as
  // A part of an axis that begins and is as long as free sizes say.
  struct Cut {
    Size dim = 0;
    Growth start, length;
  };
  std::optional<Cut> cut;
  // Pads of one axis: how many cells there are then, and in front.
  struct Pad {
    Size dim = 0;
    Growth length;
    std::string before;
  };
  std::vector<Pad> pads;
  // A new shape, one group of axes after the other: how many axes on the left and on the right stay.
  struct Regrouped {
    Sizes to, kept;
  };
  std::vector<Regrouped> groups;
  bool trains = false;  // BatchNorm or dropout would act
};

// Fails: an argument of a kind that is not known; a size that is an expression where the meaning needs its number.
Result<ExportedArguments> call_arguments(const Json& node, const ExportedTensors& tensors, const Symbols& symbols,
                                         const Json* values);

}  // namespace convoy::torch
