#include "run/fast/convolution.h"

#include "run/fast/depthwise.h"
#include "run/fast/finite.h"
#include "run/fast/neighbours.h"
#include "run/threads.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

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

void apply(const MapCall& map, float* y, Size count) {
  if (map.map != Map::None) row_kernels().map(map, y, y, count);
}
void apply(const MapCall&, double*, Size) {}

}  // namespace

// Numbers of a run that one row reads and another one of its tile does not, at a border, are read from a copy with zeros there.
struct Copy {
  std::int32_t row = 0;  // whose entry of the table it is
  std::int32_t from = 0, before = 0, count = 0, length = 0;
};

// Rows first..first+count-1 of one group and phase; rows of all images are counted through.
struct Block {
  std::size_t phase = 0;
  Size group = 0, first = 0, count = 0;
  Size first_panel = 0, last_panel = 0;
};

// Where the rows of a block read and write, counted from x and from y in numbers and in pixels. It is the same for every run.
struct Table {
  static constexpr std::int32_t nothing = -1;
  std::vector<std::int32_t> rows;  // [tile][segment][row]
  std::vector<Range> ranges;  // [tile][segment]
  std::vector<std::int32_t> pixels;  // [tile][row], of the output
  std::vector<Copy> copies;
  Size copied = 0;
  // Rows whose outputs are not all there: the last of a line.
  struct Part {
    std::int32_t row = 0, outputs = 0;
  };
  std::vector<Part> parts;
};

namespace {

Size line_of(const ConvolutionShape& shape) { return shape.together > 1 ? shape.line : shape.walks.back().out; }

class TableMaker {
 public:
  TableMaker(const ConvolutionShape& shape, const Phase& phase, const Block& block, Size cells, Size positions,
             Size tile_rows)
      : shape_(shape),
        phase_(phase),
        block_(block),
        cells_(cells),
        positions_(positions),
        tile_rows_(tile_rows),
        segments_(static_cast<Size>(phase.segment_lengths.size())) {}

  Table made() {
    const Size tiles = (block_.count + tile_rows_ - 1) / tile_rows_;
    table_.rows.resize(static_cast<std::size_t>(tiles * segments_ * tile_rows_));
    table_.ranges.resize(static_cast<std::size_t>(tiles * segments_));
    table_.pixels.resize(static_cast<std::size_t>(tiles * tile_rows_));
    cursors_.resize(static_cast<std::size_t>(tile_rows_));
    at_.resize(static_cast<std::size_t>(tile_rows_));
    for (Size tile = 0; tile < tiles; ++tile) add_tile(tile);
    return std::move(table_);
  }

 private:
  struct Row {
    AxisPhase::Reach last;
    Size image = 0;  // where its numbers begin
  };

  void add_tile(Size tile) {
    const Size first = tile * tile_rows_, count = std::min(tile_rows_, block_.count - first);
    const std::size_t axes = phase_.axes.size();
    // Tiles that are not full hold their last row again.
    for (Size r = 0; r < tile_rows_; ++r) {
      const Size row = block_.first + first + std::min(r, count - 1);
      const Size image = row / phase_.rows;
      Cursor& cursor = cursors_[static_cast<std::size_t>(r)];
      cursor.set(phase_, row % phase_.rows);
      Size position = 0;
      for (std::size_t a = 0; a + 1 < axes; ++a)
        position = position * shape_.walks[a].out + phase_.axes[a].first + cursor.at[a] * phase_.axes[a].every;
      const Size along = (phase_.axes.back().first + cursor.at.back() * phase_.axes.back().every) * shape_.together;
      position = position * line_of(shape_) + along;
      if (const Size there = line_of(shape_) - along; there < shape_.together && r < count)
        table_.parts.push_back({static_cast<std::int32_t>(first + r), static_cast<std::int32_t>(there)});
      table_.pixels[static_cast<std::size_t>(first + r)] = static_cast<std::int32_t>(image * positions_ + position);
      at_[static_cast<std::size_t>(r)] = {phase_.axes.back().reaches[static_cast<std::size_t>(cursor.at.back())],
                                          image * cells_ * shape_.x_step + block_.group * shape_.inputs};
    }
    Size outer_segments = 1;
    for (std::size_t a = 0; a + 1 < axes; ++a) outer_segments *= static_cast<Size>(phase_.axes[a].taps.size());
    const auto own = phase_.merges ? Size{1} : static_cast<Size>(phase_.axes.back().taps.size());
    for (Size outer = 0; outer < outer_segments; ++outer) {
      starts_.clear();
      for (Size r = 0; r < tile_rows_; ++r) starts_.push_back(start_of(outer, static_cast<std::size_t>(r)));
      for (Size tap = 0; tap < own; ++tap) add_segment(tile, outer * own + tap, tap);
    }
  }

  // The first cell of the line along the last axis that an outer tap of a row reads; -1: outside.
  Size start_of(Size outer, std::size_t r) const {
    Size line = 0, step = 1;
    for (std::size_t a = phase_.axes.size() - 1; a-- > 0;) {
      const AxisPhase& axis = phase_.axes[a];
      const auto taps = static_cast<Size>(axis.taps.size());
      const AxisPhase::Reach& reach = axis.reaches[static_cast<std::size_t>(cursors_[r].at[a])];
      const Size tap = outer % taps - reach.tap;
      if (tap < 0 || tap >= reach.count) return -1;
      line += (reach.cell + tap * axis.step) * step;
      step *= shape_.walks[a].in;
      outer /= taps;
    }
    return at_[r].image + line * shape_.walks.back().in * shape_.x_step;
  }

  void add_segment(Size tile, Size segment, Size tap) {
    const Size channels = shape_.inputs, x_step = shape_.x_step;
    const Size entry = (tile * segments_ + segment) * tile_rows_;
    std::int32_t* const rows = table_.rows.data() + entry;
    own_.clear();
    Range all{phase_.segment_lengths[static_cast<std::size_t>(segment)], 0};
    for (Size r = 0; r < tile_rows_; ++r) {
      const AxisPhase::Reach& reach = at_[static_cast<std::size_t>(r)].last;
      const Size start = starts_[static_cast<std::size_t>(r)];
      Range range;
      Size from = Table::nothing;
      if (start >= 0 && reach.count > 0) {
        if (phase_.merges) {
          range = {reach.tap * channels, (reach.tap + reach.count) * channels};
          from = start + reach.cell * x_step;
        } else if (tap >= reach.tap && tap < reach.tap + reach.count) {
          range = {0, channels};
          from = start + (reach.cell + (tap - reach.tap) * phase_.axes.back().step) * x_step;
        }
      }
      rows[r] = static_cast<std::int32_t>(from);
      if (range.first < range.last) all = {std::min(all.first, range.first), std::max(all.last, range.last)};
      own_.push_back(range);
    }
    if (all.first >= all.last) all = {};
    table_.ranges[static_cast<std::size_t>(tile * segments_ + segment)] = all;
    for (Size r = 0; r < tile_rows_; ++r) {
      const Range range = own_[static_cast<std::size_t>(r)];
      if (range.first == range.last || (range.first == all.first && range.last == all.last)) continue;
      const auto number = [](Size n) { return static_cast<std::int32_t>(n); };
      table_.copies.push_back({number(entry + r), rows[r], number(range.first - all.first),
                               number(range.last - range.first), number(all.last - all.first)});
      table_.copied += all.last - all.first;
    }
  }

  const ConvolutionShape& shape_;
  const Phase& phase_;
  const Block& block_;
  Size cells_ = 1, positions_ = 1, tile_rows_ = 1, segments_ = 1;
  Table table_;
  std::vector<Cursor> cursors_;
  std::vector<Row> at_;
  std::vector<Size> starts_;
  std::vector<Range> own_;
};

}  // namespace

bool is_within_reach(const ConvolutionShape& shape) {
  Size x = shape.batch, y = shape.batch;
  for (const plain::AxisWalk& walk : shape.walks)
    x = checked_multiply(x, walk.in).value_or(-1), y = checked_multiply(y, walk.out).value_or(-1);
  constexpr Size end = std::numeric_limits<std::int32_t>::max();
  const auto fits = [&](Size pixels, Size channels) {
    const auto numbers = pixels < 0 ? std::nullopt : checked_multiply(pixels, channels);
    return numbers && *numbers < end;
  };
  return fits(x, std::max(shape.x_step, shape.groups * shape.inputs)) &&
         fits(y, std::max(shape.y_step, shape.groups * shape.outputs));
}

bool is_pointwise(const ConvolutionShape& shape) {
  return shape.groups == 1 && shape.together == 1 && std::ranges::all_of(shape.walks, [](const plain::AxisWalk& walk) {
           return walk.taps == 1 && walk.stride == 1 && walk.before == 0 && walk.in == walk.out && !walk.transposed;
         });
}

// The tables of a block brought to where the numbers of this run lie.
template <class T>
class Convolution<T>::Reader {
 public:
  void place(const Convolution& of, const Table& table, const Block& block, const T* x, T* y, const Finish<T>& finish) {
    rows_.resize(table.rows.size()), y_.resize(table.pixels.size());
    const T* const zeros = of.zeros_.data();
    for (std::size_t i = 0; i < table.rows.size(); ++i) rows_[i] = table.rows[i] < 0 ? zeros : x + table.rows[i];
    const Size channel = block.group * of.shape_.outputs;
    for (std::size_t i = 0; i < table.pixels.size(); ++i) y_[i] = y + table.pixels[i] * of.shape_.y_step + channel;
    residual_.resize(finish.residual ? y_.size() : 0);
    for (std::size_t i = 0; i < residual_.size(); ++i)
      residual_[i] = finish.residual + table.pixels[i] * finish.residual_step + channel;
    if (static_cast<Size>(copy_.size()) < table.copied) copy_.resize(static_cast<std::size_t>(table.copied));
    T* to = copy_.data();
    for (const Copy& copy : table.copies) {
      std::fill(to, to + copy.before, T{0});
      std::memcpy(to + copy.before, x + copy.from, static_cast<std::size_t>(copy.count) * sizeof(T));
      std::fill(to + copy.before + copy.count, to + copy.length, T{0});
      rows_[static_cast<std::size_t>(copy.row)] = to;
      to += copy.length;
    }
    if (!table.parts.empty()) place_parts(of, table);
  }
  // What went elsewhere first.
  void give_parts(const Convolution& of, const Table& table, T* y) const {
    for (const Table::Part& part : table.parts) {
      const auto row = static_cast<std::size_t>(part.row);
      std::copy_n(y_[row], part.outputs * of.shape_.y_step, y + table.pixels[row] * of.shape_.y_step);
    }
  }
  const T* const* rows(Size at) const { return rows_.data() + at; }
  T* const* y(Size at) const { return y_.data() + at; }
  const T* const* residual(Size at) const { return residual_.empty() ? nullptr : residual_.data() + at; }

 private:
  void place_parts(const Convolution& of, const Table& table) {
    const Size width = of.width_;
    parts_.assign(table.parts.size() * static_cast<std::size_t>(2 * width), T{0});
    T* at = parts_.data();
    for (const Table::Part& part : table.parts) {
      const auto row = static_cast<std::size_t>(part.row);
      y_[row] = at, at += width;
      if (!residual_.empty()) std::copy_n(residual_[row], part.outputs * of.shape_.y_step, at), residual_[row] = at;
      at += width;
    }
  }

  std::vector<const T*> rows_, residual_;
  std::vector<T*> y_;
  std::vector<T> copy_, parts_;
};

template <class T>
template <class Stored>
Convolution<T>::Convolution(ConvolutionShape shape, const Stored* kernel, KernelSteps steps, const T* bias,
                            const Kernels<T>& with)
    : shape_(std::move(shape)),
      kernels_(&with) {
  if (shape_.walks.empty()) shape_.walks.push_back({});
  for (const plain::AxisWalk& walk : shape_.walks) cells_ *= walk.in, positions_ *= walk.out;
  if (shape_.together > 1) positions_ = positions_ / shape_.walks.back().out * shape_.line;
  if (shape_.x_step == 0) shape_.x_step = shape_.groups * shape_.inputs;
  if (shape_.y_step == 0) shape_.y_step = shape_.groups * shape_.outputs;
  if (Depthwise<T>::suits(shape_)) {
    depthwise_ = std::make_unique<Depthwise<T>>(shape_, kernel, steps, bias, with);
    Size numbers = shape_.groups;
    for (const plain::AxisWalk& walk : shape_.walks) numbers *= walk.taps;
    is_finite_ = all_finite(kernel, numbers);
    return;
  }
  join_neighbours(kernel, steps, bias);
  phases_ = phases_of(shape_.walks, shape_.inputs, shape_.groups == 1 && shape_.x_step == shape_.inputs);
  is_pointwise_ = is_pointwise(shape_);
  const Size lanes = kernels_->lanes;
  const Size narrowest = kernels_->narrowest;
  width_ = (shape_.outputs + narrowest - 1) / narrowest * narrowest;
  panels_ = (width_ + 2 * lanes - 1) / (2 * lanes);
  tile_rows_ = kernels_->tile_rows[width_ <= lanes ? 0 : 1];
  cut_into_blocks();
  pack(kernel, steps, bias);
}

// Bias and weights in the order in which they are read.
template <class T>
template <class Stored>
void Convolution<T>::pack(const Stored* kernel, KernelSteps steps, const T* bias) {
  const Size lanes = kernels_->lanes, width = width_;
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
  weights_.resize(static_cast<std::size_t>(total));
  for (std::size_t p = 0; p < phases_.size(); ++p)
    for (Size g = 0; g < shape_.groups; ++g)
      for (Size panel = 0; panel < panels_; ++panel) {
        const Stored* const from = kernel + g * steps.group + panel * 2 * lanes * steps.output;
        T* const to = weights_.data() + weights_of(p, g, panel);
        pack_panel(phases_[p], panel, from, steps, to);
        is_finite_ = is_finite_ && all_finite(to, phases_[p].depth * width_of(panel));  // while it is in the cache
      }
}

// `from`: of the panel's first output.
template <class T>
template <class Stored>
void Convolution<T>::pack_panel(const Phase& phase, Size panel, const Stored* from, KernelSteps steps, T* to) const {
  const Size columns = width_of(panel), there = std::min(columns, shape_.outputs - panel * 2 * kernels_->lanes);
  const Size inputs = shape_.inputs;
  if (phase.taps.empty()) return;
  Size taps = 1;
  for (const plain::AxisWalk& walk : shape_.walks) taps *= walk.taps;
  if (there < columns) std::fill_n(to, phase.depth * columns, T{0});
  if (steps.channel == taps && (taps == 1 || steps.tap == 1) && steps.output > 1)
    return turn_panel(phase, taps, columns, there, from, steps.output, to);
  for (std::size_t t = 0; t < phase.taps.size(); ++t) {
    const Stored* const own = from + phase.taps[t] * steps.tap;
    T* const at = to + static_cast<Size>(t) * inputs * columns;
    for (Size c = 0; c < inputs; ++c) {
      const Stored* const row = own + c * steps.channel;
      if (steps.output == 1) std::copy_n(row, there, at + c * columns);
      else
        for (Size o = 0; o < there; ++o) at[c * columns + o] = static_cast<T>(row[o * steps.output]);
    }
  }
}

// Of a kernel that holds [output][channel][tap]: some channels of all outputs are turned around at a time.
template <class T>
template <class Stored>
void Convolution<T>::turn_panel(const Phase& phase, Size taps, Size columns, Size there, const Stored* from, Size step,
                                T* to) const {
  const Size inputs = shape_.inputs, most = std::max<Size>(128 / taps, 1);
  if constexpr (std::is_same_v<T, Stored>)
    if (taps == 1) return kernels_->transpose(from, there, inputs, step, to, columns);
  thread_local std::vector<T> lines, turned;
  turned.assign(static_cast<std::size_t>(most * taps * columns), T{0});
  for (Size first = 0; first < inputs; first += most) {
    const Size count = std::min(most, inputs - first) * taps;
    if constexpr (std::is_same_v<T, Stored>) {
      kernels_->transpose(from + first * taps, there, count, step, turned.data(), columns);
    } else {
      lines.resize(static_cast<std::size_t>(there * count));
      for (Size o = 0; o < there; ++o)
        for (Size i = 0; i < count; ++i)
          lines[static_cast<std::size_t>(o * count + i)] = static_cast<T>(from[o * step + first * taps + i]);
      kernels_->transpose(lines.data(), there, count, count, turned.data(), columns);
    }
    for (std::size_t t = 0; t < phase.taps.size(); ++t)
      for (Size c = 0; c < count / taps; ++c)
        std::copy_n(turned.data() + (c * taps + phase.taps[t]) * columns, columns,
                    to + (static_cast<Size>(t) * inputs + first + c) * columns);
  }
}

template <class T>
template <class Stored>
void Convolution<T>::join_neighbours(const Stored* kernel, KernelSteps steps, const T* bias) {
  const auto found = neighbours_of(shape_, kernels_->lanes);
  if (!found) return;
  const std::vector<T> joined = joined_kernel<T>(shape_, *found, kernel, steps);
  std::vector<T> biases;
  for (Size g = 0; bias && g < found->shape.together; ++g) biases.insert(biases.end(), bias, bias + shape_.outputs);
  const Size outputs = found->shape.outputs;
  neighbours_ =
      std::make_unique<Convolution>(found->shape, joined.data(), KernelSteps{0, shape_.inputs * outputs, outputs, 1},
                                    bias ? biases.data() : nullptr, *kernels_);
}

template <class T>
Size Convolution<T>::weights_of(std::size_t phase, Size group, Size panel) const {
  return phase_starts_[phase] + phases_[phase].depth * (group * width_ + panel * 2 * kernels_->lanes);
}

template <class T>
Table Convolution<T>::table_of(const Block& block) const {
  return TableMaker(shape_, phases_[block.phase], block, cells_, positions_, tile_rows_).made();
}

template <class T>
void Convolution<T>::run_block(const Block& block, const Table& table, const T* x, T* y,
                               const Finish<T>& finish) const {
  thread_local Reader reader;
  reader.place(*this, table, block, x, y, finish);
  const auto segments = static_cast<Size>(phases_[block.phase].segment_lengths.size());
  run_rows(block,
           {reader.rows(0), table.ranges.data(), segments * tile_rows_, segments, reader.y(0), reader.residual(0)},
           finish);
  reader.give_parts(*this, table, y);
}

template <class T>
void Convolution<T>::run_rows(const Block& block, const Rows& rows, const Finish<T>& finish) const {
  const Phase& phase = phases_[block.phase];
  const Size lanes = kernels_->lanes, tiles = (block.count + tile_rows_ - 1) / tile_rows_;
  TileCall<T> call;
  call.pieces = phase.pieces.data(), call.piece_count = static_cast<Size>(phase.pieces.size());
  call.row_step = tile_rows_;
  call.is_held = finish.is_held, call.low = finish.low, call.high = finish.high;
  call.is_near = weights_are_near_;
  for (Size panel = block.first_panel; panel < block.last_panel; ++panel) {
    const Size columns = width_of(panel);
    const Size full = std::min(block.last_panel, shape_.outputs / (2 * lanes)) - panel;
    const Size together = block.count == 1 ? std::min(full, Kernels<T>::row_panels) : 1;
    call.offset = panel * 2 * lanes;
    call.columns = std::min(columns, shape_.outputs - call.offset);
    call.weights = weights_.data() + weights_of(block.phase, block.group, panel);
    call.bias = bias_.data() + block.group * width_ + call.offset;
    if (together > 1) {
      call.rows = rows.x, call.ranges = rows.ranges, call.y = rows.y, call.residual = rows.residual;
      call.columns = together * 2 * lanes;
      kernels_->row(call, together, phase.depth * 2 * lanes);
      panel += together - 1;
      continue;
    }
    for (Size tile = 0; tile < tiles; ++tile) {
      call.rows = rows.x + tile * rows.x_step, call.ranges = rows.ranges + tile * rows.ranges_step;
      call.y = rows.y + tile * tile_rows_, call.residual = rows.residual ? rows.residual + tile * tile_rows_ : nullptr;
      kernels_->tile(call, std::min(tile_rows_, block.count - tile * tile_rows_), columns);
    }
  }
  if (finish.map.map == Map::None) return;
  // While the results of the block are in the cache.
  const Size first = block.first_panel * 2 * lanes, last = std::min(block.last_panel * 2 * lanes, shape_.outputs);
  for (Size row = 0; row < block.count;) {
    // Rows that lie side by side at once.
    Size same = 1;
    while (row + same < block.count && last - first == shape_.y_step &&
           rows.y[row + same] == rows.y[row] + same * shape_.y_step)
      ++same;
    apply(finish.map, rows.y[row] + first, same * (last - first));
    row += same;
  }
}

// The rows of a product whose pixels lie side by side. Where their distance puts all of them into one set of the cache, they are
// read from a copy with another.
template <class T>
class Convolution<T>::Pixels {
 public:
  void place(const Convolution& of, const Block& block, const T* x, T* y, const Finish<T>& finish) {
    constexpr Size page = 4096, line = 64;
    const Size rows = of.tile_rows_, padded = (block.count + rows - 1) / rows * rows;
    const Size inputs = of.shape_.inputs;
    Size step = of.shape_.x_step;
    if (step * static_cast<Size>(sizeof(T)) % page == 0 && block.last_panel - block.first_panel > 1) {
      const Size apart = inputs + line / static_cast<Size>(sizeof(T));
      copy_.resize(static_cast<std::size_t>(block.count * apart));
      for (Size i = 0; i < block.count; ++i)
        std::memcpy(copy_.data() + i * apart, x + i * step, static_cast<std::size_t>(inputs) * sizeof(T));
      x = copy_.data(), step = apart;
    }
    x_.resize(static_cast<std::size_t>(padded)), y_.resize(x_.size()),
        residual_.resize(finish.residual ? x_.size() : 0);
    for (Size i = 0; i < padded; ++i) {
      const Size row = std::min(i, block.count - 1);  // tiles that are not full hold their last row again
      const auto at = static_cast<std::size_t>(i);
      x_[at] = x + row * step, y_[at] = y + row * of.shape_.y_step;
      if (finish.residual) residual_[at] = finish.residual + row * finish.residual_step;
    }
    whole_ = {0, inputs};
  }
  Rows rows(Size tile_rows) const {
    return {x_.data(), &whole_, tile_rows, 0, y_.data(), residual_.empty() ? nullptr : residual_.data()};
  }

 private:
  std::vector<const T*> x_, residual_;
  std::vector<T*> y_;
  Aligned<T> copy_;
  Range whole_;
};

template <class T>
void Convolution<T>::run_pixels(const Block& block, const T* x, T* y, const Finish<T>& finish) const {
  thread_local Pixels pixels;
  Finish<T> own = finish;
  if (own.residual) own.residual += block.first * finish.residual_step;
  pixels.place(*this, block, x + block.first * shape_.x_step, y + block.first * shape_.y_step, own);
  run_rows(block, pixels.rows(tile_rows_), own);
}

template <class T>
void Convolution<T>::run_pixels(const T* x, T* y, Size count, const Finish<T>& finish) const {
  const Size most = most_rows(0);
  for (Size first = 0; first < count; first += most)
    run_pixels({0, 0, first, std::min(most, count - first), 0, panels_}, x, y, finish);
}

template <class T>
Size Convolution<T>::most_rows(std::size_t phase) const {
  const auto row_bytes = static_cast<Size>(sizeof(T)) * std::max<Size>(shape_.inputs, 1);
  const Size segments = std::max<Size>(static_cast<Size>(phases_[phase].segment_lengths.size()), 1);
  return std::clamp(std::min(block_bytes / row_bytes, (Size{1} << 18) / segments), 4 * tile_rows_, most_block_rows) /
         tile_rows_ * tile_rows_;
}

template <class T>
void Convolution<T>::cut_into_blocks() {
  for (std::size_t p = 0; p < phases_.size(); ++p) {
    const Size rows = phases_[p].rows * shape_.batch, most = most_rows(p);
    for (Size g = 0; g < shape_.groups; ++g)
      for (Size first = 0; first < rows; first += most)
        blocks_.push_back({p, g, first, std::min(most, rows - first), 0, panels_});
  }
}

template <class T>
void Convolution<T>::keep_tables() {
  if (neighbours_) return neighbours_->keep_tables();
  constexpr Size most_entries = Size{1} << 21;
  Size entries = 0;
  for (const Block& block : blocks_)
    entries += block.count * (1 + static_cast<Size>(phases_[block.phase].segment_lengths.size()));
  if (depthwise_ || is_pointwise_ || entries > most_entries) return;
  for (const Block& block : blocks_) tables_.push_back(table_of(block));
}

template <class T>
void Convolution<T>::run(const T* x, T* y, const Finish<T>& finish, int threads) const {
  if (depthwise_) return depthwise_->run(x, y, finish, threads);
  if (neighbours_ && (!finish.residual || finish.residual_step == shape_.y_step) &&
      all_finite(x, shape_.batch * cells_ * shape_.x_step))
    return neighbours_->run(x, y, finish, threads);
  // Few blocks are cut along their columns as well, which changes no sum.
  const bool is_few = threads > 1 && static_cast<int>(blocks_.size()) < 4 * threads;
  const Size parts = is_few ? std::min<Size>(panels_, 4) : 1;
  for_each_item(threads, static_cast<Size>(blocks_.size()) * parts, [&](Size item) {
    const auto at = static_cast<std::size_t>(item / parts);
    Block block = blocks_[at];
    const Size part = item % parts;
    block.first_panel = panels_ * part / parts, block.last_panel = panels_ * (part + 1) / parts;
    if (is_pointwise_) run_pixels(block, x, y, finish);
    else if (tables_.empty()) run_block(block, table_of(block), x, y, finish);
    else run_block(block, tables_[at], x, y, finish);
  });
}

template <class T>
Convolution<T>::~Convolution() = default;

template class Convolution<float>;
template class Convolution<double>;
template Convolution<float>::Convolution(ConvolutionShape, const float*, KernelSteps, const float*,
                                         const Kernels<float>&);
template Convolution<double>::Convolution(ConvolutionShape, const double*, KernelSteps, const double*,
                                          const Kernels<double>&);
template Convolution<double>::Convolution(ConvolutionShape, const float*, KernelSteps, const double*,
                                          const Kernels<double>&);
template Convolution<double>::Convolution(ConvolutionShape, const LooseFloat*, KernelSteps, const double*,
                                          const Kernels<double>&);

}  // namespace convoy::fast
