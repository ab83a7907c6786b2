// The nodes of an exported program, and the graphs inside it. Source: torch/_export/serde/schema.py.
#include "formats/torch/exported/reader.h"

#include "formats/chosen.h"
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
#include "formats/unknown_sizes.h"
#include "ops/expect.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
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
    recorded_ = builder_.values;
    for (const auto& [name, value] : builder_.tensors)
      if (value && std::ranges::find(builder_.graph.inputs, value) != builder_.graph.inputs.end())
        inputs_.emplace(name, value);
    builder_.free_sizes = &followed_sizes();
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
    if (target == "torch.ops.higher_order.cond") return call_branches(node);
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
    if (!inner) return malformed("has no inner graph");
    auto read = read_inner(*inner, given);
    if (!read) return pass(read);
    const auto& [tensors, before, views, results] = *read;
    const auto wanted = names_in(list_member(*inner, "inputs")), names = names_in(list_member(node, "outputs"));
    const bool stops = text_member(node, "target").ends_with("wrap_with_set_grad_enabled") && !turns_on(node);
    std::map<std::string, std::string> outside;  // what shows which memory, by the inner name of the whole
    for (std::size_t i = 0; i < given.size(); ++i) outside.emplace(wanted[i], given[i]);
    for (std::size_t i = 0; i < names.size(); ++i) {
      const auto found = i < results.size() ? tensors.find(results[i]) : tensors.end();
      if (names[i].empty()) continue;
      builder_.tensors[names[i]] = found == tensors.end() ? ValueId{} : found->second;
      if (found == tensors.end()) continue;
      if (stops && !before.contains(results[i])) {
        const auto still = stopped(found->second);
        if (!still) return std::unexpected(still.error());
        builder_.tensors[names[i]] = *still;
      }
      builder_.own_sizes(names[i]);
      const auto [shown, is_first] = outside.emplace(views.whole(results[i]), names[i]);
      if (!is_first && shown->second != names[i]) builder_.views.add(names[i], {shown->second, nullptr, {}, i, false});
    }
    return {};
  }

  // What the names of a graph inside the graph came to.
  struct InnerGraph {
    ExportedTensors tensors, before;
    Views views;
    std::vector<std::string> results;
  };
  Result<InnerGraph> read_inner(const Json& inner, const std::vector<std::string>& given) {
    const auto wanted = names_in(list_member(inner, "inputs"));
    if (wanted.size() != given.size()) return malformed("an inner graph that takes other inputs");
    if (++depth_ > most_depth) return fail(Fault::Limit, "graphs inside one another, too deep");
    ExportedTensors tensors;
    for (std::size_t i = 0; i < given.size(); ++i)
      if (const auto found = builder_.tensors.find(given[i]); found != builder_.tensors.end() && !wanted[i].empty())
        tensors[wanted[i]] = found->second;
    const ExportedTensors before = tensors;
    Views views;
    const Json* values = member(inner, "tensor_values");
    const auto exchange = [&] {
      std::swap(tensors, builder_.tensors);
      std::swap(views, builder_.views);
      std::swap(values, builder_.values);
    };
    exchange();
    builder_.symbols.read(inner);
    Status done;
    for (const Json& one : list_member(inner, "nodes"))
      if (done) done = within(place(one), call(one));
    exchange();
    --depth_;
    if (!done) return pass(done);
    for (const auto& [name, value] : before)
      if (tensors[name] != value) return fail(Fault::Unsupported, "changes a tensor of the graph around it in place");
    return InnerGraph{std::move(tensors), before, std::move(views), names_in(list_member(inner, "outputs"))};
  }

  // torch.cond: of a condition that is known one branch, else both and a choice.
  Status call_branches(const Json& node) {
    const Json& inputs = list_member(node, "inputs");
    const auto argument = [&](std::size_t i) { return i < inputs.size() ? member(inputs[i], "arg") : nullptr; };
    const auto graph = [&](std::size_t i) {
      const Json* said = argument(i);
      const Json* named = said ? member(*said, "as_graph") : nullptr;
      return named ? member(*named, "graph") : nullptr;
    };
    const Json *asked = argument(0), *if_true = graph(1), *if_false = graph(2);
    if (!asked || !if_true || !if_false) return malformed("has no condition and two branches");
    const auto condition = condition_of(node, *asked);
    if (!condition) return std::unexpected(condition.error());
    const auto [truth, value] = *condition;
    const auto given = subjects_of(node), names = names_in(list_member(node, "outputs"));
    std::vector<std::vector<ValueId>> both;
    for (const Json* branch : {if_true, if_false}) {
      if (truth && *truth != (branch == if_true)) continue;
      auto read =
          within(branch == if_true ? "the branch where it holds" : "the other branch", read_inner(*branch, given));
      if (!read) return pass(read);
      auto& results = both.emplace_back();
      for (const std::string& name : read->results) {
        const auto found = read->tensors.find(name);
        results.push_back(found == read->tensors.end() ? ValueId{} : found->second);
      }
      if (results.size() != names.size()) return malformed("has a branch that gives other results");
    }
    const std::string layer = text_member(node, "name");
    if (!truth) builder_.remark(remark_of_both(layer));
    UnknownSizes& sizes = followed_sizes();
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (names[i].empty()) continue;
      if (!both.front()[i] || !both.back()[i])
        return fail(Fault::Unsupported, "has a branch whose result is no tensor");
      auto made = truth ? Result<ValueId>(both.front()[i])
                        : chosen(builder_.graph, sizes, value, both.front()[i], both.back()[i], layer);
      if (!made) return pass(made);
      builder_.tensors[names[i]] = *made;
      builder_.own_sizes(names[i]);
      if (auto s = check_recorded(names[i]); !s) return s;
    }
    return {};
  }

  // Known, or a value of the graph.
  Result<std::pair<std::optional<bool>, ValueId>> condition_of(const Json& node, const Json& asked) {
    using Condition = std::pair<std::optional<bool>, ValueId>;
    if (const Json* said = member(asked, "as_bool"); said && said->is_boolean())
      return Condition{said->get<bool>(), {}};
    if (const Json* tensor = member(asked, "as_tensor")) {
      const auto found = builder_.tensors.find(text_member(*tensor, "name"));
      if (found == builder_.tensors.end() || !found->second) return malformed("its condition is no tensor");
      const auto& known = builder_.graph[found->second].constant;
      if (known && known->count() == 1) return Condition{known->doubles().front() != 0, {}};
      return Condition{std::nullopt, found->second};
    }
    const Json* of_sizes = member(asked, "as_sym_bool");
    if (!of_sizes) return fail(Fault::Unsupported, "its condition is neither a tensor nor computed of sizes");
    if (const Json* said = member(*of_sizes, "as_bool"); said && said->is_boolean())
      return Condition{said->get<bool>(), {}};
    const SymbolicSize size = builder_.symbols.named(text_member(*of_sizes, "as_name"));
    if (size.known) return Condition{*size.known != 0, {}};
    const auto truth =
        counted(node, [&](FunctionCall& made) { return number_of(made, builder_.symbols, size.expression); });
    if (!truth) return within("its condition", Result<Condition>(std::unexpected(truth.error())));
    return Condition{std::nullopt, *truth};
  }

  // Which sizes are equal in every run: those of the inputs by their expressions.
  UnknownSizes& followed_sizes() {
    if (!sizes_) {
      sizes_.emplace();
      for (const auto& [name, value] : inputs_) {
        std::vector<std::string> words;
        for (const auto& size : Symbols::sizes_of(member(*recorded_, name))) words.push_back(size.expression);
        sizes_->add_input(builder_.graph, value, words);
      }
    }
    sizes_->follow(builder_.graph);
    return *sizes_;
  }

  ExportedBuilder builder_;
  InPlaceChanges changes_{builder_};
  AutocastRegions autocast_{builder_};
  ExportedTensors inputs_;
  const Json* recorded_ = nullptr;  // of all tensors outside of inner graphs
  std::optional<UnknownSizes> sizes_;  // where one is asked for
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
