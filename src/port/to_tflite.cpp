// A TFLite model in one file. The proof compares the source with the file as it is read back, so what was written is what
// was meant.
#include "base/fresh_names.h"
#include "base/mapped_file.h"
#include "formats/onnx/onnx.h"
#include "formats/source.h"
#include "formats/tflite/tflite.h"
#include "port/held_weights.h"
#include "port/journey.h"
#include "port/spelt_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace convoy {
namespace {

namespace fs = std::filesystem;

Result<fs::path> file_named(const fs::path& source, const PortOptions& options) {
  fs::path model = options.output;
  if (model.empty()) model = source.stem().string() + ".tflite";
  if (model.extension() != ".tflite")
    return fail(Fault::Usage, "-o '" + model.string() + "' does not end in .tflite, which a TFLite model must");
  return model;
}

// The file calls every value as the graph does.
std::map<std::string, ValueId> names_of_values(const Graph& target) {
  std::map<std::string, ValueId> names;
  for (std::size_t i = 0; i < target.values.size(); ++i)
    names.emplace(target.values[i].name, ValueId{static_cast<std::int32_t>(i)});
  return names;
}

// Tensors of whole numbers stand for the values that are rounded to them.
// Returned: those that they are widened to.
std::map<std::string, ValueId> follow_steps(const tflite::IntegerReport& integers, const Graph& target,
                                            std::map<std::string, ValueId>& names) {
  const std::map<std::string, ValueId> values = names;
  std::map<std::string, ValueId> widened;
  // What the file does not hold by itself: a step of what is read may go by its name.
  const std::set<std::string> held(integers.held.begin(), integers.held.end());
  std::erase_if(names, [&](const auto& named) {
    const bool is_input = std::ranges::find(target.inputs, named.second) != target.inputs.end();
    return !is_input && !held.contains(named.first);
  });
  for (const auto& [whole, said] : integers.names) {
    const auto real = values.find(said.rounded);
    const auto own = values.find(whole);
    const bool is_input = own != values.end() && std::ranges::find(target.inputs, own->second) != target.inputs.end();
    if (real != values.end() && !is_input) names.insert_or_assign(whole, real->second);
    else if (!is_input) names.erase(whole);
    if (const auto found = values.find(said.widened); found != values.end()) widened.emplace(whole, found->second);
  }
  return widened;
}

// What computes in whole numbers and what does not, and how far the interpreter's kernels are from the model's own rounding.
Status say_integers(PortReport& r, const tflite::IntegerReport& integers, const fs::path& written,
                    const LoadOptions& whole, const ProofOptions& options) {
  r.remarks.push_back(fmt::format("{} operators compute in whole numbers of 8 bits, {} between steps stay float32",
                                  integers.whole, integers.left.size()));
  for (const auto& [name, why] : integers.left) r.remarks.push_back("  '" + name + "', " + why);
  const auto graph = load(written, whole);
  if (!graph) return std::unexpected(graph.error());
  const auto said = kernel_steps(*graph, options);
  if (said) r.remarks.insert(r.remarks.end(), said->begin(), said->end());
  else if (said.error().fault == Fault::Proof) return std::unexpected(said.error());
  else if (said.error().fault != Fault::Budget)
    r.remarks.push_back("not run in whole numbers: " + message(said.error()));
  return {};
}

// A file that declares 0 is run on nothing, where TFLite's sums and means are whatever lay in memory.
Status expect_numbers(const fs::path& source, const PortOptions& options) {
  if (!options.load.shapes.empty() || !options.load.size.empty()) return {};
  const auto file = open_file(source.string());
  if (!file || !onnx::begins_model(blob_of(*file).bytes)) return {};
  const auto empty = onnx::input_without_numbers(blob_of(*file).bytes);
  if (!empty) return {};
  Shape shape;
  for (const Size n : empty->second) shape.push_back(n < 0 ? Dim() : Dim(n));
  return fail(Fault::Unsupported, "input '" + empty->first + "' of shape " + text_of(shape) +
                                      " holds no number, and TFLite's kernels answer otherwise then; give other sizes "
                                      "with --shape");
}

}  // namespace

Result<PortReport> port_to_tflite(const fs::path& source, const PortOptions& options) {
  const auto file = file_named(source, options);
  if (!file) return std::unexpected(file.error());
  if (auto s = within(source.filename().string(), expect_numbers(source, options)); !s) return pass(s);
  auto out = OutputSet::begin({*file}, options.overwrites, sources_of(source, options));
  if (!out) return pass(out);
  tflite::IntegerReport integers;
  tflite::WriteOptions write{options.rounds_to_halves, options.quantized == Quantized::Keep, {}, &integers};
  if (write.in_integers) write.held = held_weights_in(source, options);
  auto begun = rewritten(source, options, tflite_target(), write.in_integers ? &write.held : nullptr);
  if (!begun) return pass(begun);
  PortReport& r = *begun;
  if (auto s = tflite::write_model(r.target, out->sink(0), write); !s) return pass(s);
  if (auto closed = out->close(0); !closed) return pass(closed);
  const auto results = names_apart(r.target.output_names);
  for (std::size_t i = 0; i < results.size(); ++i) r.outputs[i].name = results[i];
  auto names = names_of_values(r.target);
  if (!write.in_integers) return finished(std::move(r), *out, {*file}, options, 0, {}, names);
  LoadOptions whole;
  whole.keeps_quantized = true;
  if (auto s = say_integers(r, integers, out->temporary(0), whole, options.proof()); !s) return pass(s);
  const auto widened = follow_steps(integers, r.target, names);
  return finished(std::move(r), *out, {*file}, options, 0, whole, names, widened);
}

}  // namespace convoy
