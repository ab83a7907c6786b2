#include "run/plan/steps.h"

#include "ops/expect.h"
#include "run/threads.h"

#include <algorithm>
#include <cstring>

namespace convoy::plan {

const float* Numbers::in(const Workspace& at) const {
  switch (where) {
    case Place::Where::Arena: return at.arena.data() + start;
    case Place::Where::Constant: return constant.raw<float>().data() + start;
    case Place::Where::Result: return at.results[held].get() + start;
    case Place::Where::Held: return at.held[held].raw<float>().data() + start;
  }
  return nullptr;
}

Numbers numbers_at(const Places& places, PlaceId id) {
  const Place &place = places[id], &root = places[places.root(id)];
  Numbers numbers;
  numbers.where = root.where, numbers.start = place.start;
  numbers.step = place.step, numbers.channels = place.channels(), numbers.pixels = place.pixels();
  numbers.constant = root.constant;
  numbers.held = root.value ? root.value.slot() : root.result;
  return numbers;
}

Tensor as_floats(const Tensor& tensor) {
  return tensor.dtype() == DType::F32 ? tensor.realigned() : Tensor::of(tensor.shape(), tensor.floats());
}

namespace {

// Parts of a step that threads share: pixels of a value of so many channels.
template <class F>
void for_each_part(const Workspace& at, Size pixels, Size channels, double cost, const F& work) {
  const Size part = std::max<Size>(1, 16384 / std::max<Size>(channels, 1));
  const int threads = threads_for(at.threads, cost * static_cast<double>(pixels * channels));
  for_each_item(threads, (pixels + part - 1) / part,
                [&](Size item) { work(item * part, std::min(part, pixels - item * part)); });
}

}  // namespace

void FromOne::prepare(const Places& places) { x_ = numbers_at(places, x), y_ = numbers_at(places, y); }

void FromTwo::prepare(const Places& places) {
  a_ = numbers_at(places, a), b_ = numbers_at(places, b), y_ = numbers_at(places, y);
}

void Convolve::scale(std::vector<float>& numbers) const {
  Size taps = 1;
  for (const plain::AxisWalk& walk : shape.walks) taps *= walk.taps;
  for (const std::vector<float>& by : scales)
    for (Size o = 0; o < static_cast<Size>(by.size()); ++o) {
      float* const own =
          numbers.data() + o / shape.outputs * kernel_steps.group + o % shape.outputs * kernel_steps.output;
      for (Size t = 0; t < taps; ++t)
        for (Size c = 0; c < shape.inputs; ++c)
          own[t * kernel_steps.tap + c * kernel_steps.channel] *= by[static_cast<std::size_t>(o)];
    }
}

void Convolve::prepare(const Places& places) {
  FromOne::prepare(places);
  shape.x_step = x_.step, shape.y_step = y_.step;
  {
    const Tensor numbers = as_floats(kernel);
    std::vector<float> scaled;
    if (!scales.empty()) scaled.assign(numbers.raw<float>().begin(), numbers.raw<float>().end()), scale(scaled);
    const float* const from = scales.empty() ? numbers.raw<float>().data() : scaled.data();
    const float* const offsets = bias.empty() ? nullptr : bias.data();
    if (by_winograd) {
      winograd_.emplace(shape, from, kernel_steps, offsets);
    } else {
      packed_.emplace(shape, from, kernel_steps, offsets, fast::kernels<float>());
      packed_->keep_tables();
    }
  }
  kernel.let_go();  // it is not held twice
  kernel = {}, scales = {};
  if (residual) residual_ = numbers_at(places, residual), finish.residual_step = residual_.step;
}

fast::Finish<float> Convolve::finish_at(const Workspace& at) const {
  fast::Finish<float> last = finish;
  if (residual) last.residual = residual_.in(at);
  return last;
}

Status Convolve::run(Workspace& at) const {
  const fast::Finish<float> last = finish_at(at);
  const int threads = threads_for(at.threads, operations);
  if (winograd_) winograd_->run(x_.in(at), y_.out(at), last, threads);
  else packed_->run(x_.in(at), y_.out(at), last, threads);
  return {};
}

Status MapNumbers::run(Workspace& at) const {
  const float* from = x_.in(at);
  float* to = y_.out(at);
  const bool is_dense = x_.is_dense() && y_.is_dense();
  for_each_part(at, x_.pixels, x_.channels, 4, [&](Size first, Size count) {
    if (is_dense) {
      fast::row_kernels().map(map, from + first * x_.channels, to + first * x_.channels, count * x_.channels);
      return;
    }
    for (Size p = first; p < first + count; ++p)
      fast::row_kernels().map(map, from + p * x_.step, to + p * y_.step, x_.channels);
  });
  return {};
}

Status PairNumbers::run(Workspace& at) const {
  const float *from_a = a_.in(at), *from_b = b_.in(at);
  float* to = y_.out(at);
  if (images == 0) {
    const bool is_dense = a_.is_dense() && b_.is_dense() && y_.is_dense();
    for_each_part(at, a_.pixels, a_.channels, 1, [&](Size first, Size count) {
      fast::PairCall call{pair,
                          from_a + first * a_.step,
                          from_b + first * b_.step,
                          to + first * y_.step,
                          count,
                          a_.channels,
                          a_.step,
                          b_.step,
                          y_.step};
      if (is_dense) call.rows = 1, call.columns = count * a_.channels;
      fast::row_kernels().pair(call);
    });
    return {};
  }
  const Size pixels = a_.pixels / images;
  for (Size image = 0; image < images; ++image)
    for_each_part(at, pixels, a_.channels, 1, [&](Size first, Size count) {
      const Size pixel = image * pixels + first;
      const Size row = b_.pixels == 1 ? 0 : image;
      fast::row_kernels().pair({pair, from_a + pixel * a_.step, from_b + row * b_.step, to + pixel * y_.step, count,
                                a_.channels, a_.step, 0, y_.step});
    });
  return {};
}

void PoolWindows::prepare(const Places& places) {
  FromOne::prepare(places);
  for (std::size_t a = 0; a < reaches.size(); ++a) {
    cells_of_image_ *= space[a];
    positions_ *= static_cast<Size>(reaches[a].size());
  }
  batch_ = x_.pixels / std::max<Size>(cells_of_image_, 1);
  std::vector<const plain::Reach*> at(reaches.size());
  for (Size position = 0; position < positions_; ++position) {
    double divides = 1;
    for (std::size_t a = reaches.size(), rest = static_cast<std::size_t>(position); a-- > 0;) {
      at[a] = &reaches[a][rest % reaches[a].size()];
      rest /= reaches[a].size();
      divides *= static_cast<double>(at[a]->divisor);
    }
    std::vector<Size> cells;
    plain::visit_cells(at, space, 0, 0, [&](Size cell) { cells.push_back(cell * x_.step); });
    add_position(position, std::move(cells), static_cast<float>(divisor ? static_cast<double>(*divisor) : divides));
  }
  known_cells_ = {};
}

void PoolWindows::add_position(Size position, std::vector<Size> cells, float divides) {
  const Size first = cells.empty() ? 0 : cells[0];
  for (Size& cell : cells) cell -= first;
  const auto [kept, is_new] = known_cells_.try_emplace(cells, cells_.size());
  if (is_new) cells_.push_back(std::move(cells));
  constexpr Size longest = 64;  // enough to share among threads
  if (!runs_.empty()) {
    Run& run = runs_.back();
    const Size moved = first - run.x - (run.outputs - 1) * run.x_step;
    if (run.cells == kept->second && run.divisor == divides && run.outputs < longest && moved >= 0 &&
        (run.outputs == 1 || moved == run.x_step)) {
      run.x_step = moved, ++run.outputs;
      return;
    }
  }
  runs_.push_back({.position = position, .x = first, .cells = kept->second, .divisor = divides});
}

Status PoolWindows::run(Workspace& at) const {
  const float* from = x_.in(at);
  float* to = y_.out(at);
  const auto runs = static_cast<Size>(runs_.size());
  const int threads = threads_for(at.threads, 4 * static_cast<double>(batch_ * positions_ * y_.channels));
  for_each_item(threads, batch_ * runs, [&](Size item) {
    const Run& run = runs_[static_cast<std::size_t>(item % runs)];
    const std::vector<Size>& cells = cells_[run.cells];
    const Size image = item / runs;
    fast::row_kernels().pool({.x = from + image * cells_of_image_ * x_.step + run.x,
                              .cells = cells.data(),
                              .count = static_cast<Size>(cells.size()),
                              .channels = y_.channels,
                              .outputs = run.outputs,
                              .x_step = run.x_step,
                              .y_step = y_.step,
                              .y = to + (image * positions_ + run.position) * y_.step,
                              .is_average = is_average,
                              .passes_over_nan = passes_over_nan,
                              .divisor = run.divisor});
  });
  return {};
}

Status MeanOfPixels::run(Workspace& at) const {
  const Size pixels = x_.pixels / images;
  for (Size image = 0; image < images; ++image) {
    float* to = y_.out(at) + image * y_.step;
    fast::row_kernels().sum(x_.in(at) + image * pixels * x_.step, pixels, x_.step, x_.channels, to);
    if (is_sum) continue;
    const auto divides = static_cast<float>(pixels);
    for (Size c = 0; c < x_.channels; ++c) to[c] /= divides;
  }
  return {};
}

Status Move::run(Workspace& at) const {
  const float* from = x_.in(at);
  float* to = y_.out(at);
  if (way == Way::Copy) {
    for_each_part(at, x_.pixels, x_.channels, 1, [&](Size first, Size count) {
      for (Size p = first; p < first + count; ++p)
        std::memcpy(to + p * y_.step, from + p * x_.step, static_cast<std::size_t>(x_.channels) * sizeof(float));
    });
    return {};
  }
  // The turned side knows pixels and channels; the other one is [images][channels][pixels] without gaps.
  const Numbers& turned = way == Way::ToLast ? y_ : x_;
  const Size channels = turned.channels, pixels = turned.pixels / images, part = 2048;
  const Size parts = (pixels + part - 1) / part;
  const int threads = threads_for(at.threads, 2.0 * static_cast<double>(turned.pixels * channels));
  for_each_item(threads, images * parts, [&](Size item) {
    const Size image = item / parts, first = item % parts * part, count = std::min(part, pixels - first);
    const Size plain = image * channels * pixels + first, pixel = image * pixels + first;
    if (way == Way::ToLast)
      fast::kernels<float>().transpose(from + plain, channels, count, pixels, to + pixel * y_.step, y_.step);
    else fast::kernels<float>().transpose(from + pixel * x_.step, count, channels, x_.step, to + plain, pixels);
  });
  return {};
}

Status SoftmaxRows::run(Workspace& at) const {
  for_each_part(at, x_.pixels, x_.channels, 8, [&](Size first, Size count) {
    for (Size p = first; p < first + count; ++p)
      fast::row_kernels().softmax(x_.in(at) + p * x_.step, y_.out(at) + p * y_.step, x_.channels);
  });
  return {};
}

PlainNode::PlainNode(const Graph& graph, const Node& node) : node_(node), results_(node.outputs) {
  graph_.rules = graph.rules;
  const auto own = [&](ValueId v) {
    graph_.values.push_back({.name = graph[v].name, .type = graph[v].type});
    return ValueId{static_cast<std::int32_t>(graph_.values.size()) - 1};
  };
  for (ValueId& v : node_.outputs) v = own(v);
  for (ValueId& v : node_.inputs)
    if (v) v = own(v);
}

void PlainNode::prepare(const Places& places) {
  for (const Input& input : inputs) numbers_.push_back(input.place ? numbers_at(places, input.place) : Numbers{});
}

Status PlainNode::run(Workspace& at) const {
  std::vector<Tensor> made;
  made.reserve(inputs.size());
  std::vector<const Tensor*> given;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Input& input = inputs[i];
    if (!input.is_present) {
      given.push_back(nullptr);
      continue;
    }
    if (input.place) {
      const float* from = numbers_[i].in(at);
      made.push_back(
          Tensor::of(input.shape, std::vector<float>(from, from + numbers_[i].pixels * numbers_[i].channels)));
    } else {
      made.push_back(input.held ? at.held[input.held.slot()] : input.constant);
    }
    given.push_back(&made.back());
  }
  auto results = run_node_of(graph_, node_, given, Precision::Single, at.threads);
  if (!results) return std::unexpected(results.error());
  for (std::size_t i = 0; i < results_.size() && i < results->size(); ++i) {
    const Tensor& result = (*results)[i];
    const bool widened =
        is_floating(result.dtype()) && result.dtype() != DType::F32;  // whole numbers are divided in float64
    at.held[results_[i].slot()] = widened ? Tensor::of(result.shape(), result.floats()) : result.realigned();
  }
  return {};
}

}  // namespace convoy::plan
