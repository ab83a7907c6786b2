// Walks one subgraph: its inputs, its operators in their order, its outputs.
#include "base/fresh_names.h"
#include "base/nearest.h"
#include "formats/tflite/reader.h"
#include "formats/tflite/types.h"

#include <algorithm>
#include <set>

namespace convoy::tflite {
namespace {

// Names that converters fuse stand side by side: "conv/BiasAdd;relu;conv/Conv2D".
std::string first_of(const std::string& name) { return name.substr(0, name.find(';')); }

}  // namespace

std::string ModelReader::name_of(std::int32_t tensor) const {
  const std::string& name = subgraph_->tensors[static_cast<std::size_t>(tensor)].name;
  if (signature_) {
    if (const auto at = signature_->inputs.find(tensor);
        at != signature_->inputs.end() && !at->second.empty() && std::ranges::count(subgraph_->inputs, tensor) > 0)
      return at->second;
  }
  return name.empty() ? "tensor" + std::to_string(tensor) : name;
}

// Of each operator another: the first of the names, all of them where that is taken.
void ModelReader::name_layers() {
  FreshNames names;
  for (std::size_t i = 0; i < subgraph_->operators.size(); ++i) {
    const StoredOperator& op = subgraph_->operators[i];
    const std::string all = op.outputs.empty() ? std::string() : name_of(op.outputs[0]);
    std::string first = first_of(all);
    if (first.empty()) first = "operator" + std::to_string(i);
    layers_.push_back(way_ + names.take(names.free(first) ? first : all, "_", 1));
  }
}

Status ModelReader::check() const {
  const auto exists = [&](std::int32_t t, bool optional) {
    return (optional && t == -1) || item(subgraph_->tensors, t) != nullptr;
  };
  for (const auto* list : {&subgraph_->inputs, &subgraph_->outputs})
    for (const std::int32_t t : *list)
      if (!exists(t, false))
        return fail(Fault::Format, "an input or output is tensor " + std::to_string(t) + ", there are " +
                                       std::to_string(subgraph_->tensors.size()));
  for (std::size_t i = 0; i < subgraph_->operators.size(); ++i) {
    const StoredOperator& op = subgraph_->operators[i];
    const std::string place = "operator " + std::to_string(i);
    if (!item(model_.codes, op.code))
      return fail(Fault::Format, place + " has code " + std::to_string(op.code) + ", there are " +
                                     std::to_string(model_.codes.size()));
    for (const std::int32_t t : op.inputs)
      if (!exists(t, true)) return fail(Fault::Format, place + " reads tensor " + std::to_string(t));
    for (const std::int32_t t : op.outputs)
      if (!exists(t, false)) return fail(Fault::Format, place + " gives tensor " + std::to_string(t));
  }
  return {};
}

Result<std::vector<std::int32_t>> ModelReader::wanted_outputs() const {
  if (options_.outputs.empty()) {
    if (subgraph_->outputs.empty()) return fail(Fault::Format, "the model has no output");
    return subgraph_->outputs;
  }
  std::vector<std::int32_t> wanted;
  std::vector<std::string> names;
  for (std::size_t t = 0; t < subgraph_->tensors.size(); ++t) names.push_back(name_of(static_cast<std::int32_t>(t)));
  for (const std::string& name : options_.outputs) {
    const auto found =
        std::ranges::find_if(names, [&](const std::string& n) { return n == name || first_of(n) == name; });
    if (found == names.end())
      return fail(Fault::Usage, "there is no tensor '" + name + "' to cut at" + did_you_mean(name, names));
    wanted.push_back(static_cast<std::int32_t>(found - names.begin()));
  }
  return wanted;
}

std::vector<char> ModelReader::needed(const std::vector<std::int32_t>& outputs) const {
  std::vector<char> tensors(subgraph_->tensors.size(), 0), operators(subgraph_->operators.size(), 0);
  for (const std::int32_t t : outputs) tensors[static_cast<std::size_t>(t)] = 1;
  for (std::size_t i = operators.size(); i-- > 0;) {
    const StoredOperator& op = subgraph_->operators[i];
    operators[i] =
        (changes_state(op) && (options_.outputs.empty() || depth_ > 0)) ||
        std::ranges::any_of(op.outputs, [&](std::int32_t t) { return tensors[static_cast<std::size_t>(t)] != 0; });
    if (operators[i] == 0) continue;
    for (const std::int32_t t : op.inputs)
      if (t >= 0) tensors[static_cast<std::size_t>(t)] = 1;
  }
  return operators;
}

// That of the signature that is asked for, or of the usual one; the first where all signatures, or none, are of it.
Status ModelReader::choose_subgraph() {
  if (model_.subgraphs.empty()) return fail(Fault::Format, "holds no subgraph");
  std::vector<std::string> keys;
  std::string all;
  std::set<std::uint32_t> subgraphs;
  for (const Signature& s : model_.signatures) {
    keys.push_back(s.key);
    all += (all.empty() ? "'" : ", '") + s.key + "'";
    subgraphs.insert(s.subgraph);
  }
  const bool is_open = subgraphs.size() > 1;  // which one is meant
  const std::string wanted = options_.signature.value_or(is_open ? "serving_default" : "");
  const auto found = std::ranges::find(model_.signatures, wanted, &Signature::key);
  if (found != model_.signatures.end()) signature_ = &*found;
  else if (options_.signature && (options_.for_one_model || model_.signatures.size() > 1))
    return fail(Fault::Usage, "has no signature '" + wanted + "'" +
                                  did_you_mean(wanted, keys, "it has " + (all.empty() ? "none" : all)));
  else if (is_open) return fail(Fault::Usage, "has the signatures " + all + "; choose one with --signature");
  else if (model_.signatures.size() == 1 && model_.signatures.front().subgraph == 0)
    signature_ = &model_.signatures.front();
  const std::size_t at = signature_ ? signature_->subgraph : 0;
  if (at >= model_.subgraphs.size())
    return fail(Fault::Format, "signature '" + signature_->key + "' is of subgraph " + std::to_string(at) + " of " +
                                   std::to_string(model_.subgraphs.size()));
  subgraph_ = &model_.subgraphs[at];
  return {};
}

Status ModelReader::add_operators(const std::vector<std::int32_t>& outputs) {
  const std::vector<char> used = needed(outputs);
  for (std::size_t i = 0; i < subgraph_->operators.size(); ++i) {
    const OperatorCode& code = model_.codes[subgraph_->operators[i].code];
    const std::string kind = !code.custom.empty() ? code.custom : name_of_operator(code.builtin);
    if (options_.listing && depth_ == 0) options_.listing->push_back({layers_[i], kind});
    if (used[i] == 0) continue;
    auto added = within("operator " + std::to_string(i) + " '" + layers_[i] + "' (" + kind + ")", add_operator(i));
    if (!added) return added;
  }
  return {};
}

// Of a tensor that the signature names several times, each name is an output, in the tensor's places among the outputs as long as
// there are any, and behind them.
Status ModelReader::add_outputs(std::vector<std::int32_t> wanted) {
  std::map<std::int32_t, std::vector<std::string>> said;
  if (signature_ && options_.outputs.empty())
    for (const std::int32_t t : std::set<std::int32_t>(wanted.begin(), wanted.end())) {
      const auto found = signature_->outputs.find(t);
      if (found == signature_->outputs.end()) continue;
      said[t] = found->second;
      for (auto more = std::ssize(said[t]) - std::ranges::count(wanted, t); more > 0; --more) wanted.push_back(t);
      std::ranges::reverse(said[t]);
    }
  FreshNames output_names;
  for (const std::int32_t t : wanted) {
    const auto value = within("output '" + name_of(t) + "'", value_of(t));
    if (!value) return std::unexpected(value.error());
    if (known_[static_cast<std::size_t>(t)].imaginary)
      return fail(Fault::Unsupported, "output '" + name_of(t) +
                                          "' is of complex numbers; cut the model with --outputs "
                                          "where they are real");
    graph_.outputs.push_back(*value);
    std::string name = name_of(t);
    if (auto& names = said[t]; !names.empty()) {
      if (!names.back().empty()) name = names.back();
      if (names.size() > 1) names.pop_back();
    }
    graph_.output_names.push_back(output_names.take(name, ".", 1));
  }
  return {};
}

Result<Graph> ModelReader::read() {
  if (auto s = choose_subgraph(); !s) return pass(s);
  graph_.name = subgraph_->name;
  graph_.rules = tensorflow_rules;
  graph_.source_format = "TFLite";
  if (auto s = check(); !s) return pass(s);
  name_layers();
  known_.resize(subgraph_->tensors.size());
  const auto wanted = wanted_outputs();
  if (!wanted) return std::unexpected(wanted.error());
  if (auto s = begin_states(); !s) return pass(s);
  if (auto s = add_inputs(); !s) return pass(s);
  if (auto s = add_operators(*wanted); !s) return pass(s);
  if (auto s = add_outputs(*wanted); !s) return pass(s);
  if (auto s = add_states_to_outputs(); !s) return pass(s);
  name_values(graph_);
  prune(graph_);
  return std::move(graph_);
}

// Values take the file's names; what rows put in between has others, also than tensors that became no value.
void ModelReader::name_values(Graph& graph) const {
  std::set<std::string> taken;
  std::map<ValueId, std::string> said;
  for (const auto& [value, name] : names_)
    if (!said.contains(value) && taken.insert(name).second) said.emplace(value, name);
  for (std::size_t i = 0; i < graph.values.size(); ++i) {
    const ValueId v{static_cast<std::int32_t>(i)};
    if (const auto found = said.find(v); found != said.end()) graph[v].name = found->second;
  }
  const auto name_rest = [&](FreshNames names, bool computed) {
    for (std::size_t i = 0; i < graph.values.size(); ++i)
      if (const ValueId v{static_cast<std::int32_t>(i)};
          !said.contains(v) && static_cast<bool>(graph[v].producer) == computed)
        taken.insert(graph[v].name = names.take(graph[v].name, ".", 1));
  };
  name_rest(FreshNames(taken), false);
  for (std::size_t t = 0; t < subgraph_->tensors.size(); ++t) taken.insert(name_of(static_cast<std::int32_t>(t)));
  name_rest(FreshNames(taken), true);
}

Result<Shape> ModelReader::shape_of_input(const StoredTensor& tensor, const std::string& name) const {
  const auto& said = tensor.signature.size() == tensor.shape.size() ? tensor.signature : tensor.shape;
  Shape shape;
  for (const std::int32_t n : said) {
    if (n < -1) return fail(Fault::Format, "has a size of " + std::to_string(n));
    shape.push_back(n < 1 ? Dim::unknown() : Dim(n));
  }
  const std::size_t space = options_.size.size();
  for (std::size_t i = 0; space > 0 && shape.size() == space + 2 && i < space; ++i)
    shape[i + 1] = options_.size[i] ? Dim(*options_.size[i]) : Dim::unknown();
  if (const Shape* given = options_.shape_of(name, subgraph_->inputs.size())) shape = *given;
  return shape;
}

Status ModelReader::add_inputs() {
  for (const std::int32_t t : subgraph_->inputs) {
    const StoredTensor& tensor = subgraph_->tensors[static_cast<std::size_t>(t)];
    const std::string name = name_of(t), place = "input '" + name + "'";
    auto dtype = dtype_of(tensor.type);
    if (!dtype)
      return within(place, Status(fail(Fault::Unsupported,
                                       "is of type " + name_of_type(tensor.type) + ", which is not carried")));
    if (auto s = within(place, check_quantization(t)); !s) return s;
    if (tensor.is_quantized()) dtype = DType::F32;
    const auto shape = within(place, shape_of_input(tensor, name));
    if (!shape) return std::unexpected(shape.error());
    if (known_[static_cast<std::size_t>(t)].value) return fail(Fault::Format, place + " is there twice");
    auto quantization = within(place, quantization_of(t));
    if (!quantization) return std::unexpected(quantization.error());
    const ValueId value = graph_.input(name, {*dtype, *shape});
    graph_[value].quantization = std::move(*quantization);
    // An integer cannot lie outside, so nothing is cut here.
    if (const auto range = range_of(t); range && options_.dequantizes) ranges_.emplace(value, *range);
    known_[static_cast<std::size_t>(t)].value = value;
    names_.emplace_back(value, name);
  }
  return {};
}

Result<Graph> read_model(const Blob& blob, const LoadOptions& options) {
  const auto model = parse_model(blob.bytes);
  if (!model) return std::unexpected(model.error());
  auto graph = ModelReader(*model, blob.keeper, options).read();
  if (graph && options.dequantizes && options.remarks)
    options.remarks->push_back(
        "quantised numbers stand for the real ones that they mean: nothing is rounded to their "
        "steps, and what lies beyond their ranges is cut off");
  return graph;
}

Result<std::vector<LoadedTensor>> weights_of_model(const Blob& blob) {
  const auto model = parse_model(blob.bytes);
  if (!model) return std::unexpected(model.error());
  std::vector<LoadedTensor> all;
  FreshNames names;
  for (const SubGraph& graph : model->subgraphs)
    for (const StoredTensor& stored : graph.tensors) {
      const Bytes* bytes = item(model->buffers, stored.buffer);
      const auto dtype = dtype_of(stored.type);
      if (!bytes || bytes->empty() || !dtype || stored.external != 0) continue;
      auto tensor = within("tensor '" + stored.name + "'", held_numbers(stored, *bytes, blob.keeper));
      if (!tensor) return pass(tensor);
      all.push_back({names.take(stored.name, ".", 1), std::move(*tensor)});
    }
  return all;
}

}  // namespace convoy::tflite
