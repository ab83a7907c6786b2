// convoy summary: the layers of a model with shapes and effective padding.
#include "cli/command.h"
#include "graph/text.h"
#include "report/text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <memory>

namespace convoy::cli {
namespace {

struct Summary {
  ModelOptions model;
  bool json = false, graph = false;
};

int summary(const Summary& o) {
  const auto loaded = o.model.load();
  if (!loaded) return report(loaded.error());
  const std::string name = std::filesystem::path(o.model.file).filename().string();
  if (o.graph) fmt::print("{}", text_of(*loaded));
  else if (o.json) fmt::print("{}\n", summary_json(*loaded, name).dump(1));
  else fmt::print("{}", summary_text(*loaded, name));
  return Done;
}

}  // namespace

void offer_summary(CLI::App& app, int& code) {
  auto options = std::make_shared<Summary>();
  auto* command = app.add_subcommand("summary",
                                     "the layers of a model: shapes, parameters, padding as said and as placed\n\n"
                                     "  convoy summary model.keras\n"
                                     "  convoy summary model.h5 --size 224x224 --json");
  options->model.offer(*command);
  command->add_flag("--json", options->json, "one JSON object with the same facts");
  command->add_flag("--graph", options->graph, "the text form of the graph");
  command->callback([options, &code] { code = summary(*options); });
}

}  // namespace convoy::cli
