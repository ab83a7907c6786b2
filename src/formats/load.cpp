// Tells what a file is by its first bytes and hands it to its reader; a format without one is refused by its name.
#include "formats/format.h"

#include "base/budget.h"
#include "base/mapped_file.h"
#include "base/nearest.h"
#include "base/shown.h"
#include "containers/hdf5.h"
#include "containers/json.h"
#include "containers/npy.h"
#include "containers/safetensors.h"
#include "containers/table.h"
#include "containers/zip.h"
#include "formats/fitting_sizes.h"
#include "formats/from_memory.h"
#include "formats/keras/keras.h"
#include "formats/onnx/onnx.h"
#include "formats/source.h"
#include "formats/tf/tf.h"
#include "formats/tflite/tflite.h"
#include "formats/torch/checkpoint.h"
#include "formats/torch/exported/archive.h"
#include "formats/torch/exported/reader.h"
#include "formats/torch/script/reader.h"
#include "formats/weights.h"
#include "graph/cut.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace convoy {
namespace {

bool begins(Bytes bytes, std::string_view magic, std::size_t at = 0) {
  return bytes.size() >= at + magic.size() && text_of(bytes).substr(at, magic.size()) == magic;
}

char first_letter(Bytes bytes) {
  const auto text = text_of(bytes);
  const auto at = text.find_first_not_of(" \t\r\n");
  return at == std::string_view::npos ? '\0' : text[at];
}

bool is_json(Bytes bytes) { return first_letter(bytes) == '{'; }

// 8 bytes of length, then JSON of that length.
bool is_safetensors(Bytes bytes) {
  ByteReader reader(bytes);
  const std::uint64_t n = reader.u64();
  return reader.ok() && n >= 2 && n <= 100'000'000 && n <= static_cast<std::uint64_t>(reader.left()) &&
         begins(bytes, "{", 8);
}

// A protobuf message says nothing of itself: the first fields of the three that are met tell them apart.
std::string_view protobuf_name(Bytes bytes) {
  if (bytes.size() < 4 || std::to_integer<int>(bytes[0]) != 0x08) return {};
  const int version = std::to_integer<int>(bytes[1]), next = std::to_integer<int>(bytes[2]);
  if (version == 1 && next == 0x12) return "a Core ML model";
  if (version >= 3 && version <= 20 && (next == 0x12 || next == 0x3a || next == 0x42 || next == 0x1a))
    return "an ONNX model";
  return {};
}

std::string_view zip_name(const ZipArchive& zip) {
  const auto has_end = [&](std::string_view end) {
    return std::ranges::any_of(zip.entries(), [&](const ZipEntry& e) { return e.name.ends_with(end); });
  };
  if (has_end("/data.pkl")) return "a PyTorch checkpoint";
  if (zip.find("Manifest.json") || has_end("/Manifest.json")) return "a Core ML package";
  if (!zip.entries().empty() &&
      std::ranges::all_of(zip.entries(), [](const ZipEntry& e) { return e.name.ends_with(".npy"); }))
    return "a numpy archive";
  return {};
}

// The name of a format that is known but has no reader, with its article.
std::string_view known_format(Bytes bytes) {
  if (begins(bytes, "PTMF", 4)) return "a PyTorch Mobile model";
  if (begins(bytes, "ORTM", 4)) return "an ONNX Runtime model";
  if (begins(bytes, "\x93NUMPY")) return "a numpy array";
  if (begins(bytes, "ML\xefR")) return "an MLIR module";
  if (begins(bytes, "7767517")) return "an ncnn model";
  if (torch::begins_stream(bytes)) return "an old PyTorch checkpoint";
  if (ends_table(bytes)) return "a TensorFlow checkpoint";
  if (first_letter(bytes) == '<') return "an XML file";
  if (is_safetensors(bytes)) return "a safetensors file";
  return protobuf_name(bytes);
}

// What has no graph that convoy reads, and PyTorch can say again.
constexpr std::string_view saves_the_graph =
    "torch.export.save(torch.export.export(model.eval(), (x,)), \"model.pt2\")";

// What torch.save(model) writes: only whoever has the class can make the module again.
std::unexpected<Error> unread_module(const std::string& kind) {
  return fail(Fault::Unsupported,
              "holds a whole module as torch.save(model) pickles it: its weights, and of its class the name '" +
                  shown(kind) +
                  "' alone; name the source of that class, with this file as its --weights, or save the graph with " +
                  std::string(saves_the_graph));
}

std::unexpected<Error> unread(std::string_view name) {
  if (name.empty())
    return fail(Fault::Format,
                "is of no format that is known here: models are read from .keras, .h5, .json, .onnx, .tflite and .pt2 "
                "files, SavedModels, frozen graphs (.pb), TorchScript and Python source");
  std::string sentence = "is " + std::string(name);
  if (name == "a TensorFlow checkpoint")
    sentence += ", which holds weights but no graph; name the SavedModel or the .meta file beside it";
  else if (name.ends_with("PyTorch checkpoint") || name == "a safetensors file")
    sentence += ", which holds weights but no graph; save the graph with " + std::string(saves_the_graph);
  else if (name == "a PyTorch Mobile model")
    sentence += ", which this version does not read; save the graph with " + std::string(saves_the_graph);
  else if (name.starts_with("a numpy")) sentence += ", which holds numbers but no graph";
  else sentence += ", which this version does not read";
  return fail(Fault::Unsupported, std::move(sentence));
}

// --outputs, for readers that follow a whole program.
Result<Graph> cut_as_asked(Result<Graph> graph, const LoadOptions& options) {
  return graph ? cut_at(*std::move(graph), options.outputs) : std::move(graph);
}

Result<Graph> load_bytes(const Blob& blob, const std::filesystem::path& file, const LoadOptions& options) {
  if (blob.bytes.empty()) return fail(Fault::Truncated, "is empty");
  if (ZipArchive::begins(blob.bytes)) {
    auto zip = ZipArchive::open(blob);
    if (!zip) return pass(zip);
    if (zip->find("config.json")) return keras::read_archive(blob.bytes, blob.keeper, options);
    if (torch::is_exported(*zip)) return cut_as_asked(torch::read_exported_program(*zip, options), options);
    if (torch::is_script(*zip)) return cut_as_asked(torch::read_script(*zip, options), options);
    const auto name = zip_name(*zip);
    if (const auto kind = torch::pickled_module(*zip); !kind.empty()) return unread_module(kind);
    return unread(name.empty() ? "a zip archive without a model" : name);
  }
  if (Hdf5File::begins(blob.bytes)) return keras::read_hdf5(blob.bytes, blob.keeper, options);
  if (is_json(blob.bytes)) return keras::read_json(text_of(blob.bytes), options);
  if (onnx::begins_model(blob.bytes)) return onnx::read_model(blob, file.parent_path(), options);
  if (tflite::begins_model(blob.bytes)) return tflite::read_model(blob, options);
  if (tf::begins_graph(blob.bytes)) return tf::read_graph(blob, options);
  // One that is cut off does not show what it is, but by its name.
  if (tf::begins_saved_model(blob.bytes) || file.filename() == "saved_model.pb")
    return tf::read_saved_model(blob, file, options);
  if (tf::begins_meta_graph(blob.bytes)) return tf::read_meta_graph(blob, file, options);
  if (const auto kind = torch::pickled_module(blob); !kind.empty()) return unread_module(kind);
  return unread(known_format(blob.bytes));
}

std::string input_names(const Graph& graph) {
  std::string names;
  for (const ValueId v : graph.inputs) names += (names.empty() ? "'" : ", '") + graph[v].name + "'";
  return names;
}

// Whether an input of images has the spatial sizes that were asked for, wherever its channels lie.
bool takes_size(const Shape& shape, const std::vector<std::optional<Size>>& size) {
  if (shape.size() != size.size() + 2) return false;
  const auto holds_at = [&](std::size_t first) {
    for (std::size_t i = 0; i < size.size(); ++i)
      if (shape[first + i] != (size[i] ? Dim(*size[i]) : Dim::unknown())) return false;
    return true;
  };
  return holds_at(1) || holds_at(2);
}

// Whether an input has the shape that was asked for; how many examples there are may have been left open.
bool holds(const Shape& shape, const Shape& asked) {
  const bool is_open = !shape.empty() && !shape[0].known();
  return shape.size() == asked.size() &&
         std::ranges::equal(std::span(shape).subspan(is_open ? 1 : 0), std::span(asked).subspan(is_open ? 1 : 0));
}

// What was asked of the inputs is what some input has. The only input of a program may go by any name.
Status all_taken(const Graph& graph, const LoadOptions& options) {
  std::vector<std::string> names;
  for (const ValueId v : graph.inputs) names.push_back(graph[v].name);
  for (const auto& [name, shape] : options.shapes) {
    const auto takes = [&, &asked = shape, &word = name](ValueId v) {
      return graph[v].name == word || (graph.inputs.size() == 1 && holds(graph[v].type.shape, asked));
    };
    if (!name.empty() && std::ranges::none_of(graph.inputs, takes))
      return fail(Fault::Usage, "--shape names '" + name + "', which is no input of the model" +
                                    did_you_mean(name, names, "it has " + input_names(graph)));
  }
  const bool taken = options.size.empty() || std::ranges::any_of(graph.inputs, [&](ValueId v) {
                       return takes_size(graph[v].type.shape, options.size);
                     });
  if (!taken)
    return fail(Fault::Usage, "no input takes a --size of " + std::to_string(options.size.size()) +
                                  " axes; say whole shapes with --shape of " + input_names(graph));
  return {};
}

// A type is taken where the file declares none.
Status types_taken(const Graph& graph, const LoadOptions& options) {
  for (const auto& [name, type] : options.types)
    for (const ValueId v : graph.inputs) {
      const DType said = type, read = graph[v].type.dtype;
      if ((name.empty() || graph[v].name == name) && read != said)
        return fail(Fault::Usage, "input '" + graph[v].name + "' is said to be " + std::string(name_of(said)) +
                                      ", and the file declares " + std::string(name_of(read)) + "; leave out the type");
    }
  return {};
}

// A shape without a name is that of the only input.
Status only_one_unnamed(const Graph& graph, const LoadOptions& options) {
  if (!options.shapes.contains("") || graph.inputs.size() < 2) return {};
  return fail(Fault::Usage, "--shape without a name is for a model with one input; write NAME= before it: it has " +
                                input_names(graph));
}

Result<WeightsFile> weights_of(WeightsKind kind, Result<std::vector<LoadedTensor>> tensors) {
  if (!tensors) return pass(tensors);
  return WeightsFile{kind, std::move(*tensors)};
}

Result<WeightsFile> weights_of_zip(const Blob& blob) {
  auto zip = ZipArchive::open(blob);
  if (!zip) return pass(zip);
  if (zip->find("model.weights.h5") || zip->find("config.json"))
    return weights_of(WeightsKind::Keras, keras::weights_of_archive(blob.bytes, blob.keeper));
  if (torch::is_exported(*zip)) return weights_of(WeightsKind::PyTorch, torch::weights_of_exported(*zip));
  if (torch::is_script(*zip)) return weights_of(WeightsKind::PyTorch, torch::weights_of_script(*zip));
  const auto name = zip_name(*zip);
  if (name == "a PyTorch checkpoint") return weights_of(WeightsKind::PyTorch, torch::weights_of_zip(*zip));
  if (name != "a numpy archive") return unread(name.empty() ? "a zip archive without a model" : name);
  auto arrays = read_npz(blob);
  if (!arrays) return pass(arrays);
  WeightsFile file{WeightsKind::Numpy, {}};
  for (auto& [key, tensor] : *arrays) file.tensors.push_back({std::move(key), std::move(tensor)});
  return file;
}

std::string why_json_holds_no_weights(std::string_view text) {
  if (text.find("\"weight_map\"") == std::string_view::npos)
    return "is JSON, which holds no weights; name the file that does";
  return "is the index of weights that lie in several files, which are not read together; save them as one: "
         "safetensors.torch.save_file({**load_file(\"part 1\"), **load_file(\"part 2\")}, \"all.safetensors\")";
}

Result<WeightsFile> weights_of_bytes(const Blob& blob, const std::filesystem::path& file) {
  if (blob.bytes.empty()) return fail(Fault::Truncated, "is empty");
  if (ZipArchive::begins(blob.bytes)) return weights_of_zip(blob);
  if (torch::begins_stream(blob.bytes)) return weights_of(WeightsKind::PyTorch, torch::weights_of_stream(blob));
  if (Hdf5File::begins(blob.bytes))
    return weights_of(WeightsKind::Keras, keras::weights_of_hdf5(blob.bytes, blob.keeper));
  if (is_safetensors(blob.bytes)) {
    auto all = read_safetensors(blob);
    if (!all) return pass(all);
    WeightsFile held{WeightsKind::Safetensors, {}};
    for (NamedTensor& one : *all) held.tensors.push_back({std::move(one.name), std::move(one.tensor)});
    return held;
  }
  if (onnx::begins_model(blob.bytes))
    return weights_of(WeightsKind::Onnx, onnx::weights_of_model(blob, file.parent_path()));
  if (tflite::begins_model(blob.bytes)) return weights_of(WeightsKind::TFLite, tflite::weights_of_model(blob));
  if (tf::begins_graph(blob.bytes)) return weights_of(WeightsKind::TensorFlow, tf::weights_of_graph(blob));
  if (tf::begins_saved_model(blob.bytes)) return weights_of(WeightsKind::TensorFlow, tf::weights_of_saved_model(file));
  if (ends_table(blob.bytes) || tf::begins_meta_graph(blob.bytes))
    return weights_of(WeightsKind::TensorFlow, tf::weights_of_checkpoint(file));
  if (is_json(blob.bytes)) return fail(Fault::Unsupported, why_json_holds_no_weights(text_of(blob.bytes)));
  return unread(known_format(blob.bytes));
}

// A SavedModel is a folder.
std::filesystem::path file_in(const std::filesystem::path& file) {
  std::error_code ignored;
  return std::filesystem::is_directory(file, ignored) ? tf::saved_model_in(file) : file;
}

Status signatures_asked(const LoadOptions& options, bool has_signatures) {
  if (!options.signature || has_signatures || !options.for_one_model) return {};
  return fail(Fault::Usage, "has no signatures, as SavedModels and TFLite files do; leave out --signature");
}

Result<Graph> load_blob(const Blob& blob, const std::filesystem::path& file, const LoadOptions& options) {
  const bool has_signatures = tflite::begins_model(blob.bytes) || tf::begins_saved_model(blob.bytes) ||
                              tf::begins_meta_graph(blob.bytes) || ends_table(blob.bytes);
  if (auto asked = within(file.filename().string(), signatures_asked(options, has_signatures)); !asked)
    return pass(asked);
  if (!options.names.empty() && options.for_one_model && !onnx::begins_model(blob.bytes))
    return within(file.filename().string(),
                  Result<Graph>(fail(Fault::Usage,
                                     "--set gives names of source and inputs of ONNX models a value, and this is "
                                     "neither; leave it out")));
  auto graph = load_bytes(blob, file, options);
  if (graph && options.weights && !is_json(blob.bytes))
    graph = fail(Fault::Usage,
                 "holds its own weights, so '" + options.weights->string() + "' is not read; leave out " + "--weights");
  return within(file.filename().string(), std::move(graph));
}

Result<Graph> load_file(const std::filesystem::path& named, const LoadOptions& options) {
  const std::filesystem::path file = file_in(named);
  auto bytes = open_file(file.string());
  if (!bytes) return pass(bytes);
  return load_blob(blob_of(*bytes), file, options);
}

// What was read is what was asked for. `name`: the file's, in messages.
Result<Graph> as_asked(Result<Graph> graph, const std::string& name, const LoadOptions& options) {
  if (graph)
    if (auto one = within(name, only_one_unnamed(*graph, options)); !one) return pass(one);
  if (graph && options.for_one_model)
    for (const auto check : {all_taken, types_taken})
      if (auto taken = within(name, check(*graph, options)); !taken) return pass(taken);
  return graph;
}

}  // namespace

Result<Graph> load(const std::filesystem::path& file, const LoadOptions& options) {
  const budget::Making making("reading the model");
  const auto load_with = [&file](const LoadOptions& with) {
    return is_source(file) ? read_source(file, with) : load_file(file, with);
  };
  if (is_source(file))
    if (auto asked = within(file.filename().string(), signatures_asked(options, false)); !asked) return pass(asked);
  auto graph = load_with(options);
  if (!graph && file != "-") {
    LoadOptions tried = options;  // kernels that a file holds decide what fits; those that are drawn follow
    tried.structure_only = options.structure_only || (is_source(file) && !options.weights);
    return std::unexpected(told_by_size(graph.error(), tried, load_with));
  }
  return as_asked(std::move(graph), file.filename().string(), options);
}

Result<Graph> load_from_memory(const Blob& blob, const std::string& name, const LoadOptions& options) {
  const budget::Making making("reading the model");
  // Files beside it are looked for in a folder that there is not.
  const std::filesystem::path nowhere = std::filesystem::path("/dev/null") / std::filesystem::path(name).filename();
  const auto load_with = [&](const LoadOptions& with) { return load_blob(blob, nowhere, with); };
  auto graph = load_with(options);
  if (!graph) return std::unexpected(told_by_size(graph.error(), options, load_with));
  return as_asked(std::move(graph), name, options);
}

Result<WeightsFile> load_weights_file(const std::filesystem::path& named) {
  const std::filesystem::path file = file_in(named);
  auto bytes = open_file(file.string());
  if (!bytes) return pass(bytes);
  if (is_source(file))
    return within(file.filename().string(), Result<WeightsFile>(fail(Fault::Unsupported,
                                                                     "is Python source, which holds no weights; name "
                                                                     "the file that does")));
  return within(file.filename().string(), weights_of_bytes(blob_of(*bytes), file));
}

Result<std::vector<LoadedTensor>> load_weights(const std::filesystem::path& file) {
  auto loaded = load_weights_file(file);
  if (!loaded) return pass(loaded);
  return std::move(loaded->tensors);
}

}  // namespace convoy
