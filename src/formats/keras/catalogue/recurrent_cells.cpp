// RNN, a layer that walks cells: one is the layer of that cell, several are layers one behind the other. Source:
// keras/src/layers/rnn/rnn.py and stacked_rnn_cells.py of Keras 3.15.
#include "formats/keras/catalogue/catalogue.h"
#include "formats/keras/catalogue/recurrent.h"
#include "formats/keras/initial.h"
#include "formats/keras/operation.h"
#include "formats/keras/weights.h"

#include <algorithm>
#include <array>
#include <map>

namespace convoy::keras {
namespace {

// What a layer of cells says itself; all else is the cell's.
constexpr std::array of_the_walk{"return_sequences", "return_state", "go_backwards",        "stateful",
                                 "unroll",           "time_major",   "zero_output_for_mask"};

// The layer that walks one cell: LSTM of LSTMCell. `part`: where the arrays of the cell lie. Its config is kept in `config`.
Layer walk_of(Call& call, const Json& cell, const std::string& part, Json& config) {
  auto read = read_layer(cell, call.version);
  if (!read) {
    call.refuse(read.error().fault, read.error().what);
    return {};
  }
  Layer walk = std::move(*read);
  constexpr std::array known{"LSTMCell", "GRUCell", "SimpleRNNCell"};
  if (std::ranges::find(known, walk.class_name) == known.end() || !of_keras(walk.module)) {
    call.refuse(Fault::Unsupported,
                "is of a cell '" + walk.class_name + "'; LSTMCell, GRUCell and SimpleRNNCell are carried");
    return {};
  }
  walk.class_name.resize(walk.class_name.size() - std::string_view("Cell").size());
  config = walk.config && walk.config->is_object() ? *walk.config : Json::object();
  for (const char* word : of_the_walk)
    if (call.layer.config->contains(word)) config[word] = (*call.layer.config)[word];
  config[cell_key] = part;
  return walk;
}

// Cells one above the other: each walks what the one below gives at every step.
Values walked_cells(Call& call, const Json& cells, Values inputs) {
  if (cells.size() > 64) call.refuse(Fault::Limit, "stacks " + std::to_string(cells.size()) + " cells");
  if (inputs.size() > 1 && cells.size() > 1)
    call.refuse(Fault::Unsupported, "begins several cells with states of their own, which this version does not carry");
  const bool backwards = call.layer.config->value("go_backwards", Json(false)) == true;
  if (backwards && cells.size() > 1 && call.mask())
    call.refuse(Fault::Unsupported, "walks several cells backwards under a mask, which this version does not carry");
  std::map<std::string, int> counts;
  const auto mask = call.builder().masks.find(inputs.front().index);
  Values states;
  for (std::size_t i = 0; i < cells.size() && !call.failed(); ++i) {
    const bool last = i + 1 == cells.size();
    const std::string kind = snake_case(cells[i].value("class_name", std::string()));
    const int before = counts[kind]++;
    Json config;
    Layer walk = walk_of(call, cells[i], "cell/cells/" + kind + (before ? "_" + std::to_string(before) : ""), config);
    if (call.failed()) return {};
    if (!last) config["return_sequences"] = true;
    if (i > 0) config["go_backwards"] = false;
    walk.config = &config;
    if (i > 0 && mask != call.builder().masks.end())
      call.builder().masks.insert_or_assign(inputs.front().index, mask->second);
    Values made = call.run_inside(walk, "", inputs);
    if (made.empty()) return {};
    states.insert(states.end(), made.begin() + 1, made.end());
    inputs = {made.front()};
  }
  inputs.insert(inputs.end(), states.begin(), states.end());
  return inputs;
}

Values rnn(Use& use) {
  Call& call = use.call;
  for (const char* word : of_the_walk) use.option(word);
  const Json* cell = use.option("cell");
  if (!cell || !cell->is_object()) call.refuse(Fault::Format, "has no cell");
  Values inputs{sequence_of(call)};
  const Values states = states_given(call);
  inputs.insert(inputs.end(), states.begin(), states.end());
  if (call.failed()) return {};
  if (cell->value("class_name", std::string()) == "StackedRNNCells") {
    const Json empty = Json::object();
    const Json& said = cell->contains("config") && (*cell)["config"].is_object() ? (*cell)["config"] : empty;
    if (!said.contains("cells") || !said["cells"].is_array() || said["cells"].empty()) {
      call.refuse(Fault::Format, "has no cells");
      return {};
    }
    return walked_cells(call, said["cells"], std::move(inputs));
  }
  Json config;
  Layer walk = walk_of(call, *cell, "cell", config);
  if (call.failed()) return {};
  walk.config = &config;
  return call.run_inside(walk, "", inputs);
}

constexpr std::array rows_of_cells{
    CatalogueRow{
        "layers.RNN",
        "cell return_sequences=False return_state=False go_backwards=False stateful=False unroll= time_major=False "
        "zero_output_for_mask=False",
        rnn},
};

}  // namespace

std::span<const CatalogueRow> cell_operators() { return rows_of_cells; }

}  // namespace convoy::keras
