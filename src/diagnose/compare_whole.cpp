// Whole numbers that one model keeps as they are and the other carries in float32: the bound of its rounding covers what is
// lost, but there is nothing to round.
#include "diagnose/compare.h"
#include "diagnose/whole_numbers.h"
#include "ops/expect.h"
#include "run/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace convoy::diagnose {

namespace {

// All values of the piece as its framework computes them.
Result<std::map<ValueId, Tensor>> computed(const Graph& piece, std::vector<Tensor> inputs, int threads) {
  for (std::size_t i = 0; i < inputs.size(); ++i) inputs[i] = inputs[i].converted(piece[piece.inputs[i]].type.dtype);
  RunOptions options;
  options.keeps_all = true;
  options.threads = threads;
  auto made = run(piece, inputs, options);
  if (!made) return pass(made);
  for (std::size_t i = 0; i < inputs.size(); ++i) made->insert_or_assign(piece.inputs[i], inputs[i]);
  return std::map<ValueId, Tensor>(made->begin(), made->end());
}

// The numbers that all else is made of, each tensor's in order of size, for axes may lie otherwise.
std::vector<std::vector<double>> numbers_of(const std::vector<ValueId>& sources,
                                            const std::map<ValueId, Tensor>& values) {
  std::vector<std::vector<double>> all;
  for (const ValueId v : sources) {
    const auto found = values.find(v);
    if (found == values.end()) continue;
    all.push_back(found->second.doubles());
    std::ranges::sort(all.back());
  }
  std::ranges::sort(all);
  const auto repeated = std::ranges::unique(all);
  all.erase(repeated.begin(), repeated.end());
  return all;
}

}  // namespace

void Comparison::compare_whole_numbers(std::size_t i) {
  const auto is_whole = [&](const Match* from) {
    return from && !(is_floating(sized_.a[from->a].type.dtype) && is_floating(sized_.b[from->b].type.dtype));
  };
  if (!is_whole(&alignment_.matches[i])) return;
  const auto at = stretch(i);
  if (!at) return;
  const auto a = whole_numbers_of(at->a.graph, [&](std::size_t n) { return is_whole(alignment_.of_a(at->a.from[n])); });
  const auto b = whole_numbers_of(at->b.graph, [&](std::size_t n) { return is_whole(alignment_.of_b(at->b.from[n])); });
  if (!a || !b || a->carried_by.empty() == b->carried_by.empty()) return;
  const auto of_a = computed(at->a.graph, at->inputs_a, threads_), of_b = computed(at->b.graph, at->inputs_b, threads_);
  if (!of_a || !of_b || numbers_of(a->sources, *of_a) != numbers_of(b->sources, *of_b)) return;
  State& state = states_[i];
  Tensor got = of_b->at(at->b.graph.outputs[0]);
  Tensor wanted = arranged(of_a->at(at->a.graph.outputs[0]), alignment_.matches[i].permutation, got.shape());
  if (got.dtype() != wanted.dtype()) got = got.converted(DType::F64), wanted = wanted.converted(DType::F64);
  const Gap gap = gap_between({got, {}}, wanted, {});
  const WholeNumbers& carrying = a->carried_by.empty() ? *b : *a;
  if (gap.same) {
    if (carrying.may_be_large)
      state.not_reached.push_back(fmt::format("whole numbers beyond 2^24 at '{}'", carrying.carried_by));
    return;
  }
  state.gap = gap;
  Explained cause;
  cause.before = gap;
  cause.r_next = std::numeric_limits<double>::infinity();
  cause.of_b = a->carried_by.empty();
  cause.edits.push_back({cause.of_b ? "whole_rounded" : "whole_not_rounded", carrying.carried_by, carrying.kind,
                         cause.of_b ? "whole numbers kept as they are" : "whole numbers carried in float32"});
  state.cause = std::move(cause);
}

}  // namespace convoy::diagnose
