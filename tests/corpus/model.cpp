// Both kinds of case.json: one model in many forms, and published files with cases of their own.
#include "corpus/model.h"

#include "containers/json.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <set>

namespace convoy::corpus {
namespace {

namespace fs = std::filesystem;

Result<Json> json_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) return fail(Fault::Io, file.string() + " cannot be read");
  return within(file.string(), parse_json(std::string{std::istreambuf_iterator<char>(stream), {}}));
}

void collect_names(const Json& value, std::set<std::string>& names) {
  if (value.is_object())
    for (const auto& [key, child] : value.items()) {
      if ((key == "name" || key == "class_name" || key == "registered_name") && child.is_string())
        names.insert(child.get<std::string>());
      collect_names(child, names);
    }
  else if (value.is_array())
    for (const Json& child : value) collect_names(child, names);
}

void add_forms(Model& model, const fs::path& folder, const Json& files, bool may_refuse) {
  const auto path = [&](const char* key) { return folder / files[key].get<std::string>(); };
  for (const char* key : {"keras", "h5"})
    if (files.contains(key)) model.forms.push_back({key, path(key), {}, may_refuse, {}});
  // A model with foreign code stands in its ONNX form without it. Not every copy of the corpus holds that form.
  for (const char* key : {"onnx", "onnx_legacy"})
    if (files.contains(key) && !model.refuse && fs::exists(path(key)))
      model.forms.push_back({key, path(key), {}, may_refuse, {}});
  // Beside other forms the outputs are stored in the order of those, which the converter changes.
  if (files.contains("tflite") && files.size() == 1)
    model.forms.push_back({"tflite", path("tflite"), {}, may_refuse, {}});
  for (const char* key : {"pt2", "torchscript", "torchscript_scripted", "torchscript_frozen"})
    if (files.contains(key)) model.forms.push_back({key, path(key), {}, may_refuse, {}});
  if (!files.contains("json")) return;
  if (files.contains("weights_h5"))
    model.forms.push_back({"json+weights.h5", path("json"), path("weights_h5"), may_refuse, {}});
  if (files.contains("weights_h5_old"))
    model.forms.push_back({"json+old weights", path("json"), path("weights_h5_old"), may_refuse, {}});
}

Model corpus_model(const fs::path& folder, const Json& said) {
  Model model;
  model.name = said.value("name", folder.filename().string());
  model.refuse = said.value("refuse", false);
  add_forms(model, folder, said["files"], false);
  if (said.contains("files_own_loader_fails")) add_forms(model, folder, said["files_own_loader_fails"], true);
  // A SavedModel has its outputs by name; Keras's own order is not in it.
  const bool ordered = said["outputs"].size() == 1 || said["files"].contains("frozen");
  for (const char* key : {"saved_model", "frozen"})
    if (said["files"].contains(key) && ordered && !model.refuse) {
      const fs::path file = folder / said["files"][key].get<std::string>();
      if (fs::exists(file)) model.forms.push_back({key, file, {}, false, {}});
    }
  for (const Json& suffix : said["sets"]) {
    Set set{suffix.get<std::string>(), {}, {}, {}};
    for (std::size_t i = 0; i < said["inputs"].size(); ++i)
      set.inputs.push_back({said["inputs"][i].value("name", std::string()),
                            folder / ("input" + set.name + "_" + std::to_string(i) + ".npy")});
    for (std::size_t i = 0; i < said["outputs"].size(); ++i)
      set.outputs.push_back(folder / ("output" + set.name + "_" + std::to_string(i) + ".npy"));
    model.sets.push_back(std::move(set));
  }
  if (const auto json = json_of(folder / "model.json")) {
    std::set<std::string> names;
    collect_names(*json, names);
    model.layer_names.assign(names.begin(), names.end());
  }
  return model;
}

Model published_model(const fs::path& folder, const Json& said) {
  Model model;
  model.name = said.value("name", folder.filename().string());
  for (const Json& file : said["files"]) {
    const std::string format = file.value("format", std::string()), name = file["file"].get<std::string>();
    if (format != "keras-h5" && format != "keras-v3") continue;
    Form form{name, folder / name, {}, false, {}};
    constexpr std::string_view mark = "layer class ";
    const std::string note = file.value("note", std::string());
    if (const auto at = note.find(mark); note.starts_with("must be refused") && at != std::string::npos)
      form.must_name = note.substr(at + mark.size(), note.find_first_of(" ,", at + mark.size()) - at - mark.size());
    model.forms.push_back(std::move(form));
  }
  for (const Json& c : said["cases"]) {
    Set set{c["id"].get<std::string>(), {}, {}, c["model"].get<std::string>()};
    for (const Json& input : c["inputs"])
      set.inputs.push_back({input.value("name", std::string()), folder / input["file"].get<std::string>()});
    for (const Json& output : c["outputs"]) set.outputs.push_back(folder / output["file"].get<std::string>());
    model.sets.push_back(std::move(set));
  }
  return model;
}

}  // namespace

Result<Model> read_model(const fs::path& folder) {
  auto said = json_of(folder / "case.json");
  if (!said) return pass(said);
  try {
    if (said->contains("cases")) return published_model(folder, *said);
    return corpus_model(folder, *said);
  } catch (const std::exception& error) {
    return fail(Fault::Format, (folder / "case.json").string() + ": " + error.what());
  }
}

std::vector<fs::path> folders_below(const fs::path& root) {
  if (fs::exists(root / "case.json")) return {root};
  std::vector<fs::path> folders;
  if (!fs::is_directory(root)) return folders;
  for (const auto& entry : fs::directory_iterator(root))
    if (entry.is_directory() && fs::exists(entry.path() / "case.json")) folders.push_back(entry.path());
  std::ranges::sort(folders);
  return folders;
}

}  // namespace convoy::corpus
