// Lists of cells to add, between the frameworks' orders. The lists are those of PyTorch 2.13, TensorFlow 2.21, Keras 3.15,
// ONNX and NumPy for the same cells.
#include "explain/pad_list.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace convoy::explain::pad_list_test {
namespace {

using Free = std::vector<std::optional<Size>>;

Result<PadList> read(const std::string& text, const std::string& layout = "", const Free& size = {}) {
  const auto call = python::parse_expression(text);
  if (!call) return std::unexpected(call.error());
  return read_pad_list(*call, layout, size);
}

std::string code(const std::string& text, std::string_view framework, const std::string& layout = "",
                 const Free& size = {}) {
  const auto list = read(text, layout, size);
  if (!list) return message(list.error());
  for (const auto& line : lines_of(*list))
    if (line.framework == framework) return line.code;
  return "";
}

std::string failure(const std::string& text, const std::string& layout = "", const Free& size = {}) {
  const auto list = read(text, layout, size);
  return list ? "no failure" : message(list.error());
}

// Rows 1 above and 2 below, cols 3 left and 4 right, said by every framework, becomes every other's list.
TEST(PadList, SaysOneListInEveryOrder) {
  for (const std::string text :
       {"F.pad(x, (3, 4, 1, 2))", "torch.nn.functional.pad(x, pad=[3, 4, 1, 2], value=0.0)",
        "nn.ZeroPad2d((3, 4, 1, 2))", "nn.ConstantPad2d((3, 4, 1, 2), 0)",
        "tf.pad(x, [[0, 0], [1, 2], [3, 4], [0, 0]])", "layers.ZeroPadding2D(padding=((1, 2), (3, 4)))",
        "Pad(pads=[0, 0, 1, 3, 0, 0, 2, 4])", "keras.ops.pad(x, ((0, 0), (1, 2), (3, 4), (0, 0)))",
        "np.pad(x, [(0, 0), (1, 2), (3, 4), (0, 0)])"}) {
    EXPECT_EQ(code(text, "PyTorch"), "x = F.pad(x, (3, 4, 1, 2))") << text;
    EXPECT_EQ(code(text, "TensorFlow"), "x = tf.pad(x, [[0, 0], [1, 2], [3, 4], [0, 0]])") << text;
    EXPECT_EQ(code(text, "Keras"), "ZeroPadding2D(((1, 2), (3, 4)))") << text;
    EXPECT_EQ(code(text, "ONNX"), "Pad pads=[0, 0, 1, 3, 0, 0, 2, 4]") << text;
    EXPECT_EQ(code(text, "TFLite"), "PAD [[0, 0], [1, 2], [3, 4], [0, 0]]") << text;
    EXPECT_EQ(code(text, "Core ML"), "pad mode=constant pad=[1, 2, 3, 4]") << text;
  }
  EXPECT_EQ(code("Pad(pads=[1, 3, 2, 4], axes=[-2, -1])", "PyTorch", "NCHW"), "x = F.pad(x, (3, 4, 1, 2))");
}

TEST(PadList, KnowsWhichNumberIsWhichAxis) {
  EXPECT_EQ(code("ZeroPadding2D((1, 3))", "PyTorch"), "x = F.pad(x, (3, 3, 1, 1))");
  EXPECT_EQ(code("ZeroPadding1D((1, 3))", "PyTorch"), "x = F.pad(x, (1, 3))");
  EXPECT_EQ(code("ZeroPadding3D(((1, 2), (3, 4), (5, 6)))", "PyTorch"), "x = F.pad(x, (5, 6, 3, 4, 1, 2))");
  EXPECT_EQ(code("ZeroPadding3D(2)", "TensorFlow"), "x = tf.pad(x, [[0, 0], [2, 2], [2, 2], [2, 2], [0, 0]])");
  EXPECT_EQ(code("F.pad(x, (1, 2, 3, 4), value=7)", "TensorFlow"),
            "x = tf.pad(x, [[0, 0], [3, 4], [1, 2], [0, 0]], constant_values=7)");
  // Channels are padded too: the third pair of F.pad.
  EXPECT_EQ(code("F.pad(x, (0, 0, 0, 0, 1, 2))", "TensorFlow", "NCHW"),
            "x = tf.pad(x, [[0, 0], [0, 0], [0, 0], [1, 2]])");
  EXPECT_EQ(code("F.pad(x, (1, 2, 3, 4))", "NumPy", "NHWC"), "x = np.pad(x, ((0, 0), (0, 0), (3, 4), (1, 2)))");
}

TEST(PadList, KeepsTheOrderOfAxesThatHaveNoNames) {
  EXPECT_EQ(code("F.pad(x, (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12))", "TensorFlow"),
            "x = tf.pad(x, [[11, 12], [9, 10], [7, 8], [5, 6], [3, 4], [1, 2]])");
  EXPECT_EQ(code("tf.pad(x, [[1, 2], [3, 4]])", "PyTorch"), "x = F.pad(x, (3, 4, 1, 2))");
  EXPECT_EQ(code("tf.pad(x, [[1, 2], [3, 4]])", "ONNX"), "Pad pads=[1, 3, 2, 4]");
}

TEST(PadList, SaysCutsAsEachFrameworkTakesThem) {
  EXPECT_EQ(code("F.pad(x, (-1, 2, 0, -3))", "TensorFlow"),
            "x = x[:, :-3, 1:]; x = tf.pad(x, [[0, 0], [0, 0], [0, 2], [0, 0]])");
  EXPECT_EQ(code("F.pad(x, (-1, 2, 0, -3))", "Keras"),
            "Cropping2D(((0, 3), (1, 0))), then ZeroPadding2D(((0, 0), (0, 2)))");
  EXPECT_EQ(code("Cropping2D(((1, 2), (0, 3)))", "PyTorch"), "x = F.pad(x, (0, -3, -1, -2))");
  EXPECT_EQ(code("Cropping2D(((1, 2), (0, 3)))", "ONNX"), "Pad pads=[0, 0, -1, 0, 0, 0, -2, -3]");
  // reflect(-1, 3) of [1, 2, 3, 4] is [2, 3, 4, 3, 2, 1] in PyTorch: mirrored first. ONNX cuts first.
  EXPECT_EQ(code("F.pad(x, (-1, 3), mode='reflect')", "ONNX"), "Pad mode=reflect pads=[0, 0, 0, 0, 0, 3], then Slice");
  EXPECT_EQ(code("Pad(pads=[0, 0, -1, 0, 0, 3], mode='reflect')", "PyTorch"),
            "x = x[:, :, 1:]; x = F.pad(x, (0, 3), mode=\"reflect\")");
}

// Source: torch 2.13.0 reflect(-1,3), circular(-1,3) of [1, 2, 3, 4]; the other modes from NumPy.
TEST(PadList, DrawsWhatTheFrameworksGive) {
  const auto cells = [](const std::string& text, Size n) {
    const auto list = read(text);
    EXPECT_TRUE(list) << text;
    return list ? *cells_of(*list, 2, n) : std::vector<Size>{};
  };
  EXPECT_EQ(cells("F.pad(x, (-1, 3), mode='reflect')", 4), (std::vector<Size>{1, 2, 3, 2, 1, 0}));
  EXPECT_EQ(cells("F.pad(x, (-1, 3), mode='circular')", 4), (std::vector<Size>{1, 2, 3, 1, 2, 3}));
  EXPECT_EQ(cells("F.pad(x, (2, 1), mode='reflect')", 3), (std::vector<Size>{2, 1, 0, 1, 2, 1}));
  EXPECT_EQ(cells("F.pad(x, (2, 1), mode='replicate')", 3), (std::vector<Size>{0, 0, 0, 1, 2, 2}));
  EXPECT_EQ(cells("F.pad(x, (2, 1))", 3), (std::vector<Size>{-1, -1, 0, 1, 2, -1}));
  const auto list = read("tf.pad(x, [[0, 0], [3, 1], [0, 0]], 'SYMMETRIC')");
  ASSERT_TRUE(list);
  EXPECT_EQ(*cells_of(*list, 1, 3), (std::vector<Size>{2, 1, 0, 0, 1, 2, 2}));
}

TEST(PadList, NamesTheModeThatAFrameworkLacks) {
  EXPECT_EQ(code("tf.pad(x, [[0, 0], [1, 1], [0, 1], [0, 0]], mode='SYMMETRIC')", "PyTorch"),
            "x = F.pad(x, (0, 1, 1, 1), mode=\"replicate\")");
  EXPECT_EQ(code("nn.ReplicationPad2d((0, 1, 1, 1))", "TensorFlow"),
            "x = tf.pad(x, [[0, 0], [1, 1], [0, 1], [0, 0]], \"SYMMETRIC\")");
  EXPECT_EQ(code("nn.CircularPad1d((2, 1))", "TensorFlow"),
            "x = tf.gather(x, tf.range(-2, x.shape[1] + 1) % x.shape[1], axis=1)");
  EXPECT_EQ(code("nn.ReplicationPad1d((2, 0))", "Keras"),
            "x = ops.take(x, ops.clip(ops.arange(-2, x.shape[1]), 0, x.shape[1] - 1), axis=1)");
  EXPECT_EQ(code("nn.CircularPad1d((2, 1))", "Core ML", "", {5}), "gather axis=2 indices=[3, 4, 0, 1, 2, 3, 4, 0]");
}

TEST(PadList, RefusesWhatTheFrameworkRefuses) {
  EXPECT_EQ(failure("tf.pad(x, [[0, 0], [-1, 2], [0, 0]])"), "tf.pad refuses negative counts");
  EXPECT_EQ(failure("F.pad(x, (1, 2, 3))"), "F.pad takes pairs, and 3 numbers are none");
  EXPECT_TRUE(
      failure("F.pad(x, (1, 1), mode='symmetric')").contains("F.pad has no mode 'symmetric'; it has 'constant'"));
  EXPECT_EQ(failure("F.pad(x, (5, 2), mode='reflect')", "", {4}),
            "axis W: reflect of 4 cells can add 3 on a side, not 5");
  EXPECT_EQ(failure("tf.pad(x, [[0, 0], [4, 0], [0, 0]], 'SYMMETRIC')", "", {3}),
            "axis W: symmetric of 3 cells can add 3 on a side, not 4");
  EXPECT_EQ(failure("Cropping1D((2, 3))", "", {5}), "axis W: 5 cells are cut and there are 5");
  EXPECT_TRUE(failure("ZeroPadding2D(((1, 2), (3, 4), (5, 6)))").contains("takes 2 pairs, here are 3"));
  EXPECT_TRUE(failure("np.pad(x, 2)").contains("say with --layout"));
  EXPECT_TRUE(failure("F.pad(x, (1, 2), mood='reflect')").contains("no argument 'mood'"));
  EXPECT_TRUE(failure("F.pad(x, (9223372036854775807, 2))").contains("beyond the limit"));
  EXPECT_TRUE(failure("F.pad(x, (1, 2))", "NCHX").contains("--layout NCHX"));
}

TEST(PadList, SaysTheSameInJson) {
  const auto list = read("F.pad(x, (3, 4, 1, 2))", "", {5, 6});
  ASSERT_TRUE(list);
  const Json json = json_of(*list);
  EXPECT_EQ(json["layout"], "NCHW");
  EXPECT_EQ(json["axes"][2]["axis"], "rows");
  EXPECT_EQ(json["axes"][2]["out"], 8);
  EXPECT_EQ(json["axes"][3]["out"], 13);
  EXPECT_TRUE(text_of(*list).contains("5 -> 8"));
}

}  // namespace
}  // namespace convoy::explain::pad_list_test
