// The nodes of an exported program, and the graphs inside it. Source: torch/_export/serde/schema.py.
#include "formats/torch/exported/reader.h"

#include "formats/free_length.h"
#include "formats/recorded_type.h"
#include "formats/torch/catalogue/aten.h"
#include "formats/torch/catalogue/catalogue.h"
#include "formats/torch/catalogue/quantized_decomposed.h"
#include "formats/torch/catalogue/views.h"
#include "formats/torch/exported/archive.h"
#include "formats/torch/exported/arguments.h"
#include "formats/torch/exported/autocast_regions.h"
#include "formats/torch/exported/builder.h"
#include "formats/torch/exported/changes.h"
#include "formats/torch/exported/free_numbers.h"
#include "formats/torch/exported/nodes.h"
#include "formats/torch/exported/signature.h"
#include "formats/torch/exported/views.h"
#include "formats/torch/reordered_weights.h"
#include "ops/expect.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace convoy::torch {
namespace {

constexpr FunctionRow cut_row{"slice", "input", read_cut_to}, padded_row{"pad", "input", read_padded_to};

std::unexpected<Error> malformed(std::string what) { return fail(Fault::Format, std::move(what)); }

class ExportedReader {
 public:
  ExportedReader(const ExportedArchive& archive, const LoadOptions& options) : builder_{archive, options} {}

  Result<Graph> run() {
    const Json* module = member(builder_.archive.program, "graph_module");
    const Json* graph = module ? member(*module, "graph") : nullptr;
    const Json* signature = module ? member(*module, "signature") : nullptr;
    if (!graph || !signature) return malformed("has no graph or no signature");
    builder_.graph.rules = torch_rules;
    builder_.graph.source_format = "PyTorch " + text_member(builder_.archive.program, "torch_version");
    builder_.values = member(*graph, "tensor_values");
    builder_.symbols.read(*graph);
    if (auto s = read_signature_inputs(builder_, *signature); !s) return pass(s);
    if (auto met = read_guards(builder_); !met) return pass(met);
    for (const Json& node : list_member(*graph, "nodes")) {
      const std::string path = module_of(node).path;
      for (const std::string& outer : outer_paths(path)) builder_.around.insert(outer);
    }
    for (const Json& node : list_member(*graph, "nodes"))
      if (auto s = within(place(node), call(node)); !s) return pass(s);
    if (auto s = read_signature_outputs(builder_, *signature); !s) return pass(s);
    read_call_spec(builder_, *module);
    train_reordered(builder_.graph, builder_.reordered);
    prune(builder_.graph);
    return std::move(builder_.graph);
  }

 private:
  std::string place(const Json& node) const {
    const Module module = module_of(node);
    const std::string name = "node '" + text_member(node, "name") + "' (" + text_member(node, "target") + ")";
    return module.path.empty() ? name : "module '" + module.path + "' (" + module.type + "): " + name;
  }

  Status call(const Json& node) {
    const std::string target = text_member(node, "target");
    if (target.starts_with("_operator.") || target.starts_with("torch.sym_") || target.starts_with("math.") ||
        target == "torch.ops.aten.sym_size.int" || target == "torch.ops.aten.sym_numel.default" ||
        target == "torch.ops.aten._assert_tensor_metadata.default" ||
        target == "torch.ops.aten._assert_scalar.default" || target.starts_with("torch.ops.aten._assert_async.") ||
        target == "torch.ops.aten.sym_constrain_range_for_size.default")
      return {};  // sizes are known by their expressions; assertions compute nothing
    if (target == "torch.ops.higher_order.wrap_with_set_grad_enabled") return call_inner(node);
    if (target == "torch.ops.higher_order.wrap_with_autocast") {
      if (auto s = autocast_.enter(node); !s) return s;
      auto made = call_inner(node);
      autocast_.leave();
      return made;
    }
    constexpr std::string_view aten = "torch.ops.aten.", quantized = "torch.ops.quantized_decomposed.";
    const bool is_quantized = target.starts_with(quantized);
    if (!target.starts_with(aten) && !is_quantized)
      return fail(Fault::Unsupported, "calls what is no operator of ATen");
    auto arguments = call_arguments(node, builder_.tensors, builder_.symbols, builder_.values);
    if (!arguments) return pass(arguments);
    if (arguments->trains) return fail(Fault::Unsupported, std::string(exported_in_training));
    for (const auto& [name, expression] : arguments->free_numbers) {
      const auto number =
          counted(node, [&](FunctionCall& made) { return number_of(made, builder_.symbols, expression); });
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
    if (auto cast = autocast_.cast(node, overload, *arguments); !cast) return cast;
    const auto names = names_in(list_member(node, "outputs"));
    const AtenRow row = is_quantized ? AtenRow{quantized_decomposed_row(overload), std::move(arguments->plain)}
                                     : aten_row(overload, std::move(arguments->plain));
    auto results = arguments->cut               ? add_cut(node, *arguments)
                   : !arguments->groups.empty() ? add_groups(node, row, *arguments)
                   : arguments->pads.empty()    ? builder_.add(node, row, std::move(arguments->tensors), names.size())
                                                : add_pads(node, *arguments, row.arguments);
    if (!results && results.error().fault == Fault::Format && !is_quantized && !is_known_overload(overload))
      return fail(Fault::Unsupported, "is an overload of the operator that is not carried");
    if (!results) return pass(results);
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (names[i].empty()) continue;
      builder_.tensors[names[i]] = i < results->size() ? (*results)[i] : ValueId{};
      builder_.own_sizes(names[i]);
    }
    changes_.share(node, operation, names);
    if (changes_in_place(operation) && !names.empty()) return changes_.change(node, names[0]);
    // PyTorch records float64 and int64 of this one, whatever it computes.
    const bool is_misrecorded = is_quantized && operation == "choose_qparams_per_token";
    for (const std::string& name : names)
      if (auto s = check_recorded(name, is_misrecorded); !s) return s;
    return {};
  }

  // What free sizes are counted by.
  Result<ValueId> counted(const Json& node, const std::function<ValueId(FunctionCall&)>& count) {
    const Json nothing = Json::object();
    FunctionCall call(builder_.graph, "size", nothing, {}, text_member(node, "name"));
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
    return builder_.add(node, AtenRow{&cut_row, {{"dim", dim}}}, std::move(arguments.tensors), 1);
  }

  Result<std::vector<ValueId>> add_groups(const Json& node, const AtenRow& row, const ExportedArguments& arguments) {
    std::vector<ValueId> x{arguments.tensors.at("input")};
    for (const auto& [to, kept] : arguments.groups) {
      auto made = builder_.add(node, AtenRow{row.row, {{"size", to}, {"kept", kept}}}, {{"input", x[0]}}, 1);
      if (!made) return made;
      x = *std::move(made);
    }
    return x;
  }

  Result<std::vector<ValueId>> add_pads(const Json& node, const ExportedArguments& arguments, const Json& plain) {
    std::vector<ValueId> x{arguments.tensors.at("input")};
    for (const auto& [dim, length, before] : arguments.pads) {
      const auto ones = counted(node, [&](FunctionCall& made) { return ones_of_length(made, length); });
      const auto first = counted(node, [&](FunctionCall& made) { return number_of(made, builder_.symbols, before); });
      if (!ones) return std::unexpected(ones.error());
      if (!first) return std::unexpected(first.error());
      Json words{{"dim", dim}};
      for (const char* word : {"mode", "value"})
        if (const Json* said = member(plain, word); said && !said->is_null()) words[word] = *said;
      auto made =
          builder_.add(node, AtenRow{&padded_row, words}, {{"input", x[0]}, {"like", *ones}, {"before", *first}}, 1);
      if (!made) return made;
      x = *std::move(made);
    }
    return x;
  }

  // Where the first cell that as_strided() looks at lies behind the first one of its tensor, whose memory is row-major.
  Status find_in_memory(const Json& node, Json& plain) const {
    const Json* meta = builder_.meta_of(subject_of(node));
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
    const auto found = builder_.tensors.find(name);
    if (found == builder_.tensors.end() || !found->second || !builder_.meta_of(name)) return {};
    auto recorded = builder_.declared(name);
    if (!recorded) return pass(recorded);
    const TensorType& read = builder_.graph[found->second].type;
    if (builder_.is_resized) recorded->shape = read.shape;
    if (by_shape_alone) recorded->dtype = read.dtype;
    return expect_recorded(read, *recorded);
  }

  static bool is_known_overload(std::string_view overload) {
    const auto dot = std::min(overload.find('.'), overload.size());
    std::string_view name = overload.substr(0, dot);
    if (name.ends_with('_') && !name.starts_with("__")) name.remove_suffix(1);
    return is_catalogued_overload(name, overload.substr(std::min(dot + 1, overload.size())));
  }

  // What `with torch.no_grad()` computes, as it is read outside of it: no gradient comes back through it.
  Result<ValueId> stopped(ValueId value) {
    if (!value || !is_floating(builder_.graph[value].type.dtype) || !builder_.graph[value].producer) return value;
    const std::vector<Scope> scopes = builder_.graph[builder_.graph[value].producer].scopes;
    const auto made =
        builder_.graph.add(Identity{true}, {value}, builder_.graph[value].name + ".detach", "detach", scopes);
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
      if (const auto found = builder_.tensors.find(given[i]); found != builder_.tensors.end() && !wanted[i].empty())
        tensors[wanted[i]] = found->second;
    const ExportedTensors before = tensors;
    Views views;
    const Json* values = member(*inner, "tensor_values");
    const auto exchange = [&] {
      std::swap(tensors, builder_.tensors);
      std::swap(views, builder_.views);
      std::swap(values, builder_.values);
    };
    exchange();
    builder_.symbols.read(*inner);
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
      builder_.tensors[names[i]] = found == tensors.end() ? ValueId{} : found->second;
      if (found == tensors.end()) continue;
      if (stops && !before.contains(results[i])) {
        const auto read = stopped(found->second);
        if (!read) return std::unexpected(read.error());
        builder_.tensors[names[i]] = *read;
      }
      builder_.own_sizes(names[i]);
      const auto [shown, is_first] = outside.emplace(views.whole(results[i]), names[i]);
      if (!is_first && shown->second != names[i]) builder_.views.add(names[i], {shown->second, nullptr, {}, i, false});
    }
    return {};
  }

  ExportedBuilder builder_;
  InPlaceChanges changes_{builder_};
  AutocastRegions autocast_{builder_};
  int depth_ = 0;
  static constexpr int most_depth = 16;
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
