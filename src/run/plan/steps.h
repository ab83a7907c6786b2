// The kinds of steps that a plan is made of.
#pragma once
#include "run/fast/winograd.h"
#include "run/plain/reaches.h"
#include "run/plan/plan.h"

#include <map>
#include <optional>

namespace convoy::plan {

// Where a step reads or writes, once the places are laid out.
struct Numbers {
  Place::Where where = Place::Where::Arena;
  Size start = 0, step = 0, pixels = 0, channels = 0;
  Tensor constant;
  std::size_t held = 0;  // which of these, or of the results

  const float* in(const Workspace& at) const;
  float* out(Workspace& at) const {
    return (where == Place::Where::Result ? at.results[held].get() : at.arena.data()) + start;
  }
  bool is_dense() const { return step == channels; }
};
Numbers numbers_at(const Places& places, PlaceId id);
// These numbers as float32 at an address that can be read: the tensor itself where it is such.
Tensor as_floats(const Tensor& tensor);

// A step that makes y from x, whatever else it needs.
class FromOne : public Step {
 public:
  PlaceId x, y;
  void prepare(const Places& places) override;

 protected:
  Numbers x_, y_;
};

// A step that makes y from a and b.
class FromTwo : public Step {
 public:
  PlaceId a, b, y;
  void prepare(const Places& places) override;

 protected:
  Numbers a_, b_, y_;
};

// Convolutions, plain, transposed and depthwise, and products with constant matrices.
class Convolve : public FromOne {
 public:
  fast::ConvolutionShape shape;
  Tensor kernel;  // as the graph holds it, let go once it is packed
  std::vector<std::vector<float>> scales;  // of every output channel, one after the other
  std::vector<float> bias;  // of every output channel, or none
  fast::KernelSteps kernel_steps;
  fast::Finish<float> finish;
  PlaceId residual;
  bool by_winograd = false;

  void prepare(const Places& places) override;
  Status run(Workspace& at) const override;

  // For steps that compute a part of it at a time.
  const fast::Convolution<float>& packed() const { return *packed_; }
  fast::Finish<float> finish_at(const Workspace& at) const;
  const Numbers& x_numbers() const { return x_; }
  const Numbers& y_numbers() const { return y_; }

 private:
  void scale(std::vector<float>& numbers) const;

  std::optional<fast::Convolution<float>> packed_;
  std::optional<fast::Winograd> winograd_;
  Numbers residual_;
};

class MapNumbers : public FromOne {
 public:
  fast::MapCall map;
  Status run(Workspace& at) const override;
};

// Of equal shapes, or b is one row of channels for each of the `images` equal parts of a.
class PairNumbers : public FromTwo {
 public:
  fast::Pair pair = fast::Pair::Add;
  Size images = 0;  // 0: equal shapes
  Status run(Workspace& at) const override;
};

class PoolWindows : public FromOne {
 public:
  std::vector<plain::AxisReach> reaches;
  Sizes space;  // of the input
  bool is_average = false, passes_over_nan = false;
  std::optional<Size> divisor;
  void prepare(const Places& places) override;
  Status run(Workspace& at) const override;

 private:
  // Positions side by side whose windows read as many cells, each as far from those of the one before.
  struct Run {
    Size position = 0, outputs = 1, x = 0, x_step = 0;  // x: of its first cell
    std::size_t cells = 0;  // which of cells_
    float divisor = 1;
  };
  void add_position(Size position, std::vector<Size> cells, float divisor);

  Size batch_ = 1, cells_of_image_ = 1, positions_ = 1;
  std::vector<Run> runs_;  // of one image
  std::vector<std::vector<Size>> cells_;  // that a window reads, counted from the first
  std::map<std::vector<Size>, std::size_t> known_cells_;
};

class MeanOfPixels : public FromOne {
 public:
  Size images = 1;
  bool is_sum = false;
  Status run(Workspace& at) const override;
};

// [images][channels][pixels] -> [images][pixels][channels], or back; or a copy with other steps.
class Move : public FromOne {
 public:
  enum class Way : std::uint8_t { Copy, ToLast, ToFirst };
  Way way = Way::Copy;
  Size images = 1;
  Status run(Workspace& at) const override;
};

class SoftmaxRows : public FromOne {
 public:
  Status run(Workspace& at) const override;
};

// Whatever has no step of its own: the node's plain kernel, over tensors. Its results are held.
class PlainNode : public Step {
 public:
  PlainNode(const Graph& graph, const Node& node);
  struct Input {
    bool is_present = false;
    PlaceId place;      // none: constant or held
    Sizes shape;
    Tensor constant;
    ValueId held;
  };
  std::vector<Input> inputs;
  void prepare(const Places& places) override;
  Status run(Workspace& at) const override;

 private:
  Graph graph_;  // of the values alone that the node reads and makes
  Node node_;
  std::vector<ValueId> results_;
  std::vector<Numbers> numbers_;
};

}  // namespace convoy::plan
