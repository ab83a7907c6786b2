#include "prove/magnified.h"

#include "prove/compare.h"
#include "prove/meeting.h"
#include "prove/stretch.h"

#include <algorithm>
#include <utility>

namespace convoy {

namespace {

constexpr double alike_in_size = 16;  // two runs that round alike badly, in different order

Result<Tensor> evaluated(const Graph& graph, const Reach& reach, ValueId v, const std::vector<Tensor>& numbers,
                         Precision precision, const ProofOptions& options) {
  auto outputs = outputs_of(cut_out(graph, reach, v), numbers, precision, options);
  if (!outputs) return pass(outputs);
  return std::move(outputs->front());
}

// What the source's value is, and what both stretches start from.
struct StretchNumbers {
  Tensor wanted;
  std::vector<Tensor> of_source, of_target;
};

Result<StretchNumbers> numbers_at(const BeyondBound& at, const Stretch& stretch, Reference::Roles roles,
                                  const std::vector<Tensor>& inputs, const ProofOptions& options, Budget& budget) {
  const Names names = names_of(at.source);
  std::vector<ValueId> twins;
  for (const ValueId b : stretch.target.boundary) {
    const ValueId twin = at.counterparts[b.slot()];
    twins.push_back(twin ? twin : source_of_input(names, at.target, b));
    if (!twins.back()) return fail(Fault::Internal, "'" + at.target[b].name + "' is met nowhere");
    ++roles.uses[twins.back().slot()];
  }
  for (const ValueId b : stretch.source.boundary) ++roles.uses[b.slot()];
  ++roles.uses[stretch.of_source.slot()];
  Reference reference(at.source, std::move(roles), options, budget);
  reference.feed(inputs);
  StretchNumbers numbers;
  for (const ValueId b : stretch.source.boundary) {
    auto met = reference.met(b);
    if (!met) return pass(met);
    numbers.of_source.push_back(*std::move(met));
  }
  std::size_t next = 0;
  for (const ValueId b : stretch.target.boundary) {
    auto met = reference.met(twins[next++]);
    if (!met) return pass(met);
    auto brought = carried(*met, origin_of(at.target[b]), *sizes_of(at.target[b].type.shape));
    if (!brought) return pass(brought);
    numbers.of_target.push_back(*std::move(brought));
  }
  auto wanted = reference.value(stretch.of_source);
  if (!wanted) return pass(wanted);
  numbers.wanted = *std::move(wanted);
  return numbers;
}

}  // namespace

Result<std::optional<double>> magnified_rounding(const BeyondBound& at, Reference::Roles roles,
                                                 const std::vector<Tensor>& inputs, const ProofOptions& options,
                                                 Budget& budget) {
  const auto all = stretches_of(at.source, at.target, at.counterparts);
  const auto stretch = std::ranges::find(all, at.value, &Stretch::of_target);
  if (stretch == all.end()) return std::nullopt;
  auto numbers = numbers_at(at, *stretch, std::move(roles), inputs, options, budget);
  if (!numbers) return pass(numbers);
  auto exact = evaluated(at.target, stretch->target, at.value, numbers->of_target, Precision::Double, options);
  if (!exact) return pass(exact);
  auto wanted = carried(numbers->wanted, origin_of(at.target[at.value]), exact->shape());
  if (!wanted) return pass(wanted);
  if (!compare(*exact, *wanted, at.error, at.limit).same) return std::nullopt;
  auto own = evaluated(at.source, stretch->source, stretch->of_source, numbers->of_source, Precision::Single, options);
  if (!own) return pass(own);
  const double off = compare(*own, numbers->wanted, {}, 0).largest;
  if (!(off * alike_in_size >= at.largest)) return std::nullopt;
  return off;
}

}  // namespace convoy
