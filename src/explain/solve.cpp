#include "explain/solve.h"

#include "explain/solve_answers.h"

#include <fmt/format.h>

#include <algorithm>

namespace convoy::explain {
namespace {

constexpr Size most_size = Size{1} << 31;

Status check(const SolveQuestion& q) {
  const std::size_t axes = q.windows.size();
  if (axes < 1 || axes > 3) return fail(Fault::Usage, fmt::format("{} axes are given; 1 to 3 can be solved", axes));
  for (std::size_t i = 0; i < axes; ++i) {
    const Window& w = q.windows[i];
    const auto name = told_apart(i, axes);
    const auto say = [&](std::string what) { return within(name, Status(fail(Fault::Usage, std::move(what)))); };
    if (w.kernel < 1) return say(fmt::format("--kernel is {}; a kernel has at least one cell", w.kernel));
    if (w.stride < 1) return say(fmt::format("--stride is {}; a window moves on by at least one cell", w.stride));
    if (w.dilation < 1) return say(fmt::format("--dilation is {}; 1 means that no cell is left out", w.dilation));
    if (!w.sane())
      return say(fmt::format("kernel {}, stride {} and dilation {} are beyond the limit of {}", w.kernel, w.stride,
                             w.dilation, Size{1} << 24));
    for (const auto& [option, n] : {std::pair{"--in", q.in[i]}, std::pair{"--out", q.out[i]}}) {
      if (n && *n < 1) return say(fmt::format("{} is {}; sizes begin at 1", option, *n));
      if (n && *n > most_size) return say(fmt::format("{} is {}; the limit is {}", option, *n, most_size));
    }
    if (q.out[i] && !q.in[i])
      return say(
          fmt::format("--out {} needs --in as well; leave --out away to ask about every size at once", *q.out[i]));
  }
  return {};
}

}  // namespace

std::string told_apart(std::size_t axis, std::size_t axes) {
  static constexpr std::string_view names[] = {"depth", "rows", "cols"};
  return axes == 1 ? "" : std::string(names[axis + 3 - axes]);
}

std::string counted(Size n, std::string_view one) {
  static constexpr const char* words[] = {"no", "one", "two", "three", "four"};
  return fmt::format("{} {}{}", n >= 0 && n <= 4 ? words[n] : fmt::format("{}", n), one, n == 1 ? "" : "s");
}

bool alike(const std::vector<Added>& a, const std::vector<Added>& b) {
  return std::ranges::equal(a, b, [](Added x, Added y) { return x.before == y.before && x.after == y.after; });
}

Result<SolveAnswer> solve(const SolveQuestion& question) {
  if (auto asked = check(question); !asked) return pass(asked);
  return question.transposed ? solve_crops(question) : solve_windows(question);
}

}  // namespace convoy::explain
