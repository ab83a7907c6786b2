// Models as values: read from a file, run, ported, compared. No framework is needed, and nothing that a file holds is executed.
// Every function fails with one sentence that names the thing, the value and the place; none throws, prints or exits. Each can be
// ended early from another thread (convoy/cancellation.h).
#pragma once
#include "convoy/cancellation.h"
#include "convoy/result.h"
#include "convoy/settings.h"
#include "convoy/tensor.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace convoy {

struct Graph;
struct LoadOptions;
class Engine;

// Binaries built against another version do not link by mistake.
inline namespace v0 {

// An input or output.
struct ModelValue {
  std::string name;
  DType dtype = DType::F32;
  ModelShape shape;
};

// What an operator was told: a number for each axis where it has several.
using ModelAttribute = std::variant<bool, Size, double, std::string, Sizes>;

// One operator, in order of computation.
struct ModelLayer {
  std::string name;  // as the file names it; empty where it continues the layer above
  std::string operation;  // "conv 3x3 /2"
  std::vector<ModelShape> inputs;  // shapes of what it takes that is computed, in its order
  // By the operator's own names for them: "kernel", "stride", "dilation", "groups", "axis"; not those that were left out.
  std::map<std::string, ModelAttribute> attributes;
  ModelShape output;  // shape of what it gives first
  std::string padding;  // per axis, before and after, then the file's own word: "rows 0,1  cols 0,1   same"
  Size parameters = 0;  // each weight is counted once, at its first use
  std::optional<Size> multiply_adds;  // for one example; nothing where they depend on a free size
};

struct RunSettings {
  bool doubles = false;  // compute in float64
  int threads = 0;  // 0: as many as the machine has
  bool plain = false;  // node by node with the kernels that define what is right, instead of the fast ones
  bool direct = false;  // no Winograd: convolutions sum the products of their definition
};

struct ModelWeight;
struct PortOutcome;
struct DiffOutcome;
struct CopyOutcome;
struct DiffSettings;
struct CopySettings;

class Model {
 public:
  // `read`: how the file was read, by what reads it once more; null: it is no file.
  explicit Model(std::shared_ptr<const Graph> graph, std::filesystem::path file = {},
                 std::vector<std::string> remarks = {}, bool draws_weights = false,
                 std::shared_ptr<const LoadOptions> read = {});
  // Copies share the network, and what is moved from stays a model.
  Model(const Model&) = default;
  Model& operator=(const Model&) = default;
  ~Model() = default;

  const std::string& name() const;
  const std::string& format() const;  // "Keras 3.15.1", "ONNX opset 17"
  const std::filesystem::path& file() const { return file_; }
  const std::vector<std::string>& remarks() const { return remarks_; }  // what to know of how it was read, in sentences
  bool draws_weights() const {
    return draws_weights_;
  }  // source that no file gives weights: they are those behind its seed
  std::vector<ModelValue> inputs() const;
  std::vector<ModelValue> outputs() const;
  // By which names results are handed over, each once: of outputs that share one the later have their place behind it, gru, gru_1.
  std::vector<std::string> result_names() const;
  std::vector<ModelLayer> layers() const;
  Size parameters() const;
  std::vector<DType> dtypes() const;  // of all values that are computed, each once
  std::string summary_text() const;
  std::string summary_json() const;  // as `convoy summary --json`
  std::string summary_html() const;  // the text as a page of its own

  // The first run on inputs of new shapes prepares the network for them; later ones compute only, from any number of threads.
  // One tensor for each input, in their order, to one for each output. Floating inputs are float32 or float64, whole ones
  // int32 or int64. Fails (Usage): another number of inputs, or a shape that the model does not take.
  Result<std::vector<Tensor>> run(const std::vector<Tensor>& inputs, const RunSettings& settings = {}) const;
  // The same by names, of results by result_names(). Fails (Usage): a name that there is not, or an input that is not given.
  Result<std::map<std::string, Tensor>> run(const std::map<std::string, Tensor>& inputs,
                                            const RunSettings& settings = {}) const;

  // The model up to these layers or values, by the names that summaries show: it gives what each of them does, in this order.
  // Fails (Usage): none has that name.
  Result<Model> outputs_at(const std::vector<std::string>& layers) const;

  // Its weights and the running numbers of its layers, by the names that summaries show and in order of computation, each once,
  // as the model was read; convoy::weights() gives what a file holds.
  std::vector<ModelWeight> weights() const;

  // As the functions of these names do below. port and copy_weights read the files once more, as they were read for this.
  // Fail beside (Usage): a model that was read from memory, or whose file has changed since.
  Result<PortOutcome> port(const std::filesystem::path& output, const PortSettings& settings) const;
  Result<PortOutcome> port(const std::filesystem::path& output) const;
  // Writes `other` with the numbers of this model. `settings` need not say how either is read.
  Result<CopyOutcome> copy_weights(const Model& other, const std::filesystem::path& output,
                                   const CopySettings& settings) const;
  Result<DiffOutcome> diff(const Model& other, const DiffSettings& settings) const;

  // Inputs that can show a fault, at sizes that the model takes: those that its ports are proved with first.
  Result<std::vector<Tensor>> probing_inputs(std::uint64_t seed = 0) const;
  // SHA-256 over the operators, their names and checksums of all numbers: another one where what was read has changed since.
  std::string fingerprint() const;

  const Graph& graph() const { return *graph_; }

 private:
  std::shared_ptr<const Graph> graph_;
  std::shared_ptr<const Engine> engine_;  // copies of a model share what was prepared for it
  std::filesystem::path file_;
  std::vector<std::string> remarks_;
  bool draws_weights_ = false;
  std::shared_ptr<const LoadOptions> read_;
};

// Reads a model: .keras, .h5, .json, .onnx, .tflite, .pt2, .pt, or source as "net.py" or "net.py:Net --args 3,64".
Result<Model> load(const std::filesystem::path& file, const ReadOptions& options);

// The same of the bytes of such a file, but of source, which messages call by `name`. They are copied where the model keeps them.
// Files beside it, such as external data, are not found.
Result<Model> load(std::span<const std::byte> bytes, const std::string& name, const ReadOptions& options = {});

// One file of several that make a model, under the name that the others have for it: "net.onnx.data", "variables/variables.index".
struct ModelPiece {
  std::string name;
  std::span<const std::byte> bytes;
};
// The same of all of them: the first is read, and finds what it names among the others. Of two whose first is Keras's JSON the
// second holds its weights; options.weights may name a piece too.
// Fails (Usage): none, a name twice, or one that leads out of where the others lie.
Result<Model> load(const std::vector<ModelPiece>& pieces, const ReadOptions& options = {});

// The same for a model that is to be compared with `other`: source that says no shapes takes those of the other's inputs, by name where there are several.
Result<Model> load_beside(const Model& other, const std::filesystem::path& file, const ReadOptions& options);

// Two files that are to be compared, whichever knows the shape. Sizes and shapes are for both: neither need take them all.
struct ModelPair {
  Model a, b;
};
Result<ModelPair> load_pair(const std::filesystem::path& a, const std::filesystem::path& b, const ReadOptions& read_a,
                            const ReadOptions& read_b);

// Every tensor of a model or weights file (.safetensors, .pt, .pth, .npz, .weights.h5 as well), by its name there and in its order.
struct ModelWeight {
  std::string name;
  Tensor tensor;
};
Result<std::vector<ModelWeight>> weights(const std::filesystem::path& file);

struct PortedFile {
  std::filesystem::path path;
  Size bytes = 0;
  std::string sha256;
};

struct PortOutcome {
  bool holds = false;  // the proof; true where it was declined
  std::vector<PortedFile> files;  // none where the proof does not hold
  std::string text, json;  // as `convoy port` prints them
  std::string html;  // the text as a page of its own
};

// Carries the file over and proves the port. Nothing stands at `output` unless it was shown to be equal.
// Fails: what a reader, a pass or the writer refuses; an output that exists (without `overwrites`); what is said of another target.
Result<PortOutcome> port(const std::filesystem::path& file, const std::filesystem::path& output,
                         const PortSettings& settings = {}, const ReadOptions& read = {});

struct DiffSettings {
  std::vector<Tensor> inputs;  // for a, in its order; empty: probing numbers
  std::uint64_t seed = 0;
  int threads = 0;
  bool page = false;  // make `html` too
};

// One reason why two models differ, in the order in which a computes its layers.
struct DiffFinding {
  std::string a, b;  // the layers at fault
  std::string cause;  // an identifier of docs/diagnosis.md; "unknown": nothing explains it
  bool certain = false;  // no other cause explains the numbers equally well
  std::string change;  // what was changed in a to get b's numbers
  std::string torch, keras;  // the line to write instead, in both source styles
};

struct DiffOutcome {
  bool same = false;
  std::vector<DiffFinding> findings;
  std::string text, json, html;
};

// Where two models part, and why. One that draws its weights is compared as if it held the other's. Fails: a model that
// cannot be run, or inputs that cannot be brought together.
Result<DiffOutcome> diff(const Model& a, const Model& b, const DiffSettings& settings = {});

// Writes b, as what it is and under its own name, with what differs from a put right, into the folder. Fails: (Proof) it would
// still differ, and nothing is written; (Unsupported) nothing that can be mended, or a kind of file that is not written; (Io)
// a file that exists (without `overwrites`).
Result<PortOutcome> mend(const Model& a, const Model& b, const std::filesystem::path& folder,
                         const DiffSettings& settings = {}, bool overwrites = false);

struct CopySettings {
  ReadOptions read_a, read_b;
  bool overwrites = false;  // replace a file that exists
  bool proves = true;
  std::uint64_t seed = 0;
  int threads = 0;
};

struct CopyOutcome {
  bool holds = false;  // a and what was written compute the same; true where that was not asked
  std::optional<PortedFile> file;  // nothing where they do not
  std::string text, json;  // as `convoy weights A B --copy` prints them
  std::string html;  // the text as a page of its own
};

// Writes b with the numbers of a, which somebody else's port was to have, once both are shown to compute the same. The output
// is what b's kind takes: of PyTorch a state_dict as .pt, .pth, .safetensors or .npz; of Keras the model as .keras or .h5, or
// its weights as .weights.h5; of ONNX the model. Fails: what a reader refuses; a tensor of b for which a has none.
Result<CopyOutcome> copy_weights(const std::filesystem::path& a, const std::filesystem::path& b,
                                 const std::filesystem::path& output, const CopySettings& settings);

struct PadSettings {
  ModelShape size;  // spatial size of the input; empty: any size
  Sizes kernel;  // where the call does not say it: one number for all axes, or one each
  std::optional<Size> channels;  // of the input, where the call does not say them
  std::string layout;  // "NCHW", "NHWC"; empty: what the framework takes
};

// One axis: cells that are added before and after, of a transposed layer those that are cut (`cuts`). Nothing: they
// change with the size, which is free.
struct PadAxis {
  std::string name;  // "rows"
  std::optional<Size> size, before, after, out;
  std::string formula;  // of the output size, in n: "ceil(n / 2)"
  bool cuts = false;
};

// The layer in another framework's words. Statements in order; one that is an expression is applied to x. Where `equal`
// is false it is what is often written instead.
struct PadLine {
  std::string framework;
  std::vector<std::string> code;
  bool equal = true;
  std::string holds;  // "every size"
  std::string remark;  // what to mind, or how it differs
};

struct PadOutcome {
  std::string framework, function;  // "Keras", "Conv2D"
  std::vector<PadAxis> axes;
  std::vector<PadLine> lines;
  std::string text, json;  // as `convoy pad` prints them
  std::string html;  // the text and the drawing as a page of its own
  std::string svg;  // the windows over the cells and the padding; empty where no size is known
};

// What the padding of a call does, as it stands in a program of PyTorch, Keras, TensorFlow, ONNX, TFLite or Core ML: each layer with
// windows in it. Fails (Usage): no such call, or no window fits; (Unsupported): the framework itself refuses it.
Result<std::vector<PadOutcome>> pad(const std::string& call, const PadSettings& settings = {});

// Two calls as they stand in programs.
struct CallsOutcome {
  bool same = false;
  std::vector<std::string> findings;  // where they part, in sentences
  std::string text, json;  // as `convoy diff 'CALL' 'CALL'` prints them
  std::string html;  // the text as a page of its own
};
// Whether two calls read the same cells, at which sizes, and what to write instead. What one leaves open the other says.
// Fails as pad() does.
Result<CallsOutcome> diff_calls(const std::string& a, const std::string& b, const PadSettings& settings = {});

}  // namespace v0
}  // namespace convoy
