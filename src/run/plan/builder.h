// Makes a plan: goes over the nodes once, in order, and gives each a step, a place of its results or both; nodes that follow
// alone are taken into the step before them.
#pragma once
#include "run/plan/attention.h"
#include "run/plan/strided.h"

#include <array>
#include <memory>
#include <span>
#include <string>
#include <utility>

namespace convoy::plan {

// Kernels that hold an infinity or what is no number are left to the plain ones.
bool all_finite(const Tensor& tensor);
bool all_finite(std::span<const float> values);

class Builder {
 public:
  Builder(const Graph& graph, bool winograd) : graph_(graph), winograd_(winograd) {}
  // False: this graph has no plan.
  Result<bool> build(Plan& plan);

 private:
  enum class Layout : std::uint8_t { AsIs, ChannelsLast };  // as the graph says, or with axis 1 behind all others

  // --- what is known of values
  const Value& value(ValueId v) const { return graph_[v]; }
  Sizes shape_of(ValueId v) const { return *sizes_of(graph_[v].type.shape); }
  bool is_real(ValueId v) const;
  bool is_last_use(ValueId v) const { return uses_[v.slot()] == 1; }
  Sizes laid(ValueId v, Layout layout) const;
  // The only node that reads a value which is no output; none otherwise.
  const Node* only_reader(ValueId v) const;
  bool has_place(ValueId v, Layout layout) const { return static_cast<bool>(places_of_[v.slot()][at(layout)]); }
  static std::size_t at(Layout layout) { return static_cast<std::size_t>(layout); }
  Layout usual_layout(ValueId v) const;
  bool is_known(ValueId v) const {
    return has_place(v, Layout::AsIs) || has_place(v, Layout::ChannelsLast) || strided_[v.slot()];
  }

  // --- places
  PlaceId need(ValueId v, Layout layout);
  PlaceId make(ValueId v, Layout layout);
  void set(ValueId v, Layout layout, PlaceId place) { places_of_[v.slot()][at(layout)] = place; }
  PlaceId view(PlaceId of, Sizes shape);
  PlaceId dense(PlaceId place, const std::string& layer);
  Strided strided(ValueId v);
  Strided with_rows(ValueId v);
  void set_strided(ValueId v, Strided numbers, std::string what, std::string layer);
  PlaceId gather(ValueId v, Layout layout);
  PlaceId turned_by_maker(ValueId v, PlaceId from);
  // The place of x itself where nobody else needs it any more, else a new one.
  PlaceId make_over(PlaceId x, ValueId x_value, ValueId y, Layout layout);
  template <class S>
  S& add(const Node& node, std::string what) {
    auto step = std::make_unique<S>();
    step->layer = node.layer, step->what = std::move(what);
    S& made = *step;
    steps_.push_back(std::move(step));
    return made;
  }

  // --- nodes
  Status build_node(const Node& node);
  bool try_convolution(const Node& node);
  template <class O>
  bool convolution(const Node& node, const O& op);
  bool try_product(const Node& node);
  bool try_map(const Node& node);
  bool try_pair(const Node& node);
  bool try_norm(const Node& node);
  bool try_pool(const Node& node);
  bool try_mean(const Node& node);
  bool try_concat(const Node& node);
  bool concat_rows(const Node& node, Size axis);
  bool try_softmax(const Node& node);
  bool try_resize(const Node& node);
  bool try_layer_norm(const Node& node);
  bool is_computed_product(const Node& node) const;
  bool try_pair_products(const Node& node);
  bool try_attention(const Node& node);
  void add_attention(const Node& node, std::unique_ptr<Attend> step);
  bool try_recurrent(const Node& node);
  template <class O>
  bool recurrent(const Node& node, const O& op, fast::Cell cell);
  // Channels of a value without a copy.
  bool try_slice(const Node& node);
  // Zeros around a value that one convolution alone reads: it pads by itself.
  bool may_wait(const Node& node) const;
  const Node* waiting_pad(const Node& node) const;
  bool try_view(const Node& node);
  bool try_permute(const Node& node);
  bool try_split(const Node& node);
  bool try_tile(const Node& node);
  Status plain_node(const Node& node);
  // Norms, sums and functions that follow a convolution alone. Returns the value that the step gives in the end.
  ValueId take_followers(Convolve& step, ValueId y, Layout layout, bool takes_residual);
  std::optional<fast::MapCall> map_of(const Node& node) const;
  std::optional<Tensor> row_beside(const Node& node, ValueId y, Layout layout) const;
  // Several nodes that alone read a value and give a function of it, in order.
  struct Gate {
    fast::MapCall map;
    ValueId y;
    std::vector<const Node*> nodes;
  };
  // x * sigmoid(x) and others, written as several nodes that read y alone.
  std::optional<Gate> gate_of(ValueId y) const;
  std::optional<Gate> gelu_of(ValueId y, const Node& first, const Node& product) const;
  // Products of queries and keys, and what follows them alone up to the products with values, which are `y`.
  struct Attention {
    const Node* product = nullptr;
    std::vector<const Node*> between;
    fast::MapCall scale{};
    ValueId added, y;
    std::unique_ptr<Attend> step;
  };
  std::optional<Attention> attention_of(const Node& product) const;
  void finish(const Node& node);
  // Depthwise convolutions and the products around them become one step where what is between them is large.
  void fuse_strips(const std::vector<PlaceId>& results);
  bool finish_plan(Plan& plan);

  Graph graph_;
  bool winograd_ = true;
  Places places_;
  std::vector<std::array<PlaceId, 2>> places_of_;
  std::vector<std::optional<Strided>> strided_;  // by value: what was moved and may not have a place
  std::vector<Attention> attentions_;  // that wait for their values
  std::vector<std::vector<NodeId>> readers_;
  std::vector<int> uses_;  // readers that are still to come, and one for an output
  std::vector<bool> taken_;  // by node: part of an earlier step
  std::vector<bool> is_held_;  // by value
  std::vector<const Node*> pad_of_;  // by value: what makes it, where that waits for the convolution that reads it
  std::vector<std::unique_ptr<Step>> steps_;
};

}  // namespace convoy::plan
