// Operators whose results are as many as their numbers say: NonZero, Unique, NonMaxSuppression. A graph's shapes hang on shapes
// alone, so they are answered where their numbers are known while the model is read, and refused elsewhere.
// Sources: onnx/defs/tensor/defs.cc, onnx/defs/object_detection/defs.cc; non_max_suppression.cc of ONNX Runtime 1.31, whose
// overlaps are computed in float32.
#include "formats/onnx/composed.h"
#include "ops/expect.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace convoy::onnx {
namespace {

// The numbers of an input that must be known, as they are; null once the call has failed.
const Tensor* sizing(FunctionCall& call, std::string_view input) {
  const ValueId value = call.tensor(input);
  if (call.failed()) return nullptr;
  const Tensor* known = call.constant(value);
  if (!known)
    call.refuse(Fault::Unsupported, "how many results it gives hangs on the numbers of input '" + std::string(input) +
                                        "', which are known only when the model runs");
  return known;
}

Tensor place_table(Sizes shape, std::vector<std::int64_t> numbers) {
  return whole_tensor(DType::I64, std::move(shape), std::move(numbers));
}

// [rank, count]: where the numbers are that are not 0.
std::vector<ValueId> non_zero(FunctionCall& call) {
  const Tensor* x = sizing(call, "X");
  if (!x) return {};
  const std::vector<double> numbers = x->doubles();
  const Sizes shape = x->shape();
  Sizes strides(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  std::vector<Size> found;
  for (std::size_t i = 0; i < numbers.size(); ++i)
    if (numbers[i] != 0) found.push_back(static_cast<Size>(i));
  std::vector<std::int64_t> all;
  for (std::size_t axis = 0; axis < shape.size(); ++axis)
    for (const Size at : found) all.push_back(at / strides[axis] % shape[axis]);
  return {call.make_constant("places", place_table({x->rank(), static_cast<Size>(found.size())}, std::move(all)))};
}

// Rows of equal length in the order of their numbers, one after the other.
class Rows {
 public:
  // One for each cell along the axis.
  Rows(const Tensor& x, Size axis) : whole_(!is_floating(x.dtype())), unsigned_(x.dtype() == DType::U64) {
    const Sizes shape = x.shape();
    count_ = shape[static_cast<std::size_t>(axis)];
    const Size inner = std::accumulate(shape.begin() + axis + 1, shape.end(), Size{1}, std::multiplies());
    const auto width = count_ == 0 ? 0 : x.count() / count_;
    const auto from = whole_ ? std::vector<double>{} : x.doubles();
    const auto integers = whole_ ? x.integers() : std::vector<std::int64_t>{};
    for (Size row = 0; row < count_; ++row)
      for (Size i = 0; i < width; ++i) {
        const auto at = static_cast<std::size_t>(i / inner * inner * count_ + row * inner + i % inner);
        if (whole_) integers_.push_back(integers[at]);
        else numbers_.push_back(from[at]);
      }
    width_ = width;
  }
  Size count() const { return count_; }
  bool holds_nan() const {
    return std::ranges::any_of(numbers_, [](double n) { return std::isnan(n); });
  }
  // Below, equal or above: negative, 0, positive.
  int compared(Size a, Size b) const {
    for (Size i = 0; i < width_; ++i) {
      const auto x = static_cast<std::size_t>(a * width_ + i), y = static_cast<std::size_t>(b * width_ + i);
      const int order = whole_ ? of_whole(integers_[x], integers_[y]) : of(numbers_[x], numbers_[y]);
      if (order != 0) return order;
    }
    return 0;
  }

 private:
  template <class T>
  static int of(T a, T b) {
    return a < b ? -1 : b < a ? 1 : 0;
  }
  int of_whole(std::int64_t a, std::int64_t b) const {
    return unsigned_ ? of(static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b)) : of(a, b);
  }

  bool whole_, unsigned_;
  Size count_ = 0, width_ = 0;
  std::vector<double> numbers_;
  std::vector<std::int64_t> integers_;
};

// What is there more than once, once: in the order of its numbers, or of where it stands first.
std::vector<ValueId> unique(FunctionCall& call) {
  const Tensor* known = sizing(call, "X");
  const bool flat = !call.attrs.has("axis"), sorted = call.attrs.truth("sorted", true);
  if (!known) return {};
  const Tensor x = flat ? known->reshaped({known->count()}) : *known;
  const Size axis = flat ? 0 : axis_of(call, "axis", call.attrs.integer("axis"), x.rank());
  if (call.failed()) return {};
  const Rows rows(x, axis);
  if (rows.holds_nan()) call.refuse(Fault::Unsupported, "numbers of which one is NaN, which is equal to nothing");
  std::vector<Size> order(static_cast<std::size_t>(rows.count()));
  std::iota(order.begin(), order.end(), Size{0});
  std::ranges::stable_sort(order, [&](Size a, Size b) { return rows.compared(a, b) < 0; });
  struct Group {
    Size first = 0, count = 0;
    std::vector<Size> members{};
  };
  std::vector<Group> groups;
  for (const Size row : order) {
    if (groups.empty() || rows.compared(groups.back().first, row) != 0) groups.push_back({row});
    groups.back().members.push_back(row);
  }
  if (!sorted) std::ranges::sort(groups, {}, &Group::first);
  std::vector<std::int64_t> inverse(static_cast<std::size_t>(rows.count())), firsts, counts;
  Take take{axis, {}};
  for (std::size_t g = 0; g < groups.size(); ++g) {
    take.indices.push_back(groups[g].first);
    firsts.push_back(groups[g].first);
    counts.push_back(static_cast<std::int64_t>(groups[g].members.size()));
    for (const Size row : groups[g].members) inverse[static_cast<std::size_t>(row)] = static_cast<std::int64_t>(g);
  }
  const auto found = static_cast<Size>(groups.size());
  const ValueId y = call.add(take, {call.make_constant("x", x)});
  return {y, call.make_constant("firsts", place_table({found}, std::move(firsts))),
          call.make_constant("inverse", place_table({rows.count()}, std::move(inverse))),
          call.make_constant("counts", place_table({found}, std::move(counts)))};
}

struct Box {
  float top = 0, left = 0, bottom = 0, right = 0;
  float area() const { return (bottom - top) * (right - left); }
};

// Corners that lie across from each other, in any order; or the middle and the size.
Box box_of(std::span<const float> four, bool by_middle) {
  if (by_middle) return {four[1] - four[3] / 2, four[0] - four[2] / 2, four[1] + four[3] / 2, four[0] + four[2] / 2};
  return {std::min(four[0], four[2]), std::min(four[1], four[3]), std::max(four[0], four[2]),
          std::max(four[1], four[3])};
}

bool overlap(const Box& a, const Box& b, float threshold) {
  const float height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top),
              width = std::min(a.right, b.right) - std::max(a.left, b.left);
  if (height <= 0 || width <= 0 || a.area() <= 0 || b.area() <= 0) return false;
  const float shared = height * width, all = a.area() + b.area() - shared;
  return all > 0 && shared / all > threshold;
}

struct Choice {
  Size most = 0;
  float threshold = 0;
  std::optional<float> least;
};

// Of one class of one image: the best boxes first, without those that lie too much on a better one.
std::vector<Size> chosen(std::span<const Box> boxes, std::span<const float> scores, const Choice& choice) {
  std::vector<Size> order;
  for (std::size_t i = 0; i < scores.size(); ++i)
    if (!choice.least || scores[i] > *choice.least) order.push_back(static_cast<Size>(i));
  std::ranges::stable_sort(order, std::greater(), [&](Size i) { return scores[static_cast<std::size_t>(i)]; });
  std::vector<Size> kept;
  for (const Size i : order) {
    if (static_cast<Size>(kept.size()) >= choice.most) break;
    const Box& box = boxes[static_cast<std::size_t>(i)];
    const bool covered = std::ranges::any_of(
        kept, [&](Size k) { return overlap(box, boxes[static_cast<std::size_t>(k)], choice.threshold); });
    if (!covered) kept.push_back(i);
  }
  return kept;
}

std::vector<float> floats_of(const Tensor& tensor) {
  const Tensor singles = tensor.converted(DType::F32);
  const auto doubles = singles.doubles();
  return {doubles.begin(), doubles.end()};
}

// [n, 3]: image, class and box of what is kept.
std::vector<ValueId> non_max_suppression(FunctionCall& call) {
  const Tensor *boxes = sizing(call, "boxes"), *scores = sizing(call, "scores");
  const bool by_middle = call.attrs.truth("center_point_box", false);
  const auto most = known_number(call, "max_output_boxes_per_class"), threshold = known_number(call, "iou_threshold"),
             least = known_number(call, "score_threshold");
  if (!boxes || !scores || call.failed()) return {};
  const Sizes b = boxes->shape(), s = scores->shape();
  if (b.size() != 3 || s.size() != 3 || b[0] != s[0] || b[1] != s[2] || b[2] != 4)
    call.refuse(Fault::Format, "has boxes of shape " + text_of(b) + " and scores of shape " + text_of(s));
  if (threshold && !(*threshold >= 0 && *threshold <= 1))
    call.refuse(Fault::Format, "input 'iou_threshold' is not between 0 and 1");
  if (call.failed()) return {};
  Choice choice{
      most ? static_cast<Size>(std::clamp(*most, 0.0, 1e9)) : 0, static_cast<float>(threshold.value_or(0)), {}};
  if (least) choice.least = static_cast<float>(*least);
  const auto count = static_cast<std::size_t>(b[1]), classes = static_cast<std::size_t>(s[1]);
  const std::vector<float> corners = floats_of(*boxes), rated = floats_of(*scores);
  std::vector<std::int64_t> kept;
  for (std::size_t image = 0; image < static_cast<std::size_t>(b[0]); ++image) {
    std::vector<Box> own;
    for (std::size_t i = 0; i < count; ++i)
      own.push_back(box_of(std::span(corners).subspan(4 * (image * count + i), 4), by_middle));
    for (std::size_t of = 0; of < classes; ++of)
      for (const Size i : chosen(own, std::span(rated).subspan((image * classes + of) * count, count), choice))
        kept.insert(kept.end(), {static_cast<std::int64_t>(image), static_cast<std::int64_t>(of), i});
  }
  const auto found = static_cast<Size>(kept.size() / 3);
  return {call.make_constant("kept", place_table({found, 3}, std::move(kept)))};
}

// clang-format off
constexpr std::array data_sized_table{
    Operator{"NonMaxSuppression", {10}, "boxes scores max_output_boxes_per_class? iou_threshold? score_threshold?", "center_point_box:i", non_max_suppression},
    Operator{"NonZero", {9}, "X", "", non_zero},
    Operator{"Unique", {11}, "X", "axis:i sorted:i", unique, {}, {1, 4}}};
// clang-format on

}  // namespace

std::span<const Operator> data_sized_operators() { return data_sized_table; }

}  // namespace convoy::onnx
