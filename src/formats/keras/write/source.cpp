#include "formats/keras/write/source.h"

#include "formats/keras/weights.h"
#include "formats/keras/write/blocks.h"
#include "formats/keras/write/python.h"
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

constexpr Size largest_table = 4096;  // numbers that source code may hold in one piece
constexpr std::size_t least_block = 3;  // lines that a function is worth

const std::set<std::string> taken_names{"keras", "layers", "ops",   "np",     "sys",  "hashlib", "Path",   "HERE",
                                        "build", "load",   "check", "inputs", "name", "x",       "stored", "model",
                                        "slice", "float",  "int",   "max",    "min",  "bool",    "list",   "str"};

struct Function {
  std::string name, text;
};

// What all functions of one file share.
struct SourceParts {
  const Document& document;
  std::map<std::string, int> seen;  // bodies of blocks, and how often each stands in the document
  std::map<std::string, Function> functions;  // by body
  std::vector<std::string> order;  // bodies, inner before outer
  Names names{taken_names};
  std::vector<std::string> tables;  // lines that define tables of numbers
  std::vector<std::pair<Tensor, std::string>> known_tables;
};

// The lines of one function: build, or a block.
class Lines {
 public:
  // `prefix`: what the names of layers begin with in a block, which is called with its name instead.
  Lines(SourceParts& parts, std::string prefix) : parts_(parts), prefix_(std::move(prefix)), names_(taken_names) {}

  void name_input(const Reference& r, const std::string& wanted, bool brief) {
    variables_[{r.layer, r.call}] = brief ? wanted : names_.take(identifier(wanted));
  }

  // `outputs` are read behind the last line. `plain`: every block is written out.
  Status write(const std::vector<Part>& all, const std::vector<Reference>& outputs, bool plain, int times) {
    flatten(all, plain, times);
    for (std::size_t i = 0; i < items_.size(); ++i)
      for (const Reference& r : reads(items_[i])) last_use_[{r.layer, r.call}] = i;
    for (const Reference& r : outputs) last_use_[{r.layer, r.call}] = items_.size();
    for (std::size_t i = 0; i < items_.size(); ++i)
      if (auto ok = write_item(i); !ok) return ok;
    return {};
  }

  std::string tensor(const Reference& r) const {
    const std::string& variable = variables_.at({r.layer, r.call});
    const bool several = parts_.document.layers[r.layer].calls[r.call].results.size() > 1;
    return several ? variable + "[" + std::to_string(r.tensor) + "]" : variable;
  }
  const std::string& text() const { return text_; }

 private:
  struct Item {
    const Part* part;
    const Function* function = nullptr;  // of a block that is called
  };

  std::vector<Reference> reads(const Item& item) const {
    return item.part->step ? reads_of(parts_.document, *item.part->step) : item.part->inputs;
  }

  void flatten(const std::vector<Part>& all, bool plain, int times);
  Status write_item(std::size_t i);
  std::string variable_for(const Step& made, std::size_t at, const std::string& wanted);
  // Keras names operations by itself, after their function: a layer must not have such a name.
  std::string name_text(std::string layer) const {
    const std::string stem = layer.substr(0, layer.find_last_not_of("0123456789_") + 1);
    for (const DocumentLayer& other : parts_.document.layers)
      if (other.is_operation() && snake_case(other.class_name) == stem) {
        layer += "_layer";
        break;
      }
    if (prefix_.empty()) return python::quoted(layer);
    std::string rest;  // braces would end the text of an f-string
    for (const char c : python::quoted(prefix_.back() + layer.substr(prefix_.size())))
      rest += c == '{' || c == '}' ? std::string(2, c) : std::string(1, c);
    return "f\"{name}" + rest.substr(1);
  }
  Result<std::string> table(const Tensor& numbers);

  SourceParts& parts_;
  std::string prefix_;
  Names names_;
  std::vector<Item> items_;
  std::map<Step, std::string> variables_;
  std::map<Step, std::size_t> last_use_;
  std::set<std::size_t> made_;  // layers that stand in a variable
  std::map<std::size_t, std::string> shared_;
  std::string text_;
};

std::size_t lines_of(const Part& part) {
  std::size_t n = part.step ? 1 : 0;
  for (const Part& inner : part.inside) n += lines_of(inner);
  return n;
}

bool shares_a_layer(const Document& document, const Part& part) {
  if (part.step) return document.layers[part.step->layer].calls.size() > 1;
  return std::ranges::any_of(part.inside, [&](const Part& inner) { return shares_a_layer(document, inner); });
}

bool may_be_function(const Document& document, const Part& part) {
  return !part.step && !part.prefix.empty() && part.outputs.size() == 1 && !part.inputs.empty() &&
         lines_of(part) >= least_block && !shares_a_layer(document, part) &&
         document.layers[part.outputs[0].layer].calls[part.outputs[0].call].results.size() == 1;
}

// The body of a block's function with everything inside written out: equal bodies are one function.
Result<std::string> body_of(SourceParts& parts, const Part& block, bool plain, int times) {
  Lines lines(parts, block.prefix);
  std::vector<std::string> arguments;
  for (std::size_t i = 0; i < block.inputs.size(); ++i) {
    arguments.push_back(block.inputs.size() == 1 ? "x" : "x" + std::to_string(i + 1));
    lines.name_input(block.inputs[i], arguments.back(), true);
  }
  if (auto ok = lines.write(block.inside, block.outputs, plain, times); !ok) return pass(ok);
  return joined(arguments) + "\n" + lines.text() + "    return " + lines.tensor(block.outputs[0]) + "\n";
}

Status count_blocks(SourceParts& parts, const std::vector<Part>& all) {
  for (const Part& part : all) {
    if (may_be_function(parts.document, part)) {
      auto body = body_of(parts, part, true, 0);
      if (!body) return pass(body);
      ++parts.seen[*body];
    }
    if (auto ok = count_blocks(parts, part.inside); !ok) return ok;
  }
  return {};
}

// "basic_block" of the scope's last word; the framework's numbers of blocks say nothing.
std::string function_name(const Part& block) {
  std::string path = block.path.substr(0, block.path.find_last_of(':'));
  std::string word;
  while (!path.empty()) {
    const auto slash = path.find_last_of("/.");
    word = slash == std::string::npos ? path : path.substr(slash + 1);
    if (const auto colon = word.find(':'); colon != std::string::npos) word.resize(colon);
    const bool number = !word.empty() && word.find_first_not_of("0123456789") == std::string::npos;
    if (!number && !word.empty()) break;
    path.resize(slash == std::string::npos ? 0 : slash);
    word.clear();
  }
  while (!word.empty() && (std::isdigit(static_cast<unsigned char>(word.back())) || word.back() == '_'))
    word.pop_back();
  return identifier((word.empty() ? "layers" : word) + "_block");
}

// The function of a repeated block. Nothing: it stands there once, or as often as what is around it.
Result<const Function*> function_of(SourceParts& parts, const Part& block, int times) {
  if (!may_be_function(parts.document, block)) return nullptr;
  auto plain = body_of(parts, block, true, 0);
  if (!plain) return pass(plain);
  const int own = parts.seen[*plain];
  if (own <= std::max(times, 1)) return nullptr;
  if (const auto known = parts.functions.find(*plain); known != parts.functions.end()) return &known->second;
  auto body = body_of(parts, block, false, own);
  if (!body) return pass(body);
  const std::string name = parts.names.take(function_name(block));
  const auto line = body->find('\n');
  std::string text = statement(0, "def " + name + "(" + body->substr(0, line) + ", name):") + body->substr(line + 1);
  parts.order.push_back(*plain);
  return &parts.functions.emplace(*plain, Function{name, std::move(text)}).first->second;
}

void Lines::flatten(const std::vector<Part>& all, bool plain, int times) {
  for (const Part& part : all) {
    if (part.step) {
      items_.push_back({&part});
      continue;
    }
    const auto function = plain ? Result<const Function*>(nullptr) : function_of(parts_, part, times);
    if (function && *function) items_.push_back({&part, *function});
    else flatten(part.inside, plain, times);
  }
}

// `x` for what the next line uses up; a name after the layer for what lives longer.
std::string Lines::variable_for(const Step& made, std::size_t at, const std::string& wanted) {
  const auto last = last_use_.find(made);
  if (last == last_use_.end()) return names_.take("_" + identifier(wanted));
  return last->second == at + 1 ? "x" : names_.take(identifier(wanted));
}

Result<std::string> Lines::table(const Tensor& numbers) {
  if (numbers.count() == 1 && numbers.rank() == 0) return number_of_float(numbers.floats()[0]);
  if (numbers.count() > largest_table)
    return fail(Fault::Unsupported, "holds a table of " + std::to_string(numbers.count()) +
                                        " numbers, too many for source code; write a .keras file");
  for (const auto& [known, name] : parts_.known_tables)
    if (same_bytes(known, numbers)) return name;
  std::vector<std::string> all;
  const bool whole = numbers.dtype() >= DType::I8 && numbers.dtype() != DType::Bool;
  if (whole)
    for (const std::int64_t n : numbers.integers()) all.push_back(std::to_string(n));
  else
    for (const float n : numbers.floats()) all.push_back(std::isfinite(n) ? number_of_float(n) : number(n));
  const std::string name = "TABLE_" + std::to_string(parts_.tables.size() + 1);
  // Rows of rows, from the innermost axis outwards.
  for (std::size_t axis = numbers.shape().size(); axis-- > 0;) {
    const auto length = static_cast<std::size_t>(numbers.shape()[axis]);
    std::vector<std::string> rows;
    for (std::size_t i = 0; i + length <= all.size() && length > 0; i += length)
      rows.push_back("[" +
                     joined({all.begin() + static_cast<std::ptrdiff_t>(i),
                             all.begin() + static_cast<std::ptrdiff_t>(i + length)}) +
                     "]");
    all = std::move(rows);
  }
  const std::string text =
      fmt::format("np.array({}, dtype=\"{}\")", all.empty() ? "[]" : all[0], name_of(numbers.dtype()));
  parts_.tables.push_back(statement(0, name + " = " + text));
  parts_.known_tables.emplace_back(numbers, name);
  return name;
}

Status Lines::write_item(std::size_t i) {
  const Item& item = items_[i];
  if (item.function) {
    std::vector<std::string> passed;
    for (const Reference& r : item.part->inputs) passed.push_back(tensor(r));
    const std::string name = item.part->prefix.substr(0, item.part->prefix.size() - 1);
    passed.push_back(prefix_.empty() ? python::quoted(name) : name_text(name));
    const Reference& out = item.part->outputs[0];
    const std::string call = item.function->name + "(" + joined(passed) + ")";
    const std::string variable = variable_for({out.layer, out.call}, i, name);
    variables_[{out.layer, out.call}] = variable;
    text_ += statement(4, variable + " = " + call);
    return {};
  }
  const Step step = *item.part->step;
  const DocumentLayer& layer = parts_.document.layers[step.layer];
  const DocumentCall& call = layer.calls[step.call];
  Status trouble;
  const Spoken spoken{[&](const Reference& r) { return tensor(r); },
                      [&](const Tensor& numbers) {
                        auto name = table(numbers);
                        if (!name && trouble) trouble = within("layer '" + layer.name + "'", Status(pass(name)));
                        return name.value_or("");
                      }};
  std::string text;
  if (layer.is_operation()) {
    text = operation_text(layer, call, spoken);
  } else if (layer.calls.size() > 1) {
    auto& variable = shared_[step.layer];
    if (variable.empty()) {
      variable = names_.take(identifier(layer.name) + "_layer");
      text_ += statement(4, variable + " = " + constructor_text(layer, name_text(layer.name)));
    }
    text = variable + arguments_text(call, spoken);
  } else {
    text = constructor_text(layer, name_text(layer.name)) + arguments_text(call, spoken);
  }
  if (!trouble) return trouble;
  const std::string wanted = prefix_.empty() ? layer.name : layer.name.substr(prefix_.size());
  variables_[step] = variable_for(step, i, wanted);
  text_ += statement(4, variables_[step] + " = " + text);
  return {};
}

// keras.Model(inputs, x, name="net")
std::string list_or_one(const std::vector<std::string>& all) {
  return all.size() == 1 ? all[0] : "[" + joined(all) + "]";
}

Result<std::string> functional(SourceParts& parts, const std::string& docstring) {
  const Document& document = parts.document;
  auto all = parts_of(document);
  if (!all) return pass(all);
  if (auto ok = count_blocks(parts, *all); !ok) return pass(ok);
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
  if (auto ok = lines.write(*all, document.outputs, false, 1); !ok) return pass(ok);
  for (const Reference& r : document.outputs) to.push_back(lines.tensor(r));
  std::string functions;
  for (const std::string& body : parts.order) functions += parts.functions.at(body).text + "\n\n";
  return functions + "def build() -> keras.Model:\n" + docstring + inputs + lines.text() +
         statement(4, "return keras.Model(" + list_or_one(from) + ", " + list_or_one(to) +
                          ", name=" + python::quoted(document.name) + ")");
}

std::string sequential(const Document& document, const std::string& docstring) {
  std::string text = "def build() -> keras.Model:\n" + docstring + "    return keras.Sequential(\n        [\n";
  for (const DocumentLayer& layer : document.layers)
    text += statement(12, (layer.class_name == "InputLayer" ? input_text(layer)
                                                            : constructor_text(layer, python::quoted(layer.name))) +
                              ",");
  return text + "        ],\n        name=" + python::quoted(document.name) + ",\n    )\n";
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
    const auto* conv = std::get_if<ConvTranspose>(&node.op);
    return conv && std::ranges::any_of(conv->windows, [](const Window& w) { return w.dilation > 1; });
  });
}

std::string answer_text(const Graph& graph, const std::vector<std::string>& inputs) {
  const std::string variable = graph.outputs.size() == 1 ? "answer" : "answers";
  if (!runs_only_compiled(graph))
    return statement(4, variable + " = load()(" + list_or_one(inputs) + ", training=False)");
  return "    model = load()\n    model.compile(jit_compile=True)  # dilation of a transposed convolution runs only "
         "compiled\n" +
         statement(4, variable + " = model.predict(" + list_or_one(inputs) + ", verbose=0)");
}

std::string check_text(const Graph& graph, const SourceOptions& o) {
  const std::string name = prose(o.module_name), source = prose(o.source_file);
  std::string text =
      "def check() -> int:\n"
      "    \"\"\"Compares with the stored answer of the source; the exit code.\"\"\"\n";
  text += statement(4, "stored = np.load(" + beside(o.module_name + ".check.npz", o.module_name) + ")");
  text += answer_text(graph, stored_inputs(graph));
  return text + comparison_text(graph, name, source,
                                {"answer", "y, expected = keras.ops.convert_to_numpy(answer), stored[{}]",
                                 "np.abs(y - expected)", "difference.max()"});
}

}  // namespace

Result<std::string> write_source(const Document& document, const Graph& graph, const SourceOptions& o) {
  SourceParts parts{.document = document, .seen = {}, .functions = {}, .order = {}, .tables = {}, .known_tables = {}};
  std::vector<std::string> labels;
  for (const ValueId v : graph.inputs) labels.push_back(identifier(input_name(graph, v)));
  const std::string docstring = shapes_docstring(graph, labels);
  std::string built;
  if (document.is_sequential()) {
    built = sequential(document, docstring);
  } else {
    auto text = functional(parts, docstring);
    if (!text) return text;
    built = std::move(*text);
  }
  const std::string format = graph.source_format.empty() ? "" : " (" + prose(graph.source_format) + ")";
  std::string text = fmt::format(
      "\"\"\"{}, ported by convoy {} from {}{}.\n\nWeights: {}. Check: python {}.py\n\"\"\"\n\n", prose(document.name),
      CONVOY_VERSION, prose(o.source_file), format, prose(o.weights_file), prose(o.module_name));
  if (!o.weights_sha256.empty()) text += "import hashlib\n";
  text += "import sys\nfrom pathlib import Path\n\nimport keras\nimport numpy as np\nfrom keras import ";
  text += built.find("ops.") != std::string::npos ? "layers, ops\n" : "layers\n";
  text += "\nHERE = Path(__file__).resolve()\n";
  if (!o.weights_sha256.empty()) text += "WEIGHTS_SHA256 = " + python::quoted(o.weights_sha256) + "\n";
  for (const std::string& table : parts.tables) text += table;
  text += "\n\n" + built + "\n\n" + load_text(o) + "\n\n" + check_text(graph, o);
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
