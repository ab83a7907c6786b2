#include "run/plan/plan.h"

#include "base/budget.h"
#include "base/long_work.h"
#include "ops/expect.h"

#include <chrono>

namespace convoy::plan {

std::unique_ptr<Workspace> Plan::workspace() const {
  {
    const std::lock_guard lock(guard_);
    if (!spare_.empty()) {
      auto one = std::move(spare_.back());
      spare_.pop_back();
      return one;
    }
  }
  auto made = std::make_unique<Workspace>();
  made->arena.resize(static_cast<std::size_t>(arena_));
  return made;
}

Result<std::vector<Tensor>> Plan::run(const std::vector<Tensor>& inputs, int threads,
                                      std::vector<Timing>* timings) const {
  auto at = workspace();
  at->threads = threads;
  at->held.assign(values_, {});
  for (std::size_t i = 0; i < inputs.size(); ++i)
    at->held[inputs_[i].slot()] = inputs[i].dtype() == DType::F32  ? inputs[i].realigned()
                                  : is_floating(inputs[i].dtype()) ? Tensor::of(inputs[i].shape(), inputs[i].floats())
                                                                   : inputs[i];
  LongWork work("computing", nodes_);  // a step is some nodes of the graph
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    work.at((i + 1) * nodes_ / steps_.size(), steps_[i]->layer);
    const auto start = std::chrono::steady_clock::now();
    // Three tenths of a step for a product, as run/work.h counts.
    if (auto paid = budget::spend(0.15 * steps_[i]->operations, steps_[i]->what); !paid) return pass(paid);
    if (auto done = within(steps_[i]->layer, steps_[i]->run(*at)); !done) return pass(done);
    if (auto whole = budget::spend(0, steps_[i]->what); !whole) return pass(whole);  // cancelled on the way
    for (const ValueId v : let_go_[i]) at->held[v.slot()] = {};
    if (timings)
      timings->push_back({steps_[i]->layer, steps_[i]->what, steps_[i]->operations,
                          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count()});
  }
  std::vector<Tensor> results;
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    if (!results_[i]) {
      results.push_back(constant_results_[i] ? *constant_results_[i] : at->held[outputs_[i].slot()]);
      continue;
    }
    const Place& place = places_[results_[i]];
    const float* const from = at->arena.data() + place.start;
    results.push_back(Tensor::of(output_shapes_[i], std::vector<float>(from, from + place.count())));
  }
  at->held.clear();
  const std::lock_guard lock(guard_);
  spare_.push_back(std::move(at));
  return results;
}

}  // namespace convoy::plan
