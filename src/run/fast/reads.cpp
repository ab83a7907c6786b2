#include "run/fast/reads.h"

#include <algorithm>

namespace convoy::fast {

namespace {

// Of `count` outputs from `first` on.
AxisPhase phase_of(const plain::AxisWalk& axis, Size first, Size count) {
  AxisPhase p;
  p.first = first, p.every = axis.phases();
  std::vector<Size> order;
  for (Size j = 0; j < axis.taps; ++j) order.push_back(axis.transposed ? axis.taps - 1 - j : j);
  for (const Size tap : order) {
    bool is_read = false;
    for (Size i = 0; i < count && !is_read; ++i) is_read = axis.cell(first + i * p.every, tap) >= 0;
    if (is_read) p.taps.push_back(tap);
  }
  for (Size i = 0; i < count; ++i) {
    AxisPhase::Reach reach;
    for (std::size_t t = 0; t < p.taps.size(); ++t) {
      const Size cell = axis.cell(first + i * p.every, p.taps[t]);
      if (cell < 0) continue;
      if (reach.count == 0) reach.tap = static_cast<Size>(t), reach.cell = cell;
      if (reach.count == 1) p.step = cell - reach.cell;
      ++reach.count;
    }
    p.reaches.push_back(reach);
  }
  return p;
}

// Whether no two outputs read the same tap, as where there is one cell: all others would be multiplied with zeros.
bool shares_no_tap(const AxisPhase& phase) {
  Size read = 0;
  for (const AxisPhase::Reach& reach : phase.reaches) read += reach.count;
  return phase.reaches.size() > 1 && read == static_cast<Size>(phase.taps.size());
}

constexpr Size longest_sum = 256;

// Sums are cut where the shapes say, not where a tile happens to end: the same bits however the work is split.
void cut_into_pieces(Phase& phase) {
  Size summed = 0, depth = 0;
  for (std::size_t s = 0; s < phase.segment_lengths.size(); ++s) {
    const Size length = phase.segment_lengths[s];
    for (Size first = 0; first < length;) {
      const Size last = std::min(length, first + longest_sum);
      phase.pieces.push_back({static_cast<Size>(s), first, last, depth, false});
      depth += last - first;
      summed += last - first;
      first = last;
      if (summed >= longest_sum) phase.pieces.back().ends_sum = true, summed = 0;
    }
  }
  if (!phase.pieces.empty()) phase.pieces.back().ends_sum = false;
  phase.depth = depth;
}

void set_segments(Phase& phase, const std::vector<plain::AxisWalk>& walks, Size inputs, bool may_merge) {
  const AxisPhase& last = phase.axes.back();
  phase.merges = may_merge && last.step == 1;
  std::vector<Size> outer{0};
  for (std::size_t a = 0; a + 1 < walks.size(); ++a) {
    std::vector<Size> more;
    for (const Size tap : outer)
      for (const Size own : phase.axes[a].taps) more.push_back(tap * walks[a].taps + own);
    outer = std::move(more);
  }
  for (const Size tap : outer) {
    for (const Size own : last.taps) {
      phase.taps.push_back(tap * walks.back().taps + own);
      if (!phase.merges) phase.segment_lengths.push_back(inputs);
    }
    if (phase.merges) phase.segment_lengths.push_back(inputs * static_cast<Size>(last.taps.size()));
  }
  for (const AxisPhase& axis : phase.axes) phase.rows *= static_cast<Size>(axis.reaches.size());
  cut_into_pieces(phase);
}

}  // namespace

std::vector<AxisPhase> phases_of(const plain::AxisWalk& axis) {
  std::vector<AxisPhase> all;
  for (Size phase = 0; phase < axis.phases(); ++phase) {
    const Size outputs = axis.outputs_in(phase);
    AxisPhase whole = phase_of(axis, phase, outputs);
    if (!shares_no_tap(whole)) all.push_back(std::move(whole));
    else
      for (Size i = 0; i < outputs; ++i) all.push_back(phase_of(axis, phase + i * axis.phases(), 1));
  }
  return all;
}

std::vector<Phase> phases_of(const std::vector<plain::AxisWalk>& walks, Size inputs, bool may_merge) {
  std::vector<Phase> all(1);
  for (const plain::AxisWalk& walk : walks) {
    std::vector<Phase> more;
    for (const Phase& phase : all)
      for (const AxisPhase& axis : phases_of(walk)) {
        more.push_back(phase);
        more.back().axes.push_back(axis);
      }
    all = std::move(more);
  }
  for (Phase& phase : all) set_segments(phase, walks, inputs, may_merge);
  return all;
}

}  // namespace convoy::fast
