// Numbers that a stretch is fed beside a's own: what two models do alike with those of one range, they may do otherwise at a
// limit, on its far side, with equal numbers, with a row that has a rule of its own.
#include "base/whole_tensor.h"
#include "diagnose/compare.h"
#include "ops/expect.h"
#include "prove/drawn_numbers.h"
#include "run/run.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <utility>

namespace convoy::diagnose {

namespace {

double largest_of(const Tensor& tensor) {
  double most = 0;
  for (const double x : tensor.doubles()) most = std::max(most, std::abs(x));
  return most > 0 ? most : 1;
}

double share_from(std::mt19937_64& random) { return drawn_share(random()); }

std::uint64_t up_to(std::mt19937_64& random, std::size_t count) { return (random() >> 8) % count; }

}  // namespace

// Numbers for the one input of a stretch: of both signs where it may have both, and at least as large as a's own.
std::optional<Tensor> Comparison::reaching(const Match& from, double factor, bool negated) const {
  const Tensor own = forced(from, State{});
  if (own.dtype() != DType::F32 || own.count() == 0 || !all_finite(own)) return std::nullopt;
  if (!made_of_inputs_[from.a.slot()]) return std::nullopt;
  const auto values = own.floats();
  const auto [least, most] = std::ranges::minmax(values);
  const Bounds& bounds = bounds_[from.a.slot()];
  const auto scale = static_cast<double>(std::max(std::abs(least), std::abs(most)));
  double low = least, high = most;
  if (bounds.known) {
    const double size = scale > 0 ? scale : 1;
    low = std::max(-size, bounds.least), high = std::min(size, bounds.most);
  }
  low *= factor, high *= factor;
  if (bounds.known) low = std::max(low, bounds.least), high = std::min(high, bounds.most);
  if (!(low <= high) || !std::isfinite(low) || !std::isfinite(high)) return std::nullopt;
  std::mt19937_64 random(static_cast<std::uint64_t>(from.a.index) + (negated ? 2 : 1));
  std::vector<float> made(values.size());
  for (float& value : made) {
    const double share = share_from(random);
    value = static_cast<float>(low * (1 - share) + high * share);
  }
  keep_whole(own, made);
  return Tensor::of(own.shape(), std::move(made));
}

// What either side of the stretch reads, once each, with a's own numbers, where it may hold others.
std::vector<std::pair<std::size_t, Tensor>> Comparison::reads_of(const Stretch& at) const {
  std::vector<std::pair<std::size_t, Tensor>> all;
  for (const std::size_t read : std::set<std::size_t>(at.reads.begin(), at.reads.end()))
    if (made_of_inputs_[alignment_.matches[read].a.slot()])
      all.emplace_back(read, forced(alignment_.matches[read], State{}));
  return all;
}

// Whether any numbers between its bounds may stand there, whatever else the stretch reads.
bool Comparison::may_be_made(const Stretch& at, std::size_t read) const {
  const Bounds& bounds = bounds_[alignment_.matches[read].a.slot()];
  const auto is_another = [&](std::size_t other) { return other != read; };
  return bounds.known && (!bounds.alone || std::ranges::none_of(at.reads, is_another));
}

// The rows of tables, in turn, as many as one input asks for at once.
std::vector<Comparison::Fed> Comparison::all_rows(const Stretch& at) const {
  std::vector<Fed> runs;
  for (const auto& [read, own] : reads_of(at)) {
    const Size rows = rows_of(alignment_.matches[read]), count = own.count();
    if (rows == 0 || count == 0) continue;
    for (Size first = 0; first < rows && std::ssize(runs) < most_runs_of_rows; first += count) {
      std::vector<std::int64_t> numbers(static_cast<std::size_t>(count));
      for (Size n = 0; n < count; ++n) numbers[static_cast<std::size_t>(n)] = (first + n) % rows;
      Tensor made = Tensor::of(own.shape(), std::move(numbers));
      if (is_floating(own.dtype())) made = Tensor::of(made.shape(), made.floats());
      runs.push_back({{read, std::move(made)}});
    }
  }
  return runs;
}

// Whole numbers and those halfway between them, where a stretch rounds: what is done with a half shows at no other number.
std::optional<Comparison::Fed> Comparison::halves(const Stretch& at) const {
  constexpr std::int64_t period = 37;  // halves from -9 to 9
  const auto rounds = [](const Node& node) {
    const auto* unary = get_if<Unary>(&node.op);
    const auto* binary = get_if<Binary>(&node.op);
    return (unary && convoy::rounds(unary->function)) || (binary && divides_whole(binary->function));
  };
  if (std::ranges::none_of(at.a.graph.nodes, rounds) && std::ranges::none_of(at.b.graph.nodes, rounds))
    return std::nullopt;
  Fed fed;
  for (const auto& [read, own] : reads_of(at)) {
    const Bounds& bounds = bounds_[alignment_.matches[read].a.slot()];
    if (!may_be_made(at, read) || own.dtype() != DType::F32) continue;
    std::vector<float> made = own.floats();
    for (std::size_t n = 0; n < made.size(); ++n) {
      const auto half = static_cast<double>(static_cast<std::int64_t>(n) % period - period / 2) / 2;
      made[n] = static_cast<float>(std::clamp(half, bounds.least, bounds.most));
    }
    keep_whole(own, made);
    fed[read] = Tensor::of(own.shape(), std::move(made));
  }
  return fed.empty() ? std::nullopt : std::optional(std::move(fed));
}

// A's own numbers made small, where a stretch divides by what it measures of them: the number added there shows at no other.
std::vector<Comparison::Fed> Comparison::quiet(const Stretch& at) const {
  const auto measures = [](const Node& node) {
    const auto* unary = get_if<Unary>(&node.op);
    const auto* binary = get_if<Binary>(&node.op);
    return (traits_of(node.op).kind == LayerKind::Normalization && !holds_alternative<BatchNorm>(node.op)) ||
           (unary && (unary->function == Function::Rsqrt || unary->function == Function::Sqrt ||
                      unary->function == Function::Reciprocal || unary->function == Function::Log)) ||
           (binary && (binary->function == BinaryFunction::Divide || binary->function == BinaryFunction::Power));
  };
  if (std::ranges::none_of(at.a.graph.nodes, measures) && std::ranges::none_of(at.b.graph.nodes, measures)) return {};
  // What hangs on the other numbers, such as a sum of them, is made small by small inputs of the model.
  constexpr Size most_numbers = Size{1} << 20;
  const auto reads = reads_of(at);
  const bool hangs_together = std::ranges::any_of(reads, [&](const auto& one) { return !may_be_made(at, one.first); });
  std::vector<Fed> runs;
  if (hangs_together && numbers_in(sized_.a) <= most_numbers)
    for (const double factor : {0x1p-10, 0x1p-16, 0x1p-23})
      if (auto fed = fed_from_scaled(at, factor)) runs.push_back(*std::move(fed));
  for (const float largest : {0x1p-6F, 0x1p-10F, 0x1p-16F, 0x1p-23F}) {
    Fed fed;
    for (const auto& [read, own] : reads) {
      if (!may_be_made(at, read) || own.dtype() != DType::F32 || own.count() == 0) continue;
      std::vector<float> made = own.floats();
      float most = 0;
      for (const float x : made) most = std::max(most, std::abs(x));
      if (most <= largest) continue;
      for (float& x : made) x *= largest / most;
      fed[read] = Tensor::of(own.shape(), std::move(made));
    }
    if (!fed.empty()) runs.push_back(std::move(fed));
  }
  return runs;
}

// How many rows the value may ask for in either model; 0: it asks for none.
Size Comparison::rows_of(const Match& from) const { return std::max(rows_a_[from.a.slot()], rows_b_[from.b.slot()]); }

// Every input that may hold any number between its bounds, as `number` says: of a source of chance and the largest of a's own.
std::optional<Comparison::Fed> Comparison::made_of(const Stretch& at, const Made& number) const {
  Fed fed;
  for (const auto& [read, own] : reads_of(at)) {
    const Match& from = alignment_.matches[read];
    const Bounds& bounds = bounds_[from.a.slot()];
    if (!may_be_made(at, read) || own.dtype() != DType::F32 || own.count() == 0 || !all_finite(own) ||
        rows_of(from) > 0)
      continue;
    std::mt19937_64 random(static_cast<std::uint64_t>(from.a.index) + 3);
    const double scale = largest_of(own);
    std::vector<float> made = own.floats();
    for (float& value : made) value = static_cast<float>(std::clamp(number(random, scale), bounds.least, bounds.most));
    keep_whole(own, made);
    fed[read] = Tensor::of(own.shape(), std::move(made));
  }
  return fed.empty() ? std::nullopt : std::optional(std::move(fed));
}

// The limits themselves and small whole numbers, over and over: equal ones lie beside each other, and so do both sides of zero.
// Not those that no float32 can be: one model may hold 0.1 and the other its float32, and both mean the same.
std::optional<Comparison::Fed> Comparison::on_limits(const Stretch& at, const Reached& reached_a,
                                                     const Reached& reached_b) const {
  std::vector<double> numbers{-2, -1, 0, 0, 1, 2, 3};
  std::map<float, bool> exact;
  for (const auto* reached : {&reached_a, &reached_b})
    for (const Limits& one : reached->limits)
      for (const double x : one.at) {
        const auto rounded = static_cast<float>(x);
        auto& is_exact = exact.try_emplace(rounded, true).first->second;
        is_exact = is_exact && static_cast<double>(rounded) == x;
      }
  // Between two that are not the same number written twice, too.
  std::optional<double> before;
  for (const auto& [x, is_exact] : exact) {
    if (is_exact) numbers.push_back(x);
    if (before && x - *before > 1e-5 * std::abs(x)) numbers.push_back((*before + x) / 2);
    before = x;
  }
  return made_of(at, [&](std::mt19937_64& random, double) { return numbers[up_to(random, numbers.size())]; });
}

// Every input of whole numbers that are no rows, or of truths, as `number` says, of a source of chance. `makes_rows`: rows too,
// from 0 on.
std::optional<Comparison::Fed> Comparison::whole_of(const Stretch& at, bool truths, const MadeWhole& number,
                                                    bool makes_rows) const {
  Fed fed;
  for (const auto& [read, own] : reads_of(at)) {
    const Match& from = alignment_.matches[read];
    const DType dtype = sized_.a[from.a].type.dtype;  // narrower than what kernels answer in
    const bool is_whole = !is_floating(dtype) && dtype != DType::Bool;
    const bool are_rows = rows_of(from) > 0;
    if (truths ? dtype != DType::Bool : !is_whole || (are_rows && !makes_rows)) continue;
    std::mt19937_64 random(static_cast<std::uint64_t>(from.a.index) + 4);
    std::vector<std::int64_t> made(static_cast<std::size_t>(own.count()));
    for (std::int64_t& value : made)
      value = std::max(number(random), are_rows ? 0 : std::numeric_limits<std::int64_t>::min());
    const Tensor held = whole_tensor(dtype, own.shape(), std::move(made));
    fed[read] = is_floating(own.dtype()) ? held.converted(own.dtype())
                                         : whole_tensor(own.dtype(), own.shape(), held.integers());
  }
  return fed.empty() ? std::nullopt : std::optional(std::move(fed));
}

// What leads right to limits, and beside it, one after the other: those that a table has as its rows, then others, at which a
// stretch that looks them up in it as they are says nothing.
std::vector<Comparison::Fed> Comparison::whole_limits(const Stretch& at, const Reached& reached_a,
                                                      const Reached& reached_b) const {
  constexpr std::size_t most_runs = 8;
  std::set<std::int64_t> numbers;
  for (const auto& [piece, reached] : {std::pair(&at.a.graph, &reached_a), std::pair(&at.b.graph, &reached_b)})
    for (const double x : limits_at_inputs(*piece, reached->limits))
      for (const int beside : {-1, 0, 1})
        if (std::abs(x) < 0x1p31) numbers.insert(static_cast<std::int64_t>(x) + beside);
  Size rows = 0, fewest = std::numeric_limits<Size>::max();
  for (const auto& [read, own] : reads_of(at)) {
    rows = std::max(rows, rows_of(alignment_.matches[read]));
    if (own.count() > 0) fewest = std::min(fewest, own.count());
  }
  std::vector<Fed> all;
  for (const bool is_row : {true, false}) {
    std::vector<std::int64_t> asked;
    for (const std::int64_t x : numbers)
      if ((x >= 0 && x < rows) == is_row) asked.push_back(x);
    if (rows > 0 && !is_row) asked.push_back(0);
    const std::size_t most = std::min(most_runs * static_cast<std::size_t>(fewest), asked.size());
    for (std::size_t first = 0; first < most; first += static_cast<std::size_t>(fewest)) {
      std::size_t n = first;
      const auto next = [&](std::mt19937_64&) { return asked[n++ % asked.size()]; };
      if (auto fed = whole_of(at, false, next, true)) all.push_back(*std::move(fed));
    }
  }
  return all;
}

// Whole numbers: so few that some are equal; limits and those beside them; such as halves and float32 hold no more; such as
// overflow 32 bits when they are multiplied, doubled or added up. Truths: none, all, some.
std::vector<Comparison::Fed> Comparison::whole_numbers(const Stretch& at, const Reached& reached_a,
                                                       const Reached& reached_b) const {
  std::vector<std::int64_t> limits{0};
  for (const auto* reached : {&reached_a, &reached_b})
    for (const Limits& one : reached->limits)
      for (const double x : one.at)
        for (const std::int64_t beside : {-1, 0, 1})
          if (std::abs(x) < 0x1p31) limits.push_back(static_cast<std::int64_t>(x) + beside);
  std::vector<Fed> all;
  const auto add = [&](bool truths, auto&& number) {
    if (auto fed = whole_of(at, truths, number)) all.push_back(*std::move(fed));
  };
  const auto add_any_of = [&](const std::vector<std::int64_t>& numbers, bool negative) {
    add(false, [&](std::mt19937_64& random) {
      return (negative && random() % 2 ? -1 : 1) * numbers[up_to(random, numbers.size())];
    });
  };
  add_any_of({-1, 0, 1, 2}, false);
  add_any_of(limits, false);
  add_any_of({0, 1, 2, 3, 7, 100, 2049, 40'001}, true);
  add_any_of({0, 1, 2, 3, 7, 100, 70'001, 2'000'000'011}, true);
  add_any_of({2'000'000'011, 1'999'999'973}, false);
  for (const std::int64_t truth : {0, 1}) add(true, [&](std::mt19937_64&) { return truth; });
  add(true, [&](std::mt19937_64& random) { return static_cast<std::int64_t>(up_to(random, 2)); });
  return all;
}

// Besides rows of tables: what every stretch that is written otherwise is asked.
std::vector<Comparison::Fed> Comparison::probes_of(const Stretch& at, const Reached& reached_a,
                                                   const Reached& reached_b) const {
  constexpr double wide = 1024;
  std::vector<Fed> all = quiet(at);
  const auto add = [&](std::optional<Fed> fed) {
    if (fed) all.push_back(*std::move(fed));
  };
  add(halves(at));
  add(on_limits(at, reached_a, reached_b));
  add(made_of(at, [](std::mt19937_64&, double) { return 0.0; }));  // an empty image
  // So few that the largest of some are equal.
  add(made_of(at, [&](std::mt19937_64& random, double) { return static_cast<double>(up_to(random, 2)); }));
  for (Fed& fed : whole_numbers(at, reached_a, reached_b)) all.push_back(std::move(fed));
  for (Fed& fed : whole_limits(at, reached_a, reached_b)) all.push_back(std::move(fed));
  // One side of zero alone: a whole window lies there.
  for (const double sign : {-1.0, 1.0})
    add(made_of(
        at, [&](std::mt19937_64& random, double scale) { return sign * scale * (0.25 + 0.75 * share_from(random)); }));
  // Far out on both sides, for each input as for none of the others.
  add(made_of(at, [&](std::mt19937_64& random, double scale) { return wide * scale * (2 * share_from(random) - 1); }));
  return all;
}

// The numbers of all matches that a's own layers make of these inputs.
std::optional<std::vector<Tensor>> Comparison::values_from(const std::vector<Tensor>& inputs) const {
  RunOptions options;
  options.precision = Precision::Double;
  options.threads = threads_;
  options.keeps_all = true;
  const auto values = run(sized_.a, inputs, options);
  if (!values) return std::nullopt;
  std::vector<Tensor> all;
  for (const Match& match : alignment_.matches) {
    const auto own = std::ranges::find(sized_.a.inputs, match.a);
    const auto made = values->find(match.a);
    const Tensor& held = own != sized_.a.inputs.end() ? inputs[static_cast<std::size_t>(own - sized_.a.inputs.begin())]
                         : made != values->end()      ? made->second
                                                      : values_a_[match.a.slot()];
    all.push_back(rounded(held, sized_.a[match.a].type.dtype));
  }
  return all;
}

// The numbers that a's own layers make of inputs so many times as large.
std::optional<Comparison::Fed> Comparison::fed_from_scaled(const Stretch& at, double factor) const {
  std::vector<Tensor> inputs;
  for (const ValueId v : sized_.a.inputs) {
    Tensor input = values_a_[v.slot()];
    if (input.dtype() == DType::F32 && rows_a_[v.slot()] == 0) {
      auto numbers = input.floats();
      for (float& x : numbers) x *= static_cast<float>(factor);
      input = Tensor::of(input.shape(), std::move(numbers));
    }
    inputs.push_back(std::move(input));
  }
  const auto values = values_from(inputs);
  if (!values) return std::nullopt;
  Fed fed;
  for (const std::size_t read : at.reads) {
    if (!all_finite((*values)[read])) return std::nullopt;
    fed[read] = (*values)[read];
  }
  return fed;
}

}  // namespace convoy::diagnose
