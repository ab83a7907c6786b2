#include "formats/chosen.h"

#include "formats/function.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <numeric>

namespace convoy {

namespace {

// The same in every run: a size that is free may be another's, and 1 beside it would be stretched.
bool are_alike(const Graph& graph, UnknownSizes& sizes, ValueId a, ValueId b) {
  const TensorType &first = graph[a].type, &second = graph[b].type;
  if (first != second) return false;
  sizes.follow(graph);
  return numbers_of(first.shape, sizes.of(a)).all == numbers_of(second.shape, sizes.of(b)).all;
}

}  // namespace

std::string remark_of_both(const std::string& layer) {
  return "'" + layer + "': both branches are computed, and the condition chooses between their results";
}

Result<ValueId> chosen(Graph& graph, UnknownSizes& sizes, ValueId condition, ValueId if_true, ValueId if_false,
                       const std::string& layer) {
  if (if_true == if_false) return if_true;
  const TensorType &asked = graph[condition].type, &first = graph[if_true].type, &second = graph[if_false].type;
  if (!std::ranges::all_of(asked.shape, [](Dim d) { return d == Dim(1); }))
    return fail(Fault::Unsupported,
                "its condition, of shape " + text_of(asked.shape) + ", is computed by the model, and is not one truth");
  if (!are_alike(graph, sizes, if_true, if_false))
    return fail(Fault::Unsupported, "its condition is computed by the model, and its branches give " +
                                        std::string(name_of(first.dtype)) + " " + text_of(first.shape) + " and " +
                                        std::string(name_of(second.dtype)) + " " + text_of(second.shape) +
                                        (first == second ? ", whose free sizes may differ; give them with --shape"
                                                         : ", of which one cannot stand for the other"));
  const Json none = Json::object();
  FunctionCall call(graph, "If", none, {}, layer);
  if (asked.dtype != DType::Bool)
    condition =
        call.add(Binary{BinaryFunction::NotEqual},
                 {condition, call.make_constant("zero", Tensor::of({}, std::vector{0.0}).converted(asked.dtype))});
  if (!call.failed() && call.rank(condition) > 0) {
    Sizes axes(static_cast<std::size_t>(call.rank(condition)));
    std::iota(axes.begin(), axes.end(), Size{0});
    condition = call.add(Squeeze{axes}, {condition});
  }
  const ValueId made = call.add(Where{}, {condition, if_true, if_false});
  if (auto done = call.done(); !done) return pass(done);
  sizes.follow(graph);
  return made;
}

}  // namespace convoy
