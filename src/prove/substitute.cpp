#include "prove/substitute.h"

#include "graph/element_types.h"
#include "ops/expect.h"
#include "prove/compare.h"
#include "prove/drawn_numbers.h"
#include "prove/stretch.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>

namespace convoy {

namespace {

// 1 to `most`, either sign.
int signed_up_to(std::uint32_t most, std::uint32_t bits) {
  const auto size = static_cast<int>(1 + (bits >> 1) % most);
  return (bits & 1) != 0 ? -size : size;
}

std::uint64_t hashed(std::string_view text) {  // FNV-1a
  std::uint64_t hash = 0xCBF29CE484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  return hash;
}

Role role_of(const Op& op, std::size_t input) {
  if (holds_alternative<BatchNorm>(op)) { return input == 1 ? Role::Scale : input == 4 ? Role::Variance : Role::Bias; }
  const auto* binary = get_if<Binary>(&op);
  if (binary && binary->function != BinaryFunction::Multiply) return Role::Bias;
  const bool has_bias =
      holds_alternative<Conv>(op) || holds_alternative<ConvTranspose>(op) || holds_alternative<Linear>(op);
  return has_bias && input == 2 ? Role::Bias : Role::Kernel;
}

bool is_laid_out_alike(const Origin& origin) {
  return origin.split.empty() && (origin.permutation.empty() || is_identity(origin.permutation));
}

// ---- weights ---------------------------------------------------------------------------------------------------------

// The source's constant that one of the target carries. Nothing: a pass computed it.
std::optional<ValueId> carried_constant(const Names& names, const Graph& source, const Value& value) {
  if (!value.origin) return std::nullopt;
  const auto it = names.find(value.origin->source);
  if (it == names.end() || !source[it->second].constant) return std::nullopt;
  return it->second;
}

// Whether the part compares fractions: what comes of those that are known may be one of the target's constants.
bool compares_fractions(const Graph& graph, const Reach& part) {
  return std::ranges::any_of(part.nodes, [&](NodeId n) {
    const Node& node = graph[n];
    return graph[node.outputs[0]].type.dtype == DType::Bool &&
           std::ranges::any_of(node.inputs, [&](ValueId v) { return v && is_floating(graph[v].type.dtype); });
  });
}

}  // namespace

WholeWeights::WholeWeights(const Graph& source, const Graph& target, std::uint64_t seed) : seed_(seed) {
  const Names names = names_of(source);
  std::set<ValueId> pinned;
  for (const Stretch& stretch : stretches_of(source, target, counterparts(names, target))) {
    const bool computed = std::ranges::any_of(stretch.target.constants, [&](ValueId c) {
      const DType dtype = target[c].type.dtype;
      const bool may_be_computed =
          is_floating(dtype) || (dtype == DType::Bool && compares_fractions(source, stretch.source));
      return may_be_computed && !carried_constant(names, source, target[c]);
    });
    if (computed) pinned.insert(stretch.source.constants.begin(), stretch.source.constants.end());
  }
  const auto makes_index = index_makers(source);  // such numbers stay what they are
  for (const Node& node : source.nodes) {
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId v = node.inputs[i];
      if (!v || !source[v].constant || !is_floating(source[v].type.dtype) || pinned.contains(v)) continue;
      if (makes_index[v.slot()]) continue;
      const Role role = role_of(node.op, i);
      const auto [at, is_new] = replaced_.emplace(source[v].name, Weight{role, type_of(*source[v].constant)});
      if (!is_new) at->second.role = std::max(at->second.role, role);
    }
  }
}

Tensor WholeWeights::drawn(const Weights::value_type& weight) const {
  const auto& [name, is] = weight;
  if (is.role == Role::Kernel && name == last_name_) return last_;
  const Sizes shape = *sizes_of(is.type.shape);
  const auto count = static_cast<std::size_t>(*checked_count(shape));
  const Draws draws(seed_ ^ hashed(name));
  if (is.role == Role::Kernel) {
    std::vector<std::byte> bytes(count);
    draw_into<std::byte>(bytes, draws, [](std::uint32_t bits) {
      return static_cast<std::byte>(signed_up_to(largest_kernel_number, bits));
    });
    last_name_ = name, last_single_.reset();
    return last_ = *Tensor::owning(DType::I8, shape, std::move(bytes));
  }
  std::vector<float> values(count);
  draw_into<float>(values, draws, [role = is.role](std::uint32_t bits) {
    switch (role) {
      case Role::Kernel: break;
      case Role::Bias: return static_cast<float>(signed_up_to(largest_bias, bits));
      case Role::Scale: return static_cast<float>(signed_up_to(2, bits));
      case Role::Variance: return static_cast<float>(1 << bits % 3 * 2);
    }
    return 0.0F;
  });
  return Tensor::of(shape, std::move(values));
}

Tensor WholeWeights::of_source(const Value& value) const {
  const auto at = replaced_.find(value.name);
  if (at == replaced_.end()) return *value.constant;
  const Tensor numbers = drawn(*at);
  if (last_single_ && value.name == last_name_ && value.constant->dtype() == DType::F32) return *last_single_;
  return numbers.converted(value.constant->dtype());
}

bool WholeWeights::are_surely_alike(const Value& of_source, const Value& of_target) const {
  const auto at = replaced_.find(of_source.name);
  if (at == replaced_.end() || !of_target.origin || of_target.origin->source != of_source.name) return false;
  const Origin& origin = *of_target.origin;
  return is_laid_out_alike(origin) && of_source.constant->dtype() == DType::F32 && of_target.type.dtype == DType::F32 &&
         of_target.constant->shape() == *sizes_of(at->second.type.shape);
}

Tensor WholeWeights::of_target(const Value& value) const {
  const auto at = value.origin ? replaced_.find(value.origin->source) : replaced_.end();
  if (at == replaced_.end() || !is_floating(value.type.dtype)) return *value.constant;
  const Tensor numbers = drawn(*at);
  const Origin& origin = *value.origin;
  if (is_laid_out_alike(origin) && value.type.dtype == DType::F32 && numbers.dtype() == DType::I8 &&
      numbers.shape() == value.constant->shape()) {
    if (!last_single_) last_single_ = numbers.converted(DType::F32);
    return *last_single_;
  }
  auto moved = carried(numbers, origin, value.constant->shape());
  return moved ? moved->converted(value.type.dtype) : *value.constant;
}

namespace {

// ---- numbers of operators --------------------------------------------------------------------------------------------

// A number that both graphs have in their operators and that whole numbers cannot carry.
struct Parameter {
  std::function<double*(Op&)> of;  // null: this operator has none
  double (*becomes)(double number);
};

double* epsilon_of(Op& op) {
  auto* norm = get_if<BatchNorm>(&op);
  return norm ? &norm->epsilon : nullptr;
}
double no_epsilon(double) { return 0; }
double* slope_of(Op& op) {
  auto* relu = get_if<Relu>(&op);
  return relu && relu->negative_slope != 0 && relu->negative_slope != 1 ? &relu->negative_slope : nullptr;
}

// Its sign decides whether a bound binds what it makes.
double whole_slope(double slope) { return slope > 0 ? 2 : -1; }

// As float32: formats keep them so.
std::multiset<float> numbers_of(Graph& graph, const std::vector<NodeId>& nodes, const Parameter& parameter) {
  std::multiset<float> numbers;
  for (const NodeId n : nodes)
    if (const double* number = parameter.of(graph[n].op)) numbers.insert(static_cast<float>(*number));
  return numbers;
}

void replace_parameter(WholeModels& models, const std::vector<Stretch>& stretches, const Parameter& parameter) {
  std::set<NodeId> kept_in_source, kept_in_target;
  const auto any = [](const std::set<NodeId>& kept, const std::vector<NodeId>& nodes) {
    return std::ranges::any_of(nodes, [&](NodeId n) { return kept.contains(n); });
  };
  for (bool is_new = true; is_new;) {  // what one stretch keeps, every stretch that shares it keeps
    is_new = false;
    for (const Stretch& stretch : stretches) {
      const bool keeps = any(kept_in_source, stretch.source.nodes) || any(kept_in_target, stretch.target.nodes) ||
                         numbers_of(models.source, stretch.source.nodes, parameter) !=
                             numbers_of(models.target, stretch.target.nodes, parameter);
      if (!keeps) continue;
      const std::size_t before = kept_in_source.size() + kept_in_target.size();
      for (const NodeId n : stretch.source.nodes)
        if (parameter.of(models.source[n].op)) kept_in_source.insert(n);
      for (const NodeId n : stretch.target.nodes)
        if (parameter.of(models.target[n].op)) kept_in_target.insert(n);
      is_new = is_new || kept_in_source.size() + kept_in_target.size() > before;
    }
  }
  const auto replace = [&](Graph& graph, const std::set<NodeId>& kept) {
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      if (kept.contains({static_cast<std::int32_t>(i)})) continue;
      if (double* number = parameter.of(graph.nodes[i].op)) *number = parameter.becomes(*number);
    }
  };
  replace(models.source, kept_in_source);
  replace(models.target, kept_in_target);
}

// ---- ranges ----------------------------------------------------------------------------------------------------------

// What is asked of each value of one graph, by everything up to the next values that meet.
std::vector<Demand> demands(const Graph& graph, const std::vector<bool>& ends) {
  constexpr Size most_multiple = Size{1} << 24;
  std::vector<Demand> all(graph.values.size());
  std::vector<std::optional<Sizes>> shapes;
  for (const Value& value : graph.values) shapes.push_back(sizes_of(value.type.shape));
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    const Node& node = graph.nodes[i];
    Lengths lengths;
    bool known = true;
    for (const ValueId v : node.inputs) {
      const auto* shape = v ? &shapes[v.slot()] : nullptr;
      lengths.push_back(shape && *shape ? &**shape : nullptr);
      known = known && (!shape || *shape);
    }
    Demand own = known ? demand_of(node, lengths) : Demand{};
    double behind = 1;
    for (const ValueId v : node.outputs) {
      const auto out = v.slot();
      if (ends[out]) continue;
      behind = std::max(behind, all[out].gain);
      own.multiple = std::min(std::lcm(own.multiple, all[out].multiple), most_multiple);
    }
    for (const ValueId v : node.inputs) {
      if (!v) continue;
      Demand& asked = all[v.slot()];
      asked.gain = std::max(asked.gain, own.gain * behind);
      asked.multiple = std::min(std::lcm(asked.multiple, own.multiple), most_multiple);
    }
  }
  return all;
}

}  // namespace

Result<WholeModels> with_whole_numbers(const Graph& source, const Graph& target, std::uint64_t seed) {
  Graph of_source = source, of_target = target;
  for (Graph* graph : {&of_source, &of_target})
    if (!computes_in(*graph, DType::F32))
      if (auto changed = change_reals(*graph, DType::F32); !changed) return pass(changed);
  const WholeWeights weights(of_source, of_target, seed);
  WholeModels models{std::move(of_source), std::move(of_target), weights};
  const auto stretches = stretches_of(source, target, counterparts(names_of(source), target));
  replace_parameter(models, stretches, {epsilon_of, no_epsilon});
  replace_parameter(models, stretches, {slope_of, whole_slope});
  return models;
}

std::vector<WholeRange> whole_ranges(const Graph& source, const Graph& target) {
  constexpr double most_fed = 4096, room = 0x1p24 - 0x1p17;  // for biases, which the gains leave out
  const Names names = names_of(source);
  const auto counterpart = counterparts(names, target);
  std::vector<bool> ends(target.values.size(), false);
  for (std::size_t i = 0; i < ends.size(); ++i) ends[i] = static_cast<bool>(counterpart[i]);
  auto asked = demands(source, meeting(source, target, counterpart));
  const auto more = demands(target, ends);
  for (std::size_t i = 0; i < more.size(); ++i) {
    const bool is_input =
        std::ranges::find(target.inputs, ValueId{static_cast<std::int32_t>(i)}) != target.inputs.end();
    const ValueId s = is_input ? source_of_input(names, target, {static_cast<std::int32_t>(i)}) : counterpart[i];
    if (!s) continue;
    Demand& of = asked[s.slot()];
    of.gain = std::max(of.gain, more[i].gain);
    of.multiple = std::min(std::lcm(of.multiple, more[i].multiple), Size{1} << 24);
  }
  std::vector<WholeRange> ranges(asked.size());
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const double most = room / std::max(asked[i].gain, 1.0) / static_cast<double>(asked[i].multiple);
    ranges[i] = {static_cast<Size>(std::clamp(most, 1.0, most_fed)), asked[i].multiple};
  }
  return ranges;
}

Tensor whole_numbers(const Sizes& shape, WholeRange range, std::uint64_t seed) {
  std::vector<float> values(static_cast<std::size_t>(checked_count(shape).value_or(0)));
  // An octave each as likely as the next: thresholds such as 6 are met from both sides among numbers up to thousands.
  const auto most = static_cast<std::uint32_t>(range.most), octaves = static_cast<std::uint32_t>(std::bit_width(most));
  std::array<std::uint32_t, 256> floors;
  for (std::uint32_t i = 0; i < floors.size(); ++i) floors[i] = 1U << i % octaves;
  const auto multiple = static_cast<float>(range.multiple);  // a product that float32 holds
  draw_into<float>(values, Draws(seed), [&](std::uint32_t bits) {
    const std::uint32_t floor = floors[bits >> 1 & 0xFF], size = std::min(floor + (bits >> 9 & (floor - 1)), most);
    const float number = static_cast<float>(static_cast<std::int32_t>(size)) * multiple;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(number) ^
                                bits << 31);  // no branch that is taken half the time
  });
  return Tensor::of(shape, std::move(values));
}

}  // namespace convoy
