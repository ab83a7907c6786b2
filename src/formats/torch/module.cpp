// The file around the classes: what it is a port of, how its weights are loaded, and how it checks itself.
#include "base/budget.h"
#include "formats/source_text.h"
#include "formats/torch/block.h"
#include "formats/torch/families.h"
#include "formats/torch/repeated_steps.h"

#include <fmt/format.h>
#include <algorithm>
#include <array>

namespace convoy::torch {

namespace {

using python::beside;
using python::comparison_text;
using python::input_name;
using python::shape_text;
using python::shapes_docstring;
using python::stored_inputs;

auto all_rows() {
  return std::array{convolution_rows(), pooling_rows(),     pad_rows(),       linear_rows(),  normalization_rows(),
                    activation_rows(),  elementwise_rows(), reduction_rows(), reshape_rows(), slice_concat_rows(),
                    resize_rows(),      recurrent_rows(),   unfold_rows()};
}

}  // namespace

Status write_node(const Op& op, Call& call) {
  for (const auto& rows : all_rows())
    for (const Row& row : rows)
      if (row.op == name_of(op))
        return row.write ? row.write(op, call) : fail(Fault::Unsupported, std::string(row.why_not));
  return fail(Fault::Internal, "no row for " + std::string(name_of(op)));
}

std::vector<std::pair<std::string_view, std::string_view>> operators() {
  std::vector<std::pair<std::string_view, std::string_view>> all;
  for (const auto& rows : all_rows())
    for (const Row& row : rows) all.emplace_back(row.op, row.why_not);
  return all;
}

namespace {

struct Top {
  WrittenClass top;
  std::vector<ClassText> classes;
  std::vector<std::string> helpers;
  std::vector<std::string> arguments;
};

// Which sizes forward raises on where they are others than the port's.
struct Checked {
  bool sizes = false, batch = false;
};

std::string size_check(const Graph& graph, const std::vector<std::string>& arguments, Checked checked) {
  std::string text;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const Shape& shape = graph[graph.inputs[i]].type.shape;
    const std::size_t first = checked.batch ? 0 : 1,
                      last = checked.sizes ? shape.size() : std::min<std::size_t>(1, shape.size());
    Sizes sizes;
    for (std::size_t axis = first; axis < last; ++axis)
      if (shape[axis].known()) sizes.push_back(*shape[axis]);
    std::vector<std::string> wrong;
    if (sizes.size() + first == shape.size() && !sizes.empty()) {
      wrong.push_back(fmt::format("{}.shape{} != {}", arguments[i], first == 0 ? "" : "[1:]", tuple(sizes)));
    } else {
      for (std::size_t axis = first; axis < last; ++axis)
        if (shape[axis].known()) wrong.push_back(fmt::format("{}.shape[{}] != {}", arguments[i], axis, *shape[axis]));
    }
    if (wrong.empty()) continue;
    text += statement(8, "if " + joined(wrong, " or ") + ":");
    text += statement(12, fmt::format("raise ValueError(f\"this port holds for {}, not for {{list({}.shape)}}\")",
                                      shape_text(shape), arguments[i]));
  }
  return text;
}

Result<Top> write_top(const Graph& graph, const std::string& name, Checked checked, bool repeats) {
  std::set<std::string> flattened;
  for (int tries = 0; tries < 1000; ++tries) {
    const std::size_t before = flattened.size();
    auto steps = steps_of(graph, flattened);
    if (flattened.size() != before) continue;
    if (repeats) steps = with_repeated_blocks(graph, flattened, std::move(steps), graph.outputs);
    ModuleText text{.graph = graph,
                    .flattened = flattened,
                    .classes = {},
                    .helpers = {},
                    .class_names = FreshNames({name, "Path", "Tensor", "F", "HERE", "WEIGHTS_SHA256"}),
                    .known = {}};
    FreshNames names(taken_variables());
    names.take("inputs");
    std::vector<std::string> keys;
    for (const ValueId v : graph.inputs)
      if (graph.inputs_by_name) keys.push_back(input_name(graph, v));
    std::vector<std::string> arguments;
    for (std::size_t i = 0; i < graph.inputs.size(); ++i)
      arguments.push_back(graph.inputs.size() == 1 ? "x" : names.take(identifier(input_name(graph, graph.inputs[i]))));
    Block block(text, steps, graph.inputs, graph.outputs);
    auto top =
        block.write(arguments, size_check(graph, arguments, checked), keys,
                    graph.outputs_by_name ? graph.output_names : std::vector<std::string>(), graph.one_output_in_tuple);
    if (!top) return pass(top);
    if (text.again) continue;
    top->name = name;
    text.classes = shared(std::move(text.classes), top->body);
    return Top{std::move(*top), std::move(text.classes), std::move(text.helpers), std::move(arguments)};
  }
  return fail(Fault::Internal, "nested models could not be put in order");
}

std::size_t lines_of(const Top& top) {
  std::string text = top.top.body;
  for (const ClassText& one : top.classes) text += one.body + "\n\n\n";
  return static_cast<std::size_t>(std::ranges::count(text, '\n'));
}

// With the blocks that repeat themselves as classes, where that is less to read.
Result<Top> write_top(const Graph& graph, const std::string& name, Checked checked) {
  auto plain = write_top(graph, name, checked, false);
  if (!plain) return plain;
  auto blocks = write_top(graph, name, checked, true);
  return blocks && lines_of(*blocks) < lines_of(*plain) ? std::move(blocks) : std::move(plain);
}

std::string class_of_module(const SourceOptions& options) {
  const std::string name = class_name(options.module_name);
  return name == "F" || name == "Path" || name == "Tensor" ? name + "Network" : name;
}

std::string load_text(const std::string& class_, const SourceOptions& o, bool pickled) {
  std::string text = statement(
      0, fmt::format("def load(weights: str | Path = {}) -> {}:", beside(o.weights_file, o.module_name), class_));
  text += "    \"\"\"The network with its weights, ready to answer. ValueError: weights of another port.\"\"\"\n";
  text += "    data = Path(weights).read_bytes()\n";
  if (!o.weights_sha256.empty())
    text +=
        "    if hashlib.sha256(data).hexdigest() != WEIGHTS_SHA256:\n"
        "        raise ValueError(f\"{weights}: not the weights of this module (SHA-256 differs)\")\n";
  text += "    model = " + class_ + "()\n";
  text += pickled ? "    state = torch.load(io.BytesIO(data), map_location=\"cpu\", weights_only=True)\n"
                    "    model.load_state_dict(state, strict=True)\n"
                  : "    model.load_state_dict(safetensors.torch.load(data), strict=True)\n";
  return text + "    return model.eval()\n";
}

std::string given_text(const Graph& graph) {
  // Whole numbers and truths are stored as int64.
  const auto stored = stored_inputs(graph, [](DType type) {
    return type == DType::F32 || type == DType::I64 ? std::string() : ".to(" + dtype(type) + ")";
  });
  std::vector<std::string> keys;
  for (const ValueId v : graph.inputs) keys.push_back(input_name(graph, v));
  return graph.inputs_by_name ? python::dictionary_text(keys, stored) : joined(stored);
}

std::string check_text(const Graph& graph, const SourceOptions& o, bool pickled) {
  const std::string name = prose(o.module_name), source = prose(o.source_file);
  std::string text =
      "def check() -> int:\n"
      "    \"\"\"Compares with the stored answer of the source; the exit code.\"\"\"\n";
  if (pickled) text += "    import safetensors.torch\n\n";
  text += statement(4, "stored = safetensors.torch.load_file(" + beside(o.check_file, o.module_name) + ")");
  text += "    with torch.no_grad():\n";
  const bool one = graph.outputs.size() == 1;
  text += statement(
      8, (one ? "y = load()(" : "answers = load()(") + given_text(graph) + (graph.one_output_in_tuple ? ")[0]" : ")"));
  const bool has_truths = std::ranges::any_of(  // which nothing is subtracted from
      graph.outputs, [&](ValueId v) { return graph[v].type.dtype == DType::Bool; });
  return text + comparison_text(graph, name, source,
                                {"y", "y", "expected = stored[{}]",
                                 has_truths ? "(y.to(expected.dtype) - expected).abs()" : "(y - expected).abs()",
                                 "difference.max().item()"});
}

}  // namespace

Result<std::vector<Parameter>> state_dict(const Graph& graph, const SourceOptions& options) {
  auto top = write_top(graph, class_of_module(options), {options.fixed_size, options.fixed_batch});
  if (!top) return pass(top);
  return std::move(top->top.parameters);
}

Result<Source> write_source(const Graph& graph, const SourceOptions& options) {
  const budget::Making making("writing the module");
  const std::string name = class_of_module(options);
  auto top = write_top(graph, name, {options.fixed_size, options.fixed_batch});
  if (!top) return pass(top);
  const bool pickled = options.weights_file.ends_with(".pt") || options.weights_file.ends_with(".pth");
  const std::string format = graph.source_format.empty() ? "" : " (" + prose(graph.source_format) + ")";
  std::string text = fmt::format(
      "\"\"\"{}, ported by convoy {} from {}{}.\n\nWeights: {}. Check: python {}.py\n\"\"\"\n\n", name, CONVOY_VERSION,
      prose(options.source_file), format, prose(options.weights_file), prose(options.module_name));
  if (!options.weights_sha256.empty()) text += "import hashlib\n";
  if (pickled) text += "import io\n";
  text += "import sys\nfrom pathlib import Path\n\n";
  if (!pickled) text += "import safetensors.torch\n";
  text += "import torch\nfrom torch import Tensor, nn\n";
  std::string classes;
  for (const ClassText& one : top->classes) classes += "class " + one.name + "(nn.Module):\n" + one.body + "\n\n";
  const bool functional =
      classes.find("F.") != std::string::npos || top->top.body.find("F.") != std::string::npos || !top->helpers.empty();
  if (functional) text += "from torch.nn import functional as F\n";
  text += "\nHERE = Path(__file__).resolve()\n";
  if (!options.weights_sha256.empty()) text += "WEIGHTS_SHA256 = " + python::quoted(options.weights_sha256) + "\n";
  text += "\n\n";
  for (const std::string& helper : top->helpers) text += helper + "\n\n";
  text += classes;
  text += "class " + name + "(nn.Module):\n" + shapes_docstring(graph, top->arguments) + top->top.body + "\n\n";
  text += load_text(name, options, pickled) + "\n\n" + check_text(graph, options, pickled);
  text +=
      "\n\nif __name__ == \"__main__\":\n"
      "    try:\n"
      "        sys.exit(check())\n"
      "    except (OSError, ValueError) as error:\n"
      "        sys.exit(f\"" +
      prose(options.module_name) + ": {error}\")\n";
  return Source{std::move(text), std::move(top->top.parameters)};
}

}  // namespace convoy::torch
