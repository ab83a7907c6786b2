// Walks a model: its operator set, initializers, inputs, nodes and outputs.
#include "base/nearest.h"
#include "formats/onnx/catalogue/catalogue.h"
#include "formats/onnx/check.h"
#include "formats/onnx/model_reader.h"
#include "formats/onnx/narrow_types.h"
#include "formats/onnx/onnx.h"
#include "formats/onnx/runtime_operators.h"
#include "formats/onnx/set_inputs.h"
#include "formats/onnx/types.h"
#include "formats/recorded_type.h"
#include "ops/expect.h"

#include <algorithm>

namespace convoy::onnx {
namespace {

Status done(const Result<bool>& result) {
  if (!result) return std::unexpected(result.error());
  return {};
}

}  // namespace

void names_read(const ModelNode& node, std::unordered_set<std::string>& names) {
  names.insert(node.inputs.begin(), node.inputs.end());
  for (const Attribute& attribute : node.attributes) {
    if (!attribute.graph) continue;
    for (const ModelNode& inner : attribute.graph->nodes) names_read(inner, names);
    for (const ValueInfo& output : attribute.graph->outputs) names.insert(output.name);
  }
}

Result<Graph> ModelReader::read() {
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
    if (known->narrow != 0)
      return fail(Fault::Unsupported,
                  "output '" + name + "' has element type " + name_of_type(known->narrow) + ", which is not carried");
    const auto value = within("output '" + name + "'", value_of(name, *known));
    if (!value) return std::unexpected(value.error());
    if (auto s = check_output(name, graph_[*value].type); !s) return pass(s);
    graph_.outputs.push_back(*value);
    graph_.output_names.push_back(name);
  }
  if (auto s = check_infos(names); !s) return pass(s);
  file_names_.keep_values(graph_);
  prune(graph_);
  file_names_.keep_weights(graph_);
  return std::move(graph_);
}

// What the file says of an output is what its operators give. Sizes are often left over from an earlier state of the file, and
// runtimes go by the nodes: an answer of other axes is worth telling of, where no other sizes were asked for.
Status ModelReader::check_output(const std::string& name, const TensorType& type) const {
  const auto argument = std::ranges::find(model_.graph.outputs, name, &ValueInfo::name);
  if (argument == model_.graph.outputs.end()) return {};
  const auto both = [&](const std::string& file, const std::string& here) {
    return "output '" + name + "' is " + file + " by the file, its node gives " + here;
  };
  const auto dtype = argument->type ? dtype_of(*argument->type) : std::nullopt;
  // Whole numbers that are computed with may have become float32 here, which is no fault of the file.
  if (dtype && *dtype != type.dtype)
    return fail(is_floating(*dtype) ? Fault::Format : Fault::Unsupported,
                both(std::string(name_of(*dtype)), std::string(name_of(type.dtype))));
  if (!argument->shape || !options_.size.empty() || !options_.shapes.empty() || !given_.empty()) return {};
  Shape shape;
  for (const NamedDim& dim : *argument->shape) shape.push_back(dim.size && *dim.size > 0 ? Dim(*dim.size) : Dim());
  if (shape.size() == type.shape.size()) return {};
  const std::string said = both(text_of(shape), text_of(type.shape));
  if (model_.producer == own_producer) return fail(Fault::Format, said);
  if (options_.remarks) options_.remarks->push_back(said + ", as runtimes do");
  return {};
}

// Sizes in between are often left over from an earlier state of the file, types hardly: runtimes hold a file to them.
Status ModelReader::check_infos(Names& names) const {
  for (const ValueInfo& info : model_.graph.infos) {
    const Known* known = names.find(info.name);
    const auto dtype = info.type ? dtype_of(*info.type) : std::nullopt;
    if (!known || !known->value || !dtype) continue;
    const TensorType& type = graph_[known->value].type;
    if (auto s = within("value '" + info.name + "'", expect_recorded(type, {*dtype, type.shape})); !s) return s;
  }
  return {};
}

Status ModelReader::check_model() {
  const auto found = model_.opsets.find("");
  // Older files do not say.
  opset_ = found != model_.opsets.end() ? found->second : model_.ir_version < 3 ? 1 : 0;
  if (found != model_.opsets.end() && (opset_ < 1 || opset_ > newest_read))
    return fail(Fault::Unsupported,
                "is of opset " + std::to_string(opset_) + ", this version reads 1 to " + std::to_string(newest_read));
  graph_.name = model_.graph.name;
  graph_.rules = onnx_runtime_rules;
  graph_.source_format = "ONNX opset " + std::to_string(opset_);
  if (!model_.producer.empty()) graph_.source_format += ", " + model_.producer;
  if (!model_.producer.empty() && !model_.producer_version.empty())
    graph_.source_format += " " + model_.producer_version;
  return {};
}

// Names of values or of nodes, which stand for their first result.
Result<std::vector<std::string>> ModelReader::wanted_outputs() const {
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
    if (node == model_.graph.nodes.end()) {
      std::vector<std::string> known;
      for (const ModelNode& n : model_.graph.nodes) {
        if (!n.name.empty()) known.push_back(n.name);
        known.insert(known.end(), n.outputs.begin(), n.outputs.end());
      }
      return fail(Fault::Usage, "there is no node or value '" + name + "' to cut at" + did_you_mean(name, known));
    }
    const bool value = std::ranges::find(node->outputs, name) != node->outputs.end();
    wanted.push_back(value ? name : node->outputs.front());
  }
  return wanted;
}

Status ModelReader::add_initializers(const ModelGraph& graph, Names& names) {
  for (const StoredTensor& stored : graph.initializers) {
    if (given_.contains(stored.name)) continue;  // an input's default
    auto tensor = within("initializer '" + stored.name + "'", source_.tensor(stored));
    if (!tensor) return pass(tensor);
    allowance_.add(tensor->count());
    const bool narrow = wide_type_of(stored.type).has_value(), trainable = is_floating(tensor->dtype()) && !narrow;
    Known known{{}, std::move(*tensor), {}, trainable, false, stored.name};
    if (narrow) known.narrow = stored.type;
    if (auto s = names.add(stored.name, std::move(known)); !s) return s;
  }
  return {};
}

Status ModelReader::add_inputs(Names& names) {
  const auto inputs = static_cast<std::size_t>(std::ranges::count_if(model_.graph.inputs, [&](const ValueInfo& info) {
    return !names.find(info.name) && !given_.contains(info.name);
  }));
  std::vector<std::string> defaults;
  for (const ValueInfo& info : model_.graph.inputs) {
    if (names.find(info.name)) {  // an initializer's value is its default
      defaults.push_back(info.name);
      continue;
    }
    if (const auto found = given_.find(info.name); found != given_.end()) {
      Known known{{}, found->second, {}, false, false};
      if (info.type && wide_type_of(*info.type)) known.narrow = *info.type;
      if (auto s = names.add(info.name, std::move(known)); !s) return s;
      continue;
    }
    auto added = within("input '" + info.name + "'", add_input(info, names, inputs));
    if (!added) return added;
  }
  tell_defaults(defaults);
  return {};
}

// Before version 4 of the format every weight stood among the inputs; since then an input with a number in the file is one that a
// caller may give.
void ModelReader::tell_defaults(const std::vector<std::string>& names) const {
  if (names.empty() || model_.ir_version < 4 || !options_.remarks) return;
  const bool several = names.size() > 1;
  options_.remarks->push_back(
      "input '" + names.front() + "' " +
      (several ? "and " + std::to_string(names.size() - 1) + " more have defaults" : "has a default") +
      " in the file, which " + (several ? "are constants" : "is a constant") + " here: nobody can give other numbers");
}

Status ModelReader::add_input(const ValueInfo& info, Names& names, std::size_t inputs) {
  const auto dtype = info.type ? dtype_of(*info.type) : std::nullopt;
  if (!info.type) return fail(Fault::Unsupported, "is no tensor");
  if (!dtype)
    return fail(Fault::Unsupported, "has element type " + name_of_type(*info.type) + ", which is not carried");
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
  if (const Shape* given = options_.shape_of(info.name, inputs)) {
    shape = *given;
    words.clear();
  } else if (!info.shape) {
    return fail(Fault::Unsupported, "has no shape; give one with --shape");
  }
  const ValueId value = graph_.input(info.name, {*dtype, shape});
  sizes_.add_input(graph_, value, words);
  return names.add(info.name, {value, {}, {}, false, false});
}

// What the outputs need, in the file's order, which must be one of computation.
Status ModelReader::add_nodes(const ModelGraph& graph, Names& names) {
  std::vector<char> needed(graph.nodes.size(), 0);
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    const ModelNode& node = graph.nodes[i];
    needed[i] = std::ranges::any_of(node.outputs, [&](const std::string& name) { return read_.contains(name); });
    if (needed[i]) names_read(node, read_);
  }
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const ModelNode& node = graph.nodes[i];
    const std::string name = node.own_name();
    if (options_.listing) options_.listing->push_back({name, node.type});
    if (!needed[i]) continue;
    auto added = within("node '" + name + "' (" + node.type + ", opset " + std::to_string(opset_) + ")",
                        add_node(node, name + turn_, names));
    if (!added) return added;
  }
  return {};
}

// The nodes that follow hold one factor, which tells neither scale.
void ModelReader::note_product_scales(const ModelNode& node, const std::string& name, Names& names) {
  const bool is_gemm = node.type == "QGemm";
  if (!is_gemm && node.type != "QLinearConv" && node.type != "QLinearMatMul") return;
  std::vector<std::vector<float>> scales;
  for (const std::size_t i : {std::size_t{1}, std::size_t{4}, std::size_t{is_gemm ? 7U : 6U}}) {
    const Known* known = i < node.inputs.size() ? names.find(node.inputs[i]) : nullptr;
    const Tensor* tensor = known && known->tensor                                   ? &*known->tensor
                           : known && known->value && graph_[known->value].constant ? &*graph_[known->value].constant
                                                                                    : nullptr;
    if (!tensor || tensor->dtype() != DType::F32 || tensor->count() == 0) return;
    scales.push_back(tensor->floats());
  }
  if (scales[0].size() != 1 || scales[2].size() != 1) return;
  graph_.product_scales[name] = {scales[0].front(), scales[2].front(), std::move(scales[1])};
}

Status ModelReader::add_node(const ModelNode& node, const std::string& name, Names& names) {
  note_product_scales(node, name, names);
  if (node.domain == "com.microsoft") {
    auto nodes = in_standard_operators(node);
    if (!nodes) return pass(nodes);
    for (const ModelNode& one : *nodes) names_read(one, read_);
    for (const ModelNode& one : *nodes)
      if (auto s = add_node(one, one.name.empty() ? name : one.name, names); !s) return s;
    return {};
  }
  if (!node.domain.empty() && node.domain != "ai.onnx")
    return fail(Fault::Unsupported, "is an operator of domain '" + node.domain + "', which this version does not read");
  if (opset_ == 0) return fail(Fault::Format, "is an operator of ONNX, of which the model says no opset");
  if (opset_ >= oldest_read) return add_own_node(node, name, names);
  std::vector<InputFacts> inputs;
  for (const std::string& input : node.inputs) inputs.push_back(facts_of(input.empty() ? nullptr : names.find(input)));
  ModelNode named = node;
  named.name = name;
  auto nodes = in_operators_of_set_7(named, opset_, inputs);
  if (!nodes) return pass(nodes);
  for (const ModelNode& one : *nodes) {
    if (auto s = check_node(one, oldest_read); !s) return s;
    names_read(one, read_);
    if (auto s = add_own_node(one, one.name, names); !s) return s;
  }
  return {};
}

InputFacts ModelReader::facts_of(Known* known) {
  if (!known) return {};
  InputFacts facts{std::nullopt, numbers(*known)};
  if (known->value) facts.shape = graph_[known->value].type.shape;
  else if (known->tensor) facts.shape = Shape(known->tensor->shape().begin(), known->tensor->shape().end());
  else if (known->numbers) facts.shape = Shape(known->numbers->shape.begin(), known->numbers->shape.end());
  else if (known->fill) facts.shape = Shape(known->fill->all.size(), Dim::unknown());
  return facts;
}

Status ModelReader::add_own_node(const ModelNode& node, const std::string& name, Names& names) {
  if (node.type == "Constant") {
    const bool known = node.outputs.size() == 1 && names.held_for_turns(node.outputs[0]);
    return known ? Status() : add_constant(node, names);
  }
  std::vector<Known*> inputs;
  for (const std::string& input : node.inputs) {
    inputs.push_back(input.empty() ? nullptr : names.find(input));
    if (!input.empty() && !inputs.back())
      return fail(Fault::Format, "reads '" + input + "', which no node before it gives");
  }
  auto narrow = narrow_result(node, inputs);
  if (!narrow) return pass(narrow);
  if (*narrow != 0 && node.type == "QuantizeLinear") return add_narrow_quantize(node, name, *narrow, inputs, names);
  const auto each = each_of_result(node, inputs);
  auto added = add_in_its_way(node, name, inputs, names);
  if (Known* known = each && added ? names.find(node.outputs[0]) : nullptr) known->each = each;
  if (added) note_unfollowed(node, name, inputs, names);
  for (const Known* input : inputs)
    if (!added && added.error().fault == Fault::Unsupported && input && !input->unfollowed.empty()) {
      added.error().what += "; sizes are not followed through " + input->unfollowed;
      break;
    }
  for (const std::string& output : node.outputs)
    if (Known* known = *narrow != 0 && added ? names.find(output) : nullptr) known->narrow = *narrow;
  return added;
}

// As it is read, or with what one run says of its inputs.
Status ModelReader::add_in_its_way(const ModelNode& node, const std::string& name, const std::vector<Known*>& inputs,
                                   Names& names) {
  auto added = add_by_its_kind(node, name, inputs, names);
  const bool holds_graphs = std::ranges::any_of(node.attributes, [](const Attribute& a) { return a.graph != nullptr; });
  if (!options_.answers || holds_graphs) return added;
  // What stands behind the first input says how; last of all that as well.
  for (const std::size_t first : {1, 0}) {
    if (added || added.error().fault != Fault::Unsupported || first >= inputs.size()) continue;
    const auto asked = ask(std::span(inputs).subspan(first));
    if (!asked) return std::unexpected(asked.error());
    if (*asked > 0) added = add_by_its_kind(node, name, inputs, names);
  }
  return added;
}

Status ModelReader::add_by_its_kind(const ModelNode& node, const std::string& name, const std::vector<Known*>& inputs,
                                    Names& names) {
  if (node.type == "If") return add_branch(node, name, inputs, names);
  if (node.type == "Loop") return add_loop(node, inputs, names);
  if (node.type == "Scan") return add_scan(node, inputs, names);
  if (node.type == "Shape" || node.type == "Size") return add_shape(node, inputs, names);
  if (node.type == "Identity" && inputs.size() == 1 && inputs[0] && !inputs[0]->value && node.outputs.size() == 1)
    return names.add(node.outputs[0], *inputs[0]);
  if (auto computed = add_computed(node, inputs, names); !computed || *computed) return done(computed);
  if (node.type == "ConstantOfShape") return add_filled(node, inputs, names);
  if (node.type == "Range") return add_range(node, name, inputs, names);
  if (stretches(node, inputs)) return add_stretched(node, name, inputs, names);
  if (is_told_freely(node, inputs)) return add_told_freely(node, name, inputs, names);
  return add_row(node, name, inputs, names);
}

namespace {

// The initializers of a graph and of those inside it; of an inner graph, what its Constant nodes hold as well. A name that
// an outer graph or another branch has gets its way in front: "if_3/then_branch/w".
Status add_tensors(const ModelGraph& graph, TensorSource& source, const std::string& way,
                   std::unordered_set<std::string>& names, std::vector<LoadedTensor>& all) {
  const auto add = [&](const std::string& name, const StoredTensor& stored) -> Status {
    auto tensor = within("initializer '" + name + "'", source.tensor(stored));
    if (!tensor) return pass(tensor);
    const bool taken = !names.insert(name).second;
    all.push_back({taken && !way.empty() ? way + name : name, std::move(*tensor)});
    return {};
  };
  for (const StoredTensor& stored : graph.initializers)
    if (auto s = add(stored.name, stored); !s) return s;
  for (const ModelNode& node : graph.nodes)
    for (const Attribute& attribute : node.attributes) {
      const std::string node_name = node.own_name();
      if (attribute.graph) {
        const std::string inner = way + node_name + "/" + attribute.name + "/";
        if (auto s = add_tensors(*attribute.graph, source, inner, names, all); !s) return s;
      } else if (!way.empty() && node.type == "Constant" && attribute.tensor && !node.outputs.empty()) {
        if (auto s = add(node.outputs.front(), *attribute.tensor); !s) return s;
      }
    }
  return {};
}

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
  auto set = inputs_set(*model, options);
  if (!set) return pass(set);
  set->insert(given.begin(), given.end());
  return ModelReader(*model, TensorSource(blob.keeper, folder, options.side_files), options, *set).read();
}

Result<std::vector<LoadedTensor>> weights_of_model(const Blob& blob, const std::filesystem::path& folder) {
  const auto model = parse_model(blob.bytes);
  if (!model) return std::unexpected(model.error());
  TensorSource source(blob.keeper, folder);
  std::vector<LoadedTensor> all;
  std::unordered_set<std::string> names;
  if (auto s = add_tensors(model->graph, source, "", names, all); !s) return pass(s);
  return all;
}

}  // namespace convoy::onnx
