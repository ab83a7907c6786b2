#include "run/fast/convolution.h"

#include "run/threads.h"

#include <algorithm>
#include <cstring>

namespace convoy::fast {

namespace {

constexpr Size block_bytes =
    Size{96} << 10;  // of what the rows of a block read: it stays in the cache while panels change
constexpr Size most_block_rows = 512;

// Where along each axis a row is.
struct Cursor {
  std::vector<Size> at;

  void set(const Phase& phase, Size row) {
    at.resize(phase.axes.size());
    for (std::size_t a = phase.axes.size(); a-- > 0;) {
      const auto count = static_cast<Size>(phase.axes[a].reaches.size());
      at[a] = row % count;
      row /= count;
    }
  }
};

}  // namespace

// Rows first..first+count-1 of one group and phase; rows of all images are counted through.
template <class T>
struct Convolution<T>::Block {
  std::size_t phase = 0;
  Size group = 0, first = 0, count = 0;
  Size first_panel = 0, last_panel = 0;
};

// Finds the numbers that the rows of a block read. Numbers of a run that one row reads and another one of its tile does not, at
// a border, are read from a copy with zeros there.
template <class T>
class Convolution<T>::Reader {
 public:
  void read(const Convolution& of, const Block& block, const T* x, T* y, const Finish<T>& finish) {
    const Phase& phase = of.phases_[block.phase];
    segments_ = static_cast<Size>(phase.segment_lengths.size());
    tile_rows_ = of.tile_rows_;
    const Size tiles = (block.count + tile_rows_ - 1) / tile_rows_;
    rows_.resize(static_cast<std::size_t>(tiles * segments_ * tile_rows_));
    ranges_.resize(static_cast<std::size_t>(tiles * segments_));
    y_.resize(static_cast<std::size_t>(tiles * tile_rows_));
    residual_.resize(finish.residual ? y_.size() : 0);
    copies_.clear();
    copied_ = 0;
    for (Size tile = 0; tile < tiles; ++tile) read_tile(of, block, tile, x, y, finish);
    if (static_cast<Size>(copy_.size()) < copied_) copy_.resize(static_cast<std::size_t>(copied_));
    Size at = 0;
    for (const Copy& copy : copies_) {
      T* const to = copy_.data() + at;
      std::fill(to, to + copy.before, T{0});
      std::memcpy(to + copy.before, copy.from, static_cast<std::size_t>(copy.count) * sizeof(T));
      std::fill(to + copy.before + copy.count, to + copy.length, T{0});
      rows_[copy.row] = to;
      at += copy.length;
    }
  }
  const T* const* rows(Size tile) const { return rows_.data() + tile * segments_ * tile_rows_; }
  const Range* ranges(Size tile) const { return ranges_.data() + tile * segments_; }
  T* const* y(Size tile) const { return y_.data() + tile * tile_rows_; }
  const T* const* residual(Size tile) const {
    return residual_.empty() ? nullptr : residual_.data() + tile * tile_rows_;
  }

 private:
  struct Copy {
    std::size_t row = 0;
    const T* from = nullptr;
    Size before = 0, count = 0, length = 0;
  };
  struct Row {
    AxisPhase::Reach last;
    const T* image = nullptr;
  };

  void read_tile(const Convolution& of, const Block& block, Size tile, const T* x, T* y, const Finish<T>& finish) {
    const ConvolutionShape& shape = of.shape_;
    const Phase& phase = of.phases_[block.phase];
    const Size first = tile * tile_rows_, count = std::min(tile_rows_, block.count - first);
    const std::size_t axes = phase.axes.size();
    cursors_.resize(static_cast<std::size_t>(tile_rows_));
    at_.resize(static_cast<std::size_t>(tile_rows_));
    // Tiles that are not full hold their last row again.
    for (Size r = 0; r < tile_rows_; ++r) {
      const Size row = block.first + first + std::min(r, count - 1);
      const Size image = row / phase.rows;
      Cursor& cursor = cursors_[static_cast<std::size_t>(r)];
      cursor.set(phase, row % phase.rows);
      Size position = 0;
      for (std::size_t a = 0; a < axes; ++a)
        position = position * shape.walks[a].out + phase.axes[a].first + cursor.at[a] * phase.axes[a].every;
      const Size pixel = image * of.positions_ + position, channel = block.group * shape.outputs;
      y_[static_cast<std::size_t>(first + r)] = y + pixel * shape.y_step + channel;
      if (finish.residual)
        residual_[static_cast<std::size_t>(first + r)] = finish.residual + pixel * finish.residual_step + channel;
      at_[static_cast<std::size_t>(r)] = {phase.axes.back().reaches[static_cast<std::size_t>(cursor.at.back())],
                                          x + image * of.cells_ * shape.x_step + block.group * shape.inputs};
    }
    Size outer_segments = 1;
    for (std::size_t a = 0; a + 1 < axes; ++a) outer_segments *= static_cast<Size>(phase.axes[a].taps.size());
    const auto own = phase.merges ? Size{1} : static_cast<Size>(phase.axes.back().taps.size());
    for (Size outer = 0; outer < outer_segments; ++outer) {
      starts_.clear();
      for (Size r = 0; r < tile_rows_; ++r) starts_.push_back(start_of(of, phase, outer, static_cast<std::size_t>(r)));
      for (Size tap = 0; tap < own; ++tap) read_segment(of, phase, tile, outer * own + tap, tap);
    }
  }

  // The first cell of the line along the last axis that an outer tap of a row reads; null: outside.
  const T* start_of(const Convolution& of, const Phase& phase, Size outer, std::size_t r) const {
    Size line = 0, step = 1;
    for (std::size_t a = phase.axes.size() - 1; a-- > 0;) {
      const AxisPhase& axis = phase.axes[a];
      const auto taps = static_cast<Size>(axis.taps.size());
      const AxisPhase::Reach& reach = axis.reaches[static_cast<std::size_t>(cursors_[r].at[a])];
      const Size tap = outer % taps - reach.tap;
      if (tap < 0 || tap >= reach.count) return nullptr;
      line += (reach.cell + tap * axis.step) * step;
      step *= of.shape_.walks[a].in;
      outer /= taps;
    }
    return at_[r].image + line * of.shape_.walks.back().in * of.shape_.x_step;
  }

  void read_segment(const Convolution& of, const Phase& phase, Size tile, Size segment, Size tap) {
    const Size channels = of.shape_.inputs, x_step = of.shape_.x_step;
    const T** const rows = rows_.data() + (tile * segments_ + segment) * tile_rows_;
    own_.clear();
    Range all{phase.segment_lengths[static_cast<std::size_t>(segment)], 0};
    for (Size r = 0; r < tile_rows_; ++r) {
      const AxisPhase::Reach& reach = at_[static_cast<std::size_t>(r)].last;
      const T* const start = starts_[static_cast<std::size_t>(r)];
      Range range;
      if (start && reach.count > 0) {
        if (phase.merges) {
          range = {reach.tap * channels, (reach.tap + reach.count) * channels};
          rows[r] = start + reach.cell * x_step;
        } else if (tap >= reach.tap && tap < reach.tap + reach.count) {
          range = {0, channels};
          rows[r] = start + (reach.cell + (tap - reach.tap) * phase.axes.back().step) * x_step;
        }
      }
      if (range.first < range.last) all = {std::min(all.first, range.first), std::max(all.last, range.last)};
      own_.push_back(range);
    }
    if (all.first >= all.last) all = {};
    ranges_[static_cast<std::size_t>(tile * segments_ + segment)] = all;
    for (Size r = 0; r < tile_rows_; ++r) {
      const Range range = own_[static_cast<std::size_t>(r)];
      if (range.first == range.last) {
        rows[r] = of.zeros_.data();
      } else if (range.first != all.first || range.last != all.last) {
        copies_.push_back({static_cast<std::size_t>(rows + r - rows_.data()), rows[r], range.first - all.first,
                           range.last - range.first, all.last - all.first});
        copied_ += all.last - all.first;
      }
    }
  }

  Size segments_ = 0, tile_rows_ = 1, copied_ = 0;
  std::vector<const T*> rows_, starts_, residual_;
  std::vector<Range> ranges_, own_;
  std::vector<T*> y_;
  std::vector<Copy> copies_;
  std::vector<T> copy_;
  std::vector<Cursor> cursors_;
  std::vector<Row> at_;
};

template <class T>
template <class Stored>
Convolution<T>::Convolution(ConvolutionShape shape, const Stored* kernel, KernelSteps steps, const T* bias,
                            const Kernels<T>& with)
    : shape_(std::move(shape)),
      kernels_(&with) {
  if (shape_.walks.empty()) shape_.walks.push_back({});
  for (const plain::AxisWalk& walk : shape_.walks) cells_ *= walk.in, positions_ *= walk.out;
  if (shape_.x_step == 0) shape_.x_step = shape_.groups * shape_.inputs;
  if (shape_.y_step == 0) shape_.y_step = shape_.groups * shape_.outputs;
  is_depthwise_ = shape_.groups > 1 && shape_.inputs == 1 && shape_.outputs == 1;
  phases_ = phases_of(shape_.walks, shape_.inputs, shape_.groups == 1 && shape_.x_step == shape_.inputs);
  const Size lanes = kernels_->lanes, channels = shape_.groups * shape_.outputs;
  if (is_depthwise_) {
    Size taps = 1;
    for (const plain::AxisWalk& walk : shape_.walks) taps *= walk.taps;
    for (Size t = 0; t < taps; ++t)
      for (Size c = 0; c < channels; ++c) weights_.push_back(static_cast<T>(kernel[t * steps.tap + c * steps.group]));
    bias_.assign(static_cast<std::size_t>(channels), T{0});
    if (bias) std::copy_n(bias, channels, bias_.data());
    return;
  }
  const Size vectors = (shape_.outputs + lanes - 1) / lanes;
  panels_ = (vectors + 1) / 2;
  last_vectors_ = vectors % 2 == 0 ? 2 : 1;
  tile_rows_ = kernels_->tile_rows[vectors == 1 ? 0 : 1];
  const Size width = vectors * lanes;
  bias_.assign(static_cast<std::size_t>(shape_.groups * width), T{0});
  if (bias)
    for (Size g = 0; g < shape_.groups; ++g)
      std::copy_n(bias + g * shape_.outputs, shape_.outputs, bias_.data() + g * width);
  Size longest = 0, total = 0;
  for (const Phase& phase : phases_) {
    phase_starts_.push_back(total);
    total += shape_.groups * phase.depth * width;
    for (const Size length : phase.segment_lengths) longest = std::max(longest, length);
  }
  zeros_.assign(static_cast<std::size_t>(longest), T{0});
  weights_.assign(static_cast<std::size_t>(total), T{0});
  for (std::size_t p = 0; p < phases_.size(); ++p)
    for (Size g = 0; g < shape_.groups; ++g)
      for (Size panel = 0; panel < panels_; ++panel) {
        T* const to = weights_.data() + weights_of(p, g, panel);
        const Size columns = vectors_of(panel) * lanes, first = panel * 2 * lanes;
        const Size there = std::min(columns, shape_.outputs - first);
        const Stored* const from = kernel + g * steps.group + first * steps.output;
        const Size inputs = shape_.inputs;
        for (std::size_t t = 0; t < phases_[p].taps.size(); ++t) {
          const Stored* const own = from + phases_[p].taps[t] * steps.tap;
          T* const at = to + static_cast<Size>(t) * inputs * columns;
          if (steps.output == 1) {
            for (Size c = 0; c < inputs; ++c)
              for (Size o = 0; o < there; ++o) at[c * columns + o] = static_cast<T>(own[c * steps.channel + o]);
          } else {
            for (Size c0 = 0; c0 < inputs; c0 += 16)
              for (Size o = 0; o < there; ++o)
                for (Size c = c0; c < std::min(inputs, c0 + 16); ++c)
                  at[c * columns + o] = static_cast<T>(own[c * steps.channel + o * steps.output]);
          }
        }
      }
}

template <class T>
Size Convolution<T>::weights_of(std::size_t phase, Size group, Size panel) const {
  const Size lanes = kernels_->lanes, width = (2 * (panels_ - 1) + last_vectors_) * lanes;
  return phase_starts_[phase] + phases_[phase].depth * (group * width + panel * 2 * lanes);
}

template <class T>
void Convolution<T>::run_block(const Block& block, const T* x, T* y, const Finish<T>& finish) const {
  thread_local Reader reader;
  reader.read(*this, block, x, y, finish);
  const Phase& phase = phases_[block.phase];
  const Size lanes = kernels_->lanes, width = (2 * (panels_ - 1) + last_vectors_) * lanes;
  const Size tiles = (block.count + tile_rows_ - 1) / tile_rows_;
  TileCall<T> call{
      .pieces = phase.pieces.data(), .piece_count = static_cast<Size>(phase.pieces.size()), .row_step = tile_rows_};
  call.is_held = finish.is_held, call.low = finish.low, call.high = finish.high;
  for (Size panel = block.first_panel; panel < block.last_panel; ++panel) {
    const auto vectors = static_cast<int>(vectors_of(panel));
    call.offset = panel * 2 * lanes;
    call.columns = std::min(vectors * lanes, shape_.outputs - call.offset);
    call.weights = weights_.data() + weights_of(block.phase, block.group, panel);
    call.bias = bias_.data() + block.group * width + call.offset;
    for (Size tile = 0; tile < tiles; ++tile) {
      call.rows = reader.rows(tile), call.ranges = reader.ranges(tile);
      call.y = reader.y(tile), call.residual = reader.residual(tile);
      kernels_->tile(call, std::min(tile_rows_, block.count - tile * tile_rows_), vectors);
    }
  }
}

template <class T>
void Convolution<T>::run(const T* x, T* y, const Finish<T>& finish, int threads) const {
  if (is_depthwise_) return run_depthwise(x, y, finish, threads);
  std::vector<Block> blocks;
  const auto row_bytes = static_cast<Size>(sizeof(T)) * std::max<Size>(shape_.inputs, 1);
  for (std::size_t p = 0; p < phases_.size(); ++p) {
    const Size rows = phases_[p].rows * shape_.batch;
    const Size segments = std::max<Size>(static_cast<Size>(phases_[p].segment_lengths.size()), 1);
    const Size most =
        std::clamp(std::min(block_bytes / row_bytes, (Size{1} << 18) / segments), 4 * tile_rows_, most_block_rows) /
        tile_rows_ * tile_rows_;
    for (Size g = 0; g < shape_.groups; ++g)
      for (Size first = 0; first < rows; first += most)
        blocks.push_back({p, g, first, std::min(most, rows - first), 0, panels_});
  }
  // Few blocks are cut along their columns as well, which changes no sum.
  if (threads > 1 && static_cast<int>(blocks.size()) < 4 * threads && panels_ > 1) {
    std::vector<Block> cut;
    const Size parts = std::min<Size>(panels_, 4);
    for (const Block& block : blocks)
      for (Size part = 0; part < parts; ++part) {
        cut.push_back(block);
        cut.back().first_panel = panels_ * part / parts, cut.back().last_panel = panels_ * (part + 1) / parts;
      }
    blocks = std::move(cut);
  }
  for_each_item(threads, static_cast<Size>(blocks.size()),
                [&](Size item) { run_block(blocks[static_cast<std::size_t>(item)], x, y, finish); });
}

// One line of outputs along the last axis at a time: away from its ends all its windows read as many cells.
template <class T>
void Convolution<T>::run_depthwise(const T* x, T* y, const Finish<T>& finish, int threads) const {
  struct Line {
    std::size_t phase = 0;
    Size image = 0, line = 0;
  };
  std::vector<Line> lines;
  for (std::size_t p = 0; p < phases_.size(); ++p) {
    const auto length = static_cast<Size>(phases_[p].axes.back().reaches.size());
    for (Size n = 0; n < shape_.batch; ++n)
      for (Size line = 0; length > 0 && line < phases_[p].rows / length; ++line) lines.push_back({p, n, line});
  }
  const Size channels = shape_.groups;
  for_each_item(threads, static_cast<Size>(lines.size()), [&](Size item) {
    const Line& line = lines[static_cast<std::size_t>(item)];
    const Phase& phase = phases_[line.phase];
    const std::size_t axes = phase.axes.size();
    const AxisPhase& last = phase.axes.back();
    const auto length = static_cast<Size>(last.reaches.size());
    thread_local Cursor cursor;
    cursor.set(phase, line.line * length);
    // The lines of input that its outer taps read, and which taps they are.
    thread_local std::vector<std::pair<Size, Size>> outer, more;
    outer.assign(1, {0, 0});
    Size position = 0;
    for (std::size_t a = 0; a + 1 < axes; ++a) {
      const AxisPhase& axis = phase.axes[a];
      const AxisPhase::Reach& reach = axis.reaches[static_cast<std::size_t>(cursor.at[a])];
      position = position * shape_.walks[a].out + axis.first + cursor.at[a] * axis.every;
      more.clear();
      for (const auto& [cells, tap] : outer)
        for (Size t = 0; t < reach.count; ++t)
          more.emplace_back(cells * shape_.walks[a].in + reach.cell + t * axis.step,
                            tap * shape_.walks[a].taps + axis.taps[static_cast<std::size_t>(reach.tap + t)]);
      outer.swap(more);
    }
    const Size in = shape_.walks.back().in, x_step = shape_.x_step;
    const T* const image = x + line.image * cells_ * x_step;
    T* const to = y + (line.image * positions_ + position * shape_.walks.back().out) * shape_.y_step;
    DepthwiseCall<T> call{.weights = weights_.data(), .bias = bias_.data()};
    call.channels = channels, call.y_step = last.every * shape_.y_step;
    call.is_held = finish.is_held, call.low = finish.low, call.high = finish.high;
    thread_local std::vector<Size> taps, weights;
    for (Size i = 0; i < length;) {
      const AxisPhase::Reach& reach = last.reaches[static_cast<std::size_t>(i)];
      Size same = 1, step = 0;
      for (; i + same < length; ++same) {
        const AxisPhase::Reach& next = last.reaches[static_cast<std::size_t>(i + same)];
        if (next.tap != reach.tap || next.count != reach.count || reach.count == 0) break;
        const Size moved = next.cell - last.reaches[static_cast<std::size_t>(i + same - 1)].cell;
        if (same == 1) step = moved;
        if (moved != step) break;
      }
      taps.clear(), weights.clear();
      for (const auto& [cells, tap] : outer)
        for (Size t = 0; t < reach.count; ++t) {
          taps.push_back((cells * in + reach.cell + t * last.step) * x_step);
          weights.push_back((tap * shape_.walks.back().taps + last.taps[static_cast<std::size_t>(reach.tap + t)]) *
                            channels);
        }
      call.x = image, call.taps = taps.data(), call.tap_weights = weights.data();
      call.tap_count = static_cast<Size>(taps.size());
      call.y = to + (last.first + i * last.every) * shape_.y_step;
      call.outputs = same, call.x_step = step * x_step;
      kernels_->depthwise(call);
      i += same;
    }
  });
}

template class Convolution<float>;
template class Convolution<double>;
template Convolution<float>::Convolution(ConvolutionShape, const float*, KernelSteps, const float*,
                                         const Kernels<float>&);
template Convolution<double>::Convolution(ConvolutionShape, const double*, KernelSteps, const double*,
                                          const Kernels<double>&);
template Convolution<double>::Convolution(ConvolutionShape, const float*, KernelSteps, const double*,
                                          const Kernels<double>&);

}  // namespace convoy::fast
