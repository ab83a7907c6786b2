#include "graph/text.h"

#include "graph/text_fields.h"

#include <gtest/gtest.h>

namespace convoy::text_test {
namespace {

// Something other than the default, for a field of any type.
void change(bool& field) { field = !field; }
void change(Size& field) { field += 3; }
void change(double& field) { field = field / 3 + 0.1; }
void change(std::string& field) { field = "a\"b, c->d"; }
void change(Axes& field) { field = {Order::ChannelsLast, 3}; }
void change(Window& field) { field = {5, 2, 3}; }
void change(Padding& field) { field = {Spelling::Explicit, 1, 2, Leftover::CeilInside}; }
void change(TransposedPadding& field) { field = {CropSpelling::KerasSame, 0, 0, 1}; }
template <class E>
  requires std::is_enum_v<E>
void change(E& field) {
  field = static_cast<E>(text::words(E{}).size() - 1);
}
template <class T>
void change(std::vector<T>& field) {
  field.assign(3, T{});
  change(field[1]);
}
template <class T>
void change(std::optional<T>& field) {
  field.emplace();
  change(*field);
}

template <class Operator>
void expect_round_trip() {
  Operator op{};
  Operator::fields([&](std::string_view, auto member) { change(op.*member); });
  const std::string printed = text_of(Op(op));
  const auto back = parse_op(printed);
  ASSERT_TRUE(back) << printed << "\n" << message(back.error());
  EXPECT_EQ(*back, Op(op)) << printed;
}

template <class... All>
void expect_all_round_trip(std::type_identity<std::tuple<All...>>) {
  (expect_round_trip<All>(), ...);
}

TEST(Text, EveryFieldOfEveryOperatorReadsBackAsItWasWritten) {
  expect_all_round_trip(std::type_identity<AnyOp::tuple>());
}

TEST(Text, EveryWordOfEveryEnumerationIsDifferent) {
  const auto check = [](std::span<const std::string_view> words) {
    for (std::size_t i = 0; i < words.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) EXPECT_NE(words[i], words[j]);
    }
  };
  check(text::words(Function{}));
  check(text::words(CellFunction{}));
  check(text::words(Noise{}));
}

constexpr std::string_view network = R"(graph  "my net" from "Keras 3.15.1"
input  image float32[?,8,14,3] <- picture permuted[0,2,3,1]
const  conv/kernel float32[3,2,3,2] = seed 7   # a comment
const  conv/bias float32[2] frozen <- b split[2,1] = 0.1 -inf
const  table float16[2] = 1.5 -3
conv   = conv(image, conv/kernel, conv/bias) axes=channels_last/2 kernel_order=space_in_out windows=3/2,2 paddings=same,0:1
low, "high one" = split(conv) axis=3 sizes=1,1 <- _, s split[-1,4] permuted[1,0] @ "cut it" kind Lambda in a#0 b/c#12
relu   = relu(low) max_value=6 negative_slope=0.1
output relu as scores
output "high one"
)";

TEST(Text, AGraphReadsBackAsItWasWritten) {
  const auto graph = parse_graph(network);
  ASSERT_TRUE(graph) << message(graph.error());
  TextOptions options;
  options.constants_in_full = true;
  options.types = true;
  const std::string text = text_of(*graph, options);
  const auto again = parse_graph(text);
  ASSERT_TRUE(again) << message(again.error()) << "\n" << text;
  EXPECT_EQ(text_of(*again, options), text);
  ASSERT_EQ(again->values.size(), graph->values.size());
  for (const Value& value : graph->values) {
    const auto it = std::find_if(again->values.begin(), again->values.end(),
                                 [&](const Value& other) { return other.name == value.name; });
    ASSERT_NE(it, again->values.end()) << value.name;
    EXPECT_EQ(it->type, value.type) << value.name;
    EXPECT_EQ(it->origin, value.origin) << value.name;
    EXPECT_EQ(it->trainable, value.trainable) << value.name;
    ASSERT_EQ(it->constant.has_value(), value.constant.has_value());
    if (value.constant) { EXPECT_TRUE(same_bytes(*it->constant, *value.constant)) << value.name; }
  }
  ASSERT_EQ(again->nodes.size(), graph->nodes.size());
  for (std::size_t i = 0; i < graph->nodes.size(); ++i) {
    EXPECT_EQ(again->nodes[i].op, graph->nodes[i].op);
    EXPECT_EQ(again->nodes[i].layer, graph->nodes[i].layer);
    EXPECT_EQ(again->nodes[i].kind, graph->nodes[i].kind);
    EXPECT_EQ(again->nodes[i].scopes, graph->nodes[i].scopes);
  }
  EXPECT_EQ(again->name, "my net");
  EXPECT_EQ(again->source_format, "Keras 3.15.1");
  EXPECT_EQ(again->output_names, (std::vector<std::string>{"scores", "high one"}));
  EXPECT_EQ(graph->nodes[1].scopes[1], (Scope{"b/c", 12}));
}

TEST(Text, LargeConstantsAreShownByTheirChecksum) {
  const auto graph = parse_graph("input x float32[2,9]\nconst w float32[9] = seed 3\ny = binary(x, w)\noutput y\n");
  ASSERT_TRUE(graph) << message(graph.error());
  const std::string text = text_of(*graph);
  EXPECT_NE(text.find("const  w float32[9] = crc32 "), std::string::npos) << text;
  const auto back = parse_graph(text);
  ASSERT_FALSE(back);
  EXPECT_EQ(message(back.error()),
            "line 2, column 23: only the checksum of the numbers is written down, not the numbers");
}

TEST(Text, ConstantsAreHeldInTheirTypes) {
  const auto bytes_of_constant = [](std::string_view words) -> std::string {
    const auto graph = parse_graph("const w " + std::string(words) + "\noutput w\n");
    if (!graph) return message(graph.error());
    std::string digits;
    for (const std::byte b : graph->values[0].constant->bytes()) {
      digits += "0123456789abcdef"[std::to_integer<int>(b >> 4)];
      digits += "0123456789abcdef"[std::to_integer<int>(b & std::byte{15})];
    }
    return digits;
  };
  EXPECT_EQ(bytes_of_constant("uint64[2] = 18446744073709551615 1"), "ffffffffffffffff0100000000000000");
  EXPECT_EQ(bytes_of_constant("int64[1] = -2"), "feffffffffffffff");
  EXPECT_EQ(bytes_of_constant("int8[3] = -1 2 -128"), "ff0280");
  EXPECT_EQ(bytes_of_constant("uint16[2] = 258 3"), "02010300");
  EXPECT_EQ(bytes_of_constant("bool[3] = 1 0 1"), "010001");
  EXPECT_EQ(bytes_of_constant("float16[2] = 1.5 -2"), "003e00c0");
  EXPECT_EQ(bytes_of_constant("bfloat16[1] = 1.5"), "c03f");
  EXPECT_EQ(bytes_of_constant("float32[1] = 0.1"), "cdcccc3d");
  EXPECT_EQ(bytes_of_constant("float64[1] = 0.1"), "9a9999999999b93f");
  EXPECT_NE(bytes_of_constant("int8[3] = 1 2").find("2 numbers, expected 3"), std::string::npos);
}

TEST(Text, SeededNumbersAreSmallAndNeverZero) {
  const auto some = seeded_tensor(DType::F32, {1000}, 5);
  bool negative = false;
  for (const float value : some.floats()) {
    EXPECT_TRUE(value != 0 && value >= -3 && value <= 3);
    negative = negative || value < 0;
  }
  EXPECT_TRUE(negative);
  EXPECT_FALSE(same_bytes(some, seeded_tensor(DType::F32, {1000}, 6)));
  for (const float value : seeded_tensor(DType::F32, {100}, 5, true).floats()) EXPECT_GT(value, 0);
  for (const auto value : seeded_tensor(DType::U8, {100}, 5).integers()) EXPECT_TRUE(value >= 1 && value <= 3);
}

struct Refusal {
  std::string_view text, words;
};
class RefusedText : public testing::TestWithParam<Refusal> {};
TEST_P(RefusedText, IsRefusedWithItsPlace) {
  const auto graph = parse_graph(GetParam().text);
  ASSERT_FALSE(graph);
  EXPECT_EQ(message(graph.error()), GetParam().words);
}
INSTANTIATE_TEST_SUITE_P(
    Text, RefusedText,
    testing::Values(Refusal{"input", "line 1, column 6: a name is expected"},
                    Refusal{"input x", "line 1, column 8: '' is not an element type"},
                    Refusal{"input x float33[1]", "line 1, column 9: 'float33' is not an element type"},
                    Refusal{"input x float32[1,,2]", "line 1, column 19: '' is not a size"},
                    Refusal{"input x float32[-1]", "line 1, column 17: '-1' is not a size"},
                    Refusal{"input x float32[1", "line 1, column 18: ',' expected"},
                    Refusal{"input x float32[1]\ninput x float32[1]", "line 2, column 19: 'x' is already there"},
                    Refusal{"const w float32[99999999999] = seed 1", "line 1, column 38: more than 67108864 numbers"},
                    Refusal{"const w float32[9223372036854775807,9] = 1",
                            "line 1, column 40: a constant needs a shape without '?'"},
                    Refusal{"const w float32[2] = 1", "line 1, column 23: 1 numbers, expected 2"},
                    Refusal{"const w int8[1] = 1.5", "line 1, column 19: '1.5' is not a number of this type"},
                    Refusal{"y = relu(x)", "line 1, column 10: no value is called 'x' so far"},
                    Refusal{"input x float32[1]\ny = reluu(x)", "line 2, column 5: no operator is called 'reluu'"},
                    Refusal{"input x float32[1]\ny = relu(x) a=1", "line 2, column 15: relu has no field 'a'"},
                    Refusal{"input x float32[1]\ny = relu(x) strict=2",
                            "line 2, column 20: '2' makes no sense for field 'strict'"},
                    Refusal{"input x float32[1]\ny = relu(x) : float32[2]",
                            "line 2, column 25: output 0 is float32 [1], another type is written down"},
                    Refusal{"input x float32[1]\na, b = relu(x)", "line 2, column 15: 2 outputs, relu has 1"},
                    Refusal{"\"a\\q\"", "line 1, column 1: an escape in quotes that is not \\\", \\\\, \\n or \\u"},
                    Refusal{"\"a", "line 1, column 1: the closing quote is missing"},
                    Refusal{"output x", "line 1, column 8: no value is called 'x' so far"}));

TEST(Text, EveryCutOfATextIsReadOrRefused) {
  for (std::size_t length = 0; length < network.size(); ++length) parse_graph(network.substr(0, length));
  std::string bent(network);
  for (std::size_t i = 0; i < bent.size(); ++i) {
    for (const char c : {'"', ',', '\0', '#', ')', '\xff'}) {
      const char was = std::exchange(bent[i], c);
      parse_graph(bent);
      bent[i] = was;
    }
  }
}

}  // namespace
}  // namespace convoy::text_test
