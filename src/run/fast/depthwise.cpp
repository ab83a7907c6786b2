#include "run/fast/depthwise.h"

#include "run/fast/finite.h"
#include "run/threads.h"

#include <algorithm>
#include <map>

namespace convoy::fast {

namespace {

void finish_numbers(const MapCall& map, float* y, Size count) {
  if (map.map != Map::None) row_kernels().map(map, y, y, count);
}
void finish_numbers(const MapCall&, double*, Size) {}

}  // namespace

template <class T>
template <class Stored>
Depthwise<T>::Depthwise(const ConvolutionShape& shape, const Stored* kernel, KernelSteps steps, const T* bias,
                        const Kernels<T>& with)
    : shape_(shape),
      kernels_(&with),
      phases_(phases_of(shape.walks, 1, false)),
      channels_(shape.groups) {
  Size taps = 1;
  for (const plain::AxisWalk& walk : shape_.walks) taps *= walk.taps, cells_ *= walk.in, positions_ *= walk.out;
  constexpr Size most_together = 4;
  while (together_ < most_together && together_ * channels_ % with.lanes != 0) ++together_;
  if (together_ * channels_ % with.lanes != 0) together_ = 1;
  bias_.assign(static_cast<std::size_t>(channels_), T{0});
  if (bias) std::copy_n(bias, channels_, bias_.data());
  for (Size t = 0; t < taps; ++t)
    for (Size c = 0; c < channels_; ++c) weights_.push_back(static_cast<T>(kernel[t * steps.tap + c * steps.group]));
  if (together_ > 1) {
    const auto repeat = [&](const Aligned<T>& from, Aligned<T>& to) {
      for (auto row = from.begin(); row != from.end(); row += channels_)
        for (Size i = 0; i < together_; ++i) to.insert(to.end(), row, row + channels_);
    };
    repeat(weights_, wide_weights_), repeat(bias_, wide_bias_);
  }
  for (std::size_t p = 0; p < phases_.size(); ++p) {
    const auto length = static_cast<Size>(phases_[p].axes.back().reaches.size());
    for (Size line = 0; length > 0 && line < phases_[p].rows / length; ++line) lines_.emplace_back(p, line);
  }
  constexpr Size most_taps = 49;
  keeps_ = taps <= most_taps && phases_.size() == 1;
  if (keeps_) keep_runs();
}

// The lines of input that the outer taps of a line read, and which taps they are. Returns the line's position.
template <class T>
Size Depthwise<T>::outer_of(const Phase& phase, Size line, Outer& outer) const {
  Outer more;
  outer.assign(1, {0, 0});
  Size position = 0, below = 1;
  for (std::size_t a = 0; a + 1 < phase.axes.size(); ++a) below *= static_cast<Size>(phase.axes[a].reaches.size());
  for (std::size_t a = 0; a + 1 < phase.axes.size(); ++a) {
    const AxisPhase& axis = phase.axes[a];
    below /= static_cast<Size>(axis.reaches.size());
    const Size at = line / below;
    line %= below;
    const AxisPhase::Reach& reach = axis.reaches[static_cast<std::size_t>(at)];
    position = position * shape_.walks[a].out + axis.first + at * axis.every;
    more.clear();
    for (const auto& [cells, tap] : outer)
      for (Size t = 0; t < reach.count; ++t)
        more.emplace_back(cells * shape_.walks[a].in + reach.cell + t * axis.step,
                          tap * shape_.walks[a].taps + axis.taps[static_cast<std::size_t>(reach.tap + t)]);
    outer.swap(more);
  }
  return position;
}

template <class T>
typename Depthwise<T>::Taps Depthwise<T>::taps_of(const AxisPhase& last, const AxisPhase::Reach& reach,
                                                  const Outer& outer) const {
  Taps taps;
  const Size in = shape_.walks.back().in, count = shape_.walks.back().taps, step = last.step * shape_.x_step;
  for (const auto& [cells, tap] : outer)
    for (Size t = 0; t < reach.count; ++t) {
      taps.cells.push_back((cells - outer[0].first) * in * shape_.x_step + t * step);
      taps.kernel.push_back(tap * count + last.taps[static_cast<std::size_t>(reach.tap + t)]);
    }
  if (reach.count > 1) taps.line_taps = reach.count, taps.tap_step = step;
  return taps;
}

template <class T>
std::vector<typename Depthwise<T>::Run> Depthwise<T>::runs_of(const Phase& phase, Size line) const {
  Outer outer;
  const Size position = outer_of(phase, line, outer);
  const AxisPhase& last = phase.axes.back();
  const auto length = static_cast<Size>(last.reaches.size());
  const auto reach_at = [&](Size i) -> const AxisPhase::Reach& { return last.reaches[static_cast<std::size_t>(i)]; };
  std::vector<Run> runs;
  for (Size i = 0; i < length;) {
    const AxisPhase::Reach& reach = reach_at(i);
    Run run{.outputs = 1, .y_step = last.every * shape_.y_step};
    for (; i + run.outputs < length; ++run.outputs) {
      const AxisPhase::Reach& next = reach_at(i + run.outputs);
      if (next.tap != reach.tap || next.count != reach.count || reach.count == 0) break;
      const Size moved = (next.cell - reach_at(i + run.outputs - 1).cell) * shape_.x_step;
      if (run.outputs == 1) run.x_step = moved;
      if (moved != run.x_step) break;
    }
    run.taps = taps_of(last, reach, outer);
    if (!run.taps.cells.empty()) run.x = (outer[0].first * shape_.walks.back().in + reach.cell) * shape_.x_step;
    run.y = (position * shape_.walks.back().out + last.first + i * last.every) * shape_.y_step;
    i += run.outputs;
    runs.push_back(std::move(run));
  }
  return runs;
}

template <class T>
void Depthwise<T>::keep_runs() {
  std::map<std::pair<std::vector<Size>, std::vector<Size>>, std::size_t> known;
  for (const auto& [phase, line] : lines_) {
    runs_.push_back(runs_of(phases_[phase], line));
    for (Run& run : runs_.back()) {
      const auto [found, is_new] = known.try_emplace({run.taps.cells, run.taps.kernel}, taps_.size());
      run.kept = found->second;
      if (is_new) taps_.push_back(std::move(run.taps));
      run.taps = {};
    }
  }
}

template <class T>
void Depthwise<T>::compute(const Run& run, const Taps& taps, const T* x, T* y, const Finish<T>& finish) const {
  DepthwiseCall<T> call{.taps = taps.cells.data(), .kernel_taps = taps.kernel.data()};
  call.x = x, call.y = y;
  call.tap_count = static_cast<Size>(taps.cells.size()), call.line_taps = taps.line_taps, call.tap_step = taps.tap_step;
  call.is_held = finish.is_held, call.low = finish.low, call.high = finish.high;
  Size done = 0;
  if (together_ > 1 && run.outputs >= together_ && run.x_step == channels_ && run.y_step == channels_) {
    call.outputs = run.outputs / together_, call.channels = together_ * channels_;
    call.x_step = call.y_step = call.channels;
    call.weights = wide_weights_.data(), call.bias = wide_bias_.data();
    kernels_->depthwise(call);
    done = call.outputs * together_;
  }
  if (done < run.outputs) {
    call.x = x + done * run.x_step, call.y = y + done * run.y_step, call.outputs = run.outputs - done;
    call.channels = channels_, call.x_step = run.x_step, call.y_step = run.y_step;
    call.weights = weights_.data(), call.bias = bias_.data();
    kernels_->depthwise(call);
  }
  if (run.y_step == channels_) return finish_numbers(finish.map, y, run.outputs * channels_);
  for (Size o = 0; o < run.outputs; ++o) finish_numbers(finish.map, y + o * run.y_step, channels_);
}

template <class T>
void Depthwise<T>::run_line(std::size_t line, const T* x, Size x_skipped, T* y, Size y_skipped,
                            const Finish<T>& finish) const {
  if (keeps_) {
    for (const Run& run : runs_[line])
      compute(run, taps_[run.kept], taps_[run.kept].cells.empty() ? x : x + (run.x - x_skipped),
              y + (run.y - y_skipped), finish);
    return;
  }
  for (const Run& run : runs_of(phases_[lines_[line].first], lines_[line].second))
    compute(run, run.taps, run.taps.cells.empty() ? x : x + (run.x - x_skipped), y + (run.y - y_skipped), finish);
}

template <class T>
void Depthwise<T>::run(const T* x, T* y, const Finish<T>& finish, int threads) const {
  const auto lines = static_cast<Size>(lines_.size());
  for_each_item(threads, shape_.batch * lines, [&](Size item) {
    const Size image = item / lines;
    run_line(static_cast<std::size_t>(item % lines), x + image * cells_ * shape_.x_step, 0,
             y + image * positions_ * shape_.y_step, 0, finish);
  });
}

template <class T>
void Depthwise<T>::run_lines(Size first, Size count, const T* x, Size x_first, T* y, const Finish<T>& finish) const {
  const Size x_line = shape_.walks.back().in * shape_.x_step, y_line = shape_.walks.back().out * shape_.y_step;
  for (Size line = first; line < first + count; ++line)
    run_line(static_cast<std::size_t>(line), x, x_first * x_line, y, first * y_line, finish);
}

template <class T>
std::pair<Size, Size> Depthwise<T>::lines_read(Size first, Size count) const {
  const AxisPhase& axis = phases_[0].axes[0];
  std::pair<Size, Size> lines{0, 0};
  for (Size line = first; line < first + count; ++line) {
    const AxisPhase::Reach& reach = axis.reaches[static_cast<std::size_t>(line)];
    if (reach.count == 0) continue;
    const Size last = reach.cell + (reach.count - 1) * axis.step + 1;
    if (lines.second == 0) lines = {reach.cell, last};
    lines = {std::min(lines.first, reach.cell), std::max(lines.second, last)};
  }
  return lines;
}

template class Depthwise<float>;
template class Depthwise<double>;
template Depthwise<float>::Depthwise(const ConvolutionShape&, const float*, KernelSteps, const float*,
                                     const Kernels<float>&);
template Depthwise<double>::Depthwise(const ConvolutionShape&, const double*, KernelSteps, const double*,
                                      const Kernels<double>&);
template Depthwise<double>::Depthwise(const ConvolutionShape&, const float*, KernelSteps, const double*,
                                      const Kernels<double>&);
template Depthwise<double>::Depthwise(const ConvolutionShape&, const LooseFloat*, KernelSteps, const double*,
                                      const Kernels<double>&);

}  // namespace convoy::fast
