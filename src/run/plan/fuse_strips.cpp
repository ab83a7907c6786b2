// Which steps of a plan are computed in strips (run/plan/strips.h).
#include "run/plan/builder.h"
#include "run/plan/strips.h"

#include <utility>

namespace convoy::plan {

namespace {

// What one core keeps at hand: smaller numbers between steps are there when they are read.
constexpr Size worth_strips = Size{128} << 10;

Convolve* convolution_at(const std::vector<std::unique_ptr<Step>>& steps, std::size_t i) {
  return i < steps.size() ? dynamic_cast<Convolve*>(steps[i].get()) : nullptr;
}

bool is_depthwise_image(const Convolve& step) {
  const fast::ConvolutionShape& shape = step.shape;
  return shape.groups > 1 && shape.inputs == 1 && shape.outputs == 1 && shape.walks.size() == 2 &&
         !shape.walks[0].transposed && !shape.walks[1].transposed;
}

std::unique_ptr<Convolve> taken(std::unique_ptr<Step>& step) {
  return std::unique_ptr<Convolve>(static_cast<Convolve*>(step.release()));
}

}  // namespace

void Builder::fuse_strips(const std::vector<PlaceId>& results) {
  std::vector<int> uses(places_.size());
  const auto use = [&](PlaceId id) {
    if (id) ++uses[places_.root(id).slot()];
  };
  for (const auto& step : steps_)
    for (const PlaceId id : step->reads) use(id);
  for (const PlaceId id : results) use(id);
  // Numbers that one step alone reads and that are no part of others.
  const auto is_between = [&](PlaceId id) {
    const Place& place = places_[id];
    return place.where == Place::Where::Arena && !place.parent && uses[id.slot()] == 1;
  };
  const auto pairs_with = [&](const Convolve* first, const Convolve* second) {
    return first && second && first->y.index == second->x.index && is_between(first->y) &&
           first->shape.batch == second->shape.batch;
  };
  std::vector<std::unique_ptr<Step>> fused;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    Convolve* const depth = convolution_at(steps_, i);
    if (!depth || !is_depthwise_image(*depth)) {
      fused.push_back(std::move(steps_[i]));
      continue;
    }
    Convolve* before = fused.empty() ? nullptr : dynamic_cast<Convolve*>(fused.back().get());
    Convolve* after = convolution_at(steps_, i + 1);
    if (!pairs_with(before, depth) || !fast::is_pointwise(before->shape) || before->residual) before = nullptr;
    if (!pairs_with(depth, after) || !fast::is_pointwise(after->shape)) after = nullptr;
    const Size between = (before ? places_[depth->x].count() : 0) + (after ? places_[depth->y].count() : 0);
    if ((!before && !after) || between < worth_strips) {
      fused.push_back(std::move(steps_[i]));
      continue;
    }
    auto strips = std::make_unique<Strips>();
    if (before) strips->expand = taken(fused.back()), fused.pop_back();
    strips->depth = taken(steps_[i]);
    if (after) strips->project = taken(steps_[++i]);
    strips->layer = depth->layer;
    for (Convolve* part : {before, depth, after}) {
      if (!part) continue;
      strips->what += (strips->what.empty() ? "" : ", ") + part->what;
      strips->operations += part->operations;
    }
    strips->what += " in strips";
    strips->reads.push_back(before ? before->x : depth->x);
    if (after && after->residual) strips->reads.push_back(after->residual);
    strips->writes.push_back(after ? after->y : depth->y);
    fused.push_back(std::move(strips));
  }
  steps_ = std::move(fused);
}

}  // namespace convoy::plan
