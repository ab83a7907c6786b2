#include "run/plan/steps.h"

#include "ops/expect.h"
#include "run/threads.h"

#include <algorithm>
#include <cstring>

namespace convoy::plan {

const float* Numbers::in(const Workspace& at) const {
  switch (where) {
    case Place::Where::Arena: return at.arena + start;
    case Place::Where::Constant: return constant.raw<float>().data();
    case Place::Where::Held: return at.held[held].raw<float>().data();
  }
  return nullptr;
}

Numbers numbers_at(const Places& places, PlaceId id) {
  const Place &place = places[id], &root = places[places.root(id)];
  Numbers numbers;
  numbers.where = root.where, numbers.start = place.start;
  numbers.step = place.step, numbers.channels = place.channels(), numbers.pixels = place.pixels();
  numbers.constant = root.constant;
  numbers.held = root.value ? static_cast<std::size_t>(root.value.index) : 0;
  return numbers;
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

void Convolve::prepare(const Places& places) {
  x_ = numbers_at(places, x), y_ = numbers_at(places, y);
  shape.x_step = x_.step, shape.y_step = y_.step;
  const float* const offsets = bias.empty() ? nullptr : bias.data();
  if (by_winograd) {
    winograd_.emplace(shape, kernel.data(), kernel_steps, offsets);
  } else {
    packed_.emplace(shape, kernel.data(), kernel_steps, offsets, fast::kernels<float>());
    packed_->keep_tables();
  }
  kernel = {};
  if (residual) residual_ = numbers_at(places, residual), finish.residual_step = residual_.step;
}

Status Convolve::run(Workspace& at) const {
  fast::Finish<float> last = finish;
  if (residual) last.residual = residual_.in(at);
  const int threads = threads_for(at.threads, operations);
  if (winograd_) winograd_->run(x_.in(at), y_.out(at), last, threads);
  else packed_->run(x_.in(at), y_.out(at), last, threads);
  return {};
}

void MapNumbers::prepare(const Places& places) { x_ = numbers_at(places, x), y_ = numbers_at(places, y); }

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

void PairNumbers::prepare(const Places& places) {
  a_ = numbers_at(places, a), b_ = numbers_at(places, b), y_ = numbers_at(places, y);
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
  x_ = numbers_at(places, x), y_ = numbers_at(places, y);
  for (std::size_t a = 0; a < reaches.size(); ++a) {
    cells_ *= space[a];
    positions_ *= static_cast<Size>(reaches[a].size());
  }
  batch_ = x_.pixels / std::max<Size>(cells_, 1);
  std::vector<const plain::Reach*> at(reaches.size());
  for (Size position = 0; position < positions_; ++position) {
    double divides = 1;
    for (std::size_t a = reaches.size(), rest = static_cast<std::size_t>(position); a-- > 0;) {
      at[a] = &reaches[a][rest % reaches[a].size()];
      rest /= reaches[a].size();
      divides *= static_cast<double>(at[a]->divisor);
    }
    firsts_.push_back(static_cast<Size>(offsets_.size()));
    plain::visit_cells(at, space, 0, 0, [&](Size cell) { offsets_.push_back(cell * x_.step); });
    divisors_.push_back(divisor ? static_cast<float>(*divisor) : static_cast<float>(divides));
  }
  firsts_.push_back(static_cast<Size>(offsets_.size()));
}

Status PoolWindows::run(Workspace& at) const {
  const float* from = x_.in(at);
  float* to = y_.out(at);
  for_each_part(at, batch_ * positions_, y_.channels, 4, [&](Size first, Size count) {
    thread_local std::vector<const float*> cells;
    for (Size p = first; p < first + count; ++p) {
      const auto position = static_cast<std::size_t>(p % positions_);
      const float* image = from + p / positions_ * cells_ * x_.step;
      cells.clear();
      for (Size i = firsts_[position]; i < firsts_[position + 1]; ++i)
        cells.push_back(image + offsets_[static_cast<std::size_t>(i)]);
      fast::row_kernels().pool({cells.data(), static_cast<Size>(cells.size()), y_.channels, to + p * y_.step,
                                is_average, passes_over_nan, divisors_[position]});
    }
  });
  return {};
}

void MeanOfPixels::prepare(const Places& places) { x_ = numbers_at(places, x), y_ = numbers_at(places, y); }

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

void Move::prepare(const Places& places) { x_ = numbers_at(places, x), y_ = numbers_at(places, y); }

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

void SoftmaxRows::prepare(const Places& places) { x_ = numbers_at(places, x), y_ = numbers_at(places, y); }

Status SoftmaxRows::run(Workspace& at) const {
  for_each_part(at, x_.pixels, x_.channels, 8, [&](Size first, Size count) {
    for (Size p = first; p < first + count; ++p)
      fast::row_kernels().softmax(x_.in(at) + p * x_.step, y_.out(at) + p * y_.step, x_.channels);
  });
  return {};
}

PlainNode::PlainNode(const Graph& graph, const Node& node) : node_(node), results_(node.outputs) {
  graph_.rules = graph.rules;
  for (std::size_t i = 0; i < results_.size(); ++i) {
    graph_.values.push_back({.name = graph[results_[i]].name, .type = graph[results_[i]].type});
    node_.outputs[i] = ValueId{static_cast<std::int32_t>(i)};
  }
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
      made.push_back(input.held ? at.held[static_cast<std::size_t>(input.held.index)] : input.constant);
    }
    given.push_back(&made.back());
  }
  auto results = run_node_of(graph_, node_, given, Precision::Single, at.threads);
  if (!results) return std::unexpected(results.error());
  for (std::size_t i = 0; i < results_.size() && i < results->size(); ++i) {
    const Tensor& result = (*results)[i];
    const bool widened =
        is_floating(result.dtype()) && result.dtype() != DType::F32;  // whole numbers are divided in float64
    at.held[static_cast<std::size_t>(results_[i].index)] =
        widened ? Tensor::of(result.shape(), result.floats()) : result.realigned();
  }
  return {};
}

}  // namespace convoy::plan
