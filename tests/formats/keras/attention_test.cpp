// Attention layers of model files: which results they have, what masks they, and what they refuse.
#include "formats/keras/keras.h"

#include "graph/graph.h"

#include <gtest/gtest.h>
#include <algorithm>

namespace convoy::keras::attention_test {
namespace {

std::string tensor(const std::string& layer, const std::string& sizes) {
  return R"({"class_name": "__keras_tensor__", "config": {"shape": )" + sizes +
         R"(, "dtype": "float32", "keras_history": [")" + layer + R"(", 0, 0]}})";
}

// A query [7, 12] and a value [5, 10] that a layer of this class and config is called with; `more` behind the call's arguments.
std::string model(const std::string& class_name, const std::string& config, const std::string& more = "{}",
                  const std::string& steps = "7") {
  const std::string query = "[null, " + steps + ", 12]", value = "[null, " + (steps == "7" ? "5" : steps) + ", 12]";
  return R"({"keras_version": "3.15.1", "class_name": "Functional", "config": {"name": "net", "layers": [
    {"class_name": "InputLayer", "name": "q", "config": {"name": "q", "batch_shape": )" +
         query + R"(}, "inbound_nodes": []},
    {"class_name": "InputLayer", "name": "v", "config": {"name": "v", "batch_shape": )" +
         value + R"(}, "inbound_nodes": []},
    {"class_name": ")" +
         class_name + R"(", "name": "att", "config": {"name": "att")" + config + R"(}, "inbound_nodes": [{"args": [)" +
         tensor("q", query) + ", " + tensor("v", value) + R"(], "kwargs": )" + more +
         R"(}]}],
    "input_layers": [["q", 0, 0], ["v", 0, 0]], "output_layers": [["att", 0, 0]]}})";
}

std::string shape_or_refusal(const std::string& text) {
  LoadOptions options;
  options.structure_only = true;
  const auto graph = read_json(text, options);
  if (!graph) return message(graph.error());
  return text_of((*graph)[graph->outputs.front()].type.shape);
}

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

const std::string heads = R"(, "num_heads": 3, "key_dim": 4, "value_dim": 5)";

TEST(KerasAttention, GivesWhatItsConfigSays) {
  EXPECT_EQ(shape_or_refusal(model("MultiHeadAttention", heads)), "[N, 7, 12]");
  EXPECT_EQ(shape_or_refusal(model("MultiHeadAttention", heads + R"(, "output_shape": [2, 9])")), "[N, 7, 2, 9]");
  EXPECT_EQ(shape_or_refusal(model("MultiHeadAttention", heads + R"(, "use_gate": true, "dropout": 0.1)",
                                   R"({"use_causal_mask": true})")),
            "[N, 7, 12]");
  EXPECT_EQ(shape_or_refusal(
                model("GroupQueryAttention", R"(, "head_dim": 5, "num_query_heads": 6, "num_key_value_heads": 2)")),
            "[N, 7, 12]");
  EXPECT_EQ(shape_or_refusal(model("MultiHeadAttention", heads + R"(, "sliding_window": 2)",
                                   R"({"use_causal_mask": true})", "null")),
            "[N, ?, 12]");
}

TEST(KerasAttention, RefusesWhatNoLayerOfKerasIs) {
  EXPECT_TRUE(holds(shape_or_refusal(model("MultiHeadAttention", R"(, "num_heads": 0, "key_dim": 4)")), "0 heads"));
  EXPECT_TRUE(holds(shape_or_refusal(model("GroupQueryAttention",
                                           R"(, "head_dim": 5, "num_query_heads": 5, "num_key_value_heads": 2)")),
                    "5 heads share 2"));
  EXPECT_TRUE(holds(shape_or_refusal(model("MultiHeadAttention", heads + R"(, "attention_axes": [2])")),
                    "attends along axis 2"));
  EXPECT_TRUE(holds(shape_or_refusal(model("MultiHeadAttention", heads, R"({"wobble": 1})")), "'wobble'"));
}

}  // namespace
}  // namespace convoy::keras::attention_test
