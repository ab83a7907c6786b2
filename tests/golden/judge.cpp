// The verdicts: passed, refused, failed.
#include "golden/judge.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace convoy::golden {
namespace {

std::string words(const Sizes& sizes) {
  std::string text = "[";
  for (std::size_t i = 0; i < sizes.size(); ++i) text += (i ? ", " : "") + std::to_string(sizes[i]);
  return text + "]";
}

std::string words(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

std::string place(Size at, const Sizes& shape) {
  Sizes index(shape.size());
  for (std::size_t i = shape.size(); i-- > 0; at /= shape[i]) index[i] = at % shape[i];
  return words(index);
}

bool agree(double got, double want, double bound) {
  if (std::isnan(got) || std::isnan(want)) return std::isnan(got) && std::isnan(want);
  if (std::isinf(got) || std::isinf(want)) return got == want;
  return std::abs(got - want) <= bound;
}

}  // namespace

std::optional<std::string> difference(const Tensor& got, const Tensor& want, bool exact) {
  if (got.shape() != want.shape()) return "the shape is " + words(got.shape()) + ", wanted " + words(want.shape());
  const auto have = got.doubles(), wanted = want.doubles();
  double largest = 0;
  for (const double v : wanted)
    if (std::isfinite(v)) largest = std::max(largest, std::abs(v));
  const double bound = exact ? 0 : 2e-5 * largest;
  for (std::size_t i = 0; i < have.size(); ++i)
    if (!agree(have[i], wanted[i], bound))
      return "at " + place(static_cast<Size>(i), want.shape()) + " is " + words(have[i]) + ", wanted " +
             words(wanted[i]);
  return std::nullopt;
}

std::optional<std::string> index_difference(const Tensor& got, const Tensor& want, const Tensor& maxima) {
  if (got.shape() != want.shape()) return "indices of shape " + words(got.shape()) + ", wanted " + words(want.shape());
  const auto have = got.integers(), wanted = want.integers();
  const auto values = maxima.doubles();
  for (std::size_t i = 0; i < have.size(); ++i)
    if (have[i] != wanted[i] && !(std::isinf(values[i]) && values[i] < 0))
      return "the index at " + place(static_cast<Size>(i), want.shape()) + " is " + std::to_string(have[i]) +
             ", wanted " + std::to_string(wanted[i]);
  return std::nullopt;
}

Judgement judge(const Case& c, const Result<Answer>& answer) {
  if (!answer) {
    const Error& error = answer.error();
    if (error.fault == Fault::Internal) return {Verdict::Failed, "a fault of ours: " + message(error)};
    if (error.what.starts_with(unmapped)) return {Verdict::Refused, message(error)};
    if (c.error) return {};
    return {Verdict::Refused, message(error)};
  }
  if (c.error) return {Verdict::Failed, "answered what the framework refuses: " + *c.error};
  for (std::size_t i = 0; i < c.steps.size(); ++i) {
    if (i >= answer->steps.size()) return {Verdict::Failed, "no answer for layer '" + c.steps[i].layer + "'"};
    if (const auto wrong = difference(answer->steps[i].tensor, c.steps[i].output.tensor, false))
      return {Verdict::Failed, "layer '" + c.steps[i].layer + "' " + *wrong};
  }
  if (const auto wrong = difference(answer->array.tensor, c.want->tensor, c.exact())) return {Verdict::Failed, *wrong};
  if (c.indices && answer->indices)
    if (const auto wrong = index_difference(*answer->indices, c.indices->tensor, c.want->tensor))
      return {Verdict::Failed, *wrong};
  return {};
}

Result<Tensor> in_layout(const Array& array, const std::string& layout) {
  if (array.layout == layout) return array.tensor;
  Sizes permutation;
  for (const char letter : layout) {
    const auto at = array.layout.find(letter);
    if (at == std::string::npos) return fail(Fault::Format, "layouts " + array.layout + " and " + layout);
    permutation.push_back(static_cast<Size>(at));
  }
  if (static_cast<Size>(permutation.size()) != array.tensor.rank())
    return fail(Fault::Format, "layout " + layout + " for another rank");
  return array.tensor.permuted(permutation);
}

Judgement judge_relations(const Case& c, const std::map<std::string, Array>& ours) {
  const std::string& other = c.equals.empty() ? c.differs_from : c.equals;
  if (other.empty()) return {};
  const auto mine = ours.find(c.id), theirs = ours.find(other);
  if (mine == ours.end() || theirs == ours.end())
    return {Verdict::Refused, "cannot be held against " + other + ": one of them has no answer"};
  const auto moved = in_layout(mine->second, theirs->second.layout);
  if (!moved) return {Verdict::Failed, message(moved.error())};
  if (!c.equals.empty()) {
    const auto wrong = difference(*moved, theirs->second.tensor, c.exact());
    return wrong ? Judgement{Verdict::Failed, "is not " + other + ": " + *wrong} : Judgement{};
  }
  const auto a = moved->doubles(), b = theirs->second.tensor.doubles();
  if (a.size() != b.size()) return {Verdict::Failed, "has another size than " + other};
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += std::abs(a[i] - b[i]);
  const double mean = a.empty() ? 0 : sum / static_cast<double>(a.size());
  if (std::abs(mean - c.mean_absolute_difference) > 1e-5 * std::max(1.0, c.mean_absolute_difference))
    return {Verdict::Failed, "differs from " + other + " by " + words(mean) + " in the mean, wanted " +
                                 words(c.mean_absolute_difference)};
  return {};
}

}  // namespace convoy::golden
