// conformance FOLDER...: runs ONNX's own tests, each a folder with model.onnx and test_data_set_0, 1, ... of stored inputs
// and outputs. Ends with "N passed, N refused, N failed" and the reasons of refusal. A test that is refused as it comes is
// tried again with all inputs but the first known beforehand, which is how models hold weights and shapes, and then with
// all of them, which leaves numbers that the reader works out.
#include "base/mapped_file.h"
#include "formats/onnx/onnx.h"
#include "formats/onnx/tensor.h"
#include "run/run.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <map>
#include <span>

namespace convoy::conformance {
namespace {

namespace fs = std::filesystem;

enum class Verdict : std::uint8_t { Passed, Refused, Failed };
struct Outcome {
  Verdict verdict = Verdict::Passed;
  std::string reason;
};

Result<Tensor> read_tensor(const fs::path& path) {
  auto file = open_file(path.string());
  if (!file) return pass(file);
  auto stored = onnx::parse_tensor(blob_of(*file).bytes);
  if (!stored) return pass(stored);
  return onnx::TensorSource(*file, path.parent_path()).tensor(*stored);
}

// Tests whose stored numbers ONNX Runtime 1.30 contradicts, whose reading we share; it leaves them out of its own runs for
// the same reasons. Positions: onnx/onnx#2398, with the runtime's reading in onnxruntime#2193. Corners: the standard puts the
// last one at scale * length - 1, also where that is no whole number and the output ends before it; every framework puts
// it on the last cell that there is.
struct Contradicted {
  std::string_view test, why;
};
constexpr Contradicted contradicted[] = {
    {"test_maxunpool_export_with_output_shape", "positions count in another output than the one asked for"},
    {"test_resize_downsample_scales_cubic_align_corners", "corners lie where a length that is no whole number ends"},
    {"test_resize_downsample_scales_linear_align_corners", "corners lie where a length that is no whole number ends"}};

struct Set {
  std::vector<Tensor> inputs, outputs;
};

// Stored bfloat16 numbers come as their bits.
Tensor as_declared(Tensor tensor, const std::vector<onnx::ValueInfo>& infos, std::size_t i) {
  constexpr Size bfloat16 = 16;
  if (tensor.dtype() != DType::U16 || i >= infos.size() || infos[i].type != bfloat16) return tensor;
  const auto bytes = tensor.bytes();
  auto bits = Tensor::owning(DType::BF16, tensor.shape(), {bytes.begin(), bytes.end()});
  return bits ? *bits : tensor;
}

Result<Set> read_set(const fs::path& folder) {
  Set set;
  for (auto* list : {&set.inputs, &set.outputs})
    for (int i = 0;; ++i) {
      const fs::path path = folder / ((list == &set.inputs ? "input_" : "output_") + std::to_string(i) + ".pb");
      if (!fs::exists(path)) break;
      auto tensor = within(path.filename().string(), read_tensor(path));
      if (!tensor) return pass(tensor);
      list->push_back(std::move(*tensor));
    }
  return set;
}

Outcome refused(const Error& error) {
  if (error.fault == Fault::Internal) return {Verdict::Failed, "a fault of ours: " + message(error)};
  const auto type = error.where.find('('), comma = error.where.find(',', type);
  const bool names = type != std::string::npos && comma != std::string::npos;
  return {Verdict::Refused, (names ? error.where.substr(type + 1, comma - type - 1) + ": " : "") + error.what};
}

// Our bound is that of single precision; the standard's own is a thousandth, and a test that needs it (numbers written with
// four digits, 3.1415 for pi) passes under its name. Numbers of bfloat16 may differ by two units in the last place: the tests
// cut off, and round between operators, where runtimes round once.
Outcome compare(const Tensor& got, const Tensor& want) {
  if (got.shape() != want.shape()) return {Verdict::Failed, "an output has another shape"};
  const auto have = got.doubles(), wanted = want.doubles();
  double largest = 1;
  for (const double v : wanted)
    if (std::isfinite(v)) largest = std::max(largest, std::abs(v));
  const bool half = want.dtype() == DType::F16 || want.dtype() == DType::BF16;
  const double bound = (half ? 2e-3 : 2e-5) * largest;
  std::string near;
  for (std::size_t i = 0; i < have.size(); ++i) {
    if (have[i] == wanted[i] || (std::isnan(have[i]) && std::isnan(wanted[i]))) continue;
    const double unit = want.dtype() == DType::BF16 ? 0x1p-6 * std::abs(wanted[i]) : 0;
    const double apart = std::abs(have[i] - wanted[i]);
    if (apart <= std::max(bound, unit)) continue;
    const std::string difference =
        "element " + std::to_string(i) + " is " + std::to_string(have[i]) + ", wanted " + std::to_string(wanted[i]);
    if (!std::isfinite(apart) || !(apart <= 1e-3 * std::max(std::abs(wanted[i]), 1e-4)))
      return {Verdict::Failed, difference};
    if (near.empty()) near = difference;
  }
  return {Verdict::Passed, near};
}

// How many inputs, from the first, come only when the model runs.
constexpr std::size_t every_input = 1U << 20;

Outcome run_set(const Blob& blob, const fs::path& folder, const Set& set, std::size_t late) {
  // The names of the inputs, in the model's order.
  auto model = onnx::parse_model(blob.bytes);
  if (!model) return refused(model.error());
  std::map<std::string, Tensor> given;
  std::vector<Tensor> inputs;
  std::size_t i = 0;
  for (const auto& info : model->graph.inputs) {
    if (i >= set.inputs.size()) break;
    const bool initialized =
        std::ranges::any_of(model->graph.initializers, [&](const auto& t) { return t.name == info.name; });
    if (initialized) continue;
    const Tensor tensor = as_declared(set.inputs[i++], {info}, 0);
    if (i > late) given.emplace(info.name, tensor);
    else inputs.push_back(tensor);
  }
  if (i != set.inputs.size()) return {Verdict::Refused, "another number of inputs"};
  auto graph = onnx::read_model(blob, folder, {}, given);
  if (!graph) return refused(graph.error());
  const auto values = run(*graph, inputs);
  if (!values) return refused(values.error());
  if (graph->outputs.size() != set.outputs.size()) return {Verdict::Failed, "another number of outputs"};
  Outcome all;
  for (std::size_t o = 0; o < set.outputs.size(); ++o) {
    Outcome outcome = compare(values->at(graph->outputs[o]), as_declared(set.outputs[o], model->graph.outputs, o));
    if (outcome.verdict != Verdict::Passed) return outcome;
    if (all.reason.empty()) all = std::move(outcome);
  }
  return all;
}

Outcome run_test(const fs::path& folder) {
  auto file = open_file((folder / "model.onnx").string());
  if (!file) return {Verdict::Refused, message(file.error())};
  Outcome worst;
  for (int i = 0;; ++i) {
    const fs::path data = folder / ("test_data_set_" + std::to_string(i));
    if (!fs::exists(data)) break;
    const auto set = read_set(data);
    if (!set) {  // what the model is refused for says more: its inputs are no tensors
      const auto model = onnx::read_model(blob_of(*file), folder, {}, {});
      return refused(model ? set.error() : model.error());
    }
    Outcome outcome = run_set(blob_of(*file), folder, *set, every_input);
    for (const std::size_t late : {std::size_t{1}, std::size_t{0}})
      if (outcome.verdict == Verdict::Refused) {
        // The reason of the first refusal is the one that says what is missing.
        if (Outcome again = run_set(blob_of(*file), folder, *set, late); again.verdict != Verdict::Refused)
          outcome = std::move(again);
      }
    if (outcome.verdict > worst.verdict || (outcome.verdict == worst.verdict && worst.reason.empty()))
      worst = std::move(outcome);
  }
  return worst;
}

void collect(const fs::path& root, std::vector<fs::path>& folders) {
  if (fs::exists(root / "model.onnx")) {
    folders.push_back(root);
    return;
  }
  if (!fs::is_directory(root)) return;
  for (const auto& entry : fs::directory_iterator(root))
    if (entry.is_directory()) collect(entry.path(), folders);
}

int run_all(std::span<char*> arguments) {
  bool every = false;
  std::vector<fs::path> folders;
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    if (std::string_view(arguments[i]) == "--every") every = true;
    else collect(arguments[i], folders);
  }
  if (folders.empty()) {
    std::cerr << "usage: conformance [--every] FOLDER...\n";
    return 2;
  }
  std::ranges::sort(folders);
  int counts[3] = {0, 0, 0};
  std::map<std::string, int> reasons;
  for (const fs::path& folder : folders) {
    if (const auto known = std::ranges::find(contradicted, folder.filename().string(), &Contradicted::test);
        known != std::end(contradicted)) {
      std::cout << "left out " << known->test << ": " << known->why << "\n";
      continue;
    }
    const Outcome outcome = run_test(folder);
    ++counts[static_cast<int>(outcome.verdict)];
    if (outcome.verdict == Verdict::Refused) ++reasons[outcome.reason];
    if (outcome.verdict == Verdict::Passed && !outcome.reason.empty())
      std::cout << "near    " << folder.filename().string() << ": " << outcome.reason << "\n";
    if (outcome.verdict == Verdict::Failed || (every && outcome.verdict == Verdict::Refused))
      std::cout << (outcome.verdict == Verdict::Failed ? "failed  " : "refused ") << folder.filename().string() << ": "
                << outcome.reason << "\n";
  }
  std::vector<std::pair<int, std::string>> sorted;
  for (const auto& [reason, count] : reasons) sorted.emplace_back(count, reason);
  std::ranges::sort(sorted, std::greater{});
  for (const auto& [count, reason] : sorted) std::cout << "refused " << count << " times: " << reason << "\n";
  std::cout << counts[0] << " passed, " << counts[1] << " refused, " << counts[2] << " failed\n";
  return counts[2] == 0 ? 0 : 1;
}

}  // namespace
}  // namespace convoy::conformance

int main(int count, char** arguments) {
  return convoy::conformance::run_all({arguments, static_cast<std::size_t>(count)});
}
