#include "graph/size_condition.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace convoy {
namespace {

using SizeOf = std::function<std::optional<Size>(std::string_view input, Size axis)>;

// The value of a condition: Python's expression over sizes such as "x.shape[2]". Nothing where it has another form.
class Condition {
 public:
  Condition(std::string_view text, const SizeOf& size_of) : rest_(text), size_of_(size_of) {}

  std::optional<double> value() {
    const auto result = any();
    skip_spaces();
    return rest_.empty() ? result : std::nullopt;
  }

 private:
  using Number = std::optional<double>;
  struct Named {
    std::string_view name;
    double (*function)(double);
  };
  static constexpr std::array functions{Named{"math.trunc", [](double x) { return std::trunc(x); }},
                                        Named{"math.floor", [](double x) { return std::floor(x); }},
                                        Named{"math.ceil", [](double x) { return std::ceil(x); }},
                                        Named{"math.sqrt", [](double x) { return std::sqrt(x); }},
                                        Named{"torch.sym_float", [](double x) { return x; }},
                                        Named{"torch.sym_int", [](double x) { return std::trunc(x); }},
                                        Named{"torch._sym_sqrt", [](double x) { return std::sqrt(x); }}};
  static constexpr int deepest = 64;

  void skip_spaces() { rest_.remove_prefix(std::min(rest_.find_first_not_of(' '), rest_.size())); }
  bool takes(std::string_view word) {
    skip_spaces();
    if (!rest_.starts_with(word)) return false;
    const bool is_name = std::isalpha(static_cast<unsigned char>(word.front())) != 0;
    if (is_name && rest_.size() > word.size() && is_part_of_name(rest_[word.size()])) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  static bool is_part_of_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

  Number any() {
    Number left = all();
    while (left && takes("or")) {
      const Number right = all();
      left = right ? Number(*left != 0 || *right != 0) : std::nullopt;
    }
    return left;
  }
  Number all() {
    Number left = negated();
    while (left && takes("and")) {
      const Number right = negated();
      left = right ? Number(*left != 0 && *right != 0) : std::nullopt;
    }
    return left;
  }
  Number negated() {
    if (!takes("not")) return compared();
    const Number inner = nested(&Condition::negated);
    return inner ? Number(*inner == 0) : std::nullopt;
  }
  Number compared() {
    constexpr double largest_exact = 9007199254740992.0;  // whole numbers below are exact
    const auto is_exact = [](const Number& number) { return number && std::abs(*number) < largest_exact; };
    Number left = sum();
    if (!left) return left;
    std::optional<bool> holds;  // a < b < c: every neighbour
    while (const auto compare = comparison()) {
      const Number right = sum();
      if (!is_exact(left) || !is_exact(right)) return std::nullopt;
      holds = holds.value_or(true) && (*compare)(*left, *right);
      left = right;
    }
    return holds ? Number(*holds) : left;
  }
  using Compare = bool (*)(double, double);
  std::optional<Compare> comparison() {
    if (takes("==")) return [](double a, double b) { return a == b; };
    if (takes("!=")) return [](double a, double b) { return a != b; };
    if (takes("<=")) return [](double a, double b) { return a <= b; };
    if (takes(">=")) return [](double a, double b) { return a >= b; };
    if (takes("<")) return [](double a, double b) { return a < b; };
    if (takes(">")) return [](double a, double b) { return a > b; };
    return std::nullopt;
  }
  Number sum() {
    Number left = product();
    while (left) {
      const bool adds = takes("+");
      if (!adds && !takes("-")) return left;
      const Number right = product();
      left = right ? Number(adds ? *left + *right : *left - *right) : std::nullopt;
    }
    return left;
  }
  Number product() {
    Number left = signed_number();
    while (left) {
      const bool floors = takes("//"), rests = !floors && takes("%"), divides = !floors && !rests && takes("/");
      if (!floors && !rests && !divides && !takes("*")) return left;
      const Number right = signed_number();
      if (!right || ((floors || rests || divides) && *right <= 0)) return std::nullopt;
      const double quotient = *left / *right;
      if (floors) left = std::floor(quotient);
      else if (rests) left = *left - std::floor(quotient) * *right;
      else left = divides ? quotient : *left * *right;
    }
    return left;
  }
  Number signed_number() {
    if (takes("-")) {
      const Number inner = nested(&Condition::signed_number);
      return inner ? Number(-*inner) : std::nullopt;
    }
    const Number base = atom();
    if (!base || !takes("**")) return base;
    const Number exponent = nested(&Condition::signed_number);
    return exponent ? Number(std::pow(*base, *exponent)) : std::nullopt;
  }
  Number atom() {
    if (takes("(")) {
      const Number inner = nested(&Condition::any);
      return takes(")") ? inner : std::nullopt;
    }
    skip_spaces();
    if (const Number written = number()) return written;
    for (const auto& [name, function] : functions)
      if (takes(name)) {
        const Number inner = takes("(") ? nested(&Condition::any) : std::nullopt;
        return inner && takes(")") ? Number(function(*inner)) : std::nullopt;
      }
    const auto end = std::ranges::find_if_not(rest_, is_part_of_name);
    const std::string_view name = rest_.substr(0, static_cast<std::size_t>(end - rest_.begin()));
    rest_.remove_prefix(name.size());
    if (name.empty() || !takes(".shape[")) return std::nullopt;
    const Number axis = number();
    const auto size = axis && takes("]") ? size_of_(name, static_cast<Size>(*axis)) : std::nullopt;
    return size ? Number(static_cast<double>(*size)) : std::nullopt;
  }
  Number number() {
    if (rest_.empty() || std::isdigit(static_cast<unsigned char>(rest_.front())) == 0) return std::nullopt;
    double number = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), number);
    if (error != std::errc()) return std::nullopt;
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return number;
  }
  Number nested(Number (Condition::*part)()) {
    if (depth_ == deepest) return std::nullopt;
    ++depth_;
    const Number inner = (this->*part)();
    --depth_;
    return inner;
  }

  std::string_view rest_;
  const SizeOf& size_of_;
  int depth_ = 0;
};

}  // namespace

Status expect_conditions(const Graph& graph, const std::vector<Shape>& input_shapes) {
  const SizeOf size_of = [&](std::string_view input, Size axis) -> std::optional<Size> {
    for (std::size_t i = 0; i < std::min(graph.inputs.size(), input_shapes.size()); ++i) {
      const Shape& shape = input_shapes[i];
      if (graph[graph.inputs[i]].name != input) continue;
      if (axis < 0 || axis >= static_cast<Size>(shape.size()) || !shape[static_cast<std::size_t>(axis)].known())
        return std::nullopt;
      return *shape[static_cast<std::size_t>(axis)];
    }
    return std::nullopt;
  };
  for (const std::string& condition : graph.conditions) {
    const auto holds = Condition(condition, size_of).value();
    if (!holds || *holds != 0) continue;
    std::string sizes;
    for (const Shape& shape : input_shapes) sizes += (sizes.empty() ? "" : ", ") + text_of(shape);
    return fail(Fault::Usage, "the program holds where " + condition + ": at " + sizes +
                                  " it fails, or goes another way, which is not in the file");
  }
  return {};
}

}  // namespace convoy
