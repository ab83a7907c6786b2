#include "ops/unfold.h"

#include "ops/expect.h"

#include <array>
#include <string>

namespace convoy {

namespace {

struct Columns {
  Size taps = 1;
  Dim windows = 1;
};

// How many taps a window has, and how many windows lie in `space`.
Result<Columns> columns_of(const std::vector<Window>& windows, const std::vector<Padding>& paddings,
                           std::span<const Dim> space) {
  const auto axes = static_cast<Size>(windows.size());
  if (axes < 1 || axes > 16) return fail(Fault::Format, "windows over " + std::to_string(axes) + " spatial axes");
  if (auto s = expect_per_axis("padding", paddings.size(), axes); !s) return pass(s);
  Columns all;
  for (std::size_t i = 0; i < windows.size(); ++i) {
    const std::string text = "window of " + std::to_string(windows[i].kernel) + " cells, stride " +
                             std::to_string(windows[i].stride) + " and dilation " +
                             std::to_string(windows[i].dilation) + " on spatial axis " + std::to_string(i);
    if (!windows[i].sane()) return fail(Fault::Format, text);
    const auto taps = checked_multiply(all.taps, windows[i].kernel);
    if (!taps) return fail(Fault::Limit, text + " makes too many taps");
    all.taps = *taps;
    if (!space[i].known()) {
      all.windows = Dim::unknown();
      continue;
    }
    const auto placed = place(paddings[i], windows[i], *space[i]);
    if (!placed)
      return fail(Fault::Unsupported, "no window fits: input size " + std::to_string(*space[i]) + ", " + text);
    if (!all.windows.known()) continue;
    const auto count = checked_multiply(*all.windows, placed->out);
    if (!count) return fail(Fault::Limit, text + " makes too many windows");
    all.windows = *count;
  }
  return all;
}

}  // namespace

Result<TensorTypes> infer(const Unfold& unfold, const Inputs& in) {
  if (auto s = expect_rank("input", in[0], static_cast<Size>(unfold.windows.size()) + 2); !s) return pass(s);
  const Shape& x = in[0].shape;
  const auto columns = columns_of(unfold.windows, unfold.paddings, std::span(x).subspan(2));
  if (!columns) return std::unexpected(columns.error());
  const auto rows = product_of(std::array{x[1], Dim(columns->taps)});
  if (!rows) return std::unexpected(rows.error());
  return one_type(in[0].dtype, {x[0], *rows, columns->windows});
}

Result<TensorTypes> infer(const Fold& fold, const Inputs& in) {
  if (auto s = expect_rank("input", in[0], 3); !s) return pass(s);
  if (auto s = expect_per_axis("output size", fold.out.size(), static_cast<Size>(fold.windows.size())); !s)
    return pass(s);
  const Shape& x = in[0].shape;
  Shape shape{x[0], Dim::unknown()};
  for (const Size out : fold.out) {
    if (out < 1 || out > Size{1} << 30) return fail(Fault::Format, "output size is " + std::to_string(out));
    shape.emplace_back(out);
  }
  const auto columns = columns_of(fold.windows, fold.paddings, std::span(shape).subspan(2));
  if (!columns) return std::unexpected(columns.error());
  if (x[2].known() && x[2] != columns->windows)
    return fail(Fault::Format, "input has shape " + text_of(x) + ", but " + std::to_string(*columns->windows) +
                                   " windows lie in an output of " + text_of(fold.out));
  if (x[1].known()) {
    if (*x[1] % columns->taps != 0)
      return fail(Fault::Format, "input has shape " + text_of(x) + ": " + std::to_string(columns->taps) +
                                     " taps do not divide axis 1");
    shape[1] = *x[1] / columns->taps;
  }
  return one_type(arithmetic(in[0].dtype), std::move(shape));
}

}  // namespace convoy
