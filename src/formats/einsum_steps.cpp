// The axes behind "..." get letters, and operands are taken two at a time from the left.
#include "formats/einsum_steps.h"

#include <algorithm>
#include <ranges>

namespace convoy {

namespace {

constexpr std::string_view dots = "...";
constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

struct Terms {
  std::vector<std::string> operands;
  std::string out;
};

auto wrong(const std::string& equation, const std::string& why) {
  return fail(Fault::Unsupported, "einsum equation '" + equation + "' " + why);
}

std::vector<std::string> split_terms(const std::string& text) {
  std::vector<std::string> made;
  for (const auto part : std::views::split(text, ',')) made.emplace_back(part.begin(), part.end());
  if (made.empty()) made.emplace_back();
  return made;
}

// The letters that "..." stands for, of the operand that has most of them; others have the last of these.
Result<std::string> letters_of_dots(const std::string& equation, const std::vector<std::string>& terms,
                                    const std::vector<Shape>& shapes) {
  Size most = 0;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const auto rank = static_cast<Size>(shapes[i].size());
    const Size named = static_cast<Size>(terms[i].size());
    const bool leaves_out = terms[i].find(dots) != std::string::npos;
    const Size rest = rank - (leaves_out ? named - static_cast<Size>(dots.size()) : named);
    if (rest < 0 || (!leaves_out && rest > 0))
      return wrong(equation, "does not fit operand " + std::to_string(i + 1) + " of rank " + std::to_string(rank));
    most = std::max(most, rest);
  }
  std::string letters;
  for (const char c : alphabet)
    if (static_cast<Size>(letters.size()) < most && equation.find(c) == std::string::npos) letters += c;
  if (static_cast<Size>(letters.size()) < most) return wrong(equation, "names more axes than there are letters");
  return letters;
}

std::string spelled(std::string term, const std::string& letters) {
  if (const auto at = term.find(dots); at != std::string::npos) term.replace(at, dots.size(), letters);
  return term;
}

Result<Terms> terms_of(const std::string& equation, const std::vector<Shape>& shapes) {
  const auto arrow = equation.find("->");
  const auto written = split_terms(equation.substr(0, arrow));
  if (written.size() != shapes.size())
    return wrong(equation,
                 "is one of " + std::to_string(written.size()) + " operands, it has " + std::to_string(shapes.size()));
  auto letters = letters_of_dots(equation, written, shapes);
  if (!letters) return pass(letters);
  Terms terms;
  std::string all;
  for (std::size_t i = 0; i < written.size(); ++i) {
    const std::size_t named = written[i].size() - (written[i].find(dots) == std::string::npos ? 0 : dots.size());
    terms.operands.push_back(spelled(written[i], letters->substr(letters->size() - (shapes[i].size() - named))));
    all += terms.operands.back();
  }
  if (arrow != std::string::npos) {
    terms.out = spelled(equation.substr(arrow + 2), *letters);
  } else {
    std::string once = all;
    std::ranges::sort(once);
    terms.out = *letters;
    for (const char c : once)
      if (std::ranges::count(all, c) == 1 && letters->find(c) == std::string::npos) terms.out += c;
  }
  return terms;
}

Status check(const std::string& equation, const Terms& terms) {
  std::string all;
  for (const std::string& one : terms.operands) all += one;
  for (const std::string& one : terms.operands)
    for (const char c : one)
      if (std::ranges::count(one, c) > 1) return wrong(equation, "names an axis twice in one operand");
  for (const char c : terms.out) {
    if (all.find(c) == std::string::npos) return wrong(equation, "gives an axis that no operand has");
    if (std::ranges::count(terms.out, c) > 1) return wrong(equation, "gives an axis twice");
  }
  return {};
}

// Two neighbouring axes of one letter as their diagonal: they become one axis, of which each (n + 1)th is taken.
void add_diagonals(std::string& letters, Shape shape, std::size_t& value, std::size_t operands,
                   std::vector<EinsumStep>& steps) {
  for (auto twice = std::ranges::adjacent_find(letters); twice != letters.end();
       twice = std::ranges::adjacent_find(letters)) {
    const auto at = twice - letters.begin();
    const Dim n = shape[static_cast<std::size_t>(at)];
    if (!n.known() || shape[static_cast<std::size_t>(at) + 1] != n || *n < 1 || *n > (Size{1} << 24)) return;
    shape.erase(shape.begin() + at);
    Sizes to(static_cast<std::size_t>(at), 0);  // as they are
    to.push_back(*n * *n);
    for (std::size_t i = to.size(); i < shape.size(); ++i) to.push_back(shape[i].known() ? *shape[i] : -1);
    if (std::ranges::count(to, -1) > 1) return;
    letters.erase(twice);
    steps.push_back({Reshape{to}, {value}});
    steps.push_back({Slice{static_cast<Size>(at), {}, {}, *n + 1}, {operands + steps.size() - 1}});
    value = operands + steps.size() - 1;
  }
}

// Axes summed and turned around.
void step_of_one(const std::string& from, const std::string& to, std::size_t value, std::vector<EinsumStep>& steps) {
  Sizes summed, order;
  std::string kept;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (to.find(from[i]) == std::string::npos) summed.push_back(static_cast<Size>(i));
    else kept += from[i];
  }
  if (!summed.empty()) {
    steps.push_back({Reduce{Reduction::Sum, summed, false}, {value}});
    value = steps.size();
  }
  for (const char letter : to) order.push_back(static_cast<Size>(kept.find(letter)));
  if (kept != to) steps.push_back({Transpose{order}, {value}});
  if (steps.empty()) steps.push_back({Identity{}, {0}});
}

}  // namespace

Result<std::vector<EinsumStep>> einsum_steps(std::string equation, const std::vector<Shape>& shapes) {
  std::erase(equation, ' ');
  auto terms = terms_of(equation, shapes);
  if (!terms) return pass(terms);
  auto& all = terms->operands;
  std::vector<EinsumStep> steps;
  std::vector<std::size_t> values;
  for (std::size_t i = 0; i < all.size(); ++i) {
    values.push_back(i);
    add_diagonals(all[i], shapes[i], values[i], all.size(), steps);
  }
  if (auto ok = check(equation, *terms); !ok) return pass(ok);
  if (all.size() == 1) {
    step_of_one(all.front(), terms->out, values.front(), steps);
    return steps;
  }
  std::string left = all.front();
  std::size_t before = values.front();
  for (std::size_t i = 1; i < all.size(); ++i) {
    std::string wanted = terms->out, made;
    for (std::size_t k = i + 1; k < all.size(); ++k) wanted += all[k];
    for (const char c : left + all[i])
      if (wanted.find(c) != std::string::npos && made.find(c) == std::string::npos) made += c;
    if (i + 1 == all.size()) made = terms->out;
    steps.push_back({Einsum{left + "," + all[i] + "->" + made}, {before, values[i]}});
    before = all.size() + steps.size() - 1;
    left = made;
  }
  return steps;
}

}  // namespace convoy
