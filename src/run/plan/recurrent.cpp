#include "run/plan/recurrent.h"

#include "convoy/cancellation.h"

#include "run/threads.h"

#include <algorithm>

namespace convoy::plan {

// Of the gates first_gate, ..., the product that makes them.
std::unique_ptr<WalkTime::Product> WalkTime::packed(const Tensor& weights, const std::vector<float>& offsets, Size rows,
                                                    Size x_step, Size y_step, Size first_gate, Size gate_count) const {
  const Tensor numbers = as_floats(weights);
  const Size depth = numbers.shape()[units_first ? 1 : 0], first = first_gate * cell.units;
  const fast::KernelSteps steps =
      units_first ? fast::KernelSteps{0, 0, 1, depth} : fast::KernelSteps{0, 0, gates * cell.units, 1};
  return std::make_unique<Product>(fast::ConvolutionShape{{}, rows, 1, depth, gate_count * cell.units, x_step, y_step},
                                   numbers.raw<float>().data() + first * steps.output, steps,
                                   offsets.empty() ? nullptr : offsets.data() + first, fast::kernels<float>());
}

void WalkTime::prepare(const Places& places) {
  FromOne::prepare(places);
  from_input_ = numbers_at(places, from_input), scratch_ = numbers_at(places, scratch);
  if (first_state) first_state_ = numbers_at(places, first_state);
  if (first_memory) first_memory_ = numbers_at(places, first_memory);
  if (last_memory) last_memory_ = numbers_at(places, last_memory);
  const Size row = scratch_.step;
  input_ = packed(kernel, bias, samples * times, x_.step, from_input_.step, 0, gates);
  recurrent_ = packed(recurrent_kernel, recurrent_bias, samples, row, row, 0, resets_before ? 2 : gates);
  if (resets_before) candidate_ = packed(recurrent_kernel, recurrent_bias, samples, row, row, 2, 1);
  for (Product* const one : {recurrent_.get(), candidate_.get()})
    if (one) one->keep_near();
  for (Tensor* const weights : {&kernel, &recurrent_kernel}) weights->let_go(), *weights = {};  // not held twice
}

// The states before the first step.
void WalkTime::begin(const Workspace& at, Size sample, float* row) const {
  const Size units = cell.units;
  std::fill_n(row, 2 * units, 0.0F);
  if (first_state) std::copy_n(first_state_.in(at) + sample * first_state_.step, units, row);
  if (first_memory) std::copy_n(first_memory_.in(at) + sample * first_memory_.step, units, row + units);
}

// Samples side by side; every sum is the same however many they are.
void WalkTime::walk(Workspace& at, Size first, Size count, int threads) const {
  const Size units = cell.units, step = scratch_.step;
  float* const rows = scratch_.out(at) + first * step;
  for (Size n = 0; n < count; ++n) begin(at, first + n, rows + n * step);
  const auto multiply = [&](const Product& product, const float* from, float* to) {
    if (threads > 1) product.run(from, to, {}, threads);
    else product.run_pixels(from, to, count, {});
  };
  const auto call_of = [&](Size n, Size time) {
    float* const row = rows + n * step;
    fast::CellCall call = cell;
    call.x = from_input_.out(at) + ((first + n) * times + time) * from_input_.step;
    call.state = row, call.memory = row + units, call.inner = row + 2 * units;
    call.peepholes = peepholes.empty() ? nullptr : peepholes.data();
    if (resets_before) call.reset = row + units;
    return call;
  };
  for (Size i = 0; i < times && !Listening::is_cancelled(); ++i) {
    const Size time = backwards ? times - 1 - i : i;
    multiply(*recurrent_, rows, rows + 2 * units);
    if (resets_before) {
      for (Size n = 0; n < count; ++n) {
        fast::CellCall call = call_of(n, time);
        call.cell = fast::Cell::GruReset;
        fast::row_kernels().cell(call);
      }
      multiply(*candidate_, rows + units, rows + 4 * units);
    }
    for (Size n = 0; n < count; ++n) {
      fast::row_kernels().cell(call_of(n, time));
      if (returns_sequence)
        std::copy_n(rows + n * step, units, y_.out(at) + ((first + n) * times + (keeps_order ? time : i)) * y_.step);
    }
  }
  for (Size n = 0; n < count; ++n) {
    if (!returns_sequence) std::copy_n(rows + n * step, units, y_.out(at) + (first + n) * y_.step);
    if (last_memory)
      std::copy_n(rows + n * step + units, units, last_memory_.out(at) + (first + n) * last_memory_.step);
  }
}

Status WalkTime::run(Workspace& at) const {
  const int threads = threads_for(at.threads, operations);
  input_->run(x_.in(at), from_input_.out(at), {}, threads);
  // Threads share samples where there are many, else the outputs of each step's product where that is large.
  const Size rows = fast::kernels<float>().tile_rows[1], parts = std::min<Size>(threads, (samples + rows - 1) / rows);
  const Size part = (samples + parts - 1) / parts;
  const double of_step = 2.0 * static_cast<double>(samples * gates * cell.units) * static_cast<double>(cell.units);
  const int within = parts == 1 ? threads_for(at.threads, of_step) : 1;
  for_each_item(threads, parts, [&](Size item) {
    const Size first = std::min(item * part, samples);
    walk(at, first, std::min(part, samples - first), within);
  });
  return {};
}

}  // namespace convoy::plan
