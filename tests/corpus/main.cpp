// corpus FOLDER...: every Keras, ONNX, TensorFlow and TorchScript form of every model below the folders is read, run as read and rewritten for PyTorch, and
// held against the stored outputs. Ends with "N passed, N refused, N failed"; --markdown prints the table of refusals.
#include "base/mapped_file.h"
#include "containers/npy.h"
#include "corpus/model.h"
#include "support/through.h"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <map>
#include <span>

namespace convoy::corpus {
namespace {

namespace fs = std::filesystem;
using testing::Through;

enum class Verdict : std::uint8_t { Passed, Refused, Failed };
struct Outcome {
  Verdict verdict = Verdict::Passed;
  std::string reason;
  double largest = 0;
};
struct Row {
  std::string model, form;
  Outcome outcome;
};

Result<Tensor> read_array(const fs::path& path) {
  auto file = open_file(path.string());
  if (!file) return pass(file);
  return within(path.string(), read_npy(blob_of(*file)));
}

// |got - want| / max(1, |want|), as the corpus itself was checked. A framework that computes in 16 bits rounds to them after
// every operator; we do so at casts alone.
double bound_for(const Graph& graph) {
  const bool halves = std::ranges::any_of(graph.values, [](const Value& v) {
    return !v.constant && (v.type.dtype == DType::F16 || v.type.dtype == DType::BF16);
  });
  return halves ? 2e-3 : 2e-5;
}

// The largest relative difference, or what is wrong with the shape.
Outcome compare(const Tensor& got, const Tensor& want, double bound) {
  if (got.shape() != want.shape()) return {Verdict::Failed, "an output has another shape", 0};
  const auto have = got.doubles(), wanted = want.doubles();
  Outcome outcome;
  for (std::size_t i = 0; i < have.size(); ++i) {
    const bool same = have[i] == wanted[i] || (std::isnan(have[i]) && std::isnan(wanted[i]));
    const double difference = same ? 0 : std::abs(have[i] - wanted[i]) / std::max(1.0, std::abs(wanted[i]));
    if (std::isnan(difference) || difference > bound) {
      outcome.verdict = Verdict::Failed;
      outcome.reason =
          "element " + std::to_string(i) + " is " + std::to_string(have[i]) + ", wanted " + std::to_string(wanted[i]);
      outcome.largest = difference;
      return outcome;
    }
    outcome.largest = std::max(outcome.largest, difference);
  }
  return outcome;
}

Outcome refused(const Error& error) {
  if (error.fault == Fault::Internal) return {Verdict::Failed, "a fault of ours: " + message(error), 0};
  return {Verdict::Refused, message(error), 0};
}

// The stored inputs in the order of the graph: by name where the names are the graph's, else as they stand.
Result<std::vector<Tensor>> inputs_of(const Graph& graph, const Set& set) {
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    const std::string& name = graph[graph.inputs[i]].name;
    auto found = std::ranges::find(set.inputs, name, &NamedFile::name);
    if (found == set.inputs.end()) {
      if (i >= set.inputs.size()) return fail(Fault::Internal, "the graph has more inputs than are stored");
      found = set.inputs.begin() + static_cast<std::ptrdiff_t>(i);
    }
    auto tensor = read_array(found->file);
    if (!tensor) return pass(tensor);
    tensors.push_back(std::move(*tensor));
  }
  if (tensors.size() != set.inputs.size()) return fail(Fault::Internal, "the graph has fewer inputs than are stored");
  return tensors;
}

Outcome run_set(const Graph& graph, const Set& set, Through through) {
  auto inputs = inputs_of(graph, set);
  if (!inputs) return refused(inputs.error());
  const auto outputs = testing::run_through(graph, *inputs, through);
  if (!outputs) return refused(outputs.error());
  if (outputs->size() != set.outputs.size()) return {Verdict::Failed, "another number of outputs", 0};
  Outcome worst;
  for (std::size_t i = 0; i < outputs->size(); ++i) {
    const auto want = read_array(set.outputs[i]);
    if (!want) return {Verdict::Failed, message(want.error()), 0};
    Outcome outcome = compare((*outputs)[i], *want, bound_for(graph));
    outcome.largest = std::max(outcome.largest, worst.largest);
    if (outcome.verdict >= worst.verdict) worst = std::move(outcome);
    if (worst.verdict == Verdict::Failed) return worst;
  }
  return worst;
}

// Loads with the file's own sizes; where a stored input does not fit them, once more with its sizes asked for.
Result<Graph> load_for(const Form& form, const Set* set) {
  LoadOptions options;
  options.weights = form.weights;
  auto graph = load(form.file, options);
  if (!graph || !set) return graph;
  const auto inputs = inputs_of(*graph, *set);
  if (!inputs) return graph;
  bool fits = true;
  for (std::size_t i = 0; i < inputs->size(); ++i) {
    const Value& value = (*graph)[graph->inputs[i]];
    Shape shape;
    for (std::size_t axis = 0; axis < (*inputs)[i].shape().size(); ++axis) shape.push_back((*inputs)[i].shape()[axis]);
    for (std::size_t axis = 0; axis < shape.size() && axis < value.type.shape.size(); ++axis)
      fits = fits && (!value.type.shape[axis].known() || value.type.shape[axis] == shape[axis]);
    options.shapes[value.name] = std::move(shape);
  }
  return fits ? std::move(graph) : load(form.file, options);
}

bool names_one(const std::string& text, const std::vector<std::string>& names) {
  return std::ranges::any_of(names, [&](const std::string& name) { return text.contains("'" + name + "'"); });
}

Outcome run_form(const Model& model, const Form& form) {
  if (model.refuse || !form.must_name.empty()) {
    const auto graph = load_for(form, nullptr);
    if (graph) return {Verdict::Failed, "read, though it needs foreign code", 0};
    const std::string text = message(graph.error());
    const bool names = form.must_name.empty() ? names_one(text, model.layer_names) : text.contains(form.must_name);
    if (graph.error().fault == Fault::Internal) return refused(graph.error());
    return names ? Outcome{} : Outcome{Verdict::Failed, "refused without naming the layer: " + text, 0};
  }
  Outcome worst;
  bool any = false;
  for (const Set& set : model.sets) {
    if (!set.only.empty() && set.only != form.name) continue;
    any = true;
    const auto graph = load_for(form, &set);
    if (!graph) return refused(graph.error());
    for (const Through through : {Through::Nothing, Through::Torch}) {
      Outcome outcome = run_set(*graph, set, through);
      outcome.largest = std::max(outcome.largest, worst.largest);
      if (outcome.verdict < worst.verdict) continue;
      worst = std::move(outcome);
      if (worst.verdict == Verdict::Passed) continue;
      worst.reason = (set.name.empty() ? "" : "set " + set.name + ": ") +
                     (through == Through::Torch ? "rewritten for PyTorch: " : "") + worst.reason;
      if (worst.verdict == Verdict::Failed) return worst;
      break;
    }
  }
  if (!any) {
    const auto graph = load_for(form, nullptr);
    if (!graph) return refused(graph.error());
  }
  return worst;
}

// A refusal names its file; the table says that in a column of its own.
std::string without_path(std::string reason, const std::string& folder) {
  for (auto at = reason.find(folder); at != std::string::npos; at = reason.find(folder))
    reason.erase(at, folder.size() + (at + folder.size() < reason.size() && reason[at + folder.size()] == '/' ? 1 : 0));
  return reason;
}

void print_table(const std::vector<Row>& rows) {
  std::cout << "| model | forms | why |\n| --- | --- | --- |\n";
  std::map<std::pair<std::string, std::string>, std::string> grouped;
  for (const Row& row : rows) {
    if (row.outcome.verdict == Verdict::Passed) continue;
    std::string& forms = grouped[{row.model, row.outcome.reason}];
    forms += (forms.empty() ? "" : ", ") + row.form;
  }
  for (const auto& [key, forms] : grouped)
    std::cout << "| " << key.first << " | " << forms << " | " << key.second << " |\n";
}

int run_all(std::span<char*> arguments) {
  bool markdown = false;
  std::vector<Row> rows;
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const std::string word = arguments[i];
    if (word == "--markdown") {
      markdown = true;
      continue;
    }
    const auto folders = folders_below(word);
    if (folders.empty()) {
      std::cerr << "corpus: no case.json in or below " << word << "\n";
      return 2;
    }
    for (const fs::path& folder : folders) {
      const auto model = read_model(folder);
      if (!model) {
        std::cerr << "corpus: " << message(model.error()) << "\n";
        return 2;
      }
      for (const Form& form : model->forms) {
        Row row{model->name, form.name, run_form(*model, form)};
        row.outcome.reason = without_path(row.outcome.reason, folder.string());
        rows.push_back(std::move(row));
      }
    }
  }
  if (rows.empty()) {
    std::cerr << "usage: corpus [--markdown] FOLDER...\n";
    return 2;
  }
  int counts[3] = {0, 0, 0};
  for (const Row& row : rows) {
    ++counts[static_cast<int>(row.outcome.verdict)];
    if (!markdown && row.outcome.verdict != Verdict::Passed)
      std::cout << (row.outcome.verdict == Verdict::Failed ? "failed  " : "refused ") << row.model << " (" << row.form
                << "): " << row.outcome.reason << "\n";
  }
  if (markdown) print_table(rows);
  else std::cout << counts[0] << " passed, " << counts[1] << " refused, " << counts[2] << " failed\n";
  return counts[2] == 0 ? 0 : 1;
}

}  // namespace
}  // namespace convoy::corpus

int main(int count, char** arguments) { return convoy::corpus::run_all({arguments, static_cast<std::size_t>(count)}); }
