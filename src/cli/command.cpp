#include "cli/command.h"

#include "base/budget.h"
#include "base/shown.h"
#include "cli/output.h"
#include "convoy/granting.h"
#include "formats/source.h"
#include "library/load_options.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdio>

namespace convoy::cli {
namespace {

int exit_code(Fault fault) {
  switch (fault) {
    case Fault::Format:
    case Fault::Truncated:
    case Fault::Limit:
    case Fault::UnsafePath: return BrokenFile;
    case Fault::Budget:
    case Fault::Unsupported: return NotSupported;
    case Fault::Io: return InputOutput;
    case Fault::Numeric:
    case Fault::Proof: return NotProven;
    case Fault::Usage: return BadCommandLine;
    case Fault::Cancelled:  // nobody cancels there: signals end the process
    case Fault::Internal: return OurFault;
  }
  return OurFault;
}

// "?" is a free size.
Result<Dim> parse_dim(const std::string& word, const std::string& option) {
  if (word == "?") return Dim::unknown();
  Size n = 0;
  const auto [end, fault] = std::from_chars(word.data(), word.data() + word.size(), n);
  if (fault != std::errc{} || end != word.data() + word.size() || n < 1 || n > (Size{1} << 31))
    return fail(Fault::Usage,
                fmt::format("{}: '{}' is not a size; write whole numbers from 1, or ? for a free size", option, word));
  return Dim(n);
}

}  // namespace

int report(const Error& given) {
  const auto refusal = budget::refusal();
  // Whatever became of a refusal on its way here, it is why there is no answer.
  const Error& error = refusal && given.fault != Fault::Budget ? *refusal : given;
  say("convoy: {}\n", shown_sentence(message(error)));
  if (error.fault == Fault::Internal) say("convoy: this is a fault of convoy; please report it with the file\n");
  return exit_code(error.fault);
}

std::vector<std::string> split(const std::string& words, char separator) {
  std::vector<std::string> parts;
  std::size_t from = 0;
  for (std::size_t at; (at = words.find(separator, from)) != std::string::npos; from = at + 1)
    parts.push_back(words.substr(from, at - from));
  parts.push_back(words.substr(from));
  return parts;
}

Result<std::vector<Dim>> sizes_of_option(const std::string& words, const std::string& option) {
  std::vector<Dim> sizes;
  for (const auto& word : split(words, 'x')) {
    const auto dim = parse_dim(word, option);
    if (!dim) return std::unexpected(dim.error());
    sizes.push_back(*dim);
  }
  return sizes;
}

Result<std::uint64_t> seed_of_option(const std::string& word) {
  const char* end = word.data() + word.size();
  if (std::uint64_t seed = 0;
      !word.empty() && std::from_chars(word.data(), end, seed) == std::from_chars_result{.ptr = end, .ec = std::errc{}})
    return seed;
  if (std::int64_t seed = 0;
      !word.empty() && std::from_chars(word.data(), end, seed) == std::from_chars_result{.ptr = end, .ec = std::errc{}})
    return static_cast<std::uint64_t>(seed);
  return fail(Fault::Usage,
              fmt::format("--seed: '{}' is no seed; write a whole number from -2^63 to 2^64 - 1, such as 42", word));
}

void offer_budget(CLI::App& app) {
  app.add_option_function<std::string>(
      "--budget",
      [](const std::string& word) {
        const auto bytes = memory_of(word);
        if (!bytes) throw CLI::ValidationError("--budget", bytes.error().what);
        budget::begin(*bytes);
      },
      "memory that may be held beside what the files grant, such as 8G; work is granted in proportion (usually 160M to "
      "read and write, 2G to compute)");
}

namespace {

constexpr const char* shape_said =
    "full shape of the only input, such as 1,64,64,3, or of one of several: image=1,64,64,3 (may be repeated); of "
    "source and scripts with its element type where that is not float32: tokens=1,77:int64";

}  // namespace

void ModelOptions::offer(CLI::App& app, bool takes_many) {
  const std::string what =
      "the model: .keras, .h5, .hdf5, .json, .onnx, .tflite, .pb, .meta, .pt2, TorchScript, the folder of a "
      "SavedModel, or source: "
      "net.py, net.py:Net, - for standard input";
  if (takes_many) {
    const auto all = [this](const std::vector<std::string>& words) {
      file = words.front();
      more.assign(words.begin() + 1, words.end());
    };
    app.add_option_function<std::vector<std::string>>("file", all, what + "; many of them, or folders: see -o")
        ->required()
        ->type_name("TEXT");
  } else app.add_option("file", file, what)->required();
  app.add_option("--size", size, "spatial size of the image inputs, such as 64x64; ? frees an axis: ?x?");
  app.add_option("--shape", shapes, shape_said);
  app.add_option("--weights", weights, "weights for a file that has none (model.json, source)");
  app.add_option("--args", arguments,
                 "source: what the class or function is called with, such as 3,64,stride=2; sees the file's names");
  app.parse_complete_callback([this] {
    if (arguments.empty() || !is_source(file)) return;
    const bool whole = file == "-" || file.ends_with(".py") || file.ends_with(".ipynb");
    file += (whole && file != "-" ? ":(" : "(") + arguments + ")";
  });
  app.add_option("--outputs", outputs, "cut the model at these layers, separated by commas");
  offer_reading(app, "");
}

void ModelOptions::offer_for_two(CLI::App& app, const std::string& when) {
  app.add_option("--size", size, when + "spatial size of the image inputs of both, such as 64x64");
  app.add_option("--shape", shapes, when + shape_said);
  offer_reading(app, when);
}

void ModelOptions::offer_reading(CLI::App& app, const std::string& when) {
  app.add_option(
         "--allow-root", roots,
         when + "source: imports are also found below this folder, beside the package of the file (may be repeated)")
      ->allow_extra_args(false);
  app.add_option(
         "--set", names,
         when +
             "ONNX: the value of an input, which is a constant then, such as sr=16000; source: that of a name that "
             "the file does not define, or not to a known value, such as img_size=(32,32,3) (may be repeated)")
      ->allow_extra_args(false);
  app.add_flag(
      "--dequantize", dequantizes,
      when + "TFLite: carry quantised numbers as the real ones that they stand for, and round nothing to their steps");
  app.add_option("--signature", signature,
                 when + "which signature of a SavedModel or TFLite file (default: serving_default)");
}

Result<ReadOptions> ModelOptions::asked() const {
  ReadOptions options;
  options.dequantizes = dequantizes;
  options.weights = weights;
  options.names = names;
  options.signature = signature;
  options.import_roots.assign(roots.begin(), roots.end());
  if (!outputs.empty()) options.outputs = split(outputs, ',');
  if (!size.empty())
    for (const auto& word : split(size, 'x')) {
      const auto dim = parse_dim(word, "--size");
      if (!dim) return std::unexpected(dim.error());
      options.size.push_back(dim->size());
    }
  for (const auto& text : shapes) {
    const auto equals = text.find('=');
    const bool unnamed = equals == std::string::npos;
    if (equals == 0)
      return fail(Fault::Usage, fmt::format("--shape: '{}' has no name; write NAME=1,64,64,3, or the numbers alone "
                                            "for the only input",
                                            text));
    const std::string name = unnamed ? std::string() : text.substr(0, equals);
    std::string sizes = text.substr(unnamed ? 0 : equals + 1);
    if (const auto colon = sizes.find(':'); colon != std::string::npos) {
      const auto type = type_named(sizes.substr(colon + 1));
      if (!type)
        return fail(Fault::Usage,
                    fmt::format("--shape: '{}' is no element type; write one such as int64 behind the colon",
                                sizes.substr(colon + 1)));
      options.types[name] = *type;
      sizes.resize(colon);
    }
    ModelShape shape;
    for (const auto& word : split(sizes, ',')) {
      const auto dim = parse_dim(word, "--shape");
      if (!dim) return std::unexpected(dim.error());
      shape.push_back(dim->size());
    }
    options.shapes[name] = std::move(shape);
  }
  return options;
}

Result<LoadOptions> ModelOptions::parsed() const {
  if (!arguments.empty() && !is_one_of_two && more.empty() && !is_source(file))
    return fail(Fault::Usage,
                fmt::format("--args: '{}' is no source, and no other file asks for it; leave it out", shown(file)));
  const auto read = asked();
  if (!read) return std::unexpected(read.error());
  auto options = load_options(file, *read);
  if (options) options->for_one_model = !is_one_of_two;
  return options;
}

Result<Graph> ModelOptions::load() const {
  const auto options = parsed();
  if (!options) return std::unexpected(options.error());
  return convoy::load(file, *options);
}

Result<LoadOptions> options_of_one(const std::string& file, const std::string& weights, const ModelOptions& both) {
  ModelOptions model = both;
  model.file = file;
  model.weights = weights;
  model.is_one_of_two = true;
  return model.parsed();
}

}  // namespace convoy::cli
