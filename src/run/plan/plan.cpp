#include "run/plan/plan.h"

#include "base/budget.h"
#include "base/long_work.h"
#include "ops/expect.h"

#include <chrono>
#include <span>

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

namespace {

// From the heap, which keeps it for the next run as a mapping would not; it begins at a line of the cache.
std::shared_ptr<float> memory_of(Size count) {
  constexpr std::size_t line = 64;
  const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(float);
  std::size_t room = bytes + line;
  const std::shared_ptr<std::byte[]> all = std::make_shared_for_overwrite<std::byte[]>(room);
  void* begin = all.get();
  return {all, static_cast<float*>(std::align(line, bytes, begin, room))};
}

}  // namespace

Result<std::vector<Tensor>> Plan::run(const std::vector<Tensor>& inputs, int threads,
                                      std::vector<Timing>* timings) const {
  auto at = workspace();
  at->threads = threads;
  at->held.assign(values_, {});
  for (std::size_t i = 0; i < inputs.size(); ++i)
    at->held[inputs_[i].slot()] = inputs[i].dtype() == DType::F32  ? inputs[i].realigned()
                                  : is_floating(inputs[i].dtype()) ? Tensor::of(inputs[i].shape(), inputs[i].floats())
                                                                   : inputs[i];
  at->results.assign(outputs_.size(), {});
  for (std::size_t i = 0; i < outputs_.size(); ++i)
    if (const Place* const root = results_[i] ? &places_[places_.root(results_[i])] : nullptr;
        root && root->where == Place::Where::Result && root->result == i)
      at->results[i] = memory_of(root->count());
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
    const Place &place = places_[results_[i]], &root = places_[places_.root(results_[i])];
    const bool is_there = root.where == Place::Where::Result;
    const auto& made = at->results[is_there ? root.result : i];
    const std::span<const float> numbers((is_there ? made.get() : at->arena.data()) + place.start,
                                         static_cast<std::size_t>(place.count()));
    if (is_there && place.count() == root.count())  // the same for all outputs that are these
      results.push_back(*Tensor::view(DType::F32, output_shapes_[i], std::as_bytes(numbers), made));
    else results.push_back(Tensor::of(output_shapes_[i], std::vector<float>(numbers.begin(), numbers.end())));
  }
  at->results.clear();
  at->held.clear();
  const std::lock_guard lock(guard_);
  spare_.push_back(std::move(at));
  return results;
}

}  // namespace convoy::plan
