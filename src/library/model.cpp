// The public functions of convoy/model.h, over the same parts as the command.
#include "convoy/model.h"

#include "convoy/cancellation.h"

#include "base/budget.h"
#include "base/granted.h"
#include "base/nearest.h"
#include "diagnose/diagnose.h"
#include "explain/explanation.h"
#include "explain/picture.h"
#include "formats/source.h"
#include "port/copy_weights.h"
#include "port/pair.h"
#include "port/port.h"
#include "report/copied.h"
#include "report/cost.h"
#include "report/difference.h"
#include "report/layers.h"
#include "report/page.h"
#include "report/summary.h"
#include "report/text.h"
#include "run/plan/engine.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <exception>
#include <new>

namespace convoy {
namespace {

// Memory that there is not is a refusal like others; anything else that is thrown is a fault of ours.
template <class Call>
auto guarded(const Call& call) -> decltype(call()) {
  try {
    const budget::Granted granted;
    auto made = call();
    if (made && Listening::is_cancelled()) return fail(Fault::Cancelled, "was cancelled");
    return made;
  } catch (const std::bad_alloc&) {
    return fail(Fault::Budget, "there is not enough memory for this");
  } catch (const std::exception& error) { return fail(Fault::Internal, std::string("an exception: ") + error.what()); }
}

ModelShape model_shape(const Shape& shape) {
  ModelShape sizes;
  for (const Dim dim : shape) sizes.push_back(dim.size());
  return sizes;
}

Result<Shape> shape_of(const ModelShape& sizes, const std::string& input) {
  Shape shape;
  for (const auto& size : sizes) {
    if (size && *size < 1)
      return fail(Fault::Usage, "the shape of input '" + input + "' holds " + std::to_string(*size) +
                                    ": give whole numbers from 1, or nothing for a free size");
    shape.push_back(size ? Dim(*size) : Dim::unknown());
  }
  return shape;
}

Result<LoadOptions> load_options(const std::filesystem::path& file, const ReadOptions& options) {
  LoadOptions to;
  if (!options.weights.empty()) to.weights = options.weights;
  else if (is_source(file)) {
    auto beside = weights_beside(file);
    if (!beside) return pass(beside);
    to.weights = std::move(*beside);
  }
  to.size = options.size;
  for (const auto& [input, sizes] : options.shapes) {
    auto shape = shape_of(sizes, input);
    if (!shape) return pass(shape);
    to.shapes.emplace(input, *std::move(shape));
  }
  to.outputs = options.outputs;
  to.dequantizes = options.dequantizes;
  to.import_roots = options.import_roots;
  to.seed = options.seed;
  return to;
}

// Names in files are any bytes, text in JSON is UTF-8.
std::string printed(const Json& json) { return json.dump(1, ' ', false, Json::error_handler_t::replace); }

// Whoever holds a model keeps its numbers, whatever becomes of the file that they were read from. Tied weights stay one.
Status keep_numbers(Graph& graph) {
  std::map<const void*, Tensor> kept;
  for (Value& value : graph.values) {
    if (!value.constant) continue;
    const auto [at, is_new] = kept.try_emplace(value.constant->identity());
    if (is_new) {
      const auto bytes = value.constant->bytes();
      if (auto held = budget::afford(static_cast<Size>(bytes.size()), "the weights"); !held) return held;
      auto own = Tensor::owning(value.constant->dtype(), value.constant->shape(), {bytes.begin(), bytes.end()});
      if (!own) return pass(own);
      at->second = *std::move(own);
    }
    const Tensor& own = at->second;
    if (own.dtype() == value.constant->dtype() && own.bytes().size() == value.constant->bytes().size())
      value.constant = own.reshaped(value.constant->shape());
  }
  return {};
}

Result<Model> model_of(Result<Graph> graph, const std::filesystem::path& file, std::vector<std::string> remarks) {
  if (!graph) return pass(graph);
  if (auto kept = keep_numbers(*graph); !kept) return pass(kept);
  return Model(std::make_shared<const Graph>(*std::move(graph)), file, std::move(remarks));
}

std::string name_of_file(const std::filesystem::path& file) { return file.filename().string(); }

Result<std::vector<Tensor>> in_order(const std::vector<ModelValue>& wanted,
                                     const std::map<std::string, Tensor>& given) {
  std::vector<std::string> known;
  for (const ModelValue& value : wanted) known.push_back(value.name);
  for (const auto& [name, tensor] : given)
    if (std::ranges::find(known, name) == known.end())
      return fail(Fault::Usage, "the model has no input '" + name + "'" + did_you_mean(name, known));
  std::vector<Tensor> inputs;
  for (const ModelValue& value : wanted) {
    const auto found = given.find(value.name);
    if (found == given.end()) return fail(Fault::Usage, "input '" + value.name + "' is not given");
    inputs.push_back(found->second);
  }
  return inputs;
}

PadAxis axis_of(const explain::AxisFacts& facts, bool cuts) {
  PadAxis axis{facts.name, facts.size.size(), {}, {}, facts.out, facts.formula, cuts};
  if (facts.placed.size() == 1) axis.before = facts.placed[0].before, axis.after = facts.placed[0].after;
  return axis;
}

PadOutcome outcome_of(const explain::Explanation& told) {
  PadOutcome outcome;
  outcome.framework = explain::name_of(told.framework);
  outcome.function = told.function;
  for (const explain::AxisFacts& facts : told.axes)
    outcome.axes.push_back(axis_of(facts, told.layer.does == explain::Does::Transpose));
  for (const explain::Line& line : told.lines)
    outcome.lines.push_back(
        {std::string(explain::name_of(line.framework)), line.code, line.equal, line.holds, line.remark});
  outcome.text = explain::text_of(told);
  outcome.json = printed(explain::json_of(told));
  outcome.svg = explain::picture_of({told}).value_or("");
  return outcome;
}

}  // namespace

inline namespace v0 {

Model::Model(std::shared_ptr<const Graph> graph, std::filesystem::path file, std::vector<std::string> remarks)
    : graph_(std::move(graph)),
      engine_(std::make_shared<const Engine>(graph_)),
      file_(std::move(file)),
      remarks_(std::move(remarks)) {}

const std::string& Model::name() const { return graph_->name; }
const std::string& Model::format() const { return graph_->source_format; }

std::vector<ModelValue> Model::inputs() const {
  std::vector<ModelValue> all;
  for (const ValueId v : graph_->inputs) {
    const Value& value = (*graph_)[v];
    all.push_back({value.name, value.type.dtype, model_shape(value.type.shape)});
  }
  return all;
}

std::vector<ModelValue> Model::outputs() const {
  std::vector<ModelValue> all;
  for (std::size_t i = 0; i < graph_->outputs.size(); ++i) {
    const TensorType& type = (*graph_)[graph_->outputs[i]].type;
    all.push_back({graph_->output_names[i], type.dtype, model_shape(type.shape)});
  }
  return all;
}

std::vector<ModelLayer> Model::layers() const {
  std::vector<ModelLayer> all;
  const auto rows = layer_rows(*graph_);
  for (std::size_t i = 0; i < graph_->nodes.size(); ++i) {
    const Node& node = graph_->nodes[i];
    all.push_back({rows[i].name, rows[i].operation, model_shape((*graph_)[node.outputs[0]].type.shape), rows[i].padding,
                   rows[i].parameters, multiply_adds(*graph_, node)});
  }
  return all;
}

std::vector<DType> Model::dtypes() const {
  std::vector<DType> all;
  for (const Value& value : graph_->values)
    if (!value.constant && std::ranges::find(all, value.type.dtype) == all.end()) all.push_back(value.type.dtype);
  return all;
}

Size Model::parameters() const { return count_parameters(*graph_).all; }
std::string Model::summary_text() const { return convoy::summary_text(*graph_, name_of_file(file_)); }
std::string Model::summary_json() const { return printed(convoy::summary_json(*graph_, name_of_file(file_))); }

Result<std::vector<Tensor>> Model::run(const std::vector<Tensor>& inputs, const RunSettings& settings) const {
  return guarded([&]() -> Result<std::vector<Tensor>> {
    RunOptions options;
    options.precision = settings.doubles ? Precision::Double : Precision::Single;
    options.threads = settings.threads;
    options.kernels = settings.plain ? KernelChoice::Plain : KernelChoice::Fast;
    const budget::Computing computing;
    return engine_->run(inputs, options);
  });
}

Result<std::map<std::string, Tensor>> Model::run(const std::map<std::string, Tensor>& inputs,
                                                 const RunSettings& settings) const {
  auto ordered = in_order(this->inputs(), inputs);
  if (!ordered) return pass(ordered);
  auto results = run(*ordered, settings);
  if (!results) return pass(results);
  std::map<std::string, Tensor> named;
  for (std::size_t i = 0; i < results->size(); ++i) named.emplace(graph_->output_names[i], std::move((*results)[i]));
  return named;
}

Result<Model> load(const std::filesystem::path& file, const ReadOptions& options) {
  return guarded([&]() -> Result<Model> {
    auto to = load_options(file, options);
    if (!to) return pass(to);
    std::vector<std::string> remarks;
    to->remarks = &remarks;
    auto graph = convoy::load(file, *to);
    return model_of(std::move(graph), file, std::move(remarks));
  });
}

Result<Model> load_beside(const Model& other, const std::filesystem::path& file, const ReadOptions& options) {
  return guarded([&]() -> Result<Model> {
    auto to = load_options(file, options);
    if (!to) return pass(to);
    to->for_one_model = false;
    return model_of(convoy::load_beside(other.graph(), file, *to), file, {});
  });
}

Result<PortOutcome> port(const std::filesystem::path& file, const std::filesystem::path& output,
                         const PortSettings& settings) {
  return guarded([&]() -> Result<PortOutcome> {
    auto read = load_options(file, settings.read);
    if (!read) return pass(read);
    PortOptions options;
    options.load = *std::move(read);
    options.to = settings.to;
    options.output = output;
    options.outside = settings.source_axes ? Outside::Source : Outside::Target;
    options.overwrites = settings.overwrites;
    options.proves = settings.proves;
    options.without = settings.without;
    options.opset = settings.opset;
    options.proof.seed = settings.seed;
    const auto done = convoy::port(file, options);
    if (!done) return std::unexpected(done.error());
    PortOutcome outcome;
    outcome.holds = done->holds();
    for (const WrittenFile& one : done->files) outcome.files.push_back({one.path, one.bytes, one.sha256});
    outcome.text = port_text(*done, name_of_file(file));
    outcome.json = printed(port_json(*done, name_of_file(file)));
    return outcome;
  });
}

Result<DiffOutcome> diff(const Model& a, const Model& b, const DiffSettings& settings) {
  return guarded([&]() -> Result<DiffOutcome> {
    diagnose::Options options;
    options.inputs = settings.inputs;
    options.seed = settings.seed;
    options.threads = settings.threads;
    options.shares_weights = settings.shares_weights;
    options.maps = settings.page;
    const auto found = diagnose::diagnose(a.graph(), b.graph(), options);
    if (!found) return std::unexpected(found.error());
    DiffOutcome outcome;
    outcome.same = found->same;
    for (const diagnose::Finding& one : found->findings)
      outcome.findings.push_back({one.a, one.b, one.cause, one.certain, one.says, one.fix.torch, one.fix.keras});
    const DiffNames names{name_of_file(a.file()), a.format(), name_of_file(b.file()), b.format()};
    outcome.text = diff_text(*found, names);
    outcome.json = printed(diff_json(*found));
    if (settings.page) outcome.html = diff_page(*found, a.graph(), b.graph(), names);
    return outcome;
  });
}

Result<CopyOutcome> copy_weights(const std::filesystem::path& a, const std::filesystem::path& b,
                                 const std::filesystem::path& output, const CopySettings& settings) {
  return guarded([&]() -> Result<CopyOutcome> {
    auto read_a = load_options(a, settings.read_a), read_b = load_options(b, settings.read_b);
    if (!read_a) return pass(read_a);
    if (!read_b) return pass(read_b);
    CopyOptions options{*std::move(read_a), *std::move(read_b), output,          settings.overwrites,
                        settings.proves,    settings.seed,      settings.threads};
    const auto done = convoy::copy_weights(a, b, options);
    if (!done) return std::unexpected(done.error());
    CopyOutcome outcome{
        done->holds(), {}, copied_text(*done, name_of_file(a), name_of_file(b)), printed(copied_json(*done))};
    if (done->file) outcome.file = PortedFile{done->file->path, done->file->bytes, done->file->sha256};
    return outcome;
  });
}

Result<std::vector<PadOutcome>> pad(const std::string& call, const PadSettings& settings) {
  return guarded([&]() -> Result<std::vector<PadOutcome>> {
    explain::Question question{.text = call, .layout = settings.layout};
    auto size = shape_of(settings.size, "x");
    if (!size) return pass(size);
    question.size = *std::move(size);
    question.kernel = settings.kernel;
    question.channels = settings.channels;
    const auto spoken = explain::read_question(question);
    if (!spoken) return std::unexpected(spoken.error());
    const auto told = explain::explain(*spoken);
    if (!told) return std::unexpected(told.error());
    std::vector<PadOutcome> all;
    for (const explain::Explanation& one : *told) all.push_back(outcome_of(one));
    return all;
  });
}

}  // namespace v0
}  // namespace convoy
