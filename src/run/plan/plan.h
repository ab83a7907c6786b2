// A graph made ready to run on inputs of certain shapes: channels lie last inside, what belongs together is one step, weights are
// packed, every value has its place in one arena. What has no fast kernel is a step of the plain one, so every graph has a plan
// whose sizes are all known beforehand.
#pragma once
#include "run/fast/aligned.h"
#include "run/plan/places.h"
#include "run/run.h"

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace convoy::plan {

// What a plan computes in, one call at a time.
struct Workspace {
  fast::Aligned<float> arena;
  std::vector<Tensor> held;  // by value
  std::vector<std::shared_ptr<float>> results;  // by output, where it is made in memory of its own
  int threads = 1;
};

class Step {
 public:
  Step() = default;
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;
  virtual ~Step() = default;
  // Once the places are laid out.
  virtual void prepare(const Places&) {}
  virtual Status run(Workspace& at) const = 0;

  std::string layer, what;  // for people: "conv1", "conv + bias + relu"
  std::vector<PlaceId> reads, writes;
  double operations = 0;
};

struct Timing {
  std::string layer, what;
  double operations = 0, seconds = 0;
};

class Plan {
 public:
  // Null where the sizes of some value are only known when it is computed, or whole numbers stand for real ones.
  static Result<std::unique_ptr<const Plan>> make(const Graph& graph, const std::vector<Tensor>& inputs, bool winograd);

  // Inputs of the shapes that it was made for.
  Result<std::vector<Tensor>> run(const std::vector<Tensor>& inputs, int threads,
                                  std::vector<Timing>* timings = nullptr) const;
  const std::vector<std::unique_ptr<Step>>& steps() const { return steps_; }
  Size arena_bytes() const { return arena_ * static_cast<Size>(sizeof(float)); }

 private:
  friend class Builder;
  std::unique_ptr<Workspace> workspace() const;

  Places places_;
  std::vector<std::unique_ptr<Step>> steps_;
  std::vector<std::vector<ValueId>> let_go_;  // held values that nobody reads after each step
  std::vector<ValueId> inputs_, outputs_;
  std::vector<PlaceId> results_;  // of the outputs; none: a held value
  std::vector<std::optional<Tensor>> constant_results_;
  std::vector<Sizes> output_shapes_;
  std::size_t values_ = 0, nodes_ = 0;
  Size arena_ = 0;
  mutable std::mutex guard_;
  mutable std::vector<std::unique_ptr<Workspace>> spare_;
};

}  // namespace convoy::plan
