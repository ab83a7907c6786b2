// convoy weights: the tensors of a file, listed or carried into a weights file of another kind.
#include "cli/weights.h"
#include "base/sha256.h"
#include "base/shown.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/real_types.h"
#include "formats/torch/weight_norm.h"
#include "port/convert_weights.h"
#include "report/table.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <memory>

namespace convoy::cli {
namespace {

struct Weights {
  std::string file, output, below;
  std::optional<DType> reals;
  bool json = false, sha256 = false, force = false, plain = false;
  WeightsOfTwo two;
};

std::string shape_text(const Sizes& shape) {
  std::string s;
  for (const Size n : shape) s += (s.empty() ? "" : ", ") + std::to_string(n);
  return "[" + s + "]";
}

std::string headline(const std::string& file, std::size_t tensors, Size numbers) {
  return fmt::format("{}  {} tensors, {} numbers", shown(std::filesystem::path(file).filename().string()), tensors,
                     with_commas(numbers));
}

int list(const Weights& o) {
  auto all = load_weights(o.file);
  if (!all) return report(all.error());
  const auto normed = o.plain ? std::vector<torch::NormedWeight>{} : torch::normed_weights(*all);
  if (o.plain)
    all = within(std::filesystem::path(o.file).filename().string(), torch::with_plain_weights(std::move(*all)));
  if (!all) return report(all.error());
  if (!o.below.empty()) {
    std::erase_if(*all, [&](const LoadedTensor& t) { return !name_below(t.name, o.below); });
    if (all->empty()) return report({Fault::Usage, "--below '" + o.below + "': no tensor lies below that name", {}});
  }
  if (o.json) {
    nlohmann::ordered_json tensors = nlohmann::ordered_json::array();
    for (const auto& [name, tensor] : *all) {
      tensors.push_back({{"name", name},
                         {"shape", tensor.shape()},
                         {"dtype", std::string(name_of(tensor.dtype()))},
                         {"sha256", sha256_hex(tensor.bytes())}});
      tensor.let_go();
    }
    print_json(nlohmann::ordered_json{{"schema", 1}, {"file", o.file}, {"tensors", std::move(tensors)}});
    return Done;
  }
  Table table("lllr");
  Size count = 0;
  for (const auto& [name, tensor] : *all) {
    table.row({name, shape_text(tensor.shape()), std::string(name_of(tensor.dtype())),
               o.sha256 ? sha256_hex(tensor.bytes()).substr(0, 16) : with_commas(tensor.count())});
    count += tensor.count();
  }
  print("{}\n\n{}", headline(o.file, all->size(), count), table.text());
  if (!normed.empty())
    print("\nnote    {} of these weights are kept as norms and directions ({}{}); --plain makes them one tensor each\n",
          normed.size(), shown(normed.front().name), normed.size() > 1 ? ", ..." : "");
  return Done;
}

nlohmann::ordered_json json_of(const ConvertedWeights& done, const Weights& o) {
  nlohmann::ordered_json tensors = nlohmann::ordered_json::array();
  for (const ConvertedTensor& t : done.tensors)
    tensors.push_back({{"source", t.source},
                       {"target", t.target},
                       {"shape", t.shape},
                       {"dtype", std::string(name_of(t.read))},
                       {"written_dtype", std::string(name_of(t.written))},
                       {"sha256", t.sha256}});
  return {{"schema", 1},
          {"file", o.file},
          {"output", {{"path", done.file.path.string()}, {"bytes", done.file.bytes}, {"sha256", done.file.sha256}}},
          {"tensors", std::move(tensors)},
          {"notes", done.notes}};
}

int convert(const Weights& o) {
  WeightsOptions options{.output = o.output, .below = o.below, .plain = o.plain, .overwrites = o.force};
  options.reals = o.reals;
  const auto done = convert_weights(o.file, options);
  if (!done) return report(done.error());
  if (o.json) {
    print_json(json_of(*done, o));
    return Done;
  }
  Size count = 0;
  for (const ConvertedTensor& t : done->tensors) count += checked_count(t.shape).value_or(0);
  print("read    {}\n", headline(o.file, done->tensors.size(), count));
  print("wrote   {}  {} bytes; read back, every tensor as {}\n", shown(done->file.path.filename().string()),
        with_commas(done->file.bytes), o.reals ? "it was to be" : "it was");
  for (const std::string& note : done->notes) print("note    {}\n", shown_sentence(note));
  return Done;
}

}  // namespace

void offer_weights(CLI::App& app, int& code) {
  auto o = std::make_shared<Weights>();
  auto* command = app.add_subcommand(
      "weights",
      "list the tensors of a model or weights file (name, shape, type, count), carry them into a file of another "
      "kind, or copy trained weights from one model into another\n\n"
      "  convoy weights model.h5\n"
      "  convoy weights checkpoint.pth -o net.safetensors\n"
      "  convoy weights checkpoint.pth --below state_dict.module -o net.pt\n"
      "  convoy weights model.keras -o net.weights.h5\n"
      "  convoy weights trained.keras mine.pt2                          which tensor stands where\n"
      "  convoy weights trained.keras mine.py:Net --copy -o mine.pt     a's numbers in b, shown to compute the same\n\n"
      "Of one file names, types and axes stay as they are. Of two models, written by whomever, b gets a's weights in "
      "its "
      "own names\nand order of axes; a match that is not certain is refused.");
  command->add_option("file", o->file, "a model or weights file")->required();
  offer_weights_of_two(*command, o->two);
  command->add_option(
      "-o,--output", o->output,
      "write the tensors here: .safetensors, .npz, .pt (a state_dict), or .weights.h5, which Keras can load "
      "when the names are those of Keras 3 (layers/dense/vars/0) and h5py in any case; with --copy also .keras, .h5 "
      "and "
      ".onnx");
  command->add_option("--below", o->below, "only the tensors below this name, which is taken off theirs");
  command->add_flag("--plain", o->plain,
                    "weights that weight_norm keeps as norms and directions become the weights they make");
  offer_real_types(*command, o->reals, "with -o: real numbers are rounded to {}, and how far is said");
  command->add_flag("-f,--force", o->force, "replace a file that exists");
  command->add_flag("--sha256", o->sha256, "list checksums instead of counts (--json has them always)");
  command->add_flag("--json", o->json, "one JSON object with the same facts");
  command->callback([o, &code] {
    WeightsOfTwo& two = o->two;
    two.a = o->file, two.output = o->output, two.json = o->json, two.force = o->force;
    if (o->reals && (o->output.empty() || two.copies || !two.b.empty()))
      code =
          report(Error{Fault::Usage,
                       "--" + std::string(name_of(*o->reals)) + " says how one file's tensors are written; add -o FILE",
                       {}});
    else if (!two.b.empty() || two.copies) code = weights_of_two(two);
    else code = o->output.empty() ? list(*o) : convert(*o);
  });
}

}  // namespace convoy::cli
