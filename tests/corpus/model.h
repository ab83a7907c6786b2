// One model of a corpus: its file forms, the stored inputs and outputs, and what must be refused.
#pragma once
#include "convoy/tensor.h"
#include "formats/format.h"

#include <filesystem>
#include <string>
#include <vector>

namespace convoy::corpus {

struct Form {
  std::string name;                             // "keras", "h5", "json", "json_old"
  std::filesystem::path file;
  std::optional<std::filesystem::path> weights;
  bool may_refuse = false;                      // the framework's own loader fails on it, too
  std::string must_name;                        // a refusal is wanted, and it says this word
};

struct NamedFile {
  std::string name;
  std::filesystem::path file;
};

struct Set {
  std::string name;
  std::vector<NamedFile> inputs;
  std::vector<std::filesystem::path> outputs;
  std::string only;                             // the form it belongs to, where a folder holds several models
};

struct Model {
  std::string name;
  std::vector<Form> forms;
  std::vector<Set> sets;
  bool refuse = false;                          // foreign code: every form must be refused, naming a layer
  std::vector<std::string> layer_names;         // of model.json: one of them must be named
};

// Reads FOLDER/case.json, in the form of the corpus or of the published models.
Result<Model> read_model(const std::filesystem::path& folder);

// FOLDER itself where it holds a case.json, else the folders right below it that do, in the order of their names.
std::vector<std::filesystem::path> folders_below(const std::filesystem::path& root);

}  // namespace convoy::corpus
