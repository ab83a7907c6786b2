// convoy ops: which operator is carried where, and the passes with their names.
#include "cli/command.h"
#include "cli/output.h"
#include "formats/keras/keras.h"
#include "formats/onnx/onnx.h"
#include "formats/torch/torch.h"
#include "ops/op.h"
#include "passes/passes.h"
#include "report/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <utility>

namespace convoy::cli {
namespace {

// Operators that no writer of Keras meets, because a pass says them in other words.
struct Respelled {
  std::string_view op, pass;
};
constexpr Respelled respelled_for_keras[] = {{"lp_pool", "spell_powers"},
                                             {"local_response_norm", "spell_powers"},
                                             {"unfold", "spell_patches"},
                                             {"fold", "spell_patches"}};

std::string answer_for_keras(std::string_view name) {
  const auto found = std::ranges::find(respelled_for_keras, name, &Respelled::op);
  return found == std::end(respelled_for_keras) ? std::string() : fmt::format("by {}", found->pass);
}

int ops() {
  Table operators("llll");
  operators.row({"operator", "PyTorch", "Keras", "ONNX"});
  std::string reasons;
  const auto in_torch = torch::operators(), in_keras = keras::operators(), in_onnx = onnx::operators();
  const auto answer = [&](std::string_view name, std::string_view target, const auto& rows) {
    const auto found = std::ranges::find(rows, name, [](const auto& row) { return row.first; });
    if (found->second.empty()) return std::string("yes");
    reasons += fmt::format("  {} to {}: {}\n", name, target, found->second);
    return std::string("no");
  };
  for (const auto& [name, unused] : in_torch) {
    const std::string by_pass = answer_for_keras(name);
    operators.row({std::string(name), answer(name, "PyTorch", in_torch),
                   by_pass.empty() ? answer(name, "Keras", in_keras) : by_pass, answer(name, "ONNX", in_onnx)});
  }
  print("Operators that are written\n{}\n", operators.text());
  if (!reasons.empty()) print("Why not\n{}\n", reasons);

  std::string line, classes;
  for (const auto name : keras::layer_classes()) {
    if (line.size() + name.size() > 100) classes += "  " + line + "\n", line.clear();
    line += (line.empty() ? "" : ", ") + std::string(name);
  }
  print("Keras layers that are read\n{}  {}\n\n", classes, line);

  for (const auto& [name, target] :
       {std::pair{"PyTorch", torch_target()}, {"Keras", keras_target()}, {"ONNX", onnx_target(17)}}) {
    Table passes("ll");
    for (const Pass& p : target.passes) passes.row({std::string(p.name), std::string(p.purpose)});
    print("Passes toward {}, in order (--without NAME leaves one out)\n{}\n", name, passes.text());
  }
  return Done;
}

}  // namespace

void offer_ops(CLI::App& app, int& code) {
  auto* command = app.add_subcommand("ops", "which operators and layers are carried, and the passes");
  command->callback([&code] { code = ops(); });
}

}  // namespace convoy::cli
