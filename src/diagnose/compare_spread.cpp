// Numbers of unlike size within one tensor: what is held against the largest of all, or against a mean, goes the same way for
// every number as long as all of them grow alike. Parts are quiet, or zero, beside loud ones.
#include "base/whole_tensor.h"
#include "diagnose/compare.h"
#include "ops/expect.h"
#include "prove/drawn_numbers.h"
#include "run/run.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace convoy::diagnose {

namespace {

constexpr double quiet = 0x1p-20, loud = 0x1p6;
constexpr int octaves = 32;  // of a ramp

enum class EnvelopeKind : std::uint8_t {
  Half,  // quiet in front, loud behind
  Silent,  // zero in front
  Ramp,
  Spike,  // one loud number, or one that is not zero
  Alone  // all are zero but one; of whole numbers the first of each row
};
struct Envelope {
  EnvelopeKind kind = EnvelopeKind::Half;
  std::size_t axis = 0;  // from the last
};

struct Place {
  Size at = 0, length = 1;  // along the axis
  Size number = 0, count = 1;  // of all
};

double factor_of(EnvelopeKind kind, const Place& place) {
  const bool is_front = place.at < place.length / 2, is_chosen = place.number == place.count / 2;
  switch (kind) {
    case EnvelopeKind::Half: return is_front ? quiet : loud;
    case EnvelopeKind::Silent: return is_front ? 0 : 1;
    case EnvelopeKind::Ramp:
      return std::exp2(8 - octaves * static_cast<double>(place.at) /
                               static_cast<double>(std::max<Size>(place.length - 1, 1)));
    case EnvelopeKind::Spike: return is_chosen ? loud : quiet;
    case EnvelopeKind::Alone: return is_chosen ? 1 : 0;
  }
  return 1;
}

// Rows of tables, places and truths are left as they are, or 0.
bool is_kept(EnvelopeKind kind, const Place& place) {
  switch (kind) {
    case EnvelopeKind::Half:
    case EnvelopeKind::Silent: return place.at >= place.length / 2;
    case EnvelopeKind::Ramp: return true;
    case EnvelopeKind::Spike: return place.number == place.count / 2;
    case EnvelopeKind::Alone: return place.at == 0;
  }
  return true;
}

Tensor spread_by(const Tensor& own, const Envelope& envelope, bool counts) {
  const Sizes& shape = own.shape();
  if (own.count() == 0 || (!counts && own.dtype() != DType::F32)) return own;
  Place place{.count = own.count()};
  Size inner = 1;
  const std::size_t from_last = counts && envelope.kind == EnvelopeKind::Alone ? 0 : envelope.axis;
  if (from_last < shape.size()) {
    const std::size_t axis = shape.size() - 1 - from_last;
    place.length = shape[axis];
    for (std::size_t i = axis + 1; i < shape.size(); ++i) inner *= shape[i];
  }
  auto numbers = own.doubles();
  for (double& x : numbers) {
    place.at = place.number / inner % place.length;
    if (!counts) x *= factor_of(envelope.kind, place);
    else if (!is_kept(envelope.kind, place)) x = 0;
    else if (envelope.kind == EnvelopeKind::Alone || envelope.kind == EnvelopeKind::Spike) x = std::max(x, 1.0);
    ++place.number;
  }
  if (!is_floating(own.dtype()))
    return whole_tensor(own.dtype(), shape, std::vector<std::int64_t>(numbers.begin(), numbers.end()));
  return Tensor::of(shape, std::vector<float>(numbers.begin(), numbers.end()));
}

// Along every axis but those of one cell; up to three from the last.
std::vector<Envelope> envelopes_for(const std::vector<const Tensor*>& tensors) {
  std::vector<Envelope> all{{EnvelopeKind::Spike}, {EnvelopeKind::Alone}};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const bool has_cells = std::ranges::any_of(tensors, [&](const Tensor* one) {
      const Sizes& shape = one->shape();
      return axis < shape.size() && shape[shape.size() - 1 - axis] > 1;
    });
    if (!has_cells) continue;
    for (const EnvelopeKind kind : {EnvelopeKind::Half, EnvelopeKind::Silent, EnvelopeKind::Ramp})
      all.push_back({kind, axis});
  }
  return all;
}

}  // namespace

// Made up for what a stretch reads, where it may hold any numbers.
std::vector<Comparison::Fed> Comparison::spread_made(const Stretch& at) const {
  std::vector<Fed> all;
  auto any = made_of(at, [](std::mt19937_64& random, double scale) {
    const double size = std::exp2(8 - octaves * double{drawn_share(random())});
    return (random() % 2 ? scale : -scale) * size;
  });
  if (!any) return all;
  std::map<std::size_t, Tensor> own;
  for (auto& [read, tensor] : reads_of(at))
    if (any->contains(read)) own.emplace(read, std::move(tensor));
  all.push_back(*std::move(any));
  std::vector<const Tensor*> tensors;
  for (const auto& [read, tensor] : own) tensors.push_back(&tensor);
  for (const Envelope& envelope : envelopes_for(tensors)) {
    Fed fed;
    for (const auto& [read, tensor] : own) {
      const Bounds& bounds = bounds_[alignment_.matches[read].a.slot()];
      std::vector<float> made = spread_by(tensor, envelope, false).floats();
      for (float& x : made) x = static_cast<float>(std::clamp(static_cast<double>(x), bounds.least, bounds.most));
      keep_whole(tensor, made);
      fed.emplace(read, Tensor::of(tensor.shape(), std::move(made)));
    }
    all.push_back(std::move(fed));
  }
  return all;
}

// As a's own layers make them of such inputs.
std::vector<Comparison::Fed> Comparison::spread_from_inputs(const Stretch& at) {
  constexpr Size most_numbers = Size{1} << 20;
  if (numbers_in(sized_.a) > most_numbers) return {};
  if (!spread_) {
    spread_.emplace();
    std::vector<const Tensor*> inputs;
    for (const ValueId v : sized_.a.inputs) inputs.push_back(&values_a_[v.slot()]);
    for (const Envelope& envelope : envelopes_for(inputs)) {
      std::vector<Tensor> made;
      for (const ValueId v : sized_.a.inputs) {
        const Tensor& own = values_a_[v.slot()];
        made.push_back(spread_by(own, envelope, rows_a_[v.slot()] > 0 || !is_floating(own.dtype())));
      }
      Fed fed;
      if (const auto values = values_from(made))
        for (std::size_t i = 0; i < alignment_.matches.size(); ++i) fed.emplace(i, (*values)[i]);
      if (!fed.empty()) spread_->push_back(std::move(fed));
    }
  }
  std::vector<Fed> all;
  const std::set<std::size_t> reads(at.reads.begin(), at.reads.end());
  for (const Fed& values : *spread_) {
    Fed fed;
    for (const std::size_t read : reads) fed.emplace(read, values.at(read));
    if (std::ranges::all_of(fed, [](const auto& one) { return all_finite(one.second); })) all.push_back(std::move(fed));
  }
  return all;
}

bool Comparison::agrees_when_spread(std::size_t i, const Stretch& at, Reached& reached_a, Reached& reached_b) {
  for (Fed& fed : spread_made(at))
    if (!agrees_when_fed(i, std::move(fed), reached_a, reached_b, nullptr)) return false;
  for (Fed& fed : spread_from_inputs(at))
    if (!agrees_when_fed(i, std::move(fed), reached_a, reached_b, nullptr)) return false;
  return true;
}

}  // namespace convoy::diagnose
