// convoy weights: the tensors of a file, with shapes, types and checksums.
#include "base/sha256.h"
#include "cli/command.h"
#include "report/table.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <memory>

namespace convoy::cli {
namespace {

struct Weights {
  std::string file;
  bool json = false;
};

std::string shape_text(const Sizes& shape) {
  std::string s;
  for (const Size n : shape) s += (s.empty() ? "" : ", ") + std::to_string(n);
  return "[" + s + "]";
}

int weights(const Weights& o) {
  const auto all = load_weights(o.file);
  if (!all) return report(all.error());
  if (o.json) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const auto& [name, tensor] : *all)
      list.push_back({{"name", name},
                      {"shape", tensor.shape()},
                      {"dtype", std::string(name_of(tensor.dtype()))},
                      {"sha256", sha256_hex(tensor.bytes())}});
    fmt::print("{}\n", nlohmann::ordered_json{{"schema", 1}, {"file", o.file}, {"tensors", std::move(list)}}.dump(1));
    return Done;
  }
  Table table("lllr");
  Size count = 0;
  for (const auto& [name, tensor] : *all) {
    table.row({name, shape_text(tensor.shape()), std::string(name_of(tensor.dtype())),
               sha256_hex(tensor.bytes()).substr(0, 16)});
    count += tensor.count();
  }
  fmt::print("{}  {} tensors, {} numbers\n\n{}", std::filesystem::path(o.file).filename().string(), all->size(),
             with_commas(count), table.text());
  return Done;
}

}  // namespace

void offer_weights(CLI::App& app, int& code) {
  auto o = std::make_shared<Weights>();
  auto* command = app.add_subcommand("weights",
                                     "list the tensors of a model or weights file: name, shape, type, SHA-256\n\n"
                                     "  convoy weights model.h5");
  command->add_option("file", o->file, "a model or weights file")->required();
  command->add_flag("--json", o->json, "one JSON object with the same facts");
  command->callback([o, &code] { code = weights(*o); });
}

}  // namespace convoy::cli
