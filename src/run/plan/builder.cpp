#include "run/plan/builder.h"

#include "convoy/cancellation.h"

#include "ops/expect.h"
#include "run/fast/finite.h"
#include "run/plan/row_steps.h"
#include "run/quantized/node.h"

#include <algorithm>
#include <limits>
#include <span>

namespace convoy::plan {

bool all_finite(std::span<const float> values) {
  return fast::all_finite(values.data(), static_cast<Size>(values.size()));
}

bool all_finite(const Tensor& tensor) {
  if (tensor.dtype() != DType::F32) return all_finite(tensor.floats());
  return fast::all_finite(reinterpret_cast<const fast::LooseFloat*>(tensor.bytes().data()), tensor.count());
}

bool Builder::is_real(ValueId v) const { return is_floating(graph_[v].type.dtype); }

Sizes Builder::laid(ValueId v, Layout layout) const {
  Sizes shape = shape_of(v);
  if (layout == Layout::ChannelsLast && shape.size() > 2)
    std::rotate(shape.begin() + 1, shape.begin() + 2, shape.end());
  return shape;
}

const Node* Builder::only_reader(ValueId v) const {
  const auto& readers = readers_[v.slot()];
  if (uses_[v.slot()] != 1 || readers.size() != 1) return nullptr;
  return &graph_[readers[0]];
}

Builder::Layout Builder::usual_layout(ValueId v) const {
  return has_place(v, Layout::ChannelsLast) && !has_place(v, Layout::AsIs) ? Layout::ChannelsLast : Layout::AsIs;
}

PlaceId Builder::view(PlaceId of, Sizes shape) {
  places_[of].is_fixed = true;
  Place place;
  place.where = places_[of].where, place.shape = std::move(shape), place.parent = of;
  return places_.add(std::move(place));
}

PlaceId Builder::make(ValueId v, Layout layout) {
  Place place;
  place.shape = laid(v, layout);
  const PlaceId id = places_.add(std::move(place));
  set(v, layout, id);
  return id;
}

PlaceId Builder::make_over(PlaceId x, ValueId x_value, ValueId y, Layout layout) {
  const Place& place = places_[x];
  const bool is_free = is_last_use(x_value) && place.where == Place::Where::Arena && !place.parent && !place.is_fixed &&
                       !place.has_read_parts && !graph_[x_value].constant && place.shape == laid(y, layout);
  if (!is_free) return make(y, layout);
  set(y, layout, x);
  return x;
}

// The value's numbers in this layout: turned by a step of its own where they lie otherwise.
PlaceId Builder::need(ValueId v, Layout layout) {
  if (shape_of(v).size() < 3) layout = Layout::AsIs;
  if (has_place(v, layout)) return places_of_[v.slot()][at(layout)];
  if (graph_[v].constant) {
    Place place;
    place.where = Place::Where::Constant, place.shape = laid(v, layout);
    Tensor tensor = Tensor::of(graph_[v].constant->shape(), graph_[v].constant->floats());
    if (layout == Layout::ChannelsLast)
      tensor = tensor.permuted(to_channels_last(static_cast<Size>(place.shape.size()) - 2));
    place.constant = tensor.realigned();
    const PlaceId id = places_.add(std::move(place));
    set(v, layout, id);
    return id;
  }
  if (strided_[v.slot()] && !has_place(v, Layout::AsIs) && !has_place(v, Layout::ChannelsLast))
    return gather(v, layout);
  const Layout other = layout == Layout::AsIs ? Layout::ChannelsLast : Layout::AsIs;
  PlaceId from = places_of_[v.slot()][at(other)];
  const Sizes last = laid(v, Layout::ChannelsLast);
  if (layout == Layout::AsIs && is_last_use(v))
    if (const PlaceId turned = turned_by_maker(v, from)) return turned;
  const Size channels = last.back(), images = last[0];
  const Size pixels = images > 0 && channels > 0 ? places_[from].count() / images / channels : 0;
  if ((channels == 1 || pixels == 1) && places_.is_dense(from)) {
    const PlaceId id = view(from, laid(v, layout));
    set(v, layout, id);
    return id;
  }
  if (layout == Layout::ChannelsLast) from = dense(from, graph_[v].name);  // what is read without gaps
  auto step = std::make_unique<Move>();
  step->layer = graph_[v].name, step->what = layout == Layout::AsIs ? "turn channels first" : "turn channels last";
  step->way = layout == Layout::AsIs ? Move::Way::ToFirst : Move::Way::ToLast;
  step->images = images;
  step->x = from, step->y = make(v, layout);
  step->reads = {step->x}, step->writes = {step->y};
  const PlaceId y = step->y;
  steps_.push_back(std::move(step));
  if (layout == Layout::AsIs) places_[y].is_fixed = true;
  return y;
}

// Resized lines that nobody reads channels last are turned one by one, as they are made; none where there are no such.
PlaceId Builder::turned_by_maker(ValueId v, PlaceId from) {
  const auto writes = [&](const auto& step) {
    return std::ranges::find(step->writes, from.index, &PlaceId::index) != step->writes.end();
  };
  const auto maker = std::ranges::find_if(steps_, writes);
  auto* const resize = maker == steps_.end() ? nullptr : dynamic_cast<ResizeLines*>(maker->get());
  if (!resize || resize->taps.size() + 2 != shape_of(v).size() || places_[from].is_fixed || places_[from].parent ||
      std::ranges::any_of(steps_, [&](const auto& step) {
        return std::ranges::find(step->reads, from.index, &PlaceId::index) != step->reads.end();
      }))
    return {};
  set(v, Layout::ChannelsLast, {});
  resize->is_turned = true, resize->what += " + turn channels first";
  resize->y = make(v, Layout::AsIs), resize->writes = {resize->y};
  places_[resize->y].is_fixed = true;
  return resize->y;
}

// These numbers without gaps, now and later.
PlaceId Builder::dense(PlaceId place, const std::string& layer) {
  if (places_.is_dense(place)) {
    places_[place].is_fixed = true;
    return place;
  }
  auto copy = std::make_unique<Move>();
  copy->layer = layer, copy->what = "copy", copy->x = place;
  Place whole;
  whole.shape = places_[place].shape, whole.is_fixed = true;
  copy->y = places_.add(std::move(whole));
  copy->reads = {copy->x}, copy->writes = {copy->y};
  const PlaceId made = copy->y;
  steps_.push_back(std::move(copy));
  return made;
}

// A node that another step computes too.
void Builder::finish(const Node& node) {
  for (const ValueId v : node.inputs)
    if (v) --uses_[v.slot()];
  taken_[static_cast<std::size_t>(&node - graph_.nodes.data())] = true;
}

Status Builder::plain_node(const Node& node) {
  auto owned = std::make_unique<PlainNode>(graph_, node);
  PlainNode& step = *owned;
  step.layer = node.layer, step.what = std::string(name_of(node.op)) + " (plain)";
  for (const ValueId v : node.inputs) {
    PlainNode::Input input;
    if (v) {
      input.is_present = true, input.shape = shape_of(v);
      if (graph_[v].constant) {
        input.constant = *graph_[v].constant;
      } else if (is_held_[v.slot()]) {
        input.held = v;
      } else {
        const PlaceId place = dense(need(v, Layout::AsIs), node.layer);
        input.place = place;
        step.reads.push_back(place);
      }
    }
    step.inputs.push_back(std::move(input));
  }
  steps_.push_back(std::move(owned));
  for (const ValueId v : node.outputs) {
    is_held_[v.slot()] = true;
    if (!is_real(v)) continue;
    Place place;
    place.where = Place::Where::Held, place.shape = shape_of(v), place.value = v, place.is_fixed = true;
    set(v, Layout::AsIs, places_.add(std::move(place)));
  }
  return {};
}

bool Builder::may_wait(const Node& node) const {
  const auto* pad = get_if<Pad>(&node.op);
  if (!pad || pad->mode != PadMode::Constant || pad->value != 0 || pad->repeats || !is_real(node.inputs[0]))
    return false;
  const Node* next = only_reader(node.outputs[0]);
  const auto* conv = next ? get_if<Conv>(&next->op) : nullptr;
  if (!conv || next->inputs[0] != node.outputs[0]) return false;
  for (std::size_t i = 0; i < pad->before.size(); ++i) {
    const auto axis = static_cast<Size>(i);
    const bool is_space = axis != 0 && axis != conv->axes.channel();
    if (pad->before[i] < 0 || pad->after[i] < 0 || (!is_space && (pad->before[i] != 0 || pad->after[i] != 0)))
      return false;
  }
  return *checked_count(shape_of(node.inputs[0])) > 0;
}

const Node* Builder::waiting_pad(const Node& node) const {
  return holds_alternative<Conv>(node.op) ? pad_of_[node.inputs[0].slot()] : nullptr;
}

Status Builder::build_node(const Node& node) {
  if (may_wait(node)) {
    pad_of_[node.outputs[0].slot()] = &node;
    return {};
  }
  if (const Node* const pad = waiting_pad(node)) {
    if (try_convolution(node)) {
      --uses_[node.inputs[0].slot()];
      return {};
    }
    if (auto s = plain_node(*pad); !s) return s;
    finish(*pad);
    pad_of_[node.inputs[0].slot()] = nullptr;
  }
  const bool done = try_convolution(node) || try_product(node) || try_map(node) || try_pair(node) || try_norm(node) ||
                    try_pool(node) || try_mean(node) || try_softmax(node) || try_resize(node) || try_layer_norm(node) ||
                    try_attention(node) || try_pair_products(node) || try_recurrent(node) || try_concat(node) ||
                    try_slice(node) || try_view(node) || try_permute(node) || try_split(node) || try_tile(node);
  if (!done)
    if (auto s = plain_node(node); !s) return s;
  for (const ValueId v : node.inputs)
    if (v) --uses_[v.slot()];
  return {};
}

Result<bool> Builder::build(Plan& plan) {
  for (const Value& v : graph_.values)
    if (v.quantization || (!v.constant && !sizes_of(v.type.shape))) return false;
  for (const Node& node : graph_.nodes)
    if (quantized::is_quantized(graph_, node)) return false;
  const std::size_t values = graph_.values.size();
  places_of_.resize(values), uses_.resize(values), is_held_.resize(values), strided_.resize(values),
      pad_of_.resize(values);
  taken_.resize(graph_.nodes.size());
  readers_ = readers_of(graph_);
  for (const Node& node : graph_.nodes)
    for (const ValueId v : node.inputs)
      if (v) ++uses_[v.slot()];
  for (const ValueId v : graph_.outputs) ++uses_[v.slot()];
  for (const ValueId v : graph_.inputs) {
    is_held_[v.slot()] = true;
    if (!is_real(v)) continue;
    Place place;
    place.where = Place::Where::Held, place.shape = shape_of(v), place.value = v, place.is_fixed = true;
    set(v, Layout::AsIs, places_.add(std::move(place)));
  }
  for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
    if (taken_[i]) continue;
    if (auto s = build_node(graph_.nodes[i]); !s) return std::unexpected(s.error());
  }
  if (!finish_plan(plan)) return false;
  if (Listening::is_cancelled()) return fail(Fault::Cancelled, "the preparation was cancelled");
  return true;
}

bool Builder::finish_plan(Plan& plan) {
  plan.values_ = graph_.values.size(), plan.nodes_ = graph_.nodes.size();
  plan.inputs_ = graph_.inputs, plan.outputs_ = graph_.outputs;
  for (const ValueId v : graph_.outputs) {
    plan.output_shapes_.push_back(graph_[v].constant ? graph_[v].constant->shape() : shape_of(v));
    plan.constant_results_.push_back(graph_[v].constant);
    PlaceId place;
    if (!graph_[v].constant && !is_held_[v.slot()]) {
      place = need(v, Layout::AsIs);
      if (places_[places_.root(place)].where != Place::Where::Arena) {
        Place whole;
        whole.shape = places_[place].shape, whole.is_fixed = true;
        auto copy = std::make_unique<Move>();
        copy->layer = graph_[v].name, copy->what = "copy", copy->x = place;
        copy->y = place = places_.add(std::move(whole));
        copy->reads = {copy->x}, copy->writes = {copy->y};
        steps_.push_back(std::move(copy));
      } else {
        place = dense(place, graph_[v].name);
      }
    }
    plan.results_.push_back(place);
  }
  fuse_strips(plan.results_);
  for (std::size_t i = 0; i < plan.results_.size(); ++i) {
    const PlaceId place = plan.results_[i];
    if (!place) continue;
    // All of what holds it, which is no other output yet.
    Place& root = places_[places_.root(place)];
    if (root.where == Place::Where::Arena && places_.is_dense(place) && root.count() == places_[place].count())
      root.where = Place::Where::Result, root.result = i;
  }
  std::vector<Places::Use> uses(places_.size());
  const auto use = [&](PlaceId id, int when) {
    Places::Use& one = uses[places_.root(id).slot()];
    if (one.first < 0) one.first = when;
    one.first = std::min(one.first, when), one.last = std::max(one.last, when);
  };
  std::vector<int> last_held(graph_.values.size(), -1);
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const auto touch = [&](PlaceId id) {
      use(id, static_cast<int>(i));
      if (const Place& root = places_[places_.root(id)]; root.value) last_held[root.value.slot()] = static_cast<int>(i);
    };
    for (const PlaceId id : steps_[i]->reads) touch(id);
    for (const PlaceId id : steps_[i]->writes) touch(id);
    if (const auto* node = dynamic_cast<const PlainNode*>(steps_[i].get()))
      for (const PlainNode::Input& input : node->inputs)
        if (input.held) last_held[input.held.slot()] = static_cast<int>(i);
  }
  for (const PlaceId id : plan.results_)
    if (id) use(id, static_cast<int>(steps_.size()));
  for (const ValueId v : graph_.outputs) last_held[v.slot()] = -1;
  plan.let_go_.resize(steps_.size());
  for (std::size_t v = 0; v < last_held.size(); ++v)
    if (last_held[v] >= 0)
      plan.let_go_[static_cast<std::size_t>(last_held[v])].push_back({static_cast<std::int32_t>(v)});
  plan.arena_ = places_.lay_out(uses);
  if (plan.arena_ >= std::numeric_limits<std::int32_t>::max()) return false;  // tables of convolutions end there
  for (const auto& step : steps_)  // packs kernels and lists cells, which takes as long as a run of small batches
    if (!Listening::is_cancelled()) step->prepare(places_);
  plan.places_ = std::move(places_);
  plan.steps_ = std::move(steps_);
  return true;
}

Result<std::unique_ptr<const Plan>> Plan::make(const Graph& graph, const std::vector<Tensor>& inputs, bool winograd) {
  auto sized = with_input_shapes(graph, shapes_of(inputs));
  if (!sized) return std::unexpected(sized.error());
  auto plan = std::make_unique<Plan>();
  const auto made = Builder(*sized, winograd).build(*plan);
  if (!made) return std::unexpected(made.error());
  if (!*made) return std::unique_ptr<const Plan>();
  return std::unique_ptr<const Plan>(std::move(plan));
}

}  // namespace convoy::plan
