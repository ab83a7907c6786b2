// ports [--most N] [--spoil OLD NEW] FOLDER...: every model below the folders is ported to PyTorch source and to Keras source, the text is
// read back with the stored weights, and run on whole numbers: every bit must be that of the graph that was written.
// Ends with "N passed, N refused, N failed"; more than N refusals fail as well. --spoil writes NEW in place of OLD in the text,
// to show that it would be seen.
#include "base/mapped_file.h"
#include "corpus/model.h"
#include "graph/text.h"
#include "port/port.h"
#include "port/written_text.h"
#include "prove/prove.h"
#include "run/run.h"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <map>
#include <span>

namespace convoy::ports {
namespace {

namespace fs = std::filesystem;

enum class Verdict : std::uint8_t { Passed, Refused, Failed };
struct Outcome {
  Verdict verdict = Verdict::Passed;
  std::string reason;
  bool same_structure = false;
};

Outcome refused(const char* by, const Error& error) {
  const std::string text = message(error);
  if (error.fault == Fault::Internal) return {Verdict::Failed, "a fault of ours: " + text};
  return {Verdict::Refused, by + (": " + text.substr(0, text.find('\n')))};
}

// Whole numbers, both signs, with places that differ.
Result<std::vector<Tensor>> whole_numbers(const Graph& graph) {
  auto inputs = probing_inputs(graph, 0, 7);
  if (!inputs) return inputs;
  for (Tensor& t : *inputs) {
    if (t.dtype() != DType::F32) continue;
    auto numbers = t.floats();
    for (float& n : numbers) n = std::round(4 * n);
    t = Tensor::of(t.shape(), std::move(numbers));
  }
  return inputs;
}

// The operators with their fields, in their order, without names.
std::string structure_of(const Graph& graph) {
  std::string text;
  for (const Node& node : graph.nodes) text += text_of(node.op) + "\n";
  return text;
}

Outcome compare(const Graph& meant, const Graph& read, const std::vector<Tensor>& inputs) {
  // To the last bit, whatever operators they are written in: fast kernels round otherwise than plain ones.
  const RunOptions one_thread{.threads = 1, .kernels = KernelChoice::Plain};
  const auto wanted = run(meant, inputs, one_thread);
  if (!wanted) return refused("the port itself cannot be run", wanted.error());
  const auto got = run(read, inputs, one_thread);
  if (!got) return refused("read back, but not run", got.error());
  if (read.outputs.size() != meant.outputs.size()) return {Verdict::Failed, "another number of outputs"};
  for (std::size_t i = 0; i < meant.outputs.size(); ++i) {
    const Tensor &a = wanted->at(meant.outputs[i]), &b = got->at(read.outputs[i]);
    if (a.shape() != b.shape()) return {Verdict::Failed, "output " + std::to_string(i) + " has another shape"};
    const auto x = a.doubles(), y = b.doubles();
    for (std::size_t k = 0; k < x.size(); ++k)
      if (x[k] != y[k] && !(std::isnan(x[k]) && std::isnan(y[k])))
        return {Verdict::Failed, "output " + std::to_string(i) + ", element " + std::to_string(k) + ": " +
                                     std::to_string(y[k]) + ", meant " + std::to_string(x[k])};
  }
  return {Verdict::Passed, "", structure_of(meant) == structure_of(read)};
}

struct Spoil {
  std::string from, to;
};

Outcome try_port(const corpus::Form& form, const std::string& target, const fs::path& folder, const Spoil& spoil) {
  PortOptions options;
  options.load.weights = form.weights;
  options.to = target;
  options.output = folder / "net.py";
  options.overwrites = true;
  options.proves = false;
  const auto ported = port(form.file, options);
  if (!ported) return refused("not ported", ported.error());
  const auto inputs = whole_numbers(ported->target);
  if (!inputs) return refused("not ported", inputs.error());
  const auto mapped = open_file(options.output.string());
  if (!mapped) return refused("not there", mapped.error());
  std::string text(text_of(blob_of(*mapped).bytes));
  if (const auto at = text.find(spoil.from); !spoil.from.empty() && at != std::string::npos)
    text.replace(at, spoil.from.size(), spoil.to);
  const bool torch = target == "torch";
  const auto read = read_written_text(text, torch ? last_class : build_function,
                                      folder / (torch ? "net.safetensors" : "net.weights.h5"), *inputs, ported->target);
  if (!read) return refused("not read back", read.error());
  return compare(ported->target, *read, *inputs);
}

// Tables of 16 bits stand in the text as numbers that its readers take for float32: not the last bit that is asked for here.
bool holds_halves(const Graph& graph) {
  return std::ranges::any_of(graph.values, [](const Value& value) {
    return value.constant && (value.type.dtype == DType::F16 || value.type.dtype == DType::BF16);
  });
}

// The first form that is read at all; foreign code is none.
const corpus::Form* form_of(const corpus::Model& model) {
  if (model.refuse) return nullptr;
  for (const corpus::Form& form : model.forms) {
    LoadOptions options;
    options.weights = form.weights;
    const auto read = form.must_name.empty() ? load(form.file, options) : fail(Fault::Unsupported, "foreign code");
    if (read && !holds_halves(*read)) return &form;
  }
  return nullptr;
}

struct Count {
  int passed = 0, same_structure = 0, refused = 0, failed = 0;
};

void count(Count& all, const std::string& model, const std::string& target, const Outcome& outcome) {
  if (outcome.verdict == Verdict::Passed) {
    ++all.passed;
    all.same_structure += outcome.same_structure;
    return;
  }
  ++(outcome.verdict == Verdict::Refused ? all.refused : all.failed);
  std::cout << (outcome.verdict == Verdict::Refused ? "refused " : "failed  ") << model << " to " << target << ": "
            << outcome.reason << "\n";
}

int run_all(std::span<char*> arguments) {
  int most = -1;
  Spoil spoil;
  int unread = 0;
  std::vector<fs::path> folders;
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const std::string word = arguments[i];
    if (word == "--most" && i + 1 < arguments.size()) {
      most = std::atoi(arguments[++i]);
      continue;
    }
    if (word == "--spoil" && i + 2 < arguments.size()) {
      spoil = {arguments[i + 1], arguments[i + 2]};
      i += 2;
      continue;
    }
    for (const fs::path& folder : corpus::folders_below(word)) folders.push_back(folder);
  }
  if (folders.empty()) {
    std::cerr << "usage: ports [--most N] [--spoil OLD NEW] FOLDER..., with a case.json in or below each\n";
    return 2;
  }
  std::string pattern = (fs::temp_directory_path() / "ports.XXXXXX").string();
  const fs::path made = mkdtemp(pattern.data());
  Count all;
  for (const fs::path& folder : folders) {
    const auto model = corpus::read_model(folder);
    if (!model) {
      std::cerr << "ports: " << message(model.error()) << "\n";
      return 2;
    }
    const corpus::Form* form = form_of(*model);
    if (!form) {
      ++unread;
      continue;
    }
    for (const char* target : {"torch", "keras"}) count(all, model->name, target, try_port(*form, target, made, spoil));
  }
  fs::remove_all(made);
  std::cout << unread << " models are not read or hold numbers of 16 bits, so not ported\n"
            << all.same_structure << " of those that passed have the same operators in the same order\n"
            << all.passed << " passed, " << all.refused << " refused, " << all.failed << " failed\n";
  if (most >= 0 && all.refused > most) {
    std::cout << "more than " << most << " refused\n";
    return 1;
  }
  return all.failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace convoy::ports

int main(int count, char** arguments) { return convoy::ports::run_all({arguments, static_cast<std::size_t>(count)}); }
