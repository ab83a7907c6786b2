// Cells that walk along time: the input's part of every gate is one product for all steps, the state's part one for each.
#pragma once
#include "run/plan/steps.h"

namespace convoy::plan {

class WalkTime : public FromOne {
 public:
  fast::CellCall cell;  // what it is and what it computes with, no numbers
  Size samples = 1, times = 1, gates = 1;
  bool units_first = false;  // kernels are [gates * units, ...], else turned
  bool resets_before = false;  // a GRU: the reset gate is applied in front of the product
  bool backwards = false, returns_sequence = false;
  bool keeps_order = false;  // the sequence is given in the order of time even if it is walked backwards
  Tensor kernel, recurrent_kernel;  // as the graph holds them, let go once they are packed
  std::vector<float> bias, recurrent_bias, peepholes;  // or none
  PlaceId first_state, first_memory, last_memory;  // or none
  PlaceId from_input, scratch;

  // The numbers of one sample between the steps: state, memory or the state that was reset, the state's part of every gate.
  Size scratch_channels() const { return (2 + gates) * cell.units; }
  void prepare(const Places& places) override;
  Status run(Workspace& at) const override;

 private:
  using Product = fast::Convolution<float>;
  std::unique_ptr<Product> packed(const Tensor& weights, const std::vector<float>& offsets, Size rows, Size x_step,
                                  Size y_step, Size first_gate, Size gate_count) const;
  void walk(Workspace& at, Size first, Size count, int threads) const;
  void begin(const Workspace& at, Size sample, float* row) const;

  std::unique_ptr<Product> input_, recurrent_, candidate_;
  Numbers first_state_, first_memory_, last_memory_, from_input_, scratch_;
};

}  // namespace convoy::plan
