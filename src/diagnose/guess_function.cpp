// A function of one number in place of another, or where there is none, whether each is one operator or written out in
// several: what stands between two values of a, and between two of b.
#include "diagnose/cause.h"
#include "diagnose/hypothesis.h"
#include "diagnose/piece.h"
#include "graph/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

namespace convoy::diagnose {

namespace {

// Nodes between two values, each of which works on every number by itself.
struct Written {
  ValueId from, to;
  std::vector<std::size_t> nodes;
};

// One number, however often it is written.
std::optional<double> number_in(const std::optional<Tensor>& constant) {
  constexpr Size most = Size{1} << 16;
  if (!constant || constant->count() == 0 || constant->count() > most) return std::nullopt;
  const auto numbers = constant->doubles();
  const bool is_one = std::ranges::all_of(numbers, [&](double x) { return x == numbers[0]; });
  return is_one ? std::optional(numbers[0]) : std::nullopt;
}

bool works_number_by_number(const Graph& piece, const Node& node) {
  if (node.outputs.size() != 1 || node.inputs.empty() || holds_alternative<convoy::Softmax>(node.op)) return false;
  const bool is_one = is_function(node.op) || holds_alternative<Binary>(node.op) || holds_alternative<Where>(node.op) ||
                      holds_alternative<Affine>(node.op) || holds_alternative<PRelu>(node.op);
  return is_one && std::ranges::all_of(node.inputs, [&](ValueId v) {
           return v && (!piece[v].constant || number_in(piece[v].constant));
         });
}

// As long as they can be: what reads their results does something else.
std::vector<Written> written_in(const Graph& piece) {
  std::vector<std::set<ValueId>> roots(piece.values.size());
  const auto roots_of = [&](ValueId v) -> std::set<ValueId>& {
    auto& own = roots[v.slot()];
    if (own.empty()) own.insert(v);
    return own;
  };
  std::vector<Written> all;
  for (std::size_t n = 0; n < piece.nodes.size(); ++n) {
    const Node& node = piece.nodes[n];
    if (holds_alternative<convoy::Softmax>(node.op)) all.push_back({node.inputs[0], node.outputs[0], {n}});
    if (!works_number_by_number(piece, node)) continue;
    std::set<ValueId> from;
    for (const ValueId v : node.inputs)
      if (!piece[v].constant) from.insert(roots_of(v).begin(), roots_of(v).end());
    if (from.size() != 1) continue;
    roots[node.outputs[0].slot()] = from;
    Written one{*from.begin(), node.outputs[0], {n}};
    // Its own nodes: those of the same beginning that it is computed from.
    std::set<ValueId> needed(node.inputs.begin(), node.inputs.end());
    for (std::size_t m = n; m-- > 0;) {
      const Node& before = piece.nodes[m];
      if (!needed.contains(before.outputs[0]) || roots_of(before.outputs[0]) != from || before.outputs[0] == one.from)
        continue;
      one.nodes.push_back(m);
      needed.insert(before.inputs.begin(), before.inputs.end());
    }
    std::ranges::sort(one.nodes);
    all.push_back(std::move(one));
  }
  // Part of a longer one.
  std::erase_if(all, [&](const Written& one) {
    const bool is_read_elsewhere = std::ranges::any_of(piece.nodes, [&](const Node& node) {
      return std::ranges::find(node.inputs, one.to) != node.inputs.end() &&
             (!works_number_by_number(piece, node) || roots_of(node.outputs[0]) != std::set{one.from});
    });
    return !is_read_elsewhere && std::ranges::find(piece.outputs, one.to) == piece.outputs.end();
  });
  return all;
}

// ---- how it is said --------------------------------------------------------------------------------------------------

std::string_view sign_of(BinaryFunction function) {
  switch (function) {
    case BinaryFunction::Add: return " + ";
    case BinaryFunction::Subtract: return " - ";
    case BinaryFunction::Multiply: return " * ";
    case BinaryFunction::Divide: return " / ";
    case BinaryFunction::Greater: return " > ";
    case BinaryFunction::GreaterOrEqual: return " >= ";
    case BinaryFunction::Less: return " < ";
    case BinaryFunction::LessOrEqual: return " <= ";
    default: return "";
  }
}

std::string said(const Graph& piece, const Written& one, ValueId v, bool is_operand) {
  if (v == one.from) return "x";
  if (const auto number = number_in(piece[v].constant)) return number_text(*number);
  const auto maker = std::ranges::find_if(one.nodes, [&](std::size_t n) { return piece.nodes[n].outputs[0] == v; });
  if (maker == one.nodes.end()) return "x";
  const Node& node = piece.nodes[*maker];
  const auto enclosed = [&](const std::string& text) { return is_operand ? "(" + text + ")" : text; };
  if (const auto* affine = get_if<Affine>(&node.op)) {
    std::string text = said(piece, one, node.inputs[0], true);
    if (affine->scale != 1) text += " * " + number_text(affine->scale);
    if (affine->offset != 0) text += (affine->offset < 0 ? " - " : " + ") + number_text(std::abs(affine->offset));
    return enclosed(text);
  }
  const auto* binary = get_if<Binary>(&node.op);
  if (binary && !sign_of(binary->function).empty())
    return enclosed(said(piece, one, node.inputs[0], true) + std::string(sign_of(binary->function)) +
                    said(piece, one, node.inputs[1], true));
  std::string arguments;
  for (const ValueId in : node.inputs) arguments += (arguments.empty() ? "" : ", ") + said(piece, one, in, false);
  return function_name(node.op) + "(" + arguments + ")";
}

std::string said(const Graph& piece, const Written& one) {
  constexpr std::size_t most = 12;
  if (one.nodes.size() > most) return fmt::format("a function in {} operators", one.nodes.size());
  return said(piece, one, one.to, false);
}

// ---- which mistake it is ---------------------------------------------------------------------------------------------

std::vector<double> graph_of(const Graph& piece, const Written& one, const std::vector<float>& at) {
  Piece alone = cut(piece, one.to, {one.from});
  for (Value& value : alone.graph.values)
    if (const auto number = number_in(value.constant))
      value.constant = Tensor::of({}, std::vector<double>{*number}).converted(value.constant->dtype());
  const auto value = evaluate(alone.graph, {Tensor::of({static_cast<Size>(at.size())}, std::vector<float>(at))}, 1);
  return value && value->count() == static_cast<Size>(at.size()) ? value->doubles() : std::vector<double>{};
}

// Whether one of them is the other, cut off above or below where that one goes on.
bool is_cut_off(const Graph& a, const Written& was, const Graph& b, const Written& now) {
  constexpr int steps = 1000;
  constexpr float reach = 250;
  constexpr double equal = 1e-5;
  std::vector<float> at;
  for (int i = -steps; i <= steps; ++i) at.push_back(reach * static_cast<float>(i) / steps);
  const auto x = graph_of(a, was, at), y = graph_of(b, now, at);
  if (x.empty() || y.empty()) return false;
  const auto are_equal = [](double p, double q) { return std::abs(p - q) <= equal * std::max(1.0, std::abs(p)); };
  const auto is_within = [&](const std::vector<double>& cut, const std::vector<double>& whole) {
    const auto [least, most] = std::ranges::minmax(cut);
    return std::ranges::equal(cut, whole, [&](double c, double w) { return are_equal(c, std::clamp(w, least, most)); });
  };
  return !std::ranges::equal(x, y, are_equal) && (is_within(x, y) || is_within(y, x));
}

// By the numbers that both give between -8 and 8: nearly the same are two formulas of one function; the same on the right
// and straight on the left, two slopes.
std::string_view cause_of(const Graph& a, const Written& was, const Graph& b, const Written& now) {
  constexpr int steps = 400;
  constexpr double near = 0.03, equal = 1e-6;
  std::vector<float> at;
  for (int i = -steps; i <= steps; ++i) at.push_back(8.0F * static_cast<float>(i) / steps);
  const auto x = graph_of(a, was, at), y = graph_of(b, now, at);
  if (x.empty() || y.empty()) return "activation_kind";
  double right = 0, left = 0, bend = 0;
  for (std::size_t i = 0; i < at.size(); ++i) {
    double& side = at[i] >= 0 ? right : left;
    side = std::max(side, std::abs(x[i] - y[i]));
    if (i > 1 && at[i] <= 0)
      for (const auto& line : {x, y}) bend = std::max(bend, std::abs(line[i] - 2 * line[i - 1] + line[i - 2]));
  }
  if (std::isnan(right) || std::isnan(left)) return "activation_kind";
  if (right <= equal && left > near && bend <= equal) return "activation_slope";
  if (is_cut_off(a, was, b, now)) return "activation_limit";
  return std::max(left, right) <= near ? "activation_variant" : "activation_kind";
}

// Scales and offsets alone: numbers of the model, or what prepares its input, and no activation.
bool is_straight(const Graph& piece, const Written& one) {
  return std::ranges::all_of(one.nodes, [&](std::size_t n) {
    const Node& node = piece.nodes[n];
    const auto* binary = get_if<Binary>(&node.op);
    const auto known = std::ranges::count_if(node.inputs, [&](ValueId v) { return piece[v].constant.has_value(); });
    if (holds_alternative<Affine>(node.op)) return true;
    if (!binary ||
        (known == 0 && binary->function != BinaryFunction::Add && binary->function != BinaryFunction::Subtract))
      return false;
    return binary->function == BinaryFunction::Add || binary->function == BinaryFunction::Subtract ||
           binary->function == BinaryFunction::Multiply ||
           (binary->function == BinaryFunction::Divide && piece[node.inputs[1]].constant);
  });
}

bool have_same_operators(const Graph& a, const Written& x, const Graph& b, const Written& y) {
  return std::ranges::equal(x.nodes, y.nodes, [&](std::size_t n, std::size_t m) {
    const auto *p = get_if<Binary>(&a.nodes[n].op), *q = get_if<Binary>(&b.nodes[m].op);
    const auto *f = get_if<Unary>(&a.nodes[n].op), *g = get_if<Unary>(&b.nodes[m].op);
    return a.nodes[n].op.index() == b.nodes[m].op.index() && (!p || *p == *q) && (!f || *f == *g);
  });
}

}  // namespace

std::string function_name(const Op& op) {
  if (op == Op(Unary{})) return "sigmoid";  // which goes without saying
  const std::string text = text_of(op);
  const auto at = text.find("function=");
  return at == std::string::npos ? text : text.substr(at + 9);
}

void guess_function(Guesses& guesses) {
  if (!guesses.so_far.empty()) return;
  constexpr std::size_t most = 12;
  constexpr int written = 1;  // what one operator says is meant before what several say
  const Scene& scene = guesses.scene;
  auto of_a = written_in(scene.a), of_b = written_in(scene.b);
  std::erase_if(of_a, [&](const Written& one) { return is_straight(scene.a, one); });
  std::erase_if(of_b, [&](const Written& one) { return is_straight(scene.b, one); });
  if (of_a.size() > most || of_b.size() > most) return;
  // What guess_activation tries already.
  const auto are_single = [&](const Written& was, const Written& now) {
    const auto is_plain = [](const Graph& piece, const Written& one) {
      const Op& op = piece.nodes[one.nodes[0]].op;
      return one.nodes.size() == 1 && is_function(op) && !holds_alternative<convoy::Softmax>(op);
    };
    return is_plain(scene.a, was) && is_plain(scene.b, now);
  };
  const auto maker = [&](const Written& one) -> const Node& { return scene.a.nodes[one.nodes.back()]; };
  for (const Written& was : of_a) {
    const std::string own = said(scene.a, was);
    if (was.nodes.size() > 1)
      guesses.add("activation_missing", maker(was), "without " + own,
                  with_function(scene.a, was.from, was.to, scene.b, {}, {}, {}, maker(was)), written);
    for (const Written& now : of_b) {
      if (have_same_operators(scene.a, was, scene.b, now) || are_single(was, now)) continue;
      const std::string_view cause = cause_of(scene.a, was, scene.b, now);
      guesses.add(cause, maker(was), said(scene.b, now) + " in place of " + own,
                  with_function(scene.a, was.from, was.to, scene.b, now.nodes, now.from, now.to, maker(was)), written);
    }
  }
  for (const Written& now : of_b) {
    if (now.nodes.size() < 2) continue;
    for (std::size_t v = 0; v < scene.shapes.size(); ++v) {
      const ValueId value{static_cast<std::int32_t>(v)};
      if (scene.a[value].constant || scene.shapes[v].empty()) continue;
      const Node about = about_value(scene, value);
      guesses.add("activation_extra", about, said(scene.b, now) + " behind it",
                  with_function(scene.a, value, value, scene.b, now.nodes, now.from, now.to, about), written);
    }
  }
}

}  // namespace convoy::diagnose
