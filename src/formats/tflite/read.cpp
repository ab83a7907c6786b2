// Walks the first subgraph: its inputs, its operators in their order, its outputs.
#include "base/budget.h"
#include "base/nearest.h"
#include "base/words.h"
#include "formats/tflite/reader.h"
#include "formats/tflite/types.h"
#include "ops/expect.h"
#include "run/run.h"

#include <algorithm>
#include <charconv>
#include <set>

namespace convoy::tflite {
namespace {

template <class T>
const T* item(const std::vector<T>& all, std::int64_t place) {
  return place >= 0 && static_cast<std::size_t>(place) < all.size() ? &all[static_cast<std::size_t>(place)] : nullptr;
}

// The number that a float32 was written for: 0.1, not 0.10000000149.
double shortest_of(float number) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, number).ptr;
  double read = static_cast<double>(number);
  std::from_chars(text, end, read);
  return read;
}

// Names that converters fuse stand side by side: "conv/BiasAdd;relu;conv/Conv2D".
std::string first_of(const std::string& name) { return name.substr(0, name.find(';')); }

}  // namespace

std::string ModelReader::name_of(std::int32_t tensor) const {
  const std::string& name = subgraph_->tensors[static_cast<std::size_t>(tensor)].name;
  if (signature_) {
    if (const auto at = signature_->inputs.find(tensor);
        at != signature_->inputs.end() && std::ranges::count(subgraph_->inputs, tensor) > 0)
      return at->second;
  }
  return name.empty() ? "tensor" + std::to_string(tensor) : name;
}

std::string ModelReader::layer_of(std::size_t place) const {
  const StoredOperator& op = subgraph_->operators[place];
  const std::string name = op.outputs.empty() ? std::string() : first_of(name_of(op.outputs[0]));
  return name.empty() ? "operator" + std::to_string(place) : name;
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
        std::ranges::any_of(op.outputs, [&](std::int32_t t) { return tensors[static_cast<std::size_t>(t)] != 0; });
    if (operators[i] == 0) continue;
    for (const std::int32_t t : op.inputs)
      if (t >= 0) tensors[static_cast<std::size_t>(t)] = 1;
  }
  return operators;
}

Result<Graph> ModelReader::read() {
  if (model_.subgraphs.empty()) return fail(Fault::Format, "holds no subgraph");
  subgraph_ = &model_.subgraphs.front();
  std::vector<const Signature*> signatures;
  for (const Signature& s : model_.signatures)
    if (s.subgraph == 0) signatures.push_back(&s);
  if (signatures.size() == 1) signature_ = signatures.front();
  graph_.name = subgraph_->name;
  graph_.rules = tensorflow_rules;
  graph_.source_format = "TFLite";
  if (auto s = check(); !s) return pass(s);
  known_.resize(subgraph_->tensors.size());
  const auto wanted = wanted_outputs();
  if (!wanted) return std::unexpected(wanted.error());
  const std::vector<char> used = needed(*wanted);
  if (auto s = add_inputs(); !s) return pass(s);
  for (std::size_t i = 0; i < subgraph_->operators.size(); ++i) {
    const StoredOperator& op = subgraph_->operators[i];
    const OperatorCode& code = model_.codes[op.code];
    const Operator* row = code.custom.empty() ? operator_of(code.builtin) : nullptr;
    const std::string kind = !code.custom.empty() ? code.custom
                             : row                ? std::string(row->name)
                                                  : "builtin " + std::to_string(code.builtin);
    if (options_.listing) options_.listing->push_back({layer_of(i), kind});
    if (used[i] == 0) continue;
    auto added = within("operator " + std::to_string(i) + " '" + layer_of(i) + "' (" + kind + ")", add_operator(i));
    if (!added) return pass(added);
  }
  std::set<std::string> output_names;
  for (const std::int32_t t : *wanted) {
    const auto value = within("output '" + name_of(t) + "'", value_of(t));
    if (!value) return std::unexpected(value.error());
    graph_.outputs.push_back(*value);
    std::string name = name_of(t);
    if (signature_ && options_.outputs.empty())
      if (const auto said = signature_->outputs.find(t); said != signature_->outputs.end()) name = said->second;
    const std::string plain_name = name;
    for (int n = 1; !output_names.insert(name).second; ++n) name = plain_name + "." + std::to_string(n);
    graph_.output_names.push_back(name);
  }
  name_values(graph_);
  prune(graph_);
  return std::move(graph_);
}

// Values take the file's names; what rows put in between has others.
void ModelReader::name_values(Graph& graph) const {
  std::set<std::string> taken;
  std::map<ValueId, std::string> said;
  for (const auto& [value, name] : names_)
    if (!said.contains(value) && taken.insert(name).second) said.emplace(value, name);
  for (std::size_t i = 0; i < graph.values.size(); ++i) {
    const ValueId v{static_cast<std::int32_t>(i)};
    if (const auto found = said.find(v); found != said.end()) graph[v].name = found->second;
  }
  for (std::size_t i = 0; i < graph.values.size(); ++i) {
    const ValueId v{static_cast<std::int32_t>(i)};
    if (said.contains(v)) continue;
    const std::string plain_name = graph[v].name;
    for (int n = 1; !taken.insert(graph[v].name).second; ++n) graph[v].name = plain_name + "." + std::to_string(n);
  }
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
                                       "is of type " + std::to_string(tensor.type) + ", which is not carried")));
    if (auto s = within(place, check_quantization(t)); !s) return s;
    if (tensor.is_quantized()) dtype = DType::F32;
    const auto shape = within(place, shape_of_input(tensor, name));
    if (!shape) return std::unexpected(shape.error());
    if (known_[static_cast<std::size_t>(t)].value) return fail(Fault::Format, place + " is there twice");
    const ValueId value = graph_.input(name, {*dtype, *shape});
    known_[static_cast<std::size_t>(t)].value = value;
    names_.emplace_back(value, name);
  }
  return {};
}

Status ModelReader::check_quantization(std::int32_t t) const {
  const StoredTensor& tensor = subgraph_->tensors[static_cast<std::size_t>(t)];
  if (!tensor.is_quantized() || dequantizes()) return {};
  const auto dtype = dtype_of(tensor.type);
  if (dtype && is_floating(*dtype)) return {};
  return fail(Fault::Unsupported, "'" + name_of(t) +
                                      "' holds quantised numbers; add --dequantize to carry the real "
                                      "numbers that they stand for, which rounds less than the model does");
}

Result<Tensor> ModelReader::numbers_of(const StoredTensor& stored) const {
  const auto dtype = dtype_of(stored.type);
  if (!dtype) return fail(Fault::Unsupported, "is of type " + std::to_string(stored.type) + ", which is not carried");
  if (stored.is_sparse) return fail(Fault::Unsupported, "stores its numbers sparsely, which is not carried");
  if (stored.external != 0) return fail(Fault::Unsupported, "stores its numbers in another file, which is not read");
  Sizes shape;
  for (const std::int32_t n : stored.shape) {
    if (n < 0) return fail(Fault::Format, "has a size of " + std::to_string(n));
    shape.push_back(n);
  }
  const Bytes bytes = model_.buffers[stored.buffer];
  auto tensor = Tensor::view(*dtype, std::move(shape), bytes, keeper_);
  // Converters put buffers at any multiple of 4.
  if (tensor && !tensor->aligned()) {
    if (auto afforded = budget::afford(static_cast<Size>(bytes.size()), "a weight"); !afforded) return pass(afforded);
    return tensor->realigned();
  }
  return tensor;
}

namespace {

// (q - zero point) * scale, one pair for all or one for each place along an axis.
Result<Tensor> real_numbers(const Tensor& stored, const Quantization& q) {
  const std::size_t pairs = q.scale.size();
  const auto axis = static_cast<std::size_t>(q.axis);
  const bool per_axis = pairs != 1;
  if (q.is_custom || pairs == 0 || (q.zero_point.size() != pairs && q.zero_point.size() > 1) ||
      (per_axis && (q.axis < 0 || axis >= stored.shape().size() || stored.shape()[axis] != static_cast<Size>(pairs))))
    return fail(Fault::Format, "has " + std::to_string(pairs) + " scales along axis " + std::to_string(q.axis) +
                                   " of shape " + text_of(stored.shape()));
  if (auto afforded = budget::afford(stored.count() * 16, "the real numbers of a weight"); !afforded)
    return std::unexpected(afforded.error());
  const auto numbers = stored.integers();
  std::vector<float> real(numbers.size());
  Size inner = 1;
  for (std::size_t i = axis + 1; per_axis && i < stored.shape().size(); ++i) inner *= stored.shape()[i];
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::size_t p = per_axis ? i / static_cast<std::size_t>(inner) % pairs : 0;
    const std::int64_t zero = q.zero_point.empty() ? 0 : q.zero_point[q.zero_point.size() == 1 ? 0 : p];
    real[i] = static_cast<float>(static_cast<double>(numbers[i] - zero) * static_cast<double>(q.scale[p]));
  }
  return Tensor::of(stored.shape(), std::move(real));
}

}  // namespace

Result<const Tensor*> ModelReader::known_tensor(std::int32_t t) {
  Known& known = known_[static_cast<std::size_t>(t)];
  if (known.tensor) return &*known.tensor;
  if (known.value || known.sizes) return nullptr;
  const StoredTensor& stored = subgraph_->tensors[static_cast<std::size_t>(t)];
  if (!item(model_.buffers, stored.buffer))
    return fail(Fault::Format, "tensor '" + name_of(t) + "' has buffer " + std::to_string(stored.buffer) +
                                   ", there are " + std::to_string(model_.buffers.size()));
  // Tensors without numbers share an empty buffer; one without elements has none either.
  const bool is_empty = std::ranges::count(stored.shape, 0) > 0;
  if (stored.is_variable || (model_.buffers[stored.buffer].empty() && (!is_empty || stored.buffer == 0)))
    return nullptr;
  if (auto s = check_quantization(t); !s) return std::unexpected(s.error());
  auto tensor = within("tensor '" + name_of(t) + "'", numbers_of(stored));
  if (!tensor) return std::unexpected(tensor.error());
  if (stored.is_quantized() && !is_floating(tensor->dtype()))
    tensor = within("tensor '" + name_of(t) + "'", real_numbers(*tensor, stored.quantization));
  if (!tensor) return std::unexpected(tensor.error());
  known.tensor = std::move(*tensor);
  allowance_.add(known.tensor->count());
  return &*known.tensor;
}

const SizeNumbers* ModelReader::known_sizes(std::int32_t t) {
  Known& known = known_[static_cast<std::size_t>(t)];
  if (known.sizes) return &*known.sizes;
  const auto tensor = known_tensor(t);
  if (!tensor || !*tensor || is_floating((*tensor)->dtype()) || (*tensor)->count() > 64 || (*tensor)->rank() > 1)
    return nullptr;
  SizeNumbers numbers{{}, (*tensor)->rank() == 0};
  for (const Size n : (*tensor)->integers()) numbers.all.push_back(plain(n));
  known.sizes = std::move(numbers);
  return &*known.sizes;
}

Result<ValueId> ModelReader::value_of(std::int32_t t) {
  Known& known = known_[static_cast<std::size_t>(t)];
  if (known.value) return known.value;
  const auto tensor = known_tensor(t);
  if (!tensor) return std::unexpected(tensor.error());
  const std::string name = name_of(t);
  if (!*tensor) {
    if (known.sizes)
      return fail(Fault::Unsupported,
                  "'" + name + "' follows from sizes that are not known beforehand; give them with --shape");
    return fail(Fault::Format, "'" + name + "' is read before anything gives it");
  }
  known.value = graph_.constant(graph_.unique_name(name), **tensor, is_floating((*tensor)->dtype()));
  graph_[known.value].literal = (*tensor)->rank() == 0;
  return known.value;
}

Result<Json> ModelReader::options_of(const Operator& row, const StoredOperator& op) const {
  Json said = Json::object();
  if (op.options_2_kind != 0)
    return fail(Fault::Unsupported, "has options of kind " + std::to_string(op.options_2_kind) +
                                        " of the newer union, which are not understood");
  if (row.options.empty()) return said;
  if (op.options_kind != 0 && op.options_kind != row.options_kind)
    return fail(Fault::Format, "has options of kind " + std::to_string(op.options_kind) + ", expected " +
                                   std::to_string(row.options_kind));
  int field = 0;
  const auto words = words_in(row.options);
  for (const std::string_view word : words) {
    const int at = field++;
    if (word == "-") continue;
    const auto colon = word.find(':');
    const std::string name(word.substr(0, colon));
    const char kind = word[colon + 1];
    const Size otherwise = word.ends_with("=1") ? 1 : 0;
    if (kind == 'I') {
      if (op.options && op.options->has(at)) said[name] = op.options->numbers<std::int32_t>(at);
    } else if (!op.options) {
      said[name] = otherwise;
    } else if (kind == 'b') {
      said[name] = op.options->number<std::int8_t>(at, static_cast<std::int8_t>(otherwise));
    } else if (kind == 'i') {
      said[name] = op.options->number<std::int32_t>(at, static_cast<std::int32_t>(otherwise));
    } else {
      said[name] = shortest_of(op.options->number<float>(at));
    }
  }
  for (int i = static_cast<int>(words.size()); op.options && i < op.options->fields(); ++i)
    if (op.options->has(i))
      return fail(Fault::Unsupported, "has an option number " + std::to_string(i) + ", which is not understood");
  if (const auto sound = model_.file->done(); !sound) return std::unexpected(sound.error());
  return said;
}

Status ModelReader::add_operator(std::size_t place) {
  const StoredOperator& op = subgraph_->operators[place];
  const OperatorCode& code = model_.codes[op.code];
  if (code.builtin == 32 || !code.custom.empty())
    return fail(Fault::Unsupported, "is the custom operator '" + code.custom + "', which this version does not read");
  for (const std::int32_t t : op.outputs) {
    if (known_[static_cast<std::size_t>(t)].value || known_[static_cast<std::size_t>(t)].sizes)
      return fail(Fault::Format, "gives '" + name_of(t) + "', which is there already");
    if (auto s = check_quantization(t); !s) return s;
  }
  const Operator* row = operator_of(code.builtin);
  if (row && row->name == "SHAPE") return add_shape(op);
  if (!row) return fail(Fault::Unsupported, "is an operator that this version does not read");
  return add_row(*row, op, layer_of(place));
}

Status ModelReader::add_shape(const StoredOperator& op) {
  if (op.inputs.size() != 1 || op.outputs.size() != 1 || op.inputs[0] < 0)
    return fail(Fault::Format, "takes one tensor and gives one");
  const auto x = value_of(op.inputs[0]);
  if (!x) return std::unexpected(x.error());
  SizeNumbers sizes;
  for (Size i = 0; i < graph_[*x].type.rank(); ++i) sizes.all.push_back(size_number(graph_, *x, i));
  Known& made = known_[static_cast<std::size_t>(op.outputs[0])];
  if (sizes.known()) {
    std::vector<std::int64_t> all;
    for (const SizeNumber& n : sizes.all) all.push_back(n.more);
    made.tensor = Tensor::of({static_cast<Size>(all.size())}, std::move(all));
  }
  made.sizes = std::move(sizes);
  return {};
}

Result<bool> ModelReader::add_computed(const Operator& row, const StoredOperator& op, const Json& attributes) {
  std::vector<const Tensor*> tensors;
  std::vector<const SizeNumbers*> sizes;
  bool all_tensors = true, all_sizes = true, free = false;
  for (const std::int32_t t : op.inputs) {
    if (t < 0) {
      tensors.push_back(nullptr);
      continue;
    }
    const auto tensor = known_tensor(t);
    if (!tensor) return std::unexpected(tensor.error());
    tensors.push_back(*tensor);
    all_tensors = all_tensors && *tensor;
    const SizeNumbers* known = known_sizes(t);
    all_sizes = all_sizes && known;
    free = free || (known && !known->known());
    sizes.push_back(known);
  }
  if (op.inputs.empty()) return false;
  if (!all_tensors) {
    if (!all_sizes || !free || op.outputs.size() != 1) return false;
    const auto mask = [&](const char* name) {
      return attributes.contains(name) ? attributes[name].get<Size>() : Size{0};
    };
    auto made = computed(row.name, sizes, mask("axis"), mask("shrink_axis_mask"), mask("begin_mask"), mask("end_mask"));
    if (!made) return false;
    Known& known = known_[static_cast<std::size_t>(op.outputs[0])];
    if (made->known()) {
      std::vector<std::int64_t> all;
      for (const SizeNumber& n : made->all) all.push_back(n.more);
      const Sizes shape = made->is_scalar ? Sizes{} : Sizes{static_cast<Size>(all.size())};
      known.tensor = Tensor::of(shape, std::move(all));
    }
    known.sizes = std::move(*made);
    return true;
  }
  Graph graph;
  graph.rules = graph_.rules;
  TensorArguments arguments;
  const auto parameters = words_in(row.inputs);
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    if (!tensors[i]) continue;
    std::string name;
    if (parameters.back().ends_with("...") && i + 1 >= parameters.size())
      name = std::string(parameters.back().substr(0, parameters.back().size() - 3)) + "." +
             std::to_string(i + 1 - parameters.size());
    else if (i < parameters.size()) name = parameters[i];
    else return false;
    arguments.emplace(name, graph.constant(graph.unique_name(name), *tensors[i]));
  }
  const std::size_t given = graph.values.size();
  auto outputs = call_function(functions(), graph, std::string(row.name), attributes, std::move(arguments),
                               std::string(row.name), {.results = op.outputs.size()});
  if (!outputs || outputs->size() < op.outputs.size()) return false;  // its row says why
  if (auto s = allowance_.spend(cost_of(graph, given)); !s) return std::unexpected(s.error());
  graph.outputs = *outputs;
  for (std::size_t i = 0; i < outputs->size(); ++i) graph.output_names.push_back(std::to_string(i));
  auto values = run(graph, {}, {.precision = Precision::Double});
  if (!values) return pass(values);
  for (std::size_t i = 0; i < op.outputs.size(); ++i) {
    const Tensor& value = values->at((*outputs)[i]);
    const DType wanted = graph[(*outputs)[i]].type.dtype;
    known_[static_cast<std::size_t>(op.outputs[i])].tensor =
        is_floating(wanted) ? value.converted(wanted) : Tensor::of(value.shape(), value.integers());
  }
  return true;
}

bool ModelReader::adapt(const Operator& row, const StoredOperator& op, Json& attributes, TensorArguments& tensors) {
  const auto open = [&](std::size_t i) -> const SizeNumbers* {
    if (i >= op.inputs.size() || op.inputs[i] < 0) return nullptr;
    const Known& known = known_[static_cast<std::size_t>(op.inputs[i])];
    return known.sizes && !known.sizes->known() ? &*known.sizes : nullptr;
  };
  const auto instead = [&](const char* name, Sizes numbers) {
    const auto count = static_cast<Size>(numbers.size());
    tensors[name] = graph_.constant(graph_.unique_name(name), Tensor::of({count}, std::move(numbers)), false);
  };
  if (row.name == "RESHAPE" || row.name == "BROADCAST_TO") {
    const SizeNumbers* to = open(1);
    const ValueId x = tensors["input"];
    if (!to || !x || row.name != "RESHAPE") return false;
    Sizes said;
    int left = 0;
    for (std::size_t i = 0; i < to->all.size(); ++i) {
      const SizeNumber& n = to->all[i];
      const auto axis = static_cast<Size>(i);
      if (n.known()) said.push_back(n.more);
      else if (axis < graph_[x].type.rank() && n == size_number(graph_, x, axis)) said.push_back(0);
      else said.push_back(-1), ++left;
    }
    if (std::ranges::count(said, Size{-1}) > 1) return false;
    // One size that is left takes what the others leave, whatever it is computed from.
    if (left == 0 && std::ranges::count(said, Size{0}) == 1) *std::ranges::find(said, Size{0}) = -1;
    instead("shape", std::move(said));
    return true;
  }
  if (row.name == "TRANSPOSE_CONV" || row.name == "CONV_3D_TRANSPOSE") {
    const SizeNumbers* to = open(0);
    const ValueId x = tensors["input"];
    if (!to || !x || static_cast<Size>(to->all.size()) != graph_[x].type.rank()) return false;
    constexpr Size sample = 4096;  // a size at which every crop leaves cells; the crops are those of every size
    Sizes said{1};
    for (std::size_t i = 1; i < to->all.size(); ++i) {
      const SizeNumber& n = to->all[i];
      const SizeNumber own = size_number(graph_, x, static_cast<Size>(i));
      const char* strides[] = {"stride_d", "stride_h", "stride_w"};
      const std::size_t space = to->all.size() - 2;
      if (n.known()) {
        said.push_back(n.more);
      } else {
        if (n.open || i > space || own.value != n.value || own.axis != n.axis || own.more != 0 || own.factor != 1 ||
            attributes[strides[3 - space + i - 1]] != n.factor || n.factor > 4096 || n.more > 4096 || n.more < -4096)
          return false;
        said.push_back(n.factor * sample + n.more);
      }
    }
    instead("output_shape", std::move(said));
    return true;
  }
  if (row.name == "RESIZE_BILINEAR" || row.name == "RESIZE_NEAREST_NEIGHBOR") {
    const SizeNumbers* to = open(1);
    const ValueId x = tensors["input"];
    if (!to || !x || to->all.size() != 2 || graph_[x].type.rank() != 4) return false;
    Sizes times;
    for (std::size_t i = 0; i < 2; ++i) {
      const SizeNumber own = size_number(graph_, x, static_cast<Size>(i) + 1);
      const SizeNumber& n = to->all[i];
      if (n.known() && own.known() && own.more > 0 && n.more % own.more == 0) times.push_back(n.more / own.more);
      else if (!n.known() && !n.open && n.value == own.value && n.axis == own.axis && n.more == 0 && own.more == 0 &&
               own.factor == 1)
        times.push_back(n.factor);
      else return false;
    }
    attributes["times"] = times;
    return true;
  }
  return false;
}

Status ModelReader::add_row(const Operator& row, const StoredOperator& op, const std::string& layer) {
  auto attributes = options_of(row, op);
  if (!attributes) return pass(attributes);
  auto known = add_computed(row, op, *attributes);
  if (!known) return pass(known);
  if (*known) return {};
  const auto parameters = words_in(row.inputs);
  TensorArguments tensors;
  std::vector<std::pair<std::string, std::int32_t>> late;
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    if (op.inputs[i] < 0) continue;
    std::string name;
    if (parameters.back().ends_with("...") && i + 1 >= parameters.size())
      name = std::string(parameters.back().substr(0, parameters.back().size() - 3)) + "." +
             std::to_string(i + 1 - parameters.size());
    else if (i < parameters.size()) name = parameters[i];
    else return fail(Fault::Unsupported, "input " + std::to_string(i + 1) + " is not understood");
    Known& input = known_[static_cast<std::size_t>(op.inputs[i])];
    if (input.sizes && !input.tensor && !input.value) {
      late.emplace_back(name, op.inputs[i]);
      continue;
    }
    const auto value = value_of(op.inputs[i]);
    if (!value) return std::unexpected(value.error());
    tensors.emplace(name, *value);
  }
  if (!late.empty() && !adapt(row, op, *attributes, tensors)) {
    const auto value = within("input '" + late.front().first + "'", value_of(late.front().second));
    if (!value) return std::unexpected(value.error());
  }
  auto outputs = call_function(functions(), graph_, std::string(row.name), *attributes, std::move(tensors), layer,
                               {.results = op.outputs.size()});
  if (!outputs) return pass(outputs);
  if (outputs->size() < op.outputs.size())
    return fail(Fault::Unsupported, "is asked for " + std::to_string(op.outputs.size()) + " results, of which " +
                                        std::to_string(outputs->size()) + " are carried");
  for (std::size_t i = 0; i < op.outputs.size(); ++i) {
    known_[static_cast<std::size_t>(op.outputs[i])].value = (*outputs)[i];
    names_.emplace_back((*outputs)[i], name_of(op.outputs[i]));
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
        "steps, so results differ from the interpreter's by a few of these");
  return graph;
}

Result<std::vector<LoadedTensor>> weights_of_model(const Blob& blob) {
  const auto model = parse_model(blob.bytes);
  if (!model) return std::unexpected(model.error());
  std::vector<LoadedTensor> all;
  std::set<std::string> names;
  for (const SubGraph& graph : model->subgraphs)
    for (const StoredTensor& stored : graph.tensors) {
      const Bytes* bytes = item(model->buffers, stored.buffer);
      const auto dtype = dtype_of(stored.type);
      if (!bytes || bytes->empty() || !dtype || stored.is_sparse || stored.external != 0) continue;
      Sizes shape(stored.shape.begin(), stored.shape.end());
      auto tensor = within("tensor '" + stored.name + "'", Tensor::view(*dtype, std::move(shape), *bytes, blob.keeper));
      if (!tensor) return pass(tensor);
      std::string name = stored.name;
      for (int n = 1; !names.insert(name).second; ++n) name = stored.name + "." + std::to_string(n);
      all.push_back({std::move(name), tensor->aligned() ? std::move(*tensor) : tensor->realigned()});
    }
  return all;
}

}  // namespace convoy::tflite
