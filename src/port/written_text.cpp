#include "port/written_text.h"

#include "base/budget.h"
#include "containers/python/syntax.h"
#include "formats/source.h"
#include "formats/source_text.h"
#include "ops/expect.h"
#include "run/run.h"

#include <algorithm>
#include <cmath>

namespace convoy {
namespace {

bool agree(const Tensor& got, const Tensor& want, const Tensor& bound) {
  if (got.shape() != want.shape()) return false;
  const auto a = got.doubles(), b = want.doubles(), most = bound.doubles();
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!(std::abs(a[i] - b[i]) <= most[i]) && !(std::isnan(a[i]) && std::isnan(b[i])) && a[i] != b[i]) return false;
  return true;
}

// The keys of the dictionary that the last forward() takes: each stands in a line of its own.
std::vector<std::string> keys_taken(const std::string& text) {
  constexpr std::string_view begin = "def forward(self, inputs: dict[str, Tensor])", key = " = inputs[\"",
                             end = "\"]\n";
  std::vector<std::string> keys;
  std::size_t at = text.rfind(begin);
  if (at == std::string::npos || text.find("def forward(", at + 1) != std::string::npos) return keys;
  at = text.find('\n', at) + 1;
  while (true) {
    const std::size_t line = text.find('\n', at), from = text.find(key, at), to = text.find(end, at);
    if (from >= line || to + 2 != line) return keys;
    keys.push_back(text.substr(from + key.size(), to - from - key.size()));
    at = line + 1;
  }
}

// The arguments of the last forward() in a module: those of the network. Keras's text declares its inputs instead.
std::vector<std::string> arguments_of(const std::string& text) {
  if (const auto keys = keys_taken(text); !keys.empty()) return keys;
  constexpr std::string_view begin = "def forward(self, ";
  std::vector<std::string> names;
  std::size_t at = text.rfind(begin);
  if (at == std::string::npos) return names;
  at += begin.size();
  for (std::size_t end = text.find(')', at); at < end && end != std::string::npos;) {
    const std::size_t colon = text.find(':', at), comma = std::min(text.find(", ", at), end);
    names.push_back(text.substr(at, std::min(colon, comma) - at));
    at = comma + 2;
  }
  return names;
}

bool is_read(const Graph& graph, ValueId input) {
  const auto reads = [&](const Node& node) { return std::ranges::find(node.inputs, input) != node.inputs.end(); };
  return std::ranges::any_of(graph.nodes, reads) || std::ranges::find(graph.outputs, input) != graph.outputs.end();
}

// Of a dictionary that forward() takes, the text tells those keys alone whose tensors it computes with.
void take_idle_keys(Graph& read, const Graph& target) {
  if (!read.inputs_by_name || !target.inputs_by_name) return;
  for (const ValueId v : target.inputs) {
    const std::string key = python::input_name(target, v);
    const auto is_of_key = [&](ValueId own) { return read[own].name == key; };
    if (!is_read(target, v) && std::ranges::none_of(read.inputs, is_of_key)) read.input(key, target[v].type);
  }
}

}  // namespace

Result<Graph> read_written_text(const std::string& text, const std::string& part, const std::filesystem::path& weights,
                                const std::vector<Tensor>& inputs, const Graph& meant) {
  LoadOptions options;
  options.weights = weights;
  const auto arguments = arguments_of(text);
  for (std::size_t i = 0; i < arguments.size() && i < inputs.size(); ++i) {
    Shape& shape = options.shapes[arguments[i]];
    for (const Size n : inputs[i].shape()) shape.emplace_back(n);
    if (i < meant.inputs.size()) options.types[arguments[i]] = meant[meant.inputs[i]].type.dtype;
  }
  return read_source_text(text, part, options);
}

Result<std::vector<std::string>> show_written_text(const PortReport& report, const std::string& text,
                                                   const std::string& part, const std::filesystem::path& weights) {
  const CheckData& data = report.proof->check;
  const auto unread = [](const Error& error) {
    return std::vector<std::string>{"the weights were read back from the file; the Python text was not, because",
                                    error.what.substr(0, error.what.find('\n'))};
  };
  if (const auto parsed = python::parse_program(text); !parsed && parsed.error().fault == Fault::Format)
    return fail(Fault::Internal, "the text is no Python: " + message(parsed.error()));
  auto read = read_written_text(text, part, weights, data.inputs, report.target);
  if (!read) return unread(read.error());
  take_idle_keys(*read, report.target);
  if (auto done = follow_keys(*read, report.target); !done) return pass(done);
  RunOptions as_read;
  as_read.lets_go_of_weights = true;
  const budget::Computing computing;
  const auto values = run(*read, data.inputs, as_read);
  if (!values) return unread(values.error());
  bool same = read->outputs.size() == data.outputs.size();
  for (std::size_t i = 0; same && i < data.outputs.size(); ++i)
    same = agree(values->at(read->outputs[i]), data.outputs[i], data.bounds[i]);
  const auto is_number = [](double x) { return std::isfinite(x); };
  const auto holds_numbers = [&](const Tensor& output) { return std::ranges::all_of(output.doubles(), is_number); };
  bool are_numbers = std::ranges::all_of(data.outputs, holds_numbers);
  for (const ValueId v : read->outputs) are_numbers = are_numbers && holds_numbers(values->at(v));
  if (!same && !are_numbers)
    return fail(Fault::Proof,
                "an answer holds infinity or what is no number, which the target's layers hand on otherwise than the "
                "source's; look for such numbers among the weights");
  if (!same) return fail(Fault::Internal, "the Python text, read back, does not give the answer of the source");
  for (std::size_t i = 0; i < data.outputs.size(); ++i) {
    const DType is = (*read)[read->outputs[i]].type.dtype, was = report.target[report.target.outputs[i]].type.dtype;
    if (is != was && !(is_floating(is) && is_floating(was)))
      return fail(Fault::Internal, "output '" + report.target.output_names[i] + "' of the Python text, read back, is " +
                                       std::string(name_of(is)) + ", and has to be " + std::string(name_of(was)));
  }
  return std::vector<std::string>{"the weights and the Python text were read back from what was written, and give",
                                  "the answer of the source; the text checks itself against it, too"};
}

}  // namespace convoy
