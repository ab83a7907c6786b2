// One operator of a file: computed where all it reads is known, else through its row.
#include "base/whole_tensor.h"
#include "base/words.h"
#include "formats/filled.h"
#include "formats/recorded_type.h"
#include "formats/shortest.h"
#include "formats/tflite/reader.h"
#include "formats/tflite/types.h"
#include "ops/expect.h"
#include "run/run.h"

#include <algorithm>

namespace convoy::tflite {
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
      said[name] = shortest(op.options->number<float>(at));
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
  const bool asks_sizes = row && (row->name == "SHAPE" || row->name == "RANK");
  if (!asks_sizes && takes_complex(op)) {
    if (row) return add_complex(*row, op, layers_[place]);
    return fail(Fault::Unsupported, "takes complex numbers, of which RFFT2D alone makes some that are carried");
  }
  if (row && row->name == "RFFT2D") return add_complex(*row, op, layers_[place]);
  if (code.builtin == var_handle || code.builtin == read_variable || code.builtin == assign_variable)
    return add_state(op, code.builtin);
  if (code.builtin == if_operator) return add_branch(op, layers_[place]);
  if (code.builtin == while_operator) return add_loop(op, layers_[place]);
  if (row && row->name == "SHAPE") return add_shape(op);
  if (row && row->name == "FILL") return add_fill(op, layers_[place]);
  if (row && row->name == "RANK") return add_rank(op);
  if (row && row->name == "BROADCAST_ARGS") return add_common_shape(op);
  if (row && row->name == "RANGE") {
    const auto added = add_free_range(op, layers_[place]);
    if (!added) return std::unexpected(added.error());
    if (*added) return {};
  }
  if (row && row->name == "STRIDED_SLICE") {
    const auto added = add_part_behind(*row, op, layers_[place]);
    if (!added) return std::unexpected(added.error());
    if (*added) return {};
  }
  if (!row) return fail(Fault::Unsupported, "is an operator that this version does not read");
  const auto spread = add_spread(*row, place);
  if (!spread) return std::unexpected(spread.error());
  if (*spread) return {};
  return add_row(*row, op, layers_[place]);
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
    const auto count = static_cast<Size>(all.size());
    know(op.outputs[0], Tensor::of({count}, std::move(all)));
  }
  made.sizes = std::move(sizes);
  return {};
}

Status ModelReader::add_rank(const StoredOperator& op) {
  if (op.inputs.size() != 1 || op.outputs.size() != 1 || op.inputs[0] < 0)
    return fail(Fault::Format, "takes one tensor and gives one");
  const auto x = value_of(op.inputs[0]);
  if (!x) return std::unexpected(x.error());
  know(op.outputs[0], Tensor::of({}, std::vector<std::int64_t>{graph_[*x].type.rank()}));
  return {};
}

// 0, 1, ... are the running counts of ones that are as many as the size says.
Result<bool> ModelReader::add_free_range(const StoredOperator& op, const std::string& layer) {
  if (op.inputs.size() != 3 || op.outputs.size() != 1 || std::ranges::any_of(op.inputs, [](auto t) { return t < 0; }))
    return fail(Fault::Format, "takes three tensors and gives one");
  const SizeNumbers *from = known_sizes(op.inputs[0]), *to = known_sizes(op.inputs[1]), *by = known_sizes(op.inputs[2]);
  if (!from || !to || !by || to->known()) return false;
  const auto is = [](const SizeNumbers& numbers, Size n) {
    return numbers.all.size() == 1 && numbers.all[0] == plain(n);
  };
  if (!is(*from, 0) || !is(*by, 1) || to->all.size() != 1) return false;
  const SizeNumber n = to->all[0];
  if (n.open || n.factor != 1 || n.more != 0) return false;
  const DType dtype = dtype_of(subgraph_->tensors[static_cast<std::size_t>(op.outputs[0])].type).value_or(DType::I32);
  const ValueId one = add_constant(graph_, layer + "/one", whole_tensor(dtype, {1}, {1}), nullptr, false);
  auto ones = graph_.add(ExpandLike{0, n.axis}, {one, n.value}, layer, "RANGE");
  if (!ones) return pass(ones);
  auto counts = graph_.add(Accumulate{Reduction::Sum, 0, true, false}, {ones->front()}, layer, "RANGE");
  if (!counts) return pass(counts);
  if (graph_[counts->front()].type.dtype != dtype) counts = graph_.add(Cast{dtype}, {counts->front()}, layer, "RANGE");
  if (!counts) return pass(counts);
  known_[static_cast<std::size_t>(op.outputs[0])].value = counts->front();
  names_.emplace_back(counts->front(), way_ + name_of(op.outputs[0]));
  return true;
}

Result<bool> ModelReader::add_part_behind(const Operator& row, const StoredOperator& op, const std::string& layer) {
  if (op.inputs.size() != 4 || op.outputs.size() != 1 || std::ranges::any_of(op.inputs, [](auto t) { return t < 0; }))
    return false;
  const SizeNumbers *begin = known_sizes(op.inputs[1]), *step = known_sizes(op.inputs[3]);
  if (!begin || begin->known() || begin->all.size() != 1 || !step || step->all.size() != 1 || step->all[0] != plain(1))
    return false;
  const auto options = options_of(row, op);
  if (!options) return std::unexpected(options.error());
  const auto mask = [&](const char* name) {
    const auto said = options->find(name);
    return said != options->end() && said->is_number_integer() ? said->get<Size>() : 0;
  };
  const bool to_the_end = mask("end_mask") == 1 && mask("begin_mask") == 0 && mask("shrink_axis_mask") == 0 &&
                          mask("ellipsis_mask") == 0 && mask("new_axis_mask") == 0;
  const SizeNumber n = begin->all[0];
  if (!to_the_end || n.open || n.factor != 1 || n.more != 0) return false;
  const auto x = value_of(op.inputs[0]);
  if (!x) return std::unexpected(x.error());
  if (graph_[*x].type.rank() != 1) return false;
  const ValueId one = add_constant(graph_, layer + "/one", whole_tensor(DType::I32, {1}, {1}), nullptr, false);
  auto gone = graph_.add(ExpandLike{0, n.axis}, {one, n.value}, layer, std::string(row.name));
  if (!gone) return pass(gone);
  auto part = graph_.add(SliceBehind{}, {*x, gone->front()}, layer, std::string(row.name));
  if (!part) return pass(part);
  known_[static_cast<std::size_t>(op.outputs[0])].value = part->front();
  names_.emplace_back(part->front(), way_ + name_of(op.outputs[0]));
  return true;
}

Status ModelReader::add_common_shape(const StoredOperator& op) {
  if (op.inputs.size() != 2 || op.outputs.size() != 1 || op.inputs[0] < 0 || op.inputs[1] < 0)
    return fail(Fault::Format, "takes two tensors and gives one");
  const SizeNumbers *a = known_sizes(op.inputs[0]), *b = known_sizes(op.inputs[1]);
  auto made = a && b ? common_shape(*a, *b) : std::nullopt;
  if (!made) return fail(Fault::Unsupported, "its shapes are computed by the model, or do not meet");
  Known& known = known_[static_cast<std::size_t>(op.outputs[0])];
  if (made->known()) {
    std::vector<std::int64_t> all;
    for (const SizeNumber& n : made->all) all.push_back(n.more);
    const auto count = static_cast<Size>(all.size());
    know(op.outputs[0], Tensor::of({count}, std::move(all)));
  }
  known.sizes = std::move(*made);
  return {};
}

// One number, as many times as a shape says; sizes that are free are those of the values that they belong to.
Status ModelReader::add_fill(const StoredOperator& op, const std::string& layer) {
  if (op.inputs.size() != 2 || op.outputs.size() != 1 || op.inputs[0] < 0 || op.inputs[1] < 0)
    return fail(Fault::Format, "takes two tensors and gives one");
  const SizeNumbers* dims = known_sizes(op.inputs[0]);
  const auto value = known_tensor(op.inputs[1]);
  if (!value) return std::unexpected(value.error());
  if (!dims || !*value || (*value)->count() != 1)
    return fail(Fault::Unsupported, "its shape or its number is computed by the model");
  Sizes shape;
  for (const SizeNumber& n : dims->all) {
    if (n.open || (!n.known() && (n.factor != 1 || n.more != 0)))
      return fail(Fault::Unsupported,
                  "its shape follows from sizes that are not known beforehand; give them with --shape");
    if (n.known() && n.more < 0) return fail(Fault::Format, "has a size of " + std::to_string(n.more));
    shape.push_back(n.known() ? n.more : 1);
  }
  const auto count = checked_count(shape);
  if (!count) return fail(Fault::Limit, "makes a tensor of shape " + text_of(shape) + ", which is too large");
  if (auto s = allowance_.spend({.numbers = *count}); !s) return s;
  auto number = filled(**value, shape, *count);
  if (!number) return pass(number);
  Known& made = known_[static_cast<std::size_t>(op.outputs[0])];
  if (dims->known()) {
    made.tensor = std::move(*number);
    return {};
  }
  auto quantization = quantization_of(op.outputs[0]);
  if (!quantization) return pass(quantization);
  ValueId x = add_constant(graph_, layer, *number, std::move(*quantization), false);
  const std::size_t given = graph_.values.size();
  for (std::size_t i = 0; i < dims->all.size(); ++i) {
    const SizeNumber& n = dims->all[i];
    if (n.known()) continue;
    auto stretched = graph_.add(ExpandLike{static_cast<Size>(i), n.axis}, {x, n.value}, layer, "FILL");
    if (!stretched) return pass(stretched);
    x = stretched->front();
  }
  std::vector<ValueId> outputs{x};
  if (auto s = hold(graph_, given, op, outputs, layer); !s) return s;
  if (auto s = check_recorded(op.outputs[0], outputs.front()); !s) return s;
  made.value = outputs.front();
  names_.emplace_back(made.value, way_ + name_of(op.outputs[0]));
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
      const auto count = static_cast<Size>(all.size());
      const Sizes shape = made->is_scalar     ? Sizes{}
                          : made->columns > 0 ? Sizes{count / made->columns, made->columns}
                                              : Sizes{count};
      know(op.outputs[0], Tensor::of(shape, std::move(all)));
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
    auto quantization = quantization_of(op.inputs[i]);
    if (!quantization) return pass(quantization);
    arguments.emplace(name, add_constant(graph, name, *tensors[i], std::move(*quantization)));
  }
  const std::size_t given = graph.values.size();
  auto outputs = call_function(functions(), graph, std::string(row.name), attributes, std::move(arguments),
                               std::string(row.name), {.results = op.outputs.size()});
  if (!outputs || outputs->size() < op.outputs.size()) return false;  // its row says why
  if (auto s = hold(graph, given, op, *outputs, std::string(row.name)); !s) return std::unexpected(s.error());
  if (auto s = allowance_.spend(cost_of(graph, given)); !s) return std::unexpected(s.error());
  graph.outputs = *outputs;
  for (std::size_t i = 0; i < outputs->size(); ++i) graph.output_names.push_back(std::to_string(i));
  auto values = run(graph, {}, {.precision = Precision::Double});
  if (!values) return pass(values);
  for (std::size_t i = 0; i < op.outputs.size(); ++i) {
    const Tensor& value = values->at((*outputs)[i]);
    const DType wanted = graph[(*outputs)[i]].type.dtype;
    know(op.outputs[i], graph[(*outputs)[i]].quantization ? value
                        : is_floating(wanted)             ? value.converted(wanted)
                                                          : Tensor::of(value.shape(), value.integers()));
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
  if (row.name == "RESHAPE") {
    const SizeNumbers* to = open(1);
    const ValueId x = tensors["input"];
    if (!to || !x) return false;
    Sizes said;
    for (std::size_t i = 0; i < to->all.size(); ++i) {
      const SizeNumber& n = to->all[i];
      const auto axis = static_cast<Size>(i);
      if (n.known()) said.push_back(n.more);
      else if (axis < graph_[x].type.rank() && n == size_number(graph_, x, axis)) said.push_back(0);
      else said.push_back(-1);
    }
    const auto rest = std::ranges::count(said, Size{-1});
    if (rest > 1) return false;
    // One size that is left takes what the others leave, whatever it is computed from.
    if (rest == 0 && std::ranges::count(said, Size{0}) == 1) *std::ranges::find(said, Size{0}) = -1;
    instead("shape", std::move(said));
    return true;
  }
  if (row.name == "BROADCAST_TO") {
    const SizeNumbers* to = open(1);
    const ValueId x = tensors["input"];
    if (!to || !x) return false;
    const Size rank = graph_[x].type.rank(), more = static_cast<Size>(to->all.size()) - rank;
    Sizes said, along, from;
    std::vector<ValueId> likes;
    for (Size i = 0; i < static_cast<Size>(to->all.size()); ++i) {
      const SizeNumber& n = to->all[static_cast<std::size_t>(i)];
      const bool is_own = !n.known() && i >= more && n == size_number(graph_, x, i - more);
      said.push_back(n.known() ? n.more : is_own ? Size{-1} : Size{1});
      if (n.known() || is_own) continue;
      if (n.open || n.factor != 1 || n.more != 0 || (i >= more && at(graph_[x].type.shape, i - more) != Dim(1)))
        return false;
      likes.push_back(n.value);
      along.push_back(i), from.push_back(n.axis);
    }
    for (std::size_t i = 0; i < likes.size(); ++i) tensors["likes." + std::to_string(i)] = likes[i];
    if (!likes.empty()) attributes["along"] = along, attributes["from"] = from;
    instead("shape", std::move(said));
    return true;
  }
  if (row.name == "TILE") {
    const SizeNumbers* times = open(1);
    const ValueId x = tensors["input"];
    if (!times || !x || static_cast<Size>(times->all.size()) != graph_[x].type.rank()) return false;
    // One size of another value, along an axis of one cell: the row repeats it as often as that value is long.
    Sizes said;
    for (const SizeNumber& n : times->all) {
      if (n.known()) {
        said.push_back(n.more);
        continue;
      }
      if (n.open || n.factor != 1 || n.more != 0 || attributes.contains("from") ||
          at(graph_[x].type.shape, static_cast<Size>(said.size())) != Dim(1))
        return false;
      attributes["from"] = n.axis, attributes["along"] = static_cast<Size>(said.size());
      tensors["like"] = n.value;
      said.push_back(1);
    }
    instead("multiples", std::move(said));
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

// At the sizes of the file, which the interpreter works out again wherever they change.
Status ModelReader::check_recorded(std::int32_t tensor, ValueId read) const {
  const StoredTensor& stored = subgraph_->tensors[static_cast<std::size_t>(tensor)];
  const auto dtype = stored.is_quantized() ? std::optional(DType::F32) : dtype_of(stored.type);
  if (!dtype) return {};
  const TensorType& type = graph_[read].type;
  TensorType recorded{*dtype, type.shape};
  // Those of other subgraphs are other ones each turn.
  if (options_.size.empty() && options_.shapes.empty() && depth_ == 0) {
    recorded.shape.clear();
    for (const std::int32_t n : stored.signature.size() == stored.shape.size() ? stored.signature : stored.shape)
      recorded.shape.push_back(n < 1 ? Dim::unknown() : Dim(n));
  }
  return expect_recorded(type, recorded);
}

Status ModelReader::add_row(const Operator& row, const StoredOperator& op, const std::string& layer,
                            const Json* instead) {
  auto attributes = options_of(row, op);
  if (!attributes) return pass(attributes);
  if (instead) attributes->update(*instead);
  // The kernel goes by its tensors: the options may be missing, or say another type.
  if (row.name == "CAST" && !op.outputs.empty())
    (*attributes)["out_data_type"] = subgraph_->tensors[static_cast<std::size_t>(op.outputs[0])].type;
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
    const StoredTensor& stored = subgraph_->tensors[static_cast<std::size_t>(op.inputs[i])];
    // The memory of a cell, which begins at zeros: so does a cell that is given none.
    if (stored.is_variable && !input.tensor && !input.value) {
      if (options_.remarks && remembering_.insert(layer).second)
        options_.remarks->push_back(
            "'" + layer + "' keeps its state from call to call: here each call begins at zeros, as the first does");
      continue;
    }
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
  const std::size_t given = graph_.values.size();
  auto outputs = call_function(functions(), graph_, std::string(row.name), *attributes, std::move(tensors), layer,
                               {.results = op.outputs.size()});
  if (!outputs) return pass(outputs);
  if (outputs->size() < op.outputs.size())
    return fail(Fault::Unsupported, "is asked for " + std::to_string(op.outputs.size()) + " results, of which " +
                                        std::to_string(outputs->size()) + " are carried");
  if (auto s = hold(graph_, given, op, *outputs, layer); !s) return s;
  for (std::size_t i = 0; i < op.outputs.size(); ++i) {
    if (!instead)
      if (auto s = check_recorded(op.outputs[i], (*outputs)[i]); !s) return s;
    known_[static_cast<std::size_t>(op.outputs[i])].value = (*outputs)[i];
    names_.emplace_back((*outputs)[i], way_ + name_of(op.outputs[i]));
  }
  return {};
}

}  // namespace convoy::tflite
