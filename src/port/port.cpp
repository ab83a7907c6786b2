#include "port/port.h"

#include "base/nearest.h"
#include "formats/source.h"
#include "port/element_types.h"
#include "port/journey.h"

#include <algorithm>
#include <array>

namespace convoy {
namespace {

namespace fs = std::filesystem;

// What is written, by its name and by the extension of -o.
struct Written {
  std::string_view name, extension;
  Result<PortReport> (*port)(const fs::path&, const PortOptions&);
};
constexpr std::array targets{Written{"torch", ".py", port_to_torch}, Written{"onnx", ".onnx", port_to_onnx},
                             Written{"keras", ".keras", port_to_keras}, Written{"keras", ".h5", port_to_keras},
                             Written{"tflite", ".tflite", port_to_tflite}};

// What people say for a target that has another name here.
struct Alias {
  std::string_view word, target;
};
constexpr std::array aliases{Alias{"tf", "keras"},        Alias{"tensorflow", "keras"}, Alias{"hdf5", "keras"},
                             Alias{"lite", "tflite"},     Alias{"litert", "tflite"},    Alias{"ort", "onnx"},
                             Alias{"onnxruntime", "onnx"}};

Error no_such_target(const std::string& to) {
  std::string word = to.starts_with(".") ? to.substr(1) : to;
  std::ranges::transform(word, word.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  const auto alias = std::ranges::find(aliases, word, &Alias::word);
  const auto file = std::ranges::find(targets, "." + word, &Written::extension);
  std::string what = "--to " + to + ": no such target";
  if (file != targets.end())
    what +=
        "; did you mean '" + std::string(file->name) + "'? -o NAME" + std::string(file->extension) + " says it too;";
  else if (alias != aliases.end()) what += "; did you mean '" + std::string(alias->target) + "'?";
  else what += did_you_mean(word, {"torch", "keras", "onnx", "tflite"});
  if (!what.ends_with("?") && !what.ends_with(";")) what += ";";
  return {Fault::Usage, what + " convoy writes torch, keras, onnx and tflite", {}};
}

Result<Written> target_of(const fs::path& source, const PortOptions& options) {
  const std::string& to = options.to;
  const std::string extension = options.output.extension().string();
  const auto named = std::ranges::find(targets, to, &Written::name);
  if (named != targets.end()) return *named;
  if (to == "coreml")
    return fail(Fault::Unsupported,
                "--to " + to + ": convoy does not write this format yet; it writes torch, keras, onnx and tflite");
  if (!to.empty()) return std::unexpected(no_such_target(to));
  if (options.output.empty())
    return fail(Fault::Usage, "no target is given; add --to torch or -o " + source.stem().string() + ".py");
  const auto meant = std::ranges::find(targets, extension, &Written::extension);
  if (meant != targets.end()) return *meant;
  const bool known = extension == ".mlmodel" || extension == ".mlpackage";
  return fail(known ? Fault::Unsupported : Fault::Usage,
              "-o '" + options.output.string() +
                  "': convoy writes PyTorch modules (.py), Keras models (.keras, .h5), ONNX models "
                  "(.onnx) and TFLite models (.tflite) so far");
}

// An option that says nothing of this target was meant for another.
Status check_options(const Written& target, const PortOptions& options) {
  if (options.weights_format != "safetensors" && options.weights_format != "pt")
    return fail(Fault::Usage, "--weights-format " + options.weights_format + ": write safetensors or pt");
  if (options.reals && std::ranges::find(real_types, *options.reals) == real_types.end())
    return fail(Fault::Usage, "a model is not carried with its real numbers as " +
                                  std::string(name_of(*options.reals)) + ": give float16, bfloat16 or float32");
  std::string_view option, format;
  if (target.name != "onnx") {
    format = "onnx";
    if (options.opset) option = "--opset";
    if (options.optimizes) option = "--optimize";
    if (options.external_data) option = "--external-data";
  }
  if (target.name != "torch" && options.weights_format != PortSettings().weights_format) {
    format = "torch";
    option = "--weights-format";
  }
  if (target.name != "tflite" && options.rounds_to_halves) {
    format = "tflite";
    option = "--float16-weights";
  }
  if (target.name != "onnx" && target.name != "tflite" && options.quantized == Quantized::Keep)
    return fail(Fault::Unsupported, "--quantized keep: ports to " + std::string(target.name) +
                                        " hold numbers of float32 that are rounded to the same steps; add "
                                        "--quantized fake, or --to onnx or tflite, which keep whole numbers");
  if (option.empty()) return {};
  return fail(Fault::Usage, std::string(option) + " says how " + std::string(format) +
                                " is written, and this port is to " + std::string(target.name) +
                                "; leave it out, or add --to " + std::string(format));
}

}  // namespace

Result<std::string> extension_of_target(const std::string& to) {
  const auto named = std::ranges::find(targets, to, &Written::name);
  if (named == targets.end()) return std::unexpected(no_such_target(to));
  return std::string(named->extension);
}

Result<PortReport> port(const fs::path& source, const PortOptions& asked) {
  PortOptions options = asked;
  const auto target = target_of(source, options);
  if (!target) return std::unexpected(target.error());
  if (auto fits = check_options(*target, options); !fits) return pass(fits);
  if (options.output.empty() && file_of(source) == "-")
    return fail(Fault::Usage, "standard input has no name to write under; name the file with -o");
  Convention& convention = options.convention.emplace();
  convention.has_dictionaries = target->name != "onnx" && target->name != "tflite";
  convention.has_tuples_of_one = target->name == "torch";
  if (!options.source_axes)
    convention.channels =
        target->name == "keras" || target->name == "tflite" ? Order::ChannelsLast : Order::ChannelsFirst;
  auto done = target->port(source, options);
  if (!done && done.error().fault == Fault::Internal && !options.without.empty()) {
    // What the target cannot say is then no fault of ours: the pass that would have rewritten it was left out.
    done.error().fault = Fault::Unsupported;
    done.error().what += "; a pass named by --without would have rewritten it";
  }
  // What the reader says carries the file already; what passes, proof and writer say gets it here.
  if (!done && done.error().where.starts_with("layer ")) return within(source.filename().string(), std::move(done));
  return done;
}

}  // namespace convoy
