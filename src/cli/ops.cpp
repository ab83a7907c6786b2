// convoy ops: which operator is carried where, and the passes with their names.
#include "cli/command.h"
#include "formats/keras/keras.h"
#include "formats/torch/torch.h"
#include "ops/op.h"
#include "passes/passes.h"
#include "report/table.h"

#include <fmt/format.h>

#include <cstdio>
#include <memory>

namespace convoy::cli {
namespace {

int ops() {
  Table operators("ll");
  operators.row({"operator", "PyTorch"});
  for (const auto& [name, why_not] : torch::operators())
    operators.row({std::string(name), why_not.empty() ? "yes" : std::string(why_not)});
  fmt::print("Operators\n{}\n", operators.text());

  std::string line, classes;
  for (const auto name : keras::layer_classes()) {
    if (line.size() + name.size() > 100) classes += "  " + line + "\n", line.clear();
    line += (line.empty() ? "" : ", ") + std::string(name);
  }
  fmt::print("Keras layers that are read\n{}  {}\n\n", classes, line);

  Table passes("ll");
  for (const Pass& p : torch_target().passes) passes.row({std::string(p.name), std::string(p.purpose)});
  fmt::print("Passes toward PyTorch, in order (--without NAME leaves one out)\n{}", passes.text());
  return Done;
}

}  // namespace

void offer_ops(CLI::App& app, int& code) {
  auto* command = app.add_subcommand("ops", "which operators and layers are carried, and the passes");
  command->callback([&code] { code = ops(); });
}

}  // namespace convoy::cli
