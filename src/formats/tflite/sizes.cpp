#include "formats/tflite/sizes.h"

#include "ops/expect.h"

#include <algorithm>

namespace convoy::tflite {
namespace {

constexpr SizeNumber unknown{0, 0, {}, 0, true};

bool same_size(const SizeNumber& a, const SizeNumber& b) {
  return a.value == b.value && a.axis == b.axis && a.divisor == b.divisor && a.times == b.times && a.plus == b.plus;
}

bool is_lost(const SizeNumber& a) { return a.open && a.divisor == 0; }

SizeNumber times(const SizeNumber& a, const SizeNumber& b) {
  if (is_lost(a) || is_lost(b) || (!a.known() && !b.known())) return unknown;
  const SizeNumber& by = a.known() ? a : b;
  SizeNumber of = a.known() ? b : a;
  const auto factor = checked_multiply(of.factor, by.more), more = checked_multiply(of.more, by.more);
  if (!factor || !more) return unknown;
  of.factor = *factor, of.more = *more;
  return of.factor == 0 ? plain(of.more) : of;
}

SizeNumber plus(const SizeNumber& a, const SizeNumber& b, Size sign) {
  if (is_lost(a) || is_lost(b) || (!a.known() && !b.known() && !same_size(a, b))) return unknown;
  const auto factor = checked_multiply(b.factor, sign), more = checked_multiply(b.more, sign);
  const auto f = factor ? checked_add(a.factor, *factor) : std::nullopt,
             m = more ? checked_add(a.more, *more) : std::nullopt;
  if (!f || !m) return unknown;
  if (*f == 0) return plain(*m);
  SizeNumber of = a.known() ? b : a;
  of.factor = *f, of.more = *m;
  return of;
}

// Between 0 and the divisor. What is left of a sum is that of what is left of its parts.
SizeNumber left_of(const SizeNumber& a, const SizeNumber& by) {
  if (!by.known() || by.more <= 0 || is_lost(a)) return unknown;
  const Size divisor = by.more;
  const auto left = [divisor](Size n) { return (n % divisor + divisor) % divisor; };
  if (a.known()) return plain(left(a.more));
  if (a.divisor != 0 && a.divisor != divisor) return unknown;
  const auto times = checked_multiply(a.factor, a.divisor == 0 ? 1 : a.times),
             inner = checked_multiply(a.factor, a.divisor == 0 ? 0 : a.plus);
  const auto plus = inner ? checked_add(*inner, a.more) : std::nullopt;
  if (!times || !plus) return unknown;
  if (left(*times) == 0) return plain(left(*plus));
  return {1, 0, a.value, a.axis, true, divisor, left(*times), left(*plus)};
}

std::optional<SizeNumbers> paired(std::string_view op, const SizeNumbers& a, const SizeNumbers& b) {
  const std::size_t n = std::max(a.all.size(), b.all.size());
  if ((a.all.size() != n && a.all.size() != 1) || (b.all.size() != n && b.all.size() != 1)) return std::nullopt;
  SizeNumbers made{{}, a.is_scalar && b.is_scalar};
  for (std::size_t i = 0; i < n; ++i) {
    const SizeNumber &x = a.all[a.all.size() == 1 ? 0 : i], &y = b.all[b.all.size() == 1 ? 0 : i];
    if (op == "MUL") made.all.push_back(times(x, y));
    else if (op == "ADD") made.all.push_back(plus(x, y, 1));
    else if (op == "SUB") made.all.push_back(plus(x, y, -1));
    else if (op == "FLOOR_MOD") made.all.push_back(left_of(x, y));
    else if (x == y && (op == "MAXIMUM" || op == "MINIMUM")) made.all.push_back(x);
    else made.all.push_back(unknown);
  }
  return made;
}

}  // namespace

bool SizeNumbers::known() const {
  return std::ranges::all_of(all, [](const SizeNumber& n) { return n.known(); });
}

SizeNumber plain(Size number) { return {0, number, {}, 0, false}; }

SizeNumber size_number(const Graph& graph, ValueId value, Size axis) {
  for (;;) {
    const Shape& shape = graph[value].type.shape;
    if (const Dim n = at(shape, axis); n.known()) return plain(*n);
    const NodeId producer = graph[value].producer;
    if (!producer) break;
    const Node& node = graph[producer];
    const Traits& traits = traits_of(node.op);
    ValueId next;
    for (const ValueId input : node.inputs) {
      if (!input) continue;
      const Size own = axis - (static_cast<Size>(shape.size()) - graph[input].type.rank());
      const bool arithmetic = holds_alternative<Binary>(node.op) || holds_alternative<Where>(node.op);
      if (arithmetic && own >= 0 && !at(graph[input].type.shape, own).known()) {
        next = input, axis = own;
        break;
      }
    }
    const bool window = traits.kind == LayerKind::Convolution || traits.kind == LayerKind::Transposed ||
                        traits.kind == LayerKind::Pooling || traits.kind == LayerKind::Resampling;
    const bool same = traits.axes == AxisUse::Elementwise || holds_alternative<Softmax>(node.op) ||
                      holds_alternative<PRelu>(node.op) || (window && axis == 0);
    if (same) next = node.inputs.front();
    if (!next) break;
    value = next;
  }
  return {1, 0, value, axis, false};
}

std::optional<SizeNumbers> computed(std::string_view op, const std::vector<const SizeNumbers*>& inputs, Size axis,
                                    Size shrink_mask, Size begin_mask, Size end_mask) {
  if (inputs.empty() || std::ranges::count(inputs, nullptr) > 0) return std::nullopt;
  const SizeNumbers& first = *inputs[0];
  const auto whole = [&](std::size_t i) -> std::optional<Size> {
    if (i >= inputs.size() || inputs[i]->all.size() != 1 || !inputs[i]->known()) return std::nullopt;
    return inputs[i]->all[0].more;
  };
  if (op == "CAST" || op == "IDENTITY") return first;
  if (op == "STRIDED_SLICE" && first.columns > 0 && inputs.size() == 4 && shrink_mask == 0) {
    const Size sizes[] = {static_cast<Size>(first.all.size()) / first.columns, first.columns};
    for (std::size_t i = 1; i < 4; ++i)
      if (inputs[i]->all.size() != 2 || !inputs[i]->known()) return std::nullopt;
    for (std::size_t i = 0; i < 2; ++i) {  // nothing but the whole table
      const bool from_first = (begin_mask >> i & 1) != 0 || inputs[1]->all[i].more == 0;
      const bool to_last = (end_mask >> i & 1) != 0 || inputs[2]->all[i].more >= sizes[i];
      if (!from_first || !to_last || inputs[3]->all[i].more != 1) return std::nullopt;
    }
    return first;
  }
  if (std::ranges::any_of(inputs, [](const SizeNumbers* one) { return one->columns > 0; })) return std::nullopt;
  if (op == "RESHAPE" && inputs.size() == 2 && inputs[1]->known() && inputs[1]->all.size() == 2 && !first.is_scalar) {
    const Size count = static_cast<Size>(first.all.size());
    Size rows = inputs[1]->all[0].more, columns = inputs[1]->all[1].more;
    if (rows == -1 && columns > 0) rows = count / columns;
    else if (columns == -1 && rows > 0) columns = count / rows;
    if (rows < 1 || columns < 1 || columns > count || rows != count / columns || count % columns != 0)
      return std::nullopt;
    return SizeNumbers{first.all, false, columns};
  }
  if (inputs.size() == 2 && (op == "MUL" || op == "ADD" || op == "SUB" || op == "MAXIMUM" || op == "MINIMUM" ||
                             op == "FLOOR_MOD" || op == "FLOOR_DIV" || op == "DIV"))
    return paired(op, first, *inputs[1]);
  if (op == "PACK" && axis == 0) {
    SizeNumbers made;
    if (!first.is_scalar) made.columns = static_cast<Size>(first.all.size());
    for (const SizeNumbers* one : inputs) {
      if (one->is_scalar != first.is_scalar || one->all.size() != first.all.size()) return std::nullopt;
      made.all.insert(made.all.end(), one->all.begin(), one->all.end());
    }
    return made;
  }
  if (op == "CONCATENATION") {
    SizeNumbers made;
    for (const SizeNumbers* one : inputs) made.all.insert(made.all.end(), one->all.begin(), one->all.end());
    return made;
  }
  if (op == "GATHER" && inputs.size() == 2 && inputs[1]->known()) {
    SizeNumbers made{{}, inputs[1]->is_scalar};
    for (const SizeNumber& place : inputs[1]->all) {
      if (place.more < 0 || place.more >= static_cast<Size>(first.all.size())) return std::nullopt;
      made.all.push_back(first.all[static_cast<std::size_t>(place.more)]);
    }
    return made;
  }
  if (op == "REDUCE_PROD") {
    SizeNumbers made{{plain(1)}, true};
    for (const SizeNumber& one : first.all) made.all[0] = times(made.all[0], one);
    return made;
  }
  if ((op == "SQUEEZE" || op == "RESHAPE" || op == "EXPAND_DIMS") && first.all.size() == 1)
    return SizeNumbers{first.all, op == "SQUEEZE" || (op == "RESHAPE" && inputs.size() > 1 && inputs[1]->all.empty())};
  if (op == "NEG") {
    SizeNumbers made = first;
    for (SizeNumber& one : made.all) one = times(one, plain(-1));
    return made;
  }
  if (op == "SLICE" && inputs.size() == 3 && !first.is_scalar) {
    const auto count = static_cast<Size>(first.all.size());
    const auto begin = whole(1), size = whole(2);
    if (!begin || !size || *begin < 0 || *begin > count || *size < -1 || *size > count - *begin) return std::nullopt;
    const auto from = first.all.begin() + *begin;
    return SizeNumbers{{from, *size == -1 ? first.all.end() : from + *size}, false};
  }
  if (op == "STRIDED_SLICE" && inputs.size() == 4 && !first.is_scalar) {
    const auto count = static_cast<Size>(first.all.size());
    const auto begin = whole(1), end = whole(2), step = whole(3);
    if (!begin || !end || !step || *step != 1) return std::nullopt;
    const Size from = std::clamp<Size>((begin_mask & 1) != 0 ? 0 : positive_axis(*begin, count), 0, count);
    Size to = std::clamp<Size>((end_mask & 1) != 0 ? count : positive_axis(*end, count), from, count);
    if ((shrink_mask & 1) != 0) to = std::min(from + 1, count);
    SizeNumbers made{{first.all.begin() + from, first.all.begin() + to}, (shrink_mask & 1) != 0};
    if (made.is_scalar && made.all.size() != 1) return std::nullopt;
    return made;
  }
  return std::nullopt;
}

std::optional<SizeNumbers> common_shape(const SizeNumbers& a, const SizeNumbers& b) {
  const std::size_t rank = std::max(a.all.size(), b.all.size());
  SizeNumbers made;
  for (std::size_t i = 0; i < rank; ++i) {
    const std::size_t of_a = rank - a.all.size(), of_b = rank - b.all.size();
    const SizeNumber x = i < of_a ? plain(1) : a.all[i - of_a], y = i < of_b ? plain(1) : b.all[i - of_b];
    if (x.open || y.open) return std::nullopt;
    if (x == plain(1) || x == y) made.all.push_back(y);
    else if (y == plain(1)) made.all.push_back(x);
    else return std::nullopt;
  }
  return made;
}

}  // namespace convoy::tflite
