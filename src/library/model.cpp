// The public functions of convoy/model.h, over the same parts as the command.
#include "convoy/model.h"
#include "base/fresh_names.h"
#include "containers/json.h"

#include "convoy/cancellation.h"

#include "base/budget.h"
#include "base/granted.h"
#include "base/mapped_file.h"
#include "base/nearest.h"
#include "base/sha256.h"
#include "base/shown.h"
#include "diagnose/diagnose.h"
#include "explain/explanation.h"
#include "explain/picture.h"
#include "formats/from_memory.h"
#include "formats/source.h"
#include "graph/cut.h"
#include "graph/text.h"
#include "library/load_options.h"
#include "port/compared_calls.h"
#include "port/copy_weights.h"
#include "port/mend_model.h"
#include "port/pair.h"
#include "port/port.h"
#include "port/spelt_steps.h"
#include "prove/prove.h"
#include "report/calls.h"
#include "report/copied.h"
#include "report/cost.h"
#include "report/difference.h"
#include "report/layers.h"
#include "report/page.h"
#include "report/summary.h"
#include "report/text.h"
#include "report/text_page.h"
#include "run/plan/engine.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <exception>
#include <new>
#include <set>

namespace convoy {
namespace {

// Memory that there is not is a refusal like others; anything else that is thrown is a fault of ours. What writes files looks
// by itself whether it was cancelled, before they stand.
template <class Call>
auto guarded_writing(const Call& call) -> decltype(call()) {
  try {
    const budget::Granted granted;
    return call();
  } catch (const std::bad_alloc&) {
    return fail(Fault::Budget, "there is not enough memory for this");
  } catch (const std::exception& error) { return fail(Fault::Internal, std::string("an exception: ") + error.what()); }
}

// The same of what leaves nothing behind.
template <class Call>
auto guarded(const Call& call) -> decltype(call()) {
  auto made = guarded_writing(call);
  if (made && Listening::is_cancelled()) return fail(Fault::Cancelled, "was cancelled");
  return made;
}

ModelShape model_shape(const Shape& shape) {
  ModelShape sizes;
  for (const Dim dim : shape) sizes.push_back(dim.size());
  return sizes;
}

// Names in files are any bytes, text in JSON is UTF-8.
std::string printed(const Json& json) { return json_text(json, 1); }

// The numbers are then kept, whatever becomes of the file that they were read from.
Result<Tensor> owned(const Tensor& tensor) {
  const auto bytes = tensor.bytes();
  if (auto held = budget::afford(static_cast<Size>(bytes.size()), "the weights"); !held) return pass(held);
  return Tensor::owning(tensor.dtype(), tensor.shape(), {bytes.begin(), bytes.end()});
}

// Whoever holds a model keeps its numbers. Tied weights stay one.
Status keep_numbers(Graph& graph) {
  std::map<const void*, Tensor> kept;
  for (Value& value : graph.values) {
    if (!value.constant) continue;
    const auto [at, is_new] = kept.try_emplace(value.constant->identity());
    if (is_new) {
      auto own = owned(*value.constant);
      if (!own) return pass(own);
      at->second = *std::move(own);
    }
    const Tensor& own = at->second;
    if (own.dtype() == value.constant->dtype() && own.bytes().size() == value.constant->bytes().size())
      value.constant = own.reshaped(value.constant->shape());
  }
  return {};
}

Result<Model> model_of(Result<Graph> graph, const std::filesystem::path& file, const LoadOptions& options,
                       std::vector<std::string> remarks = {}, bool is_file = true) {
  if (!graph) return pass(graph);
  if (auto kept = keep_numbers(*graph); !kept) return pass(kept);
  const bool draws_weights = is_source(file) && !options.weights;
  std::shared_ptr<LoadOptions> read;
  if (is_file) {
    read = std::make_shared<LoadOptions>(options);
    read->remarks = nullptr;
  }
  return Model(std::make_shared<const Graph>(*std::move(graph)), file, std::move(remarks), draws_weights,
               std::move(read));
}

// What is read once more has to be what was read. The options of reading, as for a port.
Result<LoadOptions> read_unchanged(const Model& model, const std::shared_ptr<const LoadOptions>& read) {
  const std::string name = model.file().filename().string();
  if (!read)
    return fail(Fault::Usage,
                name + ": was read from memory, and this reads a file: write the bytes to one, and load that");
  LoadOptions options = *read;
  options.keeps_quantized = true;
  auto again = model_of(convoy::load(model.file(), options), model.file(), options);
  if (!again) return pass(again);
  if (again->fingerprint() != model.fingerprint())
    return fail(Fault::Usage, name + ": has changed since the model was read from it: load it again");
  options.keeps_quantized = false;
  return options;
}

// What is read twice, for the shape of its input, says all of it twice.
std::vector<std::string> each_once(std::vector<std::string> sentences) {
  std::vector<std::string> all;
  for (std::string& one : sentences)
    if (std::ranges::find(all, one) == all.end()) all.push_back(std::move(one));
  return all;
}

std::string name_of_file(const std::filesystem::path& file) { return file.filename().string(); }

// Pieces by their names, each of which stays below where they lie.
Result<FilesInMemory::Files> files_of(const std::vector<ModelPiece>& pieces) {
  if (pieces.empty()) return fail(Fault::Usage, "no piece of a model is given");
  FilesInMemory::Files files;
  for (const ModelPiece& piece : pieces) {
    const std::filesystem::path name = piece.name;
    if (name.empty() || name.is_absolute() || name.lexically_normal().string() != piece.name || *name.begin() == ".." ||
        piece.name.ends_with('/'))
      return fail(Fault::Usage,
                  "'" + shown(piece.name) +
                      "' is no name of a piece: give a file's name, or a path below the first one's folder");
    if (is_source(name))
      return fail(Fault::Usage, "'" + shown(piece.name) + "' is source, which is read from files: name its path");
    if (!files.emplace(piece.name, piece.bytes).second)
      return fail(Fault::Usage, "two pieces are called '" + shown(piece.name) + "'");
  }
  return files;
}

Result<PortOutcome> outcome_of(const Result<PortReport>& done, const std::string& name) {
  if (!done) return std::unexpected(done.error());
  PortOutcome outcome;
  outcome.holds = done->holds();
  for (const WrittenFile& one : done->files) outcome.files.push_back({one.path, one.bytes, one.sha256});
  outcome.text = port_text(*done, name);
  outcome.json = printed(port_json(*done, name));
  outcome.html = text_page(name, outcome.text);
  return outcome;
}

Result<PortOutcome> ported(const std::filesystem::path& file, const std::filesystem::path& output,
                           const PortSettings& settings, LoadOptions read) {
  PortOptions options{settings};
  options.load = std::move(read);
  options.output = output;
  return outcome_of(convoy::port(file, options), name_of_file(file));
}

Result<CopyOutcome> copied(const std::filesystem::path& a, const std::filesystem::path& b,
                           const std::filesystem::path& output, const CopySettings& settings, LoadOptions read_a,
                           LoadOptions read_b) {
  const CopyOptions options{std::move(read_a), std::move(read_b), output,          settings.overwrites,
                            settings.proves,   settings.seed,     settings.threads};
  const auto done = convoy::copy_weights(a, b, options);
  if (!done) return std::unexpected(done.error());
  CopyOutcome outcome;
  outcome.holds = done->holds();
  outcome.text = copied_text(*done, name_of_file(a), name_of_file(b));
  outcome.json = printed(copied_json(*done));
  outcome.html = text_page(name_of_file(b), outcome.text);
  if (done->file) outcome.file = PortedFile{done->file->path, done->file->bytes, done->file->sha256};
  return outcome;
}

diagnose::Options asked_of(const Model& a, const Model& b, const DiffSettings& settings) {
  diagnose::Options options;
  options.inputs = settings.inputs;
  options.seed = settings.seed;
  options.threads = settings.threads;
  options.shares_weights = a.draws_weights() || b.draws_weights();
  options.maps = settings.page;
  return options;
}

// Both in real numbers, and how they are compared.
struct Compared {
  Graph a, b;
  diagnose::Options options;
};

Result<Compared> compared(const Model& a, const Model& b, const DiffSettings& settings) {
  Compared both{a.graph(), b.graph(), asked_of(a, b, settings)};
  std::vector<Tensor> none;
  if (auto done = within(name_of_file(a.file()), hold_as_reals(both.a, both.options.inputs)); !done) return pass(done);
  if (auto done = within(name_of_file(b.file()), hold_as_reals(both.b, none)); !done) return pass(done);
  return both;
}

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
  outcome.html = text_page(told.function, outcome.text, outcome.svg);
  return outcome;
}

Result<explain::Question> question_of(const std::string& call, const PadSettings& settings) {
  explain::Question question{.text = call, .layout = settings.layout};
  auto size = shape_of(settings.size, "x");
  if (!size) return pass(size);
  question.size = *std::move(size);
  question.kernel = settings.kernel;
  question.channels = settings.channels;
  return question;
}

}  // namespace

inline namespace v0 {

Model::Model(std::shared_ptr<const Graph> graph, std::filesystem::path file, std::vector<std::string> remarks,
             bool draws_weights, std::shared_ptr<const LoadOptions> read)
    : graph_(std::move(graph)),
      engine_(std::make_shared<const Engine>(graph_)),
      file_(std::move(file)),
      remarks_(std::move(remarks)),
      draws_weights_(draws_weights),
      read_(std::move(read)) {}

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
    std::vector<ModelShape> taken;
    for (const ValueId v : node.inputs)
      if (v && !(*graph_)[v].constant) taken.push_back(model_shape((*graph_)[v].type.shape));
    all.push_back({rows[i].name, rows[i].operation, std::move(taken), attributes_of(node.op),
                   model_shape((*graph_)[node.outputs[0]].type.shape), rows[i].padding, rows[i].parameters,
                   multiply_adds(*graph_, node)});
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
std::vector<std::string> Model::result_names() const { return names_apart(graph_->output_names); }

std::string Model::summary_json() const { return printed(convoy::summary_json(*graph_, name_of_file(file_))); }

std::string Model::summary_html() const { return text_page(name_of_file(file_), summary_text()); }

std::vector<ModelWeight> Model::weights() const {
  std::vector<ModelWeight> all;
  std::set<ValueId> seen;
  for (const Node& node : graph_->nodes)
    for (const ValueId v : node.inputs) {
      if (!v || !seen.insert(v).second) continue;
      const Value& value = (*graph_)[v];
      if (value.constant && !value.literal && !graph_->tied.contains(value.name))
        all.push_back({value.name, *value.constant});
    }
  return all;
}

Result<PortOutcome> Model::port(const std::filesystem::path& output, const PortSettings& settings) const {
  return guarded_writing([&]() -> Result<PortOutcome> {
    auto read = read_unchanged(*this, read_);
    if (!read) return pass(read);
    return ported(file_, output, settings, *std::move(read));
  });
}

Result<PortOutcome> Model::port(const std::filesystem::path& output) const { return port(output, PortSettings{}); }

Result<CopyOutcome> Model::copy_weights(const Model& other, const std::filesystem::path& output,
                                        const CopySettings& settings) const {
  return guarded_writing([&]() -> Result<CopyOutcome> {
    auto read = read_unchanged(*this, read_), read_other = read_unchanged(other, other.read_);
    if (!read) return pass(read);
    if (!read_other) return pass(read_other);
    return copied(file_, other.file_, output, settings, *std::move(read), *std::move(read_other));
  });
}

Result<DiffOutcome> Model::diff(const Model& other, const DiffSettings& settings) const {
  return convoy::diff(*this, other, settings);
}

Result<std::vector<Tensor>> Model::run(const std::vector<Tensor>& inputs, const RunSettings& settings) const {
  return guarded([&]() -> Result<std::vector<Tensor>> {
    RunOptions options;
    options.precision = settings.doubles ? Precision::Double : Precision::Single;
    options.threads = settings.threads;
    options.kernels = settings.plain ? KernelChoice::Plain : KernelChoice::Fast;
    const budget::Computing computing;
    return engine_->run(inputs, options, !settings.direct);
  });
}

Result<std::map<std::string, Tensor>> Model::run(const std::map<std::string, Tensor>& inputs,
                                                 const RunSettings& settings) const {
  auto ordered = in_order(this->inputs(), inputs);
  if (!ordered) return pass(ordered);
  auto results = run(*ordered, settings);
  if (!results) return pass(results);
  std::map<std::string, Tensor> named;
  const auto names = result_names();
  for (std::size_t i = 0; i < results->size(); ++i) named.emplace(names[i], std::move((*results)[i]));
  return named;
}

Result<std::vector<Tensor>> Model::probing_inputs(std::uint64_t seed) const {
  return guarded([&] { return convoy::probing_inputs(*graph_, 0, seed); });
}

std::string Model::fingerprint() const {
  const std::string text = text_of(*graph_);  // with a checksum of every constant
  return sha256_hex(std::as_bytes(std::span(text)));
}

Result<Model> Model::outputs_at(const std::vector<std::string>& layers) const {
  return guarded([&]() -> Result<Model> {
    auto graph = cut_at(*graph_, layers);
    if (!graph) return pass(graph);
    std::shared_ptr<LoadOptions> read = read_ ? std::make_shared<LoadOptions>(*read_) : nullptr;
    if (read) read->outputs = layers;
    return Model(std::make_shared<const Graph>(*std::move(graph)), file_, remarks_, draws_weights_, std::move(read));
  });
}

Result<Model> load(const std::filesystem::path& file, const ReadOptions& options) {
  return guarded([&]() -> Result<Model> {
    auto to = load_options(file, options);
    if (!to) return pass(to);
    std::vector<std::string> remarks;
    to->remarks = &remarks;
    to->keeps_quantized = true;
    auto graph = convoy::load(file, *to);
    return model_of(std::move(graph), file, *to, std::move(remarks));
  });
}

Result<Model> load(std::span<const std::byte> bytes, const std::string& name, const ReadOptions& options) {
  return guarded([&]() -> Result<Model> {
    auto to = load_options(name, options);
    if (!to) return pass(to);
    std::vector<std::string> remarks;
    to->remarks = &remarks;
    to->keeps_quantized = true;
    budget::grant_file(0, reinterpret_cast<Size>(bytes.data()), static_cast<Size>(bytes.size()));
    auto graph = load_from_memory({bytes, nullptr}, name, *to);
    return model_of(std::move(graph), name, *to, std::move(remarks), false);
  });
}

Result<Model> load(const std::vector<ModelPiece>& pieces, const ReadOptions& options) {
  return guarded([&]() -> Result<Model> {
    auto files = files_of(pieces);
    if (!files) return pass(files);
    const std::string& first = pieces.front().name;
    ReadOptions asked = options;
    if (asked.weights.empty() && pieces.size() == 2 && first.ends_with(".json")) asked.weights = pieces[1].name;
    if (files->contains(asked.weights.string())) asked.weights = FilesInMemory::path_of(asked.weights.string());
    auto to = load_options(first, asked);
    if (!to) return pass(to);
    std::vector<std::string> remarks;
    to->remarks = &remarks;
    to->keeps_quantized = true;
    const FilesInMemory held(*std::move(files));
    auto graph = convoy::load(FilesInMemory::path_of(first), *to);
    return model_of(std::move(graph), first, *to, std::move(remarks), false);
  });
}

Result<Model> load_beside(const Model& other, const std::filesystem::path& file, const ReadOptions& options) {
  return guarded([&]() -> Result<Model> {
    auto to = load_options(file, options);
    if (!to) return pass(to);
    to->for_one_model = false;
    auto graph = convoy::load_beside(other.graph(), file, *to);
    return model_of(std::move(graph), file, *to);
  });
}

Result<ModelPair> load_pair(const std::filesystem::path& a, const std::filesystem::path& b, const ReadOptions& read_a,
                            const ReadOptions& read_b) {
  return guarded([&]() -> Result<ModelPair> {
    auto of_a = load_options(a, read_a), of_b = load_options(b, read_b);
    if (!of_a) return pass(of_a);
    if (!of_b) return pass(of_b);
    of_a->for_one_model = of_b->for_one_model = false;
    of_a->keeps_quantized = of_b->keeps_quantized = true;
    std::vector<std::string> remarks_a, remarks_b;
    of_a->remarks = &remarks_a;
    of_b->remarks = &remarks_b;
    auto pair = convoy::load_pair(a, *of_a, b, *of_b);
    if (!pair) return pass(pair);
    auto first = model_of(std::move(pair->a), a, *of_a, each_once(std::move(remarks_a))),
         second = model_of(std::move(pair->b), b, *of_b, each_once(std::move(remarks_b)));
    if (!first) return pass(first);
    if (!second) return pass(second);
    return ModelPair{*std::move(first), *std::move(second)};
  });
}

Result<std::vector<ModelWeight>> weights(const std::filesystem::path& file) {
  return guarded([&]() -> Result<std::vector<ModelWeight>> {
    auto tensors = load_weights(file);
    if (!tensors) return pass(tensors);
    std::vector<ModelWeight> all;
    for (LoadedTensor& one : *tensors) {
      auto own = owned(one.tensor);
      if (!own) return pass(own);
      all.push_back({std::move(one.name), *std::move(own)});
    }
    return all;
  });
}

Result<PortOutcome> port(const std::filesystem::path& file, const std::filesystem::path& output,
                         const PortSettings& settings, const ReadOptions& read) {
  return guarded_writing([&]() -> Result<PortOutcome> {
    auto load = load_options(file, read);
    if (!load) return pass(load);
    return ported(file, output, settings, *std::move(load));
  });
}

Result<DiffOutcome> diff(const Model& a, const Model& b, const DiffSettings& settings) {
  return guarded([&]() -> Result<DiffOutcome> {
    const auto both = compared(a, b, settings);
    if (!both) return std::unexpected(both.error());
    const auto found = diagnose::diagnose(both->a, both->b, both->options);
    if (!found) return std::unexpected(found.error());
    DiffOutcome outcome;
    outcome.same = found->same;
    for (const diagnose::Finding& one : found->findings)
      outcome.findings.push_back({one.a, one.b, one.cause, one.certain, one.says, one.fix.torch, one.fix.keras});
    const DiffNames names{name_of_file(a.file()), a.format(), name_of_file(b.file()), b.format()};
    outcome.text = diff_text(*found, names);
    outcome.json = printed(diff_json(*found));
    if (settings.page) outcome.html = diff_page(*found, both->a, both->b, names);
    return outcome;
  });
}

Result<PortOutcome> mend(const Model& a, const Model& b, const std::filesystem::path& folder,
                         const DiffSettings& settings, bool overwrites) {
  return guarded_writing([&]() -> Result<PortOutcome> {
    if (const auto place = place_for_mended(b.graph(), b.file(), folder, overwrites); !place)
      return std::unexpected(place.error());
    const auto both = compared(a, b, settings);
    if (!both) return std::unexpected(both.error());
    const auto found = diagnose::diagnose(both->a, both->b, both->options);
    if (!found) return std::unexpected(found.error());
    if (found->same) return fail(Fault::Usage, "the models are the same: there is nothing to mend");
    return outcome_of(mend_model(both->a, both->b, b.file(), folder, overwrites, *found, both->options),
                      name_of_file(b.file()));
  });
}

Result<CopyOutcome> copy_weights(const std::filesystem::path& a, const std::filesystem::path& b,
                                 const std::filesystem::path& output, const CopySettings& settings) {
  return guarded_writing([&]() -> Result<CopyOutcome> {
    auto read_a = load_options(a, settings.read_a), read_b = load_options(b, settings.read_b);
    if (!read_a) return pass(read_a);
    if (!read_b) return pass(read_b);
    return copied(a, b, output, settings, *std::move(read_a), *std::move(read_b));
  });
}

Result<std::vector<PadOutcome>> pad(const std::string& call, const PadSettings& settings) {
  return guarded([&]() -> Result<std::vector<PadOutcome>> {
    const auto question = question_of(call, settings);
    if (!question) return std::unexpected(question.error());
    const auto spoken = explain::read_question(*question);
    if (!spoken) return std::unexpected(spoken.error());
    const auto told = explain::explain(*spoken);
    if (!told) return std::unexpected(told.error());
    std::vector<PadOutcome> all;
    for (const explain::Explanation& one : *told) all.push_back(outcome_of(one));
    return all;
  });
}

Result<CallsOutcome> diff_calls(const std::string& a, const std::string& b, const PadSettings& settings) {
  return guarded([&]() -> Result<CallsOutcome> {
    const auto of_a = question_of(a, settings), of_b = question_of(b, settings);
    if (!of_a) return std::unexpected(of_a.error());
    if (!of_b) return std::unexpected(of_b.error());
    const auto found = compare_calls(*of_a, *of_b);
    if (!found) return std::unexpected(found.error());
    const std::string text = calls_text(*found);
    return CallsOutcome{found->same(), found->sentences(), text, printed(calls_json(*found)), text_page(a, text)};
  });
}

}  // namespace v0
}  // namespace convoy
