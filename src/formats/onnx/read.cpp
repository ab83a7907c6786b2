// Reads a model node by node: known numbers are computed, shape computations followed, everything else goes through the
// rows of the operators. Nodes that no output needs are not looked at.
#include "formats/onnx/check.h"
#include "formats/onnx/constants.h"
#include "formats/onnx/numbers.h"
#include "formats/onnx/onnx.h"
#include "formats/onnx/shape_inputs.h"
#include "formats/onnx/sizes.h"
#include "formats/onnx/stretch.h"
#include "formats/onnx/types.h"
#include "ops/expect.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace convoy::onnx {
namespace {

// What is known of a name: a value of the graph, numbers, or both.
struct Known {
  ValueId value;
  std::optional<Tensor> tensor;
  std::optional<Numbers> numbers;
  bool trainable = false;
  bool of_shapes = false;  // computed from shapes, not given
  std::string name{};  // of the initializer whose numbers these are
  std::optional<Tensor> filled{};  // one number, as many times as `fill` says, of which not all is known beforehand
  std::optional<Numbers> fill{};

  bool is_zeros() const { return filled && filled->doubles().front() == 0; }
};

// The names of one graph; a subgraph also sees those around it.
class Names {
 public:
  explicit Names(Names* outer = nullptr) : outer_(outer) {}
  Known* find(const std::string& name) {
    const auto found = known_.find(name);
    if (found != known_.end()) return &found->second;
    return outer_ ? outer_->find(name) : nullptr;
  }
  Status add(const std::string& name, Known known) {
    if (name.empty()) return {};
    if (!known_.emplace(name, std::move(known)).second)
      return fail(Fault::Format, "the name '" + name + "' is given twice");
    return {};
  }

 private:
  std::unordered_map<std::string, Known> known_;  // its elements stay where they are
  Names* outer_;
};

using NameSet = std::unordered_set<std::string>;

void names_read(const ModelNode& node, NameSet& names) {
  names.insert(node.inputs.begin(), node.inputs.end());
  for (const Attribute& attribute : node.attributes) {
    if (!attribute.graph) continue;
    for (const ModelNode& inner : attribute.graph->nodes) names_read(inner, names);
    for (const ValueInfo& output : attribute.graph->outputs) names.insert(output.name);
  }
}

class Reader {
 public:
  Reader(const Model& model, TensorSource source, const LoadOptions& options,
         const std::map<std::string, Tensor>& given)
      : model_(model),
        source_(std::move(source)),
        options_(options),
        given_(given) {}

  Result<Graph> read() {
    if (auto s = check_model(); !s) return pass(s);
    Names names;
    const auto wanted = wanted_outputs();
    if (!wanted) return std::unexpected(wanted.error());
    read_.insert(wanted->begin(), wanted->end());
    if (auto s = add_initializers(model_.graph, names); !s) return pass(s);
    if (auto s = add_inputs(names); !s) return pass(s);
    if (auto s = add_nodes(model_.graph, names); !s) return pass(s);
    for (const std::string& name : *wanted) {
      Known* known = names.find(name);
      if (!known) return fail(Fault::Format, "output '" + name + "' is given by no node");
      const auto value = within("output '" + name + "'", value_of(name, *known));
      if (!value) return std::unexpected(value.error());
      if (auto s = check_output(name, graph_[*value].fact); !s) return pass(s);
      graph_.outputs.push_back(*value);
      graph_.output_names.push_back(name);
    }
    keep_names();
    keep_names_of_blocks();
    prune(graph_);
    keep_names_of_weights();
    return std::move(graph_);
  }

 private:
  // The constants that a row made of the blocks of a cell's weights are called what the weights are.
  void name_blocks(const ModelNode& node, const std::string& layer, std::size_t first) {
    constexpr std::string_view words[] = {"weight_ih", "weight_hh", "bias_ih"};
    const Attribute* direction = node.attribute("direction");
    const bool both = direction && direction->text == "bidirectional";
    for (std::size_t i = first; i < graph_.values.size(); ++i)
      for (std::size_t w = 0; w < std::size(words) && w + 1 < node.inputs.size(); ++w) {
        const Value& value = graph_.values[i];
        const std::string forward = layer + "/" + std::string(words[w]), &weight = node.inputs[w + 1];
        if (!value.constant || weight.empty()) continue;
        const ValueId v{static_cast<std::int32_t>(i)};
        if (value.name == forward) blocks_.emplace_back(v, both ? weight + "_forward" : weight);
        if (value.name == forward + "_reverse") blocks_.emplace_back(v, weight + "_reverse");
      }
  }

  // Where nothing else goes by that name any more.
  void keep_names_of_blocks() {
    if (blocks_.empty()) return;
    std::set<std::string> taken;
    const auto readers = readers_of(graph_);
    for (std::size_t i = 0; i < graph_.values.size(); ++i) {
      const ValueId v{static_cast<std::int32_t>(i)};
      const bool used = !readers[i].empty() || graph_[v].producer || std::ranges::count(graph_.outputs, v) > 0;
      if (used || std::ranges::count(graph_.inputs, v) > 0) taken.insert(graph_[v].name);
    }
    for (const auto& [value, name] : blocks_)
      if (taken.insert(name).second) graph_[value].name = name;
  }

  // Values carry the file's names; what stands between them, of an operator that became several, takes others.
  void keep_names() {
    std::map<ValueId, std::string> said;
    std::set<std::string> taken;
    for (const auto& [value, name] : said_)
      if (said.emplace(value, name).second) taken.insert(name);
    for (std::size_t i = 0; i < graph_.values.size(); ++i) {
      Value& value = graph_.values[i];
      const auto found = said.find({static_cast<std::int32_t>(i)});
      if (!value.producer) taken.insert(value.name);
      if (found != said.end() && value.producer) value.name = found->second;
    }
    for (std::size_t i = 0; i < graph_.values.size(); ++i) {
      Value& value = graph_.values[i];
      if (!value.producer || said.contains({static_cast<std::int32_t>(i)})) continue;
      const std::string plain = value.name;
      for (int n = 1; !taken.insert(value.name).second; ++n) value.name = plain + "/" + std::to_string(n);
    }
  }

  // What the file says of an output is what its operators give, where no other sizes were asked for.
  Status check_output(const std::string& name, const Fact& fact) const {
    const auto said = std::ranges::find(model_.graph.outputs, name, &ValueInfo::name);
    if (said == model_.graph.outputs.end()) return {};
    const auto differs = [&](Fault fault, const std::string& file, const std::string& here) {
      return fail(fault, "output '" + name + "' is " + file + " by the file, its node gives " + here);
    };
    const auto dtype = said->type ? dtype_of(*said->type) : std::nullopt;
    // Whole numbers that are computed with may have become float32 here, which is no fault of the file.
    if (dtype && *dtype != fact.dtype)
      return differs(is_floating(*dtype) ? Fault::Format : Fault::Unsupported, std::string(name_of(*dtype)),
                     std::string(name_of(fact.dtype)));
    if (!said->shape || !options_.size.empty() || !options_.shapes.empty() || !given_.empty()) return {};
    Shape shape;
    for (const NamedDim& dim : *said->shape) shape.push_back(dim.size && *dim.size > 0 ? Dim(*dim.size) : Dim());
    if (shape.size() != fact.shape.size()) return differs(Fault::Format, text_of(shape), text_of(fact.shape));
    return {};
  }

  // A row may give an initializer's numbers another shape: they are still that initializer.
  void keep_names_of_weights() {
    std::set<std::string> taken;
    for (const Value& value : graph_.values) taken.insert(value.name);
    for (Value& value : graph_.values) {
      if (!value.constant || value.constant->count() == 0) continue;
      const auto found = stored_.find(value.constant->bytes().data());
      if (found != stored_.end() && taken.insert(found->second).second) value.name = found->second;
    }
  }

  Status check_model() {
    const auto found = model_.opsets.find("");
    opset_ = found == model_.opsets.end() ? 1 : found->second;
    if (opset_ < oldest_read || opset_ > newest_read)
      return fail(Fault::Unsupported, "is of opset " + std::to_string(opset_) + ", this version reads " +
                                          std::to_string(oldest_read) + " to " + std::to_string(newest_read));
    graph_.name = model_.graph.name;
    graph_.source_format = "ONNX opset " + std::to_string(opset_);
    if (!model_.producer.empty()) graph_.source_format += ", " + model_.producer;
    if (!model_.producer.empty() && !model_.producer_version.empty())
      graph_.source_format += " " + model_.producer_version;
    return {};
  }

  // Names of values or of nodes, which stand for their first result.
  Result<std::vector<std::string>> wanted_outputs() const {
    std::vector<std::string> wanted;
    if (options_.outputs.empty()) {
      for (const ValueInfo& output : model_.graph.outputs) wanted.push_back(output.name);
      if (wanted.empty()) return fail(Fault::Format, "the graph has no output");
      return wanted;
    }
    for (const std::string& name : options_.outputs) {
      const auto node = std::ranges::find_if(model_.graph.nodes, [&](const ModelNode& n) {
        return std::ranges::find(n.outputs, name) != n.outputs.end() || (n.name == name && !n.outputs.empty());
      });
      if (node == model_.graph.nodes.end()) return fail(Fault::Usage, "there is no node or value '" + name + "'");
      const bool value = std::ranges::find(node->outputs, name) != node->outputs.end();
      wanted.push_back(value ? name : node->outputs.front());
    }
    return wanted;
  }

  Status add_initializers(const ModelGraph& graph, Names& names) {
    if (graph.sparse) return fail(Fault::Unsupported, "holds sparse tensors");
    for (const StoredTensor& stored : graph.initializers) {
      auto tensor = within("initializer '" + stored.name + "'", source_.tensor(stored));
      if (!tensor) return pass(tensor);
      const bool trainable = is_floating(tensor->dtype());
      if (auto s = names.add(stored.name, {{}, std::move(*tensor), {}, trainable, false, stored.name}); !s) return s;
    }
    return {};
  }

  Status add_inputs(Names& names) {
    for (const ValueInfo& info : model_.graph.inputs) {
      if (names.find(info.name)) continue;  // an initializer's value is its default
      if (const auto found = given_.find(info.name); found != given_.end()) {
        if (auto s = names.add(info.name, {{}, found->second, {}, false, false}); !s) return s;
        continue;
      }
      auto added = within("input '" + info.name + "'", add_input(info, names));
      if (!added) return added;
    }
    return {};
  }

  Status add_input(const ValueInfo& info, Names& names) {
    const auto dtype = info.type ? dtype_of(*info.type) : std::nullopt;
    if (!dtype) return fail(Fault::Unsupported, "is no tensor of numbers that are carried");
    Shape shape;
    std::vector<std::string> words;
    constexpr Size most = Size{1} << 40;
    for (const NamedDim& dim : info.shape.value_or(std::vector<NamedDim>{})) {
      if (dim.size && *dim.size > most) return fail(Fault::Limit, "has a size of " + std::to_string(*dim.size));
      shape.push_back(dim.size && *dim.size > 0 ? Dim(*dim.size) : Dim::unknown());
      words.push_back(dim.word);
    }
    const std::size_t space = options_.size.size();
    for (std::size_t i = 0; space > 0 && shape.size() == space + 2 && i < space; ++i) {
      shape[i + 2] = options_.size[i] ? Dim(*options_.size[i]) : Dim::unknown();
      words[i + 2].clear();
    }
    if (const auto given = options_.shapes.find(info.name); given != options_.shapes.end()) {
      shape = given->second;
      words.clear();
    } else if (!info.shape) {
      return fail(Fault::Unsupported, "has no shape; give one with --shape");
    }
    const ValueId value = graph_.input(info.name, {*dtype, shape});
    sizes_.add_input(graph_, value, words);
    return names.add(info.name, {value, {}, {}, false, false});
  }

  // What the outputs need, in the file's order, which must be one of computation.
  Status add_nodes(const ModelGraph& graph, Names& names) {
    std::vector<char> needed(graph.nodes.size(), 0);
    for (std::size_t i = graph.nodes.size(); i-- > 0;) {
      const ModelNode& node = graph.nodes[i];
      needed[i] = std::ranges::any_of(node.outputs, [&](const std::string& name) { return read_.contains(name); });
      if (needed[i]) names_read(node, read_);
    }
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      const ModelNode& node = graph.nodes[i];
      const std::string name = !node.name.empty() || node.outputs.empty() ? node.name : node.outputs.front();
      if (options_.listing) options_.listing->push_back({name, node.type});
      if (!needed[i]) continue;
      auto added = within("node '" + name + "' (" + node.type + ", opset " + std::to_string(opset_) + ")",
                          add_node(node, name, names));
      if (!added) return added;
    }
    return {};
  }

  Status add_node(const ModelNode& node, const std::string& name, Names& names) {
    if (!node.domain.empty() && node.domain != "ai.onnx")
      return fail(Fault::Unsupported,
                  "is an operator of domain '" + node.domain + "', which this version does not read");
    if (node.type == "Constant") return add_constant(node, names);
    std::vector<Known*> inputs;
    for (const std::string& input : node.inputs) {
      inputs.push_back(input.empty() ? nullptr : names.find(input));
      if (!input.empty() && !inputs.back())
        return fail(Fault::Format, "reads '" + input + "', which no node before it gives");
    }
    if (node.type == "If") return add_branch(node, inputs, names);
    if (node.type == "Shape" || node.type == "Size") return add_shape(node, inputs, names);
    if (node.type == "Identity" && inputs.size() == 1 && inputs[0] && !inputs[0]->value && node.outputs.size() == 1)
      return names.add(node.outputs[0], *inputs[0]);
    if (auto computed = add_computed(node, inputs, names); !computed || *computed) return done(computed);
    if (node.type == "ConstantOfShape") return add_filled(node, inputs, names);
    if (stretches(node, inputs)) return add_stretched(node, name, inputs, names);
    return add_row(node, name, inputs, names);
  }

  // One number, as many times as a shape says.
  Status add_filled(const ModelNode& node, const std::vector<Known*>& inputs, Names& names) {
    const Numbers* shape = inputs.size() == 1 && inputs[0] ? numbers(*inputs[0]) : nullptr;
    if (!shape || node.outputs.size() != 1)
      return fail(Fault::Unsupported, "its shape is computed by the model; it must be known beforehand");
    Tensor value = Tensor::of({}, std::vector<float>{0});
    if (const Attribute* said = node.attribute("value")) {
      if (!said->tensor) return fail(Fault::Format, "attribute 'value' is no tensor");
      auto tensor = source_.tensor(*said->tensor);
      if (!tensor) return pass(tensor);
      if (tensor->count() != 1) return fail(Fault::Format, "attribute 'value' is not one number");
      value = tensor->reshaped({});
    }
    Known known;
    if (!shape->known()) {
      known.filled = value;
      known.fill = *shape;
      return names.add(node.outputs[0], std::move(known));
    }
    Sizes sizes;
    for (const Number& n : shape->all) sizes.push_back(n.whole);
    constexpr Size most = Size{1} << 26;
    const auto count = checked_count(sizes);
    if (!count || *count > most) return fail(Fault::Limit, "makes a tensor of shape " + text_of(sizes));
    const auto one = value.bytes();
    std::vector<std::byte> bytes;
    bytes.reserve(static_cast<std::size_t>(*count) * one.size());
    for (Size i = 0; i < *count; ++i) bytes.insert(bytes.end(), one.begin(), one.end());
    auto tensor = Tensor::owning(value.dtype(), sizes, std::move(bytes));
    if (!tensor) return pass(tensor);
    known.tensor = std::move(*tensor);
    return names.add(node.outputs[0], std::move(known));
  }

  // To a shape with sizes that are not known beforehand and that the value has not itself.
  bool stretches(const ModelNode& node, const std::vector<Known*>& inputs) {
    if (node.type != "Expand" || inputs.size() != 2 || !inputs[0] || !inputs[1] || node.outputs.size() != 1)
      return false;
    const Numbers* shape = numbers(*inputs[1]);
    return shape && !shape->known();
  }

  Status add_stretched(const ModelNode& node, const std::string& name, const std::vector<Known*>& inputs,
                       Names& names) {
    const Numbers shape = *numbers(*inputs[1]);
    if (inputs[0]->tensor && inputs[0]->tensor->count() == 1 && !inputs[0]->value) {
      Known known;
      known.filled = inputs[0]->tensor->reshaped({});
      known.fill = shape;
      return names.add(node.outputs[0], std::move(known));
    }
    auto x = value_of(node.inputs[0], *inputs[0]);
    if (!x) return pass(x);
    auto y = stretch(graph_, sizes_, *x, shape, name);
    if (!y) return pass(y);
    if (*y == *x) {
      auto same = graph_.add(Identity{}, {*x}, name, "Expand");
      if (!same) return pass(same);
      sizes_.follow(graph_);
      y = same->front();
    }
    said_.emplace_back(*y, node.outputs[0]);
    return names.add(node.outputs[0], {*y, {}, {}, false, false});
  }

  static Status done(const Result<bool>& result) {
    if (!result) return std::unexpected(result.error());
    return {};
  }

  Status add_constant(const ModelNode& node, Names& names) {
    if (node.outputs.size() != 1 || node.attributes.size() != 1)
      return fail(Fault::Format, "has " + std::to_string(node.attributes.size()) + " attributes, expected 1");
    const Attribute& a = node.attributes.front();
    Known known;
    if (a.name == "value" && a.tensor) {
      auto tensor = source_.tensor(*a.tensor);
      if (!tensor) return pass(tensor);
      known.tensor = std::move(*tensor);
    } else if (a.name == "value_float") {
      known.tensor = Tensor::of(Sizes{}, std::vector{a.number});
    } else if (a.name == "value_floats") {
      known.tensor = Tensor::of({static_cast<Size>(a.floats.size())}, a.floats);
    } else if (a.name == "value_int") {
      known.tensor = Tensor::of(Sizes{}, std::vector{a.integer});
    } else if (a.name == "value_ints") {
      known.tensor = Tensor::of({static_cast<Size>(a.integers.size())}, a.integers);
    } else {
      return fail(Fault::Unsupported, "attribute '" + a.name + "' is not understood");
    }
    return names.add(node.outputs.front(), std::move(known));
  }

  // One branch of an If whose condition is known stands in the node's place.
  Status add_branch(const ModelNode& node, const std::vector<Known*>& inputs, Names& names) {
    const Numbers* condition = inputs.size() == 1 && inputs[0] ? numbers(*inputs[0]) : nullptr;
    if (!condition || condition->all.size() != 1 || !condition->known())
      return fail(Fault::Unsupported, "its condition is computed by the model");
    const Attribute* branch = node.attribute(condition->all.front().value() != 0 ? "then_branch" : "else_branch");
    if (!branch || !branch->graph) return fail(Fault::Format, "has no such branch");
    const ModelGraph& graph = *branch->graph;
    if (graph.outputs.size() != node.outputs.size())
      return fail(Fault::Format, "its branch gives another number of results");
    Names inner(&names);
    if (auto s = add_initializers(graph, inner); !s) return s;
    if (auto s = add_nodes(graph, inner); !s) return s;
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const Known* known = inner.find(graph.outputs[i].name);
      if (!known) return fail(Fault::Format, "its branch does not give '" + graph.outputs[i].name + "'");
      if (auto s = names.add(node.outputs[i], *known); !s) return s;
    }
    return {};
  }

  Status add_shape(const ModelNode& node, const std::vector<Known*>& inputs, Names& names) {
    if (inputs.size() != 1 || !inputs[0] || node.outputs.size() != 1) return fail(Fault::Format, "needs one input");
    const Known& x = *inputs[0];
    if (!x.value && !x.tensor && !x.numbers && !x.fill)
      return fail(Fault::Unsupported, "its input is of unknown shape");
    Numbers shape;
    if (x.fill) shape = *x.fill;
    else if (x.value) shape = numbers_of(graph_[x.value].fact.shape, sizes_.of(x.value));
    else shape = Numbers{DType::I64, {}, {}};
    if (!x.value && !x.fill)
      for (const Size n : x.tensor ? x.tensor->shape() : x.numbers->shape) shape.all.push_back(Number::of(n));
    const auto rank = static_cast<Size>(shape.all.size());
    if (node.type == "Size") {
      Numbers one{DType::I64, {1}, {Number::of(std::int64_t{1})}};
      shape.all.insert(shape.all.begin(), one.all.front());
      shape.shape = {rank + 1};
      ModelNode product{"", "ReduceProd", "", {"shape"}, {"size"}, {}};
      product.attributes.push_back({.name = "keepdims", .kind = AttributeKind::Integer});
      auto size = computed(product, opset_, {&shape});
      if (!size) return fail(Fault::Unsupported, "the number of elements is not known");
      return names.add(node.outputs[0], {{}, {}, std::move(size->front()), false, true});
    }
    const Attribute *start = node.attribute("start"), *end = node.attribute("end");
    const auto place = [&](const Attribute* a, Size otherwise) {
      if (!a) return otherwise;
      return std::clamp<Size>(a->integer < 0 ? a->integer + rank : a->integer, 0, rank);
    };
    const Size from = place(start, 0), to = std::max(from, place(end, rank));
    shape.all = {shape.all.begin() + from, shape.all.begin() + to};
    shape.shape = {to - from};
    return names.add(node.outputs[0], {{}, {}, std::move(shape), false, true});
  }

  // The numbers of a name, where they are few; null where there are none beforehand.
  const Numbers* numbers(Known& known) {
    constexpr Size most = 4096;
    if (!known.numbers && known.tensor && known.tensor->count() <= most) known.numbers = numbers_of(*known.tensor);
    return known.numbers ? &*known.numbers : nullptr;
  }

  // Shape computations, and nodes of known tensors alone. False: the node is neither.
  Result<bool> add_computed(const ModelNode& node, const std::vector<Known*>& inputs, Names& names) {
    if (std::ranges::none_of(inputs, [](const Known* k) { return k != nullptr; })) return false;
    std::vector<const Numbers*> few;
    std::vector<std::optional<Tensor>> tensors;
    bool all_few = true, all_known = true, of_shapes = false;
    for (Known* known : inputs) {
      few.push_back(known ? numbers(*known) : nullptr);
      tensors.emplace_back();
      if (!known) continue;
      all_few = all_few && few.back() && !known->value;
      of_shapes = of_shapes || known->of_shapes || (few.back() && !is_floating(few.back()->dtype));
      if (known->tensor) {
        tensors.back() = known->tensor;
      } else if (few.back() && few.back()->known()) {
        auto tensor = few.back()->tensor();
        if (!tensor) return pass(tensor);
        tensors.back() = std::move(*tensor);
      } else {
        all_known = false;
      }
    }
    if (all_few && (of_shapes || node.type == "Range"))
      if (auto results = computed(node, opset_, few); results && results->size() >= node.outputs.size()) {
        for (std::size_t i = 0; i < node.outputs.size(); ++i)
          if (auto s = names.add(node.outputs[i], {{}, {}, std::move((*results)[i]), false, true}); !s) return pass(s);
        return true;
      }
    if (!all_known) return false;
    auto results = compute(node, opset_, tensors);
    if (!results || results->size() < node.outputs.size()) return false;  // its row says why
    for (std::size_t i = 0; i < node.outputs.size(); ++i)
      if (auto s = names.add(node.outputs[i], {{}, std::move((*results)[i]), {}, false, false}); !s) return pass(s);
    return true;
  }

  // The value of a name in the graph.
  Result<ValueId> value_of(const std::string& name, Known& known) {
    if (known.value) return known.value;
    if (known.filled) {
      const Tensor one = known.filled->reshaped(Sizes(known.fill->all.size(), 1));
      auto stretched =
          stretch(graph_, sizes_, graph_.constant(graph_.unique_name(name), one, false), *known.fill, name);
      if (!stretched) return within("'" + name + "'", std::move(stretched));
      return known.value = *stretched;
    }
    if (!known.tensor && !known.numbers)
      return fail(Fault::Unsupported, "'" + name + "' is as large as sizes that are not known beforehand");
    if (!known.tensor) {
      auto tensor = known.numbers->tensor();
      if (!tensor) return within("'" + name + "'", Result<ValueId>(pass(tensor)));
      known.tensor = std::move(*tensor);
    }
    known.value = graph_.constant(known.name.empty() ? name : known.name, *known.tensor, known.trainable);
    if (!known.name.empty() && known.tensor->count() > 0)
      stored_.emplace(known.tensor->bytes().data(), graph_[known.value].name);
    return known.value;
  }

  // Shapes computed from unknown sizes, as the row can read them.
  void adapt(const ModelNode& node, const std::vector<Known*>& inputs, RowCall& call,
             std::vector<std::optional<Tensor>>& instead) {
    if (inputs.empty() || !inputs[0] || !inputs[0]->value) return;
    const Shaped data{graph_[inputs[0]->value].fact.shape, sizes_.of(inputs[0]->value)};
    const auto open = [&](std::size_t i) -> const Numbers* {
      if (i >= inputs.size() || !inputs[i] || inputs[i]->value || inputs[i]->tensor) return nullptr;
      return inputs[i]->numbers && !inputs[i]->numbers->known() ? &*inputs[i]->numbers : nullptr;
    };
    if (const Numbers* shape = open(1); shape && node.type == "Reshape") instead[1] = reshape_target(*shape, data);
    if (const Numbers* ends = open(2); ends && node.type == "Slice")
      instead[2] = slice_ends(*ends, inputs.size() > 3 && inputs[3] ? numbers(*inputs[3]) : nullptr, data);
    if (const Numbers* sizes = open(3); sizes && node.type == "Resize" && opset_ >= 11 && !node.attribute("axes"))
      if ((instead[3] = resize_factors(*sizes, data))) call.inputs[3] = "scales", call.inputs[2].clear();
  }

  Status add_row(const ModelNode& node, const std::string& name, const std::vector<Known*>& inputs, Names& names) {
    std::size_t results = node.outputs.size();
    while (node.type != "Split" && results > 1 && !read_.contains(node.outputs[results - 1])) --results;
    auto call = row_call(node, opset_, results);
    if (!call) return pass(call);
    std::vector<std::optional<Tensor>> instead(inputs.size());
    adapt(node, inputs, *call, instead);
    TensorArguments tensors;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (!inputs[i] || call->inputs[i].empty()) continue;
      if (inputs[i]->is_zeros() && call->inputs[i].starts_with("initial_")) continue;
      auto value = instead[i] ? Result<ValueId>(graph_.constant(node.inputs[i], *instead[i], false))
                              : value_of(node.inputs[i], *inputs[i]);
      if (!value) return within("input '" + call->inputs[i] + "'", Status(pass(value)));
      if (node.type == "BatchNormalization" && i >= 3) graph_[*value].trainable = false;
      tensors.emplace(call->inputs[i], *value);
    }
    const std::size_t before = graph_.values.size();
    auto outputs =
        call_function(functions(), graph_, node.type, call->attributes, std::move(tensors), name, call->setting);
    if (!outputs) return pass(outputs);
    if (node.type == "LSTM" || node.type == "GRU" || node.type == "RNN") name_blocks(node, name, before);
    sizes_.follow(graph_);
    if (outputs->size() < results)
      return fail(Fault::Unsupported, "is asked for " + std::to_string(results) + " results, of which " +
                                          std::to_string(outputs->size()) + " are carried");
    for (std::size_t i = 0; i < node.outputs.size() && i < outputs->size(); ++i) {
      if (auto s = names.add(node.outputs[i], {(*outputs)[i], {}, {}, false, false}); !s) return s;
      if (!node.outputs[i].empty()) said_.emplace_back((*outputs)[i], node.outputs[i]);
    }
    return {};
  }

  const Model& model_;
  TensorSource source_;
  const LoadOptions& options_;
  const std::map<std::string, Tensor>& given_;
  Size opset_ = 0;
  Graph graph_;
  UnknownSizes sizes_;
  std::vector<std::pair<ValueId, std::string>> said_;  // what the file calls the values
  std::vector<std::pair<ValueId, std::string>> blocks_;  // of recurrent weights, and what the file calls those
  NameSet read_;  // names that an output needs
  std::map<const std::byte*, std::string> stored_;  // initializers in use, by where their numbers lie
};

}  // namespace

bool begins_model(Bytes bytes) {
  constexpr int most = 64;
  int seen = 0;
  std::uint64_t version = 0;
  bool found = false;
  // Damage behind the first fields is for the reader to name.
  const auto stopped = each_field(bytes, [&](const ProtoField& field) -> Status {
    if (field.number == 1 && field.wire == Wire::Varint) version = field.value;
    found = found || ((field.number == 7 || field.number == 8) && field.wire == Wire::Run);
    if (++seen == most || found) return fail(Fault::Internal, "enough");
    return {};
  });
  const bool cut_off = !stopped && seen > 0 && stopped.error().fault == Fault::Truncated && version >= 3;
  return version >= 1 && version <= 100 && (found || cut_off);
}

Result<Graph> read_model(const Blob& blob, const std::filesystem::path& folder, const LoadOptions& options,
                         const std::map<std::string, Tensor>& given) {
  const auto model = parse_model(blob.bytes);
  if (!model) return std::unexpected(model.error());
  if (auto sound = check_model(*model, Maker::Somebody); !sound) return pass(sound);
  return Reader(*model, TensorSource(blob.keeper, folder, options.side_files), options, given).read();
}

Result<std::vector<LoadedTensor>> weights_of_model(const Blob& blob, const std::filesystem::path& folder) {
  const auto model = parse_model(blob.bytes);
  if (!model) return std::unexpected(model.error());
  TensorSource source(blob.keeper, folder);
  std::vector<LoadedTensor> all;
  for (const StoredTensor& stored : model->graph.initializers) {
    auto tensor = within("initializer '" + stored.name + "'", source.tensor(stored));
    if (!tensor) return pass(tensor);
    all.push_back({stored.name, std::move(*tensor)});
  }
  return all;
}

}  // namespace convoy::onnx
