// convoy summary: the layers of a model with shapes and effective padding.
#include "report/summary.h"
#include "base/shown.h"
#include "cli/command.h"
#include "cli/output.h"
#include "formats/source.h"
#include "graph/text.h"
#include "report/table.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <memory>

namespace convoy::cli {
namespace {

struct Summary {
  ModelOptions model;
  SummaryOptions shown;
  bool json = false, graph = false;
};

// The layers of a model that cannot be carried as a whole, with the reason beside the one it names.
std::string listing_text(const std::string& name, const std::vector<ListedLayer>& layers, const Error& why) {
  Table table("lll");
  table.row({"layer", "kind", ""});
  for (const auto& layer : layers) {
    const bool named = why.where.ends_with("layer '" + layer.name + "' (" + layer.kind + ")");
    table.row({layer.name, layer.kind, named ? "(!) not carried" : ""});
  }
  return fmt::format("{}  {} layers, not carried as a whole\n\n{}\n(!) {}\n", shown(name), layers.size(), table.text(),
                     shown_sentence(message(why)));
}

Json listing_json(const std::string& name, const std::vector<ListedLayer>& layers, const Error& why) {
  Json list = Json::array();
  for (const auto& layer : layers) list.push_back({{"name", layer.name}, {"kind", layer.kind}});
  return {{"schema", 1}, {"file", name}, {"carried", false}, {"reason", message(why)}, {"layers", std::move(list)}};
}

int summary(const Summary& o) {
  auto options = o.model.parsed();
  if (!options) return report(options.error());
  std::vector<ListedLayer> layers;
  std::vector<std::string> remarks;
  options->structure_only = is_source(o.model.file) && o.model.weights.empty();  // numbers that are drawn are not shown
  options->listing = &layers;
  options->remarks = &remarks;
  options->weights_may_lack = true;  // a model without weights still has layers and shapes
  const auto loaded = load(o.model.file, *options);
  const std::string name = std::filesystem::path(o.model.file).filename().string();
  if (!loaded && loaded.error().fault == Fault::Unsupported && !layers.empty()) {
    if (o.json) print_json(listing_json(name, layers, loaded.error()));
    else print("{}", listing_text(name, layers, loaded.error()));
    return Done;
  }
  if (!loaded) return report(loaded.error());
  if (o.graph) print("{}", text_of(*loaded));
  else if (o.json) {
    Json facts = summary_json(*loaded, name, o.shown);
    facts["remarks"] = remarks;
    print_json(facts);
  } else {
    SummaryOptions shown = o.shown;
    shown.width = result_width();
    write_table(summary_text(*loaded, name, shown), "  layer  ");
    for (const std::string& remark : remarks) print("note    {}\n", shown_sentence(remark));
  }
  return Done;
}

}  // namespace

void offer_summary(CLI::App& app, int& code) {
  auto options = std::make_shared<Summary>();
  auto* command = app.add_subcommand("summary",
                                     "the layers of a model: shapes, parameters, padding as said and as placed\n\n"
                                     "  convoy summary model.keras\n"
                                     "  convoy summary model.h5 --size 224x224 --json\n"
                                     "  convoy summary net.onnx --depth 2 --sort multiply-adds\n\n"
                                     "Multiply-adds, activations and bytes are those of one example; a bias or a norm "
                                     "has no multiply-adds.\nA terminal that is too narrow shows fewer columns; --json "
                                     "has all.");
  options->model.offer(*command);
  command->add_option("--depth", options->shown.depth, "modules deeper than this are one row each")
      ->check(CLI::Range(1, 1000));
  command->add_option("--sort", options->shown.sort, "the dearest first: parameters, multiply-adds or memory")
      ->check(CLI::IsMember(summary_sort_keys()));
  command->add_flag("--json", options->json, "one JSON object with the same facts");
  command->add_flag("--graph", options->graph, "the text form of the graph");
  command->callback([options, &code] { code = summary(*options); });
}

}  // namespace convoy::cli
