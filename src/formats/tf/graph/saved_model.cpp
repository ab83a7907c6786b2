// A graph with its variables beside it: SavedModels of TensorFlow 1 and 2, and meta graphs beside a checkpoint.
#include "formats/tf/graph/bundle.h"
#include "formats/tf/graph/reader.h"
#include "formats/tf/graph/tensor.h"
#include "formats/tf/tf.h"

#include "base/nearest.h"
#include "ops/expect.h"

#include <algorithm>

namespace convoy::tf {
namespace {

constexpr std::string_view usual_signature = "serving_default", start_signature = "__saved_model_init_op";
constexpr Size text_list = 7;

std::string_view node_in(std::string_view text) {
  if (text.starts_with("^")) text.remove_prefix(1);
  return text.substr(0, text.find(':'));
}

// Which name in the checkpoint each variable is restored from, as the graph itself says it: RestoreV2 reads the names in a
// list, and an assignment puts each result into a variable.
class Restores {
 public:
  explicit Restores(const StoredGraph& graph) {
    scan(graph.nodes, {});
    for (const GraphNode& node : graph.nodes) {
      const auto called = graph.functions.find(node.op.ends_with("PartitionedCall") ? node.text("f") : node.op);
      if (called == graph.functions.end()) continue;
      const StoredFunction& function = called->second;
      if (std::ranges::none_of(function.nodes, [](const GraphNode& n) { return n.op == "RestoreV2"; })) continue;
      std::map<std::string, std::string, std::less<>> arguments;
      for (std::size_t i = 0; i < function.arguments.size() && i < node.inputs.size(); ++i)
        arguments[function.arguments[i].name] = std::string(node_in(node.inputs[i]));
      scan(function.nodes, arguments);
    }
  }

  const std::string* key_of(const std::string& variable) const {
    if (const auto at = keys_.find(variable); at != keys_.end()) return &at->second;
    const auto copied = copies_.find(variable);
    if (copied == copies_.end() || copied->second.size() != 1) return nullptr;
    const auto at = keys_.find(copied->second.front());
    return at == keys_.end() ? nullptr : &at->second;
  }

 private:
  void scan(const std::vector<GraphNode>& nodes, const std::map<std::string, std::string, std::less<>>& arguments) {
    std::unordered_map<std::string_view, const GraphNode*> by_name;
    for (const GraphNode& node : nodes) by_name.emplace(node.name, &node);
    const auto find = [&](std::string_view text) -> const GraphNode* {
      const auto at = by_name.find(node_in(text));
      return at == by_name.end() ? nullptr : at->second;
    };
    for (const GraphNode& node : nodes) {
      if ((node.op != "AssignVariableOp" && node.op != "Assign") || node.inputs.size() < 2) continue;
      std::string_view value = node.inputs[1];
      const GraphNode* from = find(value);
      for (int i = 0; i < 8 && from && (from->op == "Identity" || from->op == "Cast") && !from->inputs.empty(); ++i) {
        value = from->inputs[0];
        from = find(value);
      }
      if (from && from->op == "ReadVariableOp" && from->inputs.size() == 1)
        copies_[std::string(node_in(from->inputs[0]))].emplace_back(node_in(node.inputs[0]));
      if (!from || from->op != "RestoreV2" || from->inputs.size() < 2) continue;
      const GraphNode* names = find(from->inputs[1]);
      const NodeAttribute* list = names ? names->attribute("value") : nullptr;
      if (!list || list->tensor.type != text_list) continue;
      std::size_t place = 0;
      if (const auto colon = value.rfind(':'); colon != std::string_view::npos)
        for (const char c : value.substr(colon + 1))
          place = std::min<std::size_t>(place * 10 + static_cast<std::size_t>(c - '0'), 1 << 30);
      if (place >= list->tensor.texts.size()) continue;
      const auto argument = arguments.find(node_in(node.inputs[0]));
      const std::string variable =
          argument != arguments.end() ? argument->second : std::string(node_in(node.inputs[0]));
      keys_[variable] = std::string(text_of(list->tensor.texts[place]));
    }
  }

  std::map<std::string, std::string> keys_;
  // By variable, those that begin as copies of it: tf.saved_model.save restores these, where the signature reads the other one.
  std::map<std::string, std::vector<std::string>> copies_;
};

// Reads variables from a checkpoint, which is opened when the first of them is asked for.
class CheckpointVariables {
 public:
  CheckpointVariables(const StoredGraph& graph, std::filesystem::path prefix, bool zeros)
      : restores_(graph),
        prefix_(std::move(prefix)),
        zeros_(zeros) {}

  Result<Tensor> operator()(const GraphNode& node) {
    const NodeAttribute *type = node.attribute("dtype"), *shape = node.attribute("shape");
    const auto dtype = type ? dtype_of(type->integer) : std::nullopt;
    const bool known = dtype && shape && shape->shape.sizes && checked_count(*shape->shape.sizes);
    if (zeros_ && known) {
      StoredTensor zeros;
      zeros.type = type->integer;
      zeros.shape = shape->shape.sizes;
      return tensor_of(zeros, {});
    }
    if (!bundle_) {
      auto opened = Bundle::open(prefix_);
      if (!opened) return pass(opened);
      bundle_.emplace(std::move(*opened));
      auto names = bundle_->keys_by_name();
      if (!names) return pass(names);
      names_ = std::move(*names);
    }
    const BundleEntry* entry = entry_of(node);
    if (!entry)
      return fail(Fault::Format, "the checkpoint '" + prefix_.filename().string() + "' holds no numbers of it");
    auto tensor = within("'" + entry->key + "'", bundle_->tensor(*entry));
    if (!tensor) return tensor;
    bool fits = !dtype || *dtype == tensor->dtype();
    if (shape && shape->shape.sizes) {
      fits = fits && shape->shape.sizes->size() == tensor->shape().size();
      for (std::size_t i = 0; fits && i < tensor->shape().size(); ++i)
        fits = (*shape->shape.sizes)[i] < 0 || (*shape->shape.sizes)[i] == tensor->shape()[i];
    }
    if (!fits)
      return fail(Fault::Format, "'" + entry->key + "' is " + std::string(name_of(tensor->dtype())) + " " +
                                     text_of(tensor->shape()) + " in the checkpoint, which the graph does not expect");
    return tensor;
  }

 private:
  const BundleEntry* entry_of(const GraphNode& node) const {
    if (const std::string* key = restores_.key_of(node.name)) return bundle_->find(*key);
    const std::string shared = node.text("shared_name");
    for (const std::string& name : {shared, node.name}) {
      if (name.empty()) continue;
      if (const auto at = names_.find(name); at != names_.end()) return bundle_->find(at->second);
      if (const BundleEntry* entry = bundle_->find(name)) return entry;
    }
    return nullptr;
  }

  Restores restores_;
  std::filesystem::path prefix_;
  bool zeros_;
  std::optional<Bundle> bundle_;
  std::map<std::string, std::string> names_;
};

Result<const StoredSignature*> signature_of_model(const MetaGraph& meta, const LoadOptions& options) {
  std::vector<std::string> names;
  for (const auto& [name, signature] : meta.signatures)
    if (name != start_signature) names.push_back(name);
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "'" : ", '") + name + "'";
  const std::string wanted = options.signature.value_or(std::string(usual_signature));
  if (const auto found = meta.signatures.find(wanted); found != meta.signatures.end()) return &found->second;
  if (options.signature && (options.for_one_model || names.size() > 1))
    return fail(Fault::Usage, "has no signature '" + wanted + "'" +
                                  did_you_mean(wanted, names, "it has " + (all.empty() ? "none" : all)));
  if (names.size() == 1) return &meta.signatures.at(names.front());
  if (names.empty()) return static_cast<const StoredSignature*>(nullptr);
  return fail(Fault::Usage, "has the signatures " + all + "; choose one with --signature");
}

Endpoint endpoint_of(const std::string& name, const SignatureTensor& tensor) {
  Endpoint endpoint{name, tensor.name, {}, dtype_of(tensor.type)};
  if (tensor.shape.sizes) endpoint.shape = shape_of(*tensor.shape.sizes);
  return endpoint;
}

// "output_2" comes in front of "output_10".
bool counts_less(const std::string& a, const std::string& b) {
  const auto stem = [](const std::string& text) { return text.find_last_not_of("0123456789") + 1; };
  const std::size_t i = stem(a), k = stem(b);
  if (a.substr(0, i) != b.substr(0, k)) return a < b;
  if (a.size() != b.size()) return a.size() < b.size();
  return a < b;
}

std::vector<Endpoint> endpoints_of(const std::map<std::string, SignatureTensor>& tensors) {
  std::vector<Endpoint> all;
  for (const auto& [name, tensor] : tensors) all.push_back(endpoint_of(name, tensor));
  std::ranges::sort(all, [](const Endpoint& a, const Endpoint& b) { return counts_less(a.name, b.name); });
  return all;
}

Result<Graph> read_with_variables(const MetaGraph& meta, const Blob& blob, const std::filesystem::path& prefix,
                                  const LoadOptions& options, bool needs_signature) {
  const auto signature = signature_of_model(meta, options);
  if (!signature) return std::unexpected(signature.error());
  if (!*signature && needs_signature)
    return fail(Fault::Unsupported,
                "has no signature, so nothing says what its inputs and outputs are; save the model with one "
                "(signatures= of tf.saved_model.save)");
  CheckpointVariables variables(meta.graph, prefix, options.structure_only);
  GraphReader reader(meta.graph, blob.keeper, options, [&](const GraphNode& node) { return variables(node); });
  auto graph = *signature ? reader.read(endpoints_of((*signature)->inputs), endpoints_of((*signature)->outputs))
                          : reader.read({}, {});
  if (graph) graph->source_format = meta.version.empty() ? "TensorFlow" : "TensorFlow " + meta.version;
  return graph;
}

Result<std::vector<LoadedTensor>> weights_of_bundle(const std::filesystem::path& prefix) {
  auto bundle = Bundle::open(prefix);
  if (!bundle) return pass(bundle);
  std::vector<LoadedTensor> all;
  for (const BundleEntry& entry : bundle->entries()) {
    if (!dtype_of(entry.type)) continue;  // texts: names, and how objects hold one another
    auto tensor = within("'" + entry.key + "'", bundle->tensor(entry));
    if (!tensor) return pass(tensor);
    all.push_back({entry.key, std::move(*tensor)});
  }
  return all;
}

std::filesystem::path without_end(const std::filesystem::path& file) { return file.parent_path() / file.stem(); }

std::filesystem::path variables_of(const std::filesystem::path& file) {
  return file.parent_path() / "variables" / "variables";
}

}  // namespace

std::filesystem::path saved_model_in(const std::filesystem::path& folder) {
  return (folder.has_filename() ? folder : folder.parent_path()) / "saved_model.pb";
}

Result<Graph> read_saved_model(const Blob& blob, const std::filesystem::path& file, const LoadOptions& options) {
  const auto all = parse_saved_model(blob.bytes);
  if (!all) return std::unexpected(all.error());
  const auto serves =
      std::ranges::find_if(*all, [](const MetaGraph& m) { return std::ranges::find(m.tags, "serve") != m.tags.end(); });
  return read_with_variables(serves == all->end() ? all->front() : *serves, blob, variables_of(file), options, true);
}

Result<Graph> read_meta_graph(const Blob& blob, const std::filesystem::path& file, const LoadOptions& options) {
  const auto meta = parse_meta_graph(blob.bytes);
  if (!meta) return std::unexpected(meta.error());
  return read_with_variables(*meta, blob, without_end(file), options, false);
}

Result<std::vector<LoadedTensor>> weights_of_saved_model(const std::filesystem::path& file) {
  return weights_of_bundle(variables_of(file));
}

Result<std::vector<LoadedTensor>> weights_of_checkpoint(const std::filesystem::path& index) {
  return weights_of_bundle(without_end(index));
}

Result<std::vector<LoadedTensor>> weights_of_graph(const Blob& blob) {
  const auto stored = parse_graph(blob.bytes);
  if (!stored) return std::unexpected(stored.error());
  std::vector<LoadedTensor> all;
  for (const GraphNode& node : stored->nodes) {
    const NodeAttribute* value = node.op == "Const" ? node.attribute("value") : nullptr;
    const auto dtype = value ? dtype_of(value->tensor.type) : std::nullopt;
    if (!dtype || !is_floating(*dtype) || !value->tensor.shape || value->tensor.shape->empty()) continue;
    auto tensor = within("node '" + node.name + "'", tensor_of(value->tensor, blob.keeper));
    if (!tensor) return pass(tensor);
    all.push_back({node.name, std::move(*tensor)});
  }
  return all;
}

}  // namespace convoy::tf
