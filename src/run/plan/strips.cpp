#include "run/plan/strips.h"

#include "run/fast/depthwise.h"
#include "run/threads.h"

#include <algorithm>
#include <cstring>

namespace convoy::plan {

namespace {

constexpr Size strip_numbers = Size{96} << 10;  // of both parts between: they stay in the cache next to the weights

}  // namespace

void Strips::prepare(const Places& places) {
  if (expand) expand->prepare(places);
  depth->prepare(places);
  if (project) project->prepare(places);
  const plain::AxisWalk &down = depth->shape.walks[0], &across = depth->shape.walks[1];
  images_ = depth->shape.batch, channels_ = depth->shape.groups;
  x_lines_ = down.in, x_width_ = across.in, y_lines_ = down.out, y_width_ = across.out;
  // What one line of outputs wants, and what each further one adds.
  const fast::Depthwise<float>& windows = *depth->packed().depthwise();
  const auto lines_of = [&](Size count) {
    const auto [first, last] = windows.lines_read((y_lines_ - count) / 2, count);
    return last - first;
  };
  const Size before = expand ? x_width_ * channels_ : 0, after = project ? y_width_ * channels_ : 0;
  const Size one = lines_of(1), more = lines_of(std::min<Size>(2, y_lines_)) - one;
  at_once_ = std::clamp<Size>(1 + (strip_numbers - one * before - after) / std::max<Size>(more * before + after, 1), 1,
                              y_lines_);
}

// The lines that the depthwise part reads, behind one another; those that are there already are not computed again.
const float* Strips::expanded(const Workspace& at, const float* x, Lines lines, Scratch& scratch) const {
  const Size length = x_width_ * channels_;
  const auto wanted = static_cast<std::size_t>((lines.last - lines.first) * length);
  if (scratch.wide.size() < wanted) scratch.wide.resize(wanted);
  float* const wide = scratch.wide.data();
  Size known = lines.first;
  if (scratch.held.first <= lines.first && scratch.held.last > lines.first) {
    known = std::min(scratch.held.last, lines.last);
    std::memmove(wide, wide + (lines.first - scratch.held.first) * length,
                 static_cast<std::size_t>((known - lines.first) * length) * sizeof(float));
  }
  expand->packed().run_pixels(x + known * x_width_ * expand->x_numbers().step, wide + (known - lines.first) * length,
                              (lines.last - known) * x_width_, expand->finish_at(at));
  scratch.held = lines;
  return wide;
}

void Strips::run_lines(const Workspace& at, const float* x, float* y, Size image, Lines lines, Scratch& scratch) const {
  const fast::Depthwise<float>& windows = *depth->packed().depthwise();
  const auto [first, last] = windows.lines_read(lines.first, lines.last - lines.first);
  Size x_first = 0;
  if (expand && first < last) x = expanded(at, x, {first, last}, scratch), x_first = first;
  const Size pixels = (lines.last - lines.first) * y_width_;
  if (!project) {
    y += lines.first * y_width_ * depth->y_numbers().step;
    return windows.run_lines(lines.first, lines.last - lines.first, x, x_first, y, depth->finish_at(at));
  }
  if (static_cast<Size>(scratch.deep.size()) < pixels * channels_)
    scratch.deep.resize(static_cast<std::size_t>(pixels * channels_));
  windows.run_lines(lines.first, lines.last - lines.first, x, x_first, scratch.deep.data(), depth->finish_at(at));
  fast::Finish<float> finish = project->finish_at(at);
  if (finish.residual) finish.residual += (image * y_lines_ + lines.first) * y_width_ * finish.residual_step;
  project->packed().run_pixels(scratch.deep.data(), y + lines.first * y_width_ * project->y_numbers().step, pixels,
                               finish);
}

Status Strips::run(Workspace& at) const {
  const Convolve &from = expand ? *expand : *depth, &to = project ? *project : *depth;
  const int threads = threads_for(at.threads, operations);
  // Bands of strips: the first strip of each computes some lines that the last one of the band before has, too.
  const Size strips = (y_lines_ + at_once_ - 1) / at_once_;
  const Size bands = threads == 1 ? 1 : std::min<Size>(strips, Size{4} * threads);
  for_each_item(threads, images_ * bands, [&](Size item) {
    const Size image = item / bands, band = item % bands;
    thread_local Scratch scratch;
    scratch.held = {};
    const float* const x = from.x_numbers().in(at) + image * x_lines_ * x_width_ * from.x_numbers().step;
    float* const y = to.y_numbers().out(at) + image * y_lines_ * y_width_ * to.y_numbers().step;
    for (Size strip = strips * band / bands; strip < strips * (band + 1) / bands; ++strip)
      run_lines(at, x, y, image, {strip * at_once_, std::min(y_lines_, (strip + 1) * at_once_)}, scratch);
  });
  return {};
}

}  // namespace convoy::plan
