// Which tensors of an exported program share memory, so that one that is changed in place changes the others.
#pragma once
#include "containers/json.h"
#include "ops/tensor_type.h"

#include <nlohmann/json.hpp>

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace convoy::torch {

// What a name shows of another tensor.
struct View {
  std::string of;
  const Json* node = nullptr;  // the call that made it; null: the same tensor under another name
  std::string operation;       // "select"
  std::size_t part = 0;        // which of the call's results
  bool certain = true;         // whether it shares memory hangs on how the other one lies, which is not known
};

class Views {
 public:
  void add(const std::string& name, View view);
  const View* find(const std::string& name) const;
  // The tensor whose memory this one shows, through all that lie between; itself where it shows none.
  const std::string& whole(const std::string& name) const;
  // Names that show this tensor directly, in the order in which they were made.
  const std::vector<std::string>& shown(const std::string& name) const;

 private:
  std::map<std::string, View> views_;
  std::map<std::string, std::vector<std::string>> shown_;
};

enum class Sharing : std::uint8_t { Never, Always, WhereRowMajor, PerhapsWhereRowMajor };
// Whether the results of an operation of ATen ("view") share the memory of its first tensor: a tensor that is not row-major may be
// copied by some.
Sharing sharing_of(std::string_view operation);
// "mul_" changes its first tensor; "transpose_" only how it is looked at.
bool changes_in_place(std::string_view operation);
// By the strides of a tensor's metadata. False where they are not known.
bool is_row_major(const Json* meta);
bool have_same_strides(const Json* a, const Json* b);

// The operator that puts a part back into the whole that a view shows it of: "slice_scatter" takes the whole and the part, others
// the part alone.
struct WayBack {
  std::string overload;  // of ATen; empty: the part is the whole
  Json arguments = Json::object();
};
// `said`: the arguments of the view. Fails: a view that no operator is the way back of.
Result<WayBack> way_back(const View& view, const Json& said, const Shape& whole);

}  // namespace convoy::torch
