// The graph of an exported program: signature, nodes, module stack. Source: torch/_export/serde/schema.py.
#include "formats/torch/exported/reader.h"

#include "formats/free_length.h"
#include "formats/recorded_type.h"
#include "formats/torch/catalogue/aten.h"
#include "formats/torch/catalogue/catalogue.h"
#include "formats/torch/catalogue/quantized_decomposed.h"
#include "formats/torch/catalogue/views.h"
#include "formats/torch/declared_type.h"
#include "formats/torch/exported/archive.h"
#include "formats/torch/exported/arguments.h"
#include "formats/torch/exported/autocast.h"
#include "formats/torch/exported/call_spec.h"
#include "formats/torch/exported/free_numbers.h"
#include "formats/torch/exported/nodes.h"
#include "formats/torch/exported/views.h"
#include "formats/torch/kept_state.h"
#include "formats/torch/reordered_weights.h"
#include "graph/size_condition.h"
#include "graph/stored.h"
#include "ops/expect.h"
#include "run/cost.h"
#include "run/run.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <utility>

namespace convoy::torch {
namespace {

constexpr FunctionRow cut_row{"slice", "input", read_cut_to}, padded_row{"pad", "input", read_padded_to};

constexpr std::string_view in_training =
    "was exported for training; call model.eval() before torch.export.export, so that BatchNorm and dropout are at "
    "rest";

std::unexpected<Error> malformed(std::string what) { return fail(Fault::Format, std::move(what)); }

class ExportedReader {
 public:
  ExportedReader(const ExportedArchive& archive, const LoadOptions& options) : archive_(archive), options_(options) {}

  Result<Graph> run() {
    const Json* module = member(archive_.program, "graph_module");
    const Json* graph = module ? member(*module, "graph") : nullptr;
    const Json* signature = module ? member(*module, "signature") : nullptr;
    if (!graph || !signature) return malformed("has no graph or no signature");
    graph_.rules = torch_rules;
    graph_.source_format = "PyTorch " + text_member(archive_.program, "torch_version");
    values_ = member(*graph, "tensor_values");
    symbols_.read(*graph);
    if (auto s = inputs(*signature); !s) return pass(s);
    if (auto met = take_guards(); !met) return pass(met);
    for (const Json& node : list_member(*graph, "nodes")) {
      const std::string path = module_of(node).path;
      for (const std::string& outer : outer_paths(path)) around_.insert(outer);
    }
    for (const Json& node : list_member(*graph, "nodes"))
      if (auto s = within(place(node), call(node)); !s) return pass(s);
    if (auto s = outputs(*signature); !s) return pass(s);
    say_call(*module);
    train_reordered(graph_, reordered_);
    prune(graph_);
    return std::move(graph_);
  }

 private:
  std::string place(const Json& node) const {
    const Module module = module_of(node);
    const std::string name = "node '" + text_member(node, "name") + "' (" + text_member(node, "target") + ")";
    return module.path.empty() ? name : "module '" + module.path + "' (" + module.type + "): " + name;
  }
  // ---- signature
  Status inputs(const Json& signature) {
    const auto& specs = list_member(signature, "input_specs");
    const auto of_user = static_cast<std::size_t>(std::ranges::count_if(specs, [](const Json& spec) {
      const auto said = union_of(spec);
      return said && said->key == "user_input";
    }));
    for (const Json& spec : specs) {
      const auto said = union_of(spec);
      if (!said) return std::unexpected(said.error());
      Status added;
      if (said->key == "user_input") added = user_input(*said->value, of_user);
      else if (said->key == "parameter") added = weight(*said->value, "parameter_name", archive_.weights, true);
      else if (said->key == "buffer") added = buffer(*said->value);
      else if (said->key == "tensor_constant")
        added = weight(*said->value, "tensor_constant_name", archive_.constants, false);
      else if (said->key == "constant_input") tell_of_constant(*said->value);
      else
        return fail(Fault::Unsupported,
                    "takes an input of kind '" + std::string(said->key) + "', which is not carried");
      if (!added) return added;
    }
    return {};
  }

  // What is no tensor was read while the program was followed, and has no part in it: None, a word, a number.
  void tell_of_constant(const Json& spec) {
    const Json* value = member(spec, "value");
    if (!options_.remarks || !value || member(*value, "as_none")) return;
    options_.remarks->push_back("input '" + text_member(spec, "name") +
                                "' is no tensor: the program does what it was exported with, and takes no other");
  }

  // torch.export makes numbers of sizes that are not declared dynamic.
  static bool changes_known_size(const Shape& exported, const Shape& read) {
    for (std::size_t i = 0; i < std::min(exported.size(), read.size()); ++i)
      if (exported[i].known() && exported[i] != read[i]) return true;
    return false;
  }

  // The name of {"arg": {"as_tensor": {"name": ...}}} or of {"arg": {"name": ...}}.
  static std::string argument_name(const Json& spec) {
    const Json* argument = member(spec, "arg");
    if (!argument) return {};
    if (const Json* tensor = member(*argument, "as_tensor")) argument = tensor;
    return text_member(*argument, "name");
  }

  // A program that asked for its sizes was followed one way: only where they lie as they did then.
  void tell_of_range(const std::string& input, std::size_t axis, std::string_view expression, Dim size) {
    constexpr std::string_view symbol = "Symbol('";
    if (!expression.starts_with(symbol)) return;
    expression.remove_prefix(symbol.size());
    const Json* ranges = member(archive_.program, "range_constraints");
    const Json* range = ranges ? member(*ranges, expression.substr(0, expression.find('\''))) : nullptr;
    const auto bound = [&](const char* key) -> std::optional<Size> {
      const Json* number = range ? member(*range, key) : nullptr;
      if (!number || !number->is_number_integer()) return std::nullopt;
      return number->get<Size>();
    };
    constexpr Size usual = 2;  // what torch.export says of every free size
    const Size least = std::max(usual, bound("min_val").value_or(usual));
    const auto most = bound("max_val");
    if (least > usual) symbols_.set_least(std::string(expression.substr(0, expression.find('\''))), least);
    const std::string named = input + ".shape[" + std::to_string(axis) + "]";
    if (least > usual) graph_.conditions.push_back(named + " >= " + std::to_string(least));
    if (most) graph_.conditions.push_back(named + " <= " + std::to_string(*most));
    if (!options_.remarks || (least == usual && !most)) return;
    if (size.known() && *size >= least && (!most || *size <= *most)) return;
    options_.remarks->push_back("input '" + input + "' was exported for sizes of " + std::to_string(least) +
                                (most ? " to " + std::to_string(*most) : " and more") + " along axis " +
                                std::to_string(axis) +
                                ": at others the program may go another way, which is not in the file");
  }

  // "x.shape[0] == y.shape[0]", which inputs that come together do.
  static bool asks_for_one_batch(std::string_view text) {
    constexpr std::string_view batch = ".shape[0]", equal = " == ";
    const auto is_batch = [&](std::string_view side) {
      return side.ends_with(batch) && side.find(batch) == side.size() - batch.size() &&
             side.find_first_of(" ()") == std::string_view::npos;
    };
    const std::size_t middle = text.find(equal);
    return middle != std::string_view::npos && is_batch(text.substr(0, middle)) &&
           is_batch(text.substr(middle + equal.size()));
  }

  // Conditions under which the program was followed, "L['x'].size()[2] > L['x'].size()[3]"; those that only bound a size by a
  // number are what windows ask anyway, and ranges.
  Status take_guards() {
    for (const Json& guard : list_member(archive_.program, "guards_code")) {
      if (!guard.is_string()) continue;
      std::string text = guard.get<std::string>();
      const std::size_t last = text.find_last_of(" ");
      const bool bounds = last != std::string::npos && last + 1 < text.size() &&
                          text.find_first_not_of("0123456789", last + 1) == std::string::npos;
      if (bounds && text.find('%') == std::string::npos && text.find("==") == std::string::npos) continue;
      constexpr std::string_view begins = "L['", ends = "']", size = ".size()";
      for (std::size_t at = text.find(begins); at != std::string::npos; at = text.find(begins, at)) {
        text.erase(at, begins.size());
        if (const std::size_t end = text.find(ends, at); end != std::string::npos) text.erase(end, ends.size());
      }
      for (std::size_t at = text.find(size); at != std::string::npos; at = text.find(size, at))
        text.replace(at, size.size(), ".shape");
      if (options_.remarks && !asks_for_one_batch(text))
        options_.remarks->push_back("was exported where " + text +
                                    ": at other sizes the program goes another way, which is not in the file");
      graph_.conditions.push_back(std::move(text));
    }
    std::vector<Shape> shapes;
    for (const ValueId v : graph_.inputs) shapes.push_back(graph_[v].type.shape);
    return expect_conditions(graph_, shapes);
  }

  Status user_input(const Json& spec, std::size_t inputs) {
    const std::string name = argument_name(spec);
    if (name.empty()) return fail(Fault::Unsupported, "takes an input that is no tensor");
    auto type = declared(name);
    if (!type) return within("input '" + name + "'", Status(std::unexpected(type.error())));
    const Shape exported = type->shape;
    if (const Shape* given = options_.shape_of(name, inputs)) {
      type->shape = *given;
    } else if (!options_.size.empty() && type->rank() == static_cast<Size>(options_.size.size()) + 2) {
      for (std::size_t i = 0; i < options_.size.size(); ++i)
        type->shape[i + 2] = options_.size[i] ? Dim(*options_.size[i]) : Dim::unknown();
    }
    const bool resized = changes_known_size(exported, type->shape);
    is_resized_ = is_resized_ || resized;
    if (options_.remarks && resized)
      options_.remarks->push_back("input '" + name + "' was exported as " + text_of(exported) + " and is read as " +
                                  text_of(type->shape) +
                                  ": what the program made of its own sizes stays as it was; export it with "
                                  "dynamic_shapes to be sure");
    const ValueId input = graph_.input(name, *type);
    tensors_[name] = input;
    const auto sizes = Symbols::sizes_of(values_ ? member(*values_, name) : nullptr);
    for (std::size_t axis = 0; axis < std::min(sizes.size(), type->shape.size()); ++axis)
      tell_of_range(name, axis, sizes[axis].expression, type->shape[axis]);
    for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
      if (sizes[axis].known) continue;
      symbols_.add_owner(sizes[axis].expression, {input, static_cast<Size>(axis)});
      if (axis < type->shape.size() && type->shape[axis].known())
        symbols_.set(sizes[axis].expression, *type->shape[axis]);
    }
    return {};
  }

  Result<TensorType> declared(const std::string& name) const {
    const Json* meta = values_ ? member(*values_, name) : nullptr;
    const Json* number = meta ? member(*meta, "dtype") : nullptr;
    if (!number) return malformed("has no dtype");
    const auto dtype = exported_dtype(*number);
    if (!dtype) return std::unexpected(dtype.error());
    TensorType type{*dtype, {}};
    for (const auto& said : Symbols::sizes_of(meta)) {
      const auto size = symbols_.worked_out(said);  // an input before it may have told the number
      type.shape.push_back(size.known ? Dim(*size.known) : Dim::unknown());
    }
    return type;
  }

  // A frozen parameter stays a weight of its layer, which nothing is computed of beforehand.
  Status weight(const Json& spec, std::string_view key, const std::map<std::string, Tensor>& from, bool parameter) {
    const std::string name = argument_name(spec), known_as = text_member(spec, key);
    const auto found = from.find(known_as);
    if (name.empty() || found == from.end()) return malformed("'" + known_as + "' is not in the archive");
    auto& made = weights_[known_as];
    if (!made) {
      made = graph_.constant(known_as, found->second, parameter && !archive_.frozen.contains(known_as));
      allowance_.add(found->second.count());
      graph_[made].literal = key == "tensor_constant_name";
    }
    tensors_[name] = made;
    if (parameter) parameters_.insert(made);
    return {};
  }

  Status buffer(const Json& spec) {
    const std::string name = text_member(spec, "buffer_name");
    return weight(spec, "buffer_name", archive_.weights.contains(name) ? archive_.weights : archive_.constants, false);
  }

  Status outputs(const Json& signature) {
    for (const Json& spec : list_member(signature, "output_specs")) {
      const auto said = union_of(spec);
      if (!said) return std::unexpected(said.error());
      if (said->key == "buffer_mutation") return fail(Fault::Unsupported, std::string(in_training));
      if (said->key != "user_output")
        return fail(Fault::Unsupported, "has an output of kind '" + std::string(said->key) + "', which is not carried");
      const std::string name = argument_name(*said->value);
      const auto found = tensors_.find(name);
      if (const Json* given = member(*said->value, "arg"); given && member(*given, "as_none")) {
        if (options_.remarks)
          options_.remarks->push_back("gives None among its outputs, which no graph gives: it is left out");
        continue;
      }
      if (found == tensors_.end()) return fail(Fault::Unsupported, "has an output that is no tensor");
      if (!found->second) return fail(Fault::Unsupported, "has an output '" + name + "' that is not carried");
      graph_.outputs.push_back(found->second);
      graph_.output_names.push_back(name);
    }
    if (graph_.outputs.empty()) return malformed("has no outputs");
    return {};
  }

  // Where forward takes one dictionary of tensors, or gives one, inputs and outputs go by its keys.
  void say_call(const Json& module) {
    const Json& calls = list_member(module, "module_call_graph");
    const Json* whole = calls.empty() ? nullptr : member(calls[0], "signature");
    if (!whole) return;
    const CallSpec spec = call_spec_of(*whole);
    graph_.one_output_in_tuple = graph_.outputs.size() == 1 && spec.gives_sequence;
    if (!spec.keys_given.empty() && spec.keys_given.size() == graph_.outputs.size()) {
      graph_.outputs_by_name = true;
      graph_.output_names = spec.keys_given;
    }
    if (spec.gives_nested && options_.remarks) options_.remarks->push_back(nested_outputs(graph_.output_names));
    if (spec.keys_taken.empty() || spec.keys_taken.size() != graph_.inputs.size()) return;
    graph_.inputs_by_name = true;
    for (std::size_t i = 0; i < spec.keys_taken.size(); ++i) graph_.rename(graph_.inputs[i], spec.keys_taken[i]);
  }

  // ---- nodes
  Status call(const Json& node) {
    const std::string target = text_member(node, "target");
    if (target.starts_with("_operator.") || target.starts_with("torch.sym_") || target.starts_with("math.") ||
        target == "torch.ops.aten.sym_size.int" || target == "torch.ops.aten.sym_numel.default" ||
        target == "torch.ops.aten._assert_tensor_metadata.default" ||
        target == "torch.ops.aten._assert_scalar.default" || target.starts_with("torch.ops.aten._assert_async.") ||
        target == "torch.ops.aten.sym_constrain_range_for_size.default")
      return {};  // sizes are known by their expressions; assertions compute nothing
    if (target == "torch.ops.higher_order.wrap_with_set_grad_enabled") return call_inner(node);
    if (target == "torch.ops.higher_order.wrap_with_autocast") return call_under_autocast(node);
    constexpr std::string_view aten = "torch.ops.aten.", quantized = "torch.ops.quantized_decomposed.";
    const bool is_quantized = target.starts_with(quantized);
    if (!target.starts_with(aten) && !is_quantized)
      return fail(Fault::Unsupported, "calls what is no operator of ATen");
    auto arguments = call_arguments(node, tensors_, symbols_, values_);
    if (!arguments) return pass(arguments);
    if (arguments->trains) return fail(Fault::Unsupported, std::string(in_training));
    for (const auto& [name, expression] : arguments->free_numbers) {
      const auto number = counted(node, [&](FunctionCall& made) { return number_of(made, symbols_, expression); });
      if (!number) return within("argument '" + name + "'", Status(std::unexpected(number.error())));
      arguments->tensors[name] = *number;
    }
    for (const auto& [name, length] : arguments->lengths) {
      const auto ones = counted(node, [&](FunctionCall& made) { return ones_of_length(made, length); });
      if (!ones) return std::unexpected(ones.error());
      arguments->tensors[name] = *ones;
    }
    const std::string overload = target.substr(is_quantized ? quantized.size() : aten.size()),
                      operation = overload.substr(0, overload.find('.'));
    if (operation.starts_with("as_strided"))
      if (auto s = find_in_memory(node, arguments->plain); !s) return s;
    if (auto cast = cast_by_autocast(node, overload, *arguments); !cast) return cast;
    const auto names = names_in(list_member(node, "outputs"));
    const AtenRow row = is_quantized ? AtenRow{quantized_decomposed_row(overload), std::move(arguments->plain)}
                                     : aten_row(overload, std::move(arguments->plain));
    auto results = arguments->cut               ? add_cut(node, *arguments)
                   : !arguments->groups.empty() ? add_groups(node, row, *arguments)
                   : arguments->pads.empty()    ? add_call(node, row, std::move(arguments->tensors), names.size())
                                                : add_pads(node, *arguments, row.arguments);
    if (!results && results.error().fault == Fault::Format && !is_quantized && !is_known_overload(overload))
      return fail(Fault::Unsupported, "is an overload of the operator that is not carried");
    if (!results) return pass(results);
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (names[i].empty()) continue;
      tensors_[names[i]] = i < results->size() ? (*results)[i] : ValueId{};
      own_sizes(names[i]);
    }
    share(node, operation, names);
    if (changes_in_place(operation) && !names.empty()) return change(node, names[0]);
    // PyTorch records float64 and int64 of this one, whatever it computes.
    const bool is_misrecorded = is_quantized && operation == "choose_qparams_per_token";
    for (const std::string& name : names)
      if (auto s = check_recorded(name, is_misrecorded); !s) return s;
    return {};
  }

  // What free sizes are counted by.
  Result<ValueId> counted(const Json& node, const std::function<ValueId(FunctionCall&)>& count) {
    const Json nothing = Json::object();
    FunctionCall call(graph_, "size", nothing, {}, text_member(node, "name"));
    const ValueId made = count(call);
    if (auto done = call.done(); !done) return pass(done);
    return made;
  }

  Result<std::vector<ValueId>> add_cut(const Json& node, ExportedArguments& arguments) {
    const auto& [dim, start, length] = *arguments.cut;
    const auto ones = counted(node, [&](FunctionCall& made) { return ones_of_length(made, length); });
    if (!ones) return std::unexpected(ones.error());
    arguments.tensors["like"] = *ones;
    if (!start.is_constant() || start.steps.first != 0) {
      const auto begin = counted(node, [&](FunctionCall& made) {
        if (start.is_constant()) return made.make_constant("start", Tensor::of({}, Sizes{start.steps.first}));
        return made.add(Reduce{Reduction::Sum, {0}, false}, {ones_of_length(made, start)});
      });
      if (!begin) return std::unexpected(begin.error());
      arguments.tensors["start"] = *begin;
    }
    return add_call(node, AtenRow{&cut_row, {{"dim", dim}}}, std::move(arguments.tensors), 1);
  }

  Result<std::vector<ValueId>> add_groups(const Json& node, const AtenRow& row, const ExportedArguments& arguments) {
    std::vector<ValueId> x{arguments.tensors.at("input")};
    for (const auto& [to, kept] : arguments.groups) {
      auto made = add_call(node, AtenRow{row.row, {{"size", to}, {"kept", kept}}}, {{"input", x[0]}}, 1);
      if (!made) return made;
      x = *std::move(made);
    }
    return x;
  }

  Result<std::vector<ValueId>> add_pads(const Json& node, const ExportedArguments& arguments, const Json& plain) {
    std::vector<ValueId> x{arguments.tensors.at("input")};
    for (const auto& [dim, length, before] : arguments.pads) {
      const auto ones = counted(node, [&](FunctionCall& made) { return ones_of_length(made, length); });
      const auto first = counted(node, [&](FunctionCall& made) { return number_of(made, symbols_, before); });
      if (!ones) return std::unexpected(ones.error());
      if (!first) return std::unexpected(first.error());
      Json words{{"dim", dim}};
      for (const char* word : {"mode", "value"})
        if (const Json* said = member(plain, word); said && !said->is_null()) words[word] = *said;
      auto made =
          add_call(node, AtenRow{&padded_row, words}, {{"input", x[0]}, {"like", *ones}, {"before", *first}}, 1);
      if (!made) return made;
      x = *std::move(made);
    }
    return x;
  }

  // Where the first cell that as_strided() looks at lies behind the first one of its tensor, whose memory is row-major.
  Status find_in_memory(const Json& node, Json& plain) const {
    const Json* meta = meta_of(subject_of(node));
    const Json* begins = meta ? member(*meta, "storage_offset") : nullptr;
    const Json* own = begins ? member(*begins, "as_int") : nullptr;
    if (!own || !own->is_number_integer() || !is_row_major(meta))
      return fail(Fault::Unsupported, "looks at memory that is not in row-major order");
    const Json* said = member(plain, "storage_offset");
    plain["cells_before"] = said && said->is_number_integer() ? said->get<Size>() - own->get<Size>() : 0;
    plain.erase("storage_offset");
    return {};
  }

  // What PyTorch worked out when it exported: it holds at the sizes that the program was exported for.
  Status check_recorded(const std::string& name, bool by_shape_alone = false) const {
    const auto found = tensors_.find(name);
    if (found == tensors_.end() || !found->second || !meta_of(name)) return {};
    auto recorded = declared(name);
    if (!recorded) return pass(recorded);
    const TensorType& read = graph_[found->second].type;
    if (is_resized_) recorded->shape = read.shape;
    if (by_shape_alone) recorded->dtype = read.dtype;
    return expect_recorded(read, *recorded);
  }

  static bool is_known_overload(std::string_view overload) {
    const auto dot = std::min(overload.find('.'), overload.size());
    std::string_view name = overload.substr(0, dot);
    if (name.ends_with('_') && !name.starts_with("__")) name.remove_suffix(1);
    return is_catalogued_overload(name, overload.substr(std::min(dot + 1, overload.size())));
  }

  static bool asks_for_copy(const Json& node) {
    return std::ranges::any_of(list_member(node, "inputs"), [](const Json& input) {
      const Json* argument = member(input, "arg");
      const Json* truth = argument && text_member(input, "name") == "copy" ? member(*argument, "as_bool") : nullptr;
      return truth && *truth == true;
    });
  }

  // torch.autocast(device, dtype, enabled, ...): what is inside is recorded without the casts, which are made whenever it runs.
  Status call_under_autocast(const Json& node) {
    std::string device;
    std::optional<DType> lower;
    for (const Json& input : list_member(node, "inputs"))
      if (const Json* argument = member(input, "arg")) {
        if (device.empty()) device = text_member(*argument, "as_string");
        const Json* said = member(*argument, "as_scalar_type");
        if (!said || lower) continue;
        const auto dtype = exported_dtype(*said);
        if (!dtype) return std::unexpected(dtype.error());
        lower = *dtype;
      }
    const auto around = autocast_;
    if (!turns_on(node)) autocast_.erase(device);
    else if (device.empty() || !lower || !is_floating(*lower)) return malformed("autocast of no device or no type");
    else autocast_[device] = *lower;
    auto made = call_inner(node);
    autocast_ = around;
    return made;
  }

  // The device of a tensor, "cpu"; empty where the file does not say.
  std::string device_of(const std::string& name) const {
    const Json* meta = meta_of(name);
    const Json* device = meta ? member(*meta, "device") : nullptr;
    return device ? text_member(*device, "type") : std::string();
  }

  Status cast_by_autocast(const Json& node, const std::string& overload, ExportedArguments& arguments) {
    if (autocast_.empty()) return {};
    std::string device;
    std::set<ValueId> subject;  // real tensors of the first device that has autocast
    for (const std::string& name : tensors_named_by(node)) {
      const auto found = tensors_.find(name);
      const std::string lies_on = device_of(name);
      if (found == tensors_.end() || !found->second || !autocast_.contains(lies_on)) continue;
      if (device.empty()) device = lies_on;
      const DType dtype = graph_[found->second].type.dtype;
      if (lies_on == device && is_floating(dtype) && dtype != DType::F64) subject.insert(found->second);
    }
    if (subject.empty()) return {};
    const auto policy = autocast_policy(device, overload);
    if (!policy) return fail(Fault::Unsupported, "computes in types that autocast chooses on device '" + device + "'");
    constexpr std::size_t operands_of_one_product = 2;
    if (*policy == AutocastPolicy::Within ||
        (*policy == AutocastPolicy::AsRecorded && subject.size() > operands_of_one_product))
      return fail(Fault::Unsupported,
                  "has parts that autocast casts for, which are not carried; save "
                  "program.run_decompositions(), which names every cast");
    const Json* asked = member(arguments.plain, "dtype");
    if (*policy == AutocastPolicy::None || (*policy == AutocastPolicy::SingleUnlessAsked && asked && !asked->is_null()))
      return {};
    std::vector<DType> types;
    for (const ValueId value : subject) types.push_back(graph_[value].type.dtype);
    DType to = autocast_type(*policy, autocast_.at(device), types);
    if (*policy == AutocastPolicy::AsRecorded) {
      const auto names = names_in(list_member(node, "outputs"));
      auto result = declared(names.empty() ? std::string() : names[0]);
      if (!result) return pass(result);
      to = result->dtype;
      if (to != autocast_.at(device) && to != DType::F32) return {};  // autocast casts to no other
    }
    for (auto& [word, value] : arguments.tensors)
      if (subject.contains(value)) {
        auto cast = cast_once(node, value, to);
        if (!cast) return pass(cast);
        value = *cast;
      }
    return {};
  }

  // A weight that several layers read is cast for all of them at once.
  Result<ValueId> cast_once(const Json& node, ValueId value, DType to) {
    if (graph_[value].type.dtype == to) return value;
    if (const auto known = casts_.find({value, to}); known != casts_.end()) return known->second;
    auto made = add_call(node, "_to_copy.default", {{"dtype", std::string(name_of(to))}}, {{"input", value}}, 1);
    if (!made) return pass(made);
    return casts_[{value, to}] = made->front();
  }

  // Of torch.autocast(device, dtype, enabled, ...) and of torch.set_grad_enabled(enabled): whether it is enabled.
  static bool turns_on(const Json& node) {
    for (const Json& input : list_member(node, "inputs"))
      if (const Json* argument = member(input, "arg"))
        if (const Json* enabled = member(*argument, "as_bool")) return *enabled != false;
    return true;
  }

  // What `with torch.no_grad()` computes, as it is read outside of it: no gradient comes back through it.
  Result<ValueId> stopped(ValueId value) {
    if (!value || !is_floating(graph_[value].type.dtype) || !graph_[value].producer) return value;
    const std::vector<Scope> scopes = graph_[graph_[value].producer].scopes;
    const auto made = graph_.add(Identity{true}, {value}, graph_[value].name + ".detach", "detach", scopes);
    return made ? Result<ValueId>(made->front()) : Result<ValueId>(std::unexpected(made.error()));
  }

  // A graph inside the graph, which `with torch.no_grad()` makes: its names are its own while its nodes are read.
  Status call_inner(const Json& node) {
    const Json* inner = nullptr;
    std::vector<std::string> given;
    for (const Json& input : list_member(node, "inputs")) {
      const Json* argument = member(input, "arg");
      if (!argument) return malformed("an input is not a name and an arg");
      if (const Json* graph = member(*argument, "as_graph")) inner = member(*graph, "graph");
      else if (const Json* tensor = member(*argument, "as_tensor")) given.push_back(text_member(*tensor, "name"));
      else if (member(*argument, "as_sym_int")) given.emplace_back();  // known by its expression
      else if (!member(*argument, "as_bool") && !member(*argument, "as_string") && !member(*argument, "as_scalar_type"))
        return fail(Fault::Unsupported, "hands what is no tensor to a graph inside the graph");
    }
    const auto wanted = inner ? names_in(list_member(*inner, "inputs")) : std::vector<std::string>();
    if (!inner || wanted.size() != given.size()) return malformed("an inner graph that takes other inputs");
    if (++depth_ > most_depth) return fail(Fault::Limit, "graphs inside one another, too deep");
    ExportedTensors tensors;
    for (std::size_t i = 0; i < given.size(); ++i)
      if (const auto found = tensors_.find(given[i]); found != tensors_.end() && !wanted[i].empty())
        tensors[wanted[i]] = found->second;
    const ExportedTensors before = tensors;
    Views views;
    const Json* values = member(*inner, "tensor_values");
    const auto exchange = [&] {
      std::swap(tensors, tensors_);
      std::swap(views, views_);
      std::swap(values, values_);
    };
    exchange();
    symbols_.read(*inner);
    for (const Json& one : list_member(*inner, "nodes"))
      if (auto s = within(place(one), call(one)); !s) return s;
    exchange();
    --depth_;
    for (const auto& [name, value] : before)
      if (tensors[name] != value) return fail(Fault::Unsupported, "changes a tensor of the graph around it in place");
    const auto results = names_in(list_member(*inner, "outputs")), names = names_in(list_member(node, "outputs"));
    const bool stops = text_member(node, "target").ends_with("wrap_with_set_grad_enabled") && !turns_on(node);
    std::map<std::string, std::string> outside;  // what shows which memory, by the inner name of the whole
    for (std::size_t i = 0; i < given.size(); ++i) outside.emplace(wanted[i], given[i]);
    for (std::size_t i = 0; i < names.size(); ++i) {
      const auto found = i < results.size() ? tensors.find(results[i]) : tensors.end();
      if (names[i].empty()) continue;
      tensors_[names[i]] = found == tensors.end() ? ValueId{} : found->second;
      if (found == tensors.end()) continue;
      if (stops && !before.contains(results[i])) {
        const auto read = stopped(found->second);
        if (!read) return std::unexpected(read.error());
        tensors_[names[i]] = *read;
      }
      own_sizes(names[i]);
      const auto [shown, is_first] = outside.emplace(views.whole(results[i]), names[i]);
      if (!is_first && shown->second != names[i]) views_.add(names[i], {shown->second, nullptr, {}, i, false});
    }
    return {};
  }

  // The nodes of one operator, under the name and in the scopes of the module that called it.
  Result<std::vector<ValueId>> add_call(const Json& node, const std::string& overload, Json arguments,
                                        TensorArguments tensors, std::size_t wanted) {
    return add_call(node, aten_row(overload, std::move(arguments)), std::move(tensors), wanted);
  }

  Result<std::vector<ValueId>> add_call(const Json& node, const AtenRow& meant, TensorArguments tensors,
                                        std::size_t wanted) {
    const auto& [row, plain] = meant;
    if (!row) return fail(Fault::Unsupported, "is an operator that is not carried");
    const Module module = module_of(node);
    const std::string name = text_member(node, "name");
    // What a module computes between the modules inside it stands beside them.
    const bool is_between = module.path.empty() || around_.contains(module.path);
    const std::string layer = !is_between ? module.path : module.path.empty() ? name : module.path + "." + name;
    const std::size_t first = graph_.nodes.size(), first_value = graph_.values.size();
    const bool is_number = asks_number_along_axis(*row, plain, tensors);
    if (is_number) {
      const auto list = graph_.add(Reshape{{1}}, {tensors.at("input")}, layer);
      if (!list) return std::unexpected(list.error());
      tensors["input"] = list->front();
    }
    std::vector<std::pair<ValueId, ValueId>> weights;  // parameters that are given, or what is made of them
    for (const auto& [word, id] : tensors) {
      if (parameters_.contains(id)) weights.emplace_back(id, id);
      else if (const auto of = reordered_.find(id.index); of != reordered_.end()) weights.emplace_back(id, of->second);
    }
    FunctionCall made(graph_, std::string(row->name), plain, std::move(tensors), layer,
                      {0, std::max<std::size_t>(1, wanted)});
    auto results = row->read(made);
    if (auto s = made.done(); !s) return pass(s);
    find_reordered(graph_, first_value, weights, reordered_);
    if (results.empty() && wanted > 0) return fail(Fault::Internal, "gives nothing and does not say why");
    for (ValueId& result : results)
      if (is_number && result && graph_[result].type.shape == Shape{1}) {
        const auto number = graph_.add(Squeeze{{0}}, {result}, layer);
        if (!number) return std::unexpected(number.error());
        result = number->front();
      }
    if (auto s = allowance_.spend(made_constants(graph_, first_value)); !s) return pass(s);
    for (std::size_t i = first; i < graph_.nodes.size(); ++i) {
      Node& added = graph_.nodes[i];
      added.kind = is_between ? name : module.type;
      for (const std::string& outer : outer_paths(layer)) added.scopes.push_back({outer, 0});
    }
    if (auto s = fold(first, first_value); !s) return pass(s);
    return results;
  }

  // PyTorch lets a tensor of no axes be asked along axis 0, as if it were a list of one cell.
  bool asks_number_along_axis(const FunctionRow& row, const Json& plain, const TensorArguments& tensors) const {
    const auto input = tensors.find("input");
    const Json* dim = member(plain, "dim");
    return tensors.size() == 1 && input != tensors.end() && input->second && dim && !dim->is_null() &&
           graph_[input->second].type.rank() == 0 && !row.name.ends_with("unsqueeze");
  }

  // ---- tensors that are changed in place
  const Json* meta_of(const std::string& name) const { return values_ ? member(*values_, name) : nullptr; }

  // Whose free sizes a later shape may take from this tensor.
  void own_sizes(const std::string& name) {
    const auto sizes = Symbols::sizes_of(meta_of(name));
    const ValueId value = tensors_[name];
    for (std::size_t axis = 0; value && axis < sizes.size(); ++axis)
      if (!sizes[axis].known) symbols_.add_owner(sizes[axis].expression, {value, static_cast<Size>(axis)});
  }

  void share(const Json& node, const std::string& operation, const std::vector<std::string>& names) {
    // Looks at several tensors: what is changed through one is not followed.
    if (const auto subjects = subjects_of(node); may_share_memory(operation) && subjects.size() == names.size())
      for (std::size_t i = 0; i < names.size(); ++i) views_.add(names[i], {subjects[i], &node, operation, i, false});
    const std::string of = subject_of(node);
    const auto known = tensors_.find(of);
    if (known == tensors_.end() || names.empty()) return;
    Sharing sharing = changes_in_place(operation) ? Sharing::Always : sharing_of(operation);
    const bool stays = known->second == tensors_[names[0]] && !asks_for_copy(node) &&
                       have_same_strides(meta_of(of), meta_of(names[0]));
    if ((operation == "to" || operation == "type_as") && stays) sharing = Sharing::Always;
    if (operation == "contiguous" && !stays) sharing = Sharing::Never;
    const bool row_major = sharing != Sharing::Never && sharing != Sharing::Always && is_row_major(meta_of(of));
    if (sharing == Sharing::Never || (sharing == Sharing::WhereRowMajor && !row_major)) return;
    const bool certain = sharing != Sharing::PerhapsWhereRowMajor || row_major;
    for (std::size_t i = 0; i < names.size(); ++i)
      views_.add(names[i], {of, changes_in_place(operation) ? nullptr : &node, operation, i, certain});
  }

  // The first tensor of the node is what it answered from now on, and so is what it shows and what shows it. What cannot be
  // followed is no longer known, which is told only where it is read.
  Status change(const Json& node, const std::string& answer) {
    std::string name = subject_of(node);
    const auto before = tensors_.find(name);
    if (before == tensors_.end() || !before->second) return {};
    tell_of_state(name);
    ValueId value = tensors_[answer];
    if (value && graph_[value].type != graph_[before->second].type) {
      auto same = add_call(node, "copy.default", Json::object(), {{"input", before->second}, {"src", value}}, 1);
      value = same && !same->empty() ? same->front() : ValueId{};
    }
    std::set<std::string> changed{name};
    std::vector<std::string> rest{name};
    tensors_[name] = value;
    while (const View* view = views_.find(name)) {
      const ValueId whole = tensors_[view->of];
      auto put = view->certain && value && whole ? put_back(*view, whole, value) : Result<ValueId>(ValueId{});
      value = put ? *put : ValueId{};
      name = view->of;
      if (!changed.insert(name).second) return malformed("changes a view of itself");
      tensors_[name] = value;
      rest.push_back(name);
    }
    for (std::size_t i = 0; i < rest.size(); ++i) {
      const std::string of = rest[i];
      for (const std::string& shown : views_.shown(of)) {
        if (!changed.insert(shown).second) continue;
        if (auto s = show_again(shown, tensors_[of]); !s) return s;
        rest.push_back(shown);
      }
    }
    return {};
  }

  // A weight or buffer that a call leaves changed behind.
  void tell_of_state(const std::string& changed) const {
    const auto whole = tensors_.find(views_.whole(changed));
    if (whole == tensors_.end() || !options_.remarks) return;
    for (const auto& [known_as, value] : weights_)
      if (value && value == whole->second && !graph_[value].literal)
        options_.remarks->push_back(changes_itself(known_as));
  }

  Status show_again(const std::string& name, ValueId of) {
    // Every change takes every view along: their product is what a file could ask for.
    if (++shown_again_ > most_shown_again) return fail(Fault::Limit, "changes tensors of too many views, too often");
    const View& view = *views_.find(name);
    if (!of || !view.certain) tensors_[name] = {};
    else if (!view.node) tensors_[name] = of;
    else {
      auto arguments = call_arguments(*view.node, tensors_, symbols_, values_);
      if (!arguments) return pass(arguments);
      const std::string target = text_member(*view.node, "target");
      auto results = add_call(*view.node, target.substr(std::string_view("torch.ops.aten.").size()),
                              std::move(arguments->plain), std::move(arguments->tensors), view.part + 1);
      if (!results) return pass(results);
      tensors_[name] = view.part < results->size() ? (*results)[view.part] : ValueId{};
    }
    return {};
  }

  // `whole` with `part` where the view shows it.
  Result<ValueId> put_back(const View& view, ValueId whole, ValueId part) {
    if (!view.node) return part;
    auto arguments = call_arguments(*view.node, tensors_, symbols_, values_);
    if (!arguments) return pass(arguments);
    auto way = way_back(view, arguments->plain, graph_[whole].type.shape);
    if (!way) return pass(way);
    if (way->overload.empty()) return part;
    TensorArguments tensors{{"input", part}};
    if (way->overload.find("scatter") != std::string::npos) tensors = {{"input", whole}, {"src", part}};
    auto made = add_call(*view.node, way->overload, way->arguments, std::move(tensors), 1);
    if (!made) return pass(made);
    return made->empty() ? ValueId{} : made->front();
  }

  // Nodes of known numbers alone become known numbers, as long as no weight of the model is among them and they are few.
  Status fold(std::size_t first, std::size_t first_value) {
    for (std::size_t i = first; i < graph_.nodes.size(); ++i)
      for (const ValueId v : graph_.nodes[i].inputs) {
        if (!v) continue;
        const bool inner = graph_[v].producer && graph_[v].producer.slot() >= first;
        const Value& value = graph_[v];
        if (!inner && (!value.constant || value.trainable || parameters_.contains(v))) return {};
      }
    if (!allowance_.spend(cost_of(graph_, first_value))) return {};  // they are made when the model runs
    for (std::size_t i = first; i < graph_.nodes.size(); ++i) {
      const Node& node = graph_.nodes[i];
      if (node.inputs.empty()) return {};
      std::vector<const Tensor*> inputs;
      for (const ValueId v : node.inputs) inputs.push_back(v ? &*graph_[v].constant : nullptr);
      const bool literal = std::ranges::all_of(node.inputs, [&](ValueId v) { return !v || graph_[v].literal; });
      auto results = within(place_of(node), run_node_of(graph_, node, inputs, Precision::Single));
      if (!results) return pass(results);
      for (std::size_t k = 0; k < node.outputs.size(); ++k) {
        Value& value = graph_[node.outputs[k]];
        value.constant = as_declared((*results)[k], value.type.dtype);
        value.trainable = false;
        value.literal = literal;
        value.producer = {};
      }
      if (only_reshapes(node.op)) graph_[node.outputs[0]].origin = stored_origin(graph_[node.inputs[0]]);
    }
    graph_.nodes.resize(first);
    return {};
  }

  const ExportedArchive& archive_;
  const LoadOptions& options_;
  Graph graph_;
  Allowance allowance_;
  std::set<std::string> around_;  // paths of modules that have others inside
  Symbols symbols_;
  const Json* values_ = nullptr;
  ExportedTensors tensors_;
  Views views_;
  bool is_resized_ = false;  // read at other sizes than those it was exported for
  int shown_again_ = 0, depth_ = 0;
  static constexpr int most_depth = 16;
  static constexpr int most_shown_again = 100'000;
  std::map<std::string, ValueId> weights_;
  std::set<ValueId> parameters_;
  Reordered reordered_;
  std::map<std::string, DType> autocast_;  // the lower type, by the devices that have autocast where the reader is
  std::map<std::pair<ValueId, DType>, ValueId> casts_;
};

}  // namespace

Result<Graph> read_exported_program(const ZipArchive& zip, const LoadOptions& options) {
  auto archive = read_exported(zip);
  if (!archive) return pass(archive);
  return ExportedReader(*archive, options).run();
}

Result<std::vector<LoadedTensor>> weights_of_exported(const ZipArchive& zip) {
  auto archive = read_exported(zip);
  if (!archive) return pass(archive);
  std::vector<LoadedTensor> all;
  for (auto& [name, tensor] : archive->weights) all.push_back({name, std::move(tensor)});
  for (auto& [name, tensor] : archive->constants)
    if (!archive->weights.contains(name)) all.push_back({name, std::move(tensor)});
  return all;
}

}  // namespace convoy::torch
