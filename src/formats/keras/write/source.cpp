#include "formats/keras/write/source.h"

#include "formats/keras/weights.h"
#include "formats/keras/write/lines.h"
#include "formats/keras/write/python.h"
#include "formats/keras/write/repeated.h"
#include "formats/source_text.h"

#include <fmt/format.h>
#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <set>
#include <utility>

namespace convoy::keras {
namespace {

using namespace python;  // the words of Python text

// keras.Model(inputs, x, name="net")
std::string list_or_one(const std::vector<std::string>& all, const std::vector<std::string>& keys) {
  if (!keys.empty()) return dictionary_text(keys, all);
  return all.size() == 1 ? all[0] : "[" + joined(all) + "]";
}

Result<std::string> functional(SourceParts& parts, const std::vector<Part>& all, const std::string& docstring) {
  const Document& document = parts.document;
  if (auto ok = count_blocks(parts, all); !ok) return pass(ok);
  Lines lines(parts, {});
  std::string inputs;
  std::vector<std::string> from, to;
  const bool one = document.inputs.size() == 1;
  for (const Reference& r : document.inputs) {
    const DocumentLayer& layer = document.layers[r.layer];
    lines.name_input(r, one ? "inputs" : layer.name, one);
    from.push_back(lines.tensor(r));
    inputs += statement(4, from.back() + " = " + input_text(layer));
  }
  if (auto ok = lines.write(all, document.outputs, false, 1); !ok) return pass(ok);
  for (const Reference& r : document.outputs) to.push_back(lines.tensor(r));
  std::string functions;
  for (const std::string& kind : parts.order) functions += parts.functions.at(kind).text + "\n\n";
  return functions + "def build() -> keras.Model:\n" + docstring + inputs + wrapped_lines(lines.text()) +
         statement(4, "return keras.Model(" + list_or_one(from, document.input_keys) + ", " +
                          list_or_one(to, document.output_keys) + ", name=" + python::quoted(document.name) + ")");
}

std::string sequential(const Document& document, const std::string& docstring) {
  std::string text = "def build() -> keras.Model:\n" + docstring + "    return keras.Sequential(\n        [\n";
  for (const DocumentLayer& layer : document.layers)
    text += statement(12, (layer.class_name == "InputLayer" ? input_text(layer)
                                                            : constructor_text(layer, python::quoted(layer.name))) +
                              ",");
  return text + "        ],\n        name=" + python::quoted(document.name) + ",\n    )\n";
}

// build() and its functions, and the tables that they use.
struct Built {
  std::string text;
  std::vector<std::string> tables;

  auto lines() const {
    auto n = std::ranges::count(text, '\n');
    for (const std::string& table : tables) n += std::ranges::count(table, '\n');
    return n;
  }
};

Result<Built> built_of(const Document& document, const std::vector<Part>& all, const std::string& docstring) {
  SourceParts parts(document);
  auto text = functional(parts, all, docstring);
  if (!text) return std::unexpected(text.error());
  return Built{std::move(*text), std::move(parts.tables)};
}

// The shortest of: blocks of the source alone, blocks by structure as well, and by structure alone. A row of layers stays
// one, unless blocks are much shorter.
Result<Built> build_text(const Document& document, const std::string& docstring) {
  Built best;
  if (document.is_sequential()) {
    best.text = sequential(document, docstring);
  } else {
    const auto all = parts_of(document);
    if (!all) return std::unexpected(all.error());
    auto made = built_of(document, *all, docstring);
    if (!made) return made;
    best = std::move(*made);
  }
  for (const bool by_names : {true, false}) {
    const auto repeated = with_repeated_blocks(document, by_names);
    if (!repeated || !repeated->any) continue;
    auto made = built_of(repeated->document, repeated->parts, docstring);
    const auto most = document.is_sequential() && by_names ? best.lines() * 3 / 4 : best.lines();
    if (made && made->lines() < most) best = std::move(*made);
  }
  return best;
}

std::string load_text(const SourceOptions& o) {
  std::string text = statement(
      0, fmt::format("def load(weights: str | Path = {}) -> keras.Model:", beside(o.weights_file, o.module_name)));
  text += "    \"\"\"The network with its weights, ready to answer. ValueError: weights of another port.\"\"\"\n";
  if (!o.weights_sha256.empty())
    text +=
        "    if hashlib.sha256(Path(weights).read_bytes()).hexdigest() != WEIGHTS_SHA256:\n"
        "        raise ValueError(f\"{weights}: not the weights of this model (SHA-256 differs)\")\n";
  return text + "    model = build()\n    model.load_weights(weights)\n    return model\n";
}

// TensorFlow's kernels for plain processors refuse dilation in transposed convolutions; its compiler does not.
bool runs_only_compiled(const Graph& graph) {
  return std::ranges::any_of(graph.nodes, [](const Node& node) {
    const auto* conv = get_if<ConvTranspose>(&node.op);
    return conv && std::ranges::any_of(conv->windows, [](const Window& w) { return w.dilation > 1; });
  });
}

std::string answer_text(const Graph& graph, const std::vector<std::string>& inputs, const Document& document) {
  const std::string given = list_or_one(inputs, document.input_keys);
  const std::string variable = graph.outputs.size() == 1 ? "answer" : "answers";
  if (!runs_only_compiled(graph)) return statement(4, variable + " = load()(" + given + ", training=False)");
  return "    model = load()\n    model.compile(jit_compile=True)  # dilation of a transposed convolution runs only "
         "compiled\n" +
         statement(4, variable + " = model.predict(" + given + ", verbose=0)");
}

std::string check_text(const Graph& graph, const Document& document, const SourceOptions& o) {
  const std::string name = prose(o.module_name), source = prose(o.source_file);
  std::string text =
      "def check() -> int:\n"
      "    \"\"\"Compares with the stored answer of the source; the exit code.\"\"\"\n";
  text += statement(4, "stored = np.load(" + beside(o.check_file, o.module_name) + ")");
  text += answer_text(
      graph,
      stored_inputs(graph, [](DType type) { return std::string(type == DType::Bool ? ".astype(\"bool\")" : ""); }),
      document);
  return text + comparison_text(graph, name, source,
                                {"answer", "answer", "y, expected = keras.ops.convert_to_numpy(answer), stored[{}]",
                                 "np.abs(y - expected)", "difference.max()"});
}

}  // namespace

Result<std::string> write_source(const Document& document, const Graph& graph, const SourceOptions& o) {
  std::vector<std::string> labels;
  for (const ValueId v : graph.inputs) labels.push_back(identifier(input_name(graph, v)));
  const std::string docstring = shapes_docstring(graph, labels);
  const auto made = build_text(document, docstring);
  if (!made) return std::unexpected(made.error());
  const std::string& built = made->text;
  const std::string format = graph.source_format.empty() ? "" : " (" + prose(graph.source_format) + ")";
  std::string text = fmt::format(
      "\"\"\"{}, ported by convoy {} from {}{}.\n\nWeights: {}. Check: python {}.py\n\"\"\"\n\n", prose(document.name),
      CONVOY_VERSION, prose(o.source_file), format, prose(o.weights_file), prose(o.module_name));
  if (!o.weights_sha256.empty()) text += "import hashlib\n";
  text += "import sys\nfrom pathlib import Path\n\nimport keras\nimport numpy as np\nfrom keras import ";
  text += built.find("ops.") != std::string::npos ? "layers, ops\n" : "layers\n";
  text += "\nHERE = Path(__file__).resolve()\n";
  if (!o.weights_sha256.empty()) text += "WEIGHTS_SHA256 = " + python::quoted(o.weights_sha256) + "\n";
  for (const std::string& table : made->tables) text += table;
  text += "\n\n" + built + "\n\n" + load_text(o) + "\n\n" + check_text(graph, document, o);
  text +=
      "\n\nif __name__ == \"__main__\":\n"
      "    try:\n"
      "        sys.exit(check())\n"
      "    except (OSError, ValueError) as error:\n"
      "        sys.exit(f\"" +
      prose(o.module_name) + ": {error}\")\n";
  return text;
}

}  // namespace convoy::keras
