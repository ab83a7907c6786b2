// convoy ops: which operator is carried where, and the passes with their names.
#include "cli/command.h"
#include "cli/output.h"
#include "formats/keras/keras.h"
#include "formats/onnx/onnx.h"
#include "formats/tf/tf.h"
#include "formats/tflite/tflite.h"
#include "formats/torch/torch.h"
#include "ops/op.h"
#include "passes/passes.h"
#include "report/table.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <memory>

namespace convoy::cli {
namespace {

// Operators that no writer of Keras or TFLite meets, because a pass says them in other words.
struct Respelled {
  std::string_view op, pass;
};
constexpr Respelled respelled_as_in_keras[] = {{"lp_pool", "lower_powers"},
                                               {"local_response_norm", "lower_powers"},
                                               {"unfold", "lower_patches"},
                                               {"fold", "lower_patches"}};

constexpr Respelled respelled_in_tflite[] = {
    {"lstm", "lower_cells"}, {"gru", "lower_cells"}, {"simple_rnn", "lower_cells"}};

// The pass that says it in other words; empty: none does.
template <std::size_t N>
std::string pass_for(std::string_view op, const Respelled (&all)[N]) {
  const auto found = std::ranges::find(all, op, &Respelled::op);
  return found == std::end(all) ? std::string() : std::string(found->pass);
}

// What a target does with an operator: it has it, or a pass says it in others, or there is a reason why not.
struct Answer {
  std::string_view target, key;
  std::string pass, reason;
  std::string text() const { return !reason.empty() ? "no" : pass.empty() ? "yes" : "by " + pass; }
};
struct OperatorRow {
  std::string name;
  std::array<Answer, 4> answers;
};

std::vector<OperatorRow> operator_rows() {
  const auto in_torch = torch::operators(), in_keras = keras::operators(), in_onnx = onnx::operators(),
             in_tflite = tflite::operators();
  const auto reason = [](std::string_view name, const auto& rows) {
    return std::string(std::ranges::find(rows, name, [](const auto& row) { return row.first; })->second);
  };
  std::vector<OperatorRow> rows;
  for (const auto& [name, unused] : in_torch) {
    const std::string toward_keras = pass_for(name, respelled_as_in_keras);
    const std::string toward_lite = toward_keras.empty() ? pass_for(name, respelled_in_tflite) : toward_keras;
    rows.push_back({std::string(name),
                    {Answer{"PyTorch", "torch", "", reason(name, in_torch)},
                     Answer{"Keras", "keras", toward_keras, toward_keras.empty() ? reason(name, in_keras) : ""},
                     Answer{"ONNX", "onnx", "", reason(name, in_onnx)},
                     Answer{"TFLite", "tflite", toward_lite, toward_lite.empty() ? reason(name, in_tflite) : ""}}});
  }
  return rows;
}

struct NamedTarget {
  const char *name, *key;
  Target target;
};
std::array<NamedTarget, 4> targets_of_passes() {
  return {NamedTarget{"PyTorch", "torch", torch_target()}, NamedTarget{"Keras", "keras", keras_target()},
          NamedTarget{"ONNX", "onnx", onnx_target(17)}, NamedTarget{"TFLite", "tflite", tflite_target()}};
}

void print_ops_json() {
  Json operators = Json::array(), layers = Json::array(), nodes = Json::array(), passes = Json::object();
  for (const OperatorRow& row : operator_rows()) {
    Json one{{"name", row.name}};
    for (const Answer& answer : row.answers) {
      Json& said = one[std::string(answer.key)];
      said["written"] = answer.reason.empty();
      if (!answer.pass.empty()) said["by"] = answer.pass;
      if (!answer.reason.empty()) said["reason"] = answer.reason;
    }
    operators.push_back(std::move(one));
  }
  for (const auto name : keras::layer_classes()) layers.push_back(std::string(name));
  for (const auto name : tf::graph_operators()) nodes.push_back(std::string(name));
  for (const NamedTarget& to : targets_of_passes())
    for (const Pass& p : to.target.passes)
      passes[to.key].push_back({{"name", std::string(p.name)}, {"purpose", std::string(p.purpose)}});
  print_json(Json{{"schema", 1},
                  {"operators", std::move(operators)},
                  {"keras_layers", std::move(layers)},
                  {"tensorflow_operators", std::move(nodes)},
                  {"passes", std::move(passes)}});
}

// Names side by side, as many as a line holds.
std::string listed(const std::vector<std::string_view>& names) {
  std::string line, text;
  for (const auto name : names) {
    if (line.size() + name.size() > 100) text += "  " + line + "\n", line.clear();
    line += (line.empty() ? "" : ", ") + std::string(name);
  }
  return text + "  " + line + "\n";
}

void print_ops_text() {
  Table operators("lllll");
  operators.row({"operator", "PyTorch", "Keras", "ONNX", "TFLite"});
  std::string reasons;
  for (const OperatorRow& row : operator_rows()) {
    operators.row(
        {row.name, row.answers[0].text(), row.answers[1].text(), row.answers[2].text(), row.answers[3].text()});
    for (const Answer& answer : row.answers)
      if (!answer.reason.empty()) reasons += fmt::format("  {} to {}: {}\n", row.name, answer.target, answer.reason);
  }
  print("Operators that are written\n{}\n", operators.text());
  if (!reasons.empty()) print("Why not\n{}\n", reasons);

  print("Keras layers that are read\n{}\n", listed(keras::layer_classes()));
  print("Operators of TensorFlow's graphs that are read\n{}\n", listed(tf::graph_operators()));

  for (const NamedTarget& to : targets_of_passes()) {
    Table passes("ll");
    for (const Pass& p : to.target.passes) passes.row({std::string(p.name), std::string(p.purpose)});
    print("Passes toward {}, in order (--without NAME leaves one out)\n{}\n", to.name, passes.text());
  }
}

}  // namespace

void offer_ops(CLI::App& app, int& code) {
  auto json = std::make_shared<bool>(false);
  auto* command = app.add_subcommand("ops",
                                     "which operators and layers are carried, and the passes\n\n"
                                     "  convoy ops\n"
                                     "  convoy ops --json");
  command->add_flag("--json", *json, "one JSON object with the same facts");
  command->callback([json, &code] {
    if (*json) print_ops_json();
    else print_ops_text();
    code = Done;
  });
}

}  // namespace convoy::cli
