// Hostile ONNX models, message by message: each says what is wrong with it; none of them may be read.
#include "hostile/series.h"

#include <utility>

namespace convoy::hostile {
namespace {

std::string varint(std::uint64_t number) {
  std::string text;
  for (; number >= 128; number >>= 7) text += static_cast<char>(number % 128 + 128);
  return text + static_cast<char>(number);
}
std::string number(int field, std::uint64_t value) { return varint(static_cast<unsigned>(field) << 3) + varint(value); }
std::string run(int field, const std::string& bytes) {
  return varint(static_cast<unsigned>(field) << 3 | 2) + varint(bytes.size()) + bytes;
}
std::uint64_t negative(std::uint64_t n) { return ~n + 1; }

std::string value(const std::string& name, const std::vector<std::uint64_t>& dims) {
  std::string shape;
  for (const std::uint64_t n : dims) shape += run(1, number(1, n));
  return run(1, name) + run(2, run(1, number(1, 1) + run(2, shape)));
}
std::string node(const std::string& op, const std::vector<std::string>& inputs, const std::string& output,
                 const std::string& attributes = {}) {
  std::string text;
  for (const std::string& input : inputs) text += run(1, input);
  return text + run(2, output) + run(4, op) + attributes;
}
std::string integers(const std::string& name, const std::vector<std::uint64_t>& all) {
  std::string text = run(1, name);
  for (const std::uint64_t n : all) text += number(8, n);
  return run(5, text + number(20, 7));
}
std::string tensor(const std::string& name, const std::vector<std::uint64_t>& dims, const std::string& raw,
                   std::uint64_t type = 1) {
  std::string text;
  for (const std::uint64_t n : dims) text += number(1, n);
  return text + number(2, type) + run(8, name) + run(9, raw);
}
std::string model(const std::string& graph) { return number(1, 8) + run(7, graph) + run(8, number(2, 17)); }

const std::string four(16, '\1');

// y = f(x) for x [1, 2, 5, 4].
std::string of_x(const std::string& nodes, const std::string& more = {}) {
  return model(run(1, nodes) + run(2, "g") + more + run(11, value("x", {1, 2, 5, 4})) + run(12, value("y", {})));
}
std::string with_weight(const std::string& weight) { return of_x(node("Add", {"x", "w"}, "y"), run(5, weight)); }
std::string external(const std::string& location, const std::string& offset = "0", const std::string& length = "16") {
  const auto entry = [](const std::string& key, const std::string& text) {
    return run(13, run(1, key) + run(2, text));
  };
  return with_weight(number(1, 4) + number(2, 1) + run(8, "w") + entry("location", location) + entry("offset", offset) +
                     entry("length", length) + number(14, 1));
}
std::string pool(const std::vector<std::uint64_t>& kernel, const std::vector<std::uint64_t>& strides,
                 const std::vector<std::uint64_t>& pads) {
  return of_x(node("MaxPool", {"x"}, "y",
                   integers("kernel_shape", kernel) + integers("strides", strides) + integers("pads", pads)));
}
// Numbers made of few: `w` as many times as asked, and doubled; no x goes with what comes out.
std::string doubled(const std::string& maker, const std::vector<std::uint64_t>& shape, std::size_t times) {
  std::string counts;
  for (const std::uint64_t n : shape)
    for (int byte = 0; byte < 8; ++byte) counts += static_cast<char>(n >> (8 * byte));
  std::string nodes =
      run(1, node(maker, maker == "Tile" ? std::vector<std::string>{"w", "s"} : std::vector<std::string>{"s"}, "n0"));
  const auto axis = run(5, run(1, "axis") + number(3, 0) + number(20, 2));
  for (std::size_t i = 0; i < times; ++i) {
    const std::string last = "n" + std::to_string(i);
    nodes += run(1, node("Concat", {last, last}, "n" + std::to_string(i + 1), axis));
  }
  nodes += run(1, node("Add", {"x", "n" + std::to_string(times)}, "y"));
  return model(nodes + run(5, tensor("s", {shape.size()}, counts, 7)) +
               run(5, tensor("w", {1}, std::string(8, '\1'), 7)) + run(11, value("x", {1, 2, 5, 4})) +
               run(12, value("y", {})));
}
std::string range(std::uint64_t start, std::uint64_t limit, std::uint64_t step) {
  const auto whole = [](const std::string& name, std::uint64_t n) {
    std::string bytes;
    for (int byte = 0; byte < 8; ++byte) bytes += static_cast<char>(n >> (8 * byte));
    return run(5, tensor(name, {}, bytes, 7));
  };
  return model(run(1, node("Range", {"a", "b", "c"}, "r")) + run(1, node("Add", {"x", "r"}, "y")) + whole("a", start) +
               whole("b", limit) + whole("c", step) + run(11, value("x", {1, 2, 5, 4})) + run(12, value("y", {})));
}
// An If in an If in an If; every one with a condition that is known.
std::string nested(int depth) {
  std::string graph = run(1, node("Neg", {"x"}, "r")) + run(2, "inner") + run(12, value("r", {}));
  for (int i = 0; i < depth; ++i) {
    const auto branch = [&](const char* name) { return run(5, run(1, name) + run(6, graph) + number(20, 5)); };
    graph = run(1, node("If", {"c"}, "r", branch("then_branch") + branch("else_branch"))) + run(2, "g") +
            run(12, value("r", {}));
    if (graph.size() > (1U << 22)) break;
  }
  return model(graph + run(5, tensor("c", {}, "\1", 9)) + run(11, value("x", {1, 2})));
}
// The same, each graph once: the branch that is not taken is missing.
std::string deep(int depth) {
  std::string graph = run(1, node("Neg", {"x"}, "r")) + run(12, value("r", {}));
  for (int i = 0; i < depth; ++i)
    graph = run(1, node("If", {"c"}, "r", run(5, run(1, "then_branch") + run(6, graph) + number(20, 5)))) +
            run(12, value("r", {}));
  return model(graph + run(5, tensor("c", {}, "\1", 9)) + run(11, value("x", {1, 2})));
}

std::vector<std::pair<std::string, std::string>> files() {
  constexpr std::uint64_t huge = std::uint64_t{1} << 62, top = std::uint64_t{1} << 63;
  const std::string conv = integers("kernel_shape", {3, 3}) + integers("strides", {0, 1});
  return {
      {"graphs nested 17 deep", deep(17)},
      {"graphs nested 20,000 deep", deep(20000)},
      {"a node that reads itself", of_x(node("Add", {"x", "y"}, "y"))},
      {"two nodes that read each other",
       model(run(1, node("Add", {"x", "b"}, "a")) + run(1, node("Neg", {"a"}, "b")) + run(1, node("Neg", {"b"}, "y")) +
             run(11, value("x", {2})) + run(12, value("y", {})))},
      {"an output that nobody gives", of_x(node("Neg", {"x"}, "z"))},
      {"a weight of 2^62 by 4 numbers", with_weight(tensor("w", {huge, 4}, four))},
      {"a weight of 2^63 numbers", with_weight(tensor("w", {top}, four))},
      {"a weight of -1 numbers", with_weight(tensor("w", {negative(1)}, four))},
      {"a weight longer than its bytes", with_weight(tensor("w", {5}, four))},
      {"a weight shorter than its bytes", with_weight(tensor("w", {3}, four))},
      {"a weight of type 0", with_weight(tensor("w", {4}, four, 0))},
      {"a weight of type 2^31", with_weight(tensor("w", {4}, four, 1U << 31))},
      {"a weight of 40 axes", with_weight(tensor("w", std::vector<std::uint64_t>(40, 1), four.substr(0, 4)))},
      {"an input of 2^62 by 2^62",
       model(run(1, node("Flatten", {"x"}, "y")) + run(11, value("x", {huge, huge})) + run(12, value("y", {})))},
      {"external data above the folder", external("../../../../../../../../etc/passwd")},
      {"external data at the root", external("/etc/passwd")},
      {"external data behind a harmless folder", external("a/../../../../../../../etc/passwd")},
      {"external data in a device", external("/dev/zero")},
      {"external data in the folder itself", external(".")},
      {"external data in the folder above", external("..")},
      {"external data without a name", external("")},
      {"external data on a drive", external("C:\\x")},
      {"external data with a zero in its name", external(std::string("a\0b", 3))},
      {"external data of a long name", external(std::string(100000, 'a'))},
      {"external data past the end", external("model.onnx", "1000000")},
      {"external data that wraps", external("model.onnx", "18446744073709551615", "17")},
      {"external data from a negative place", external("model.onnx", "-16")},
      {"external data of a negative length", external("model.onnx", "0", "-1")},
      {"external data of 2^63 bytes", external("model.onnx", "0", "9223372036854775808")},
      {"external data from a place that is no number", external("model.onnx", "0x10")},
      {"a pool of stride 0", pool({2, 2}, {0, 1}, {0, 0, 0, 0})},
      {"a pool of a negative stride", pool({2, 2}, {1, negative(1)}, {0, 0, 0, 0})},
      {"a pool of no cells", pool({0, 2}, {1, 1}, {0, 0, 0, 0})},
      {"a pool of 2^62 cells", pool({huge, 2}, {1, 1}, {0, 0, 0, 0})},
      {"a pool that pads 2^62 cells", pool({2, 2}, {1, 1}, {huge, 0, huge, 0})},
      {"a pool that pads -3 cells", pool({2, 2}, {1, 1}, {negative(3), 0, 0, 0})},
      {"a pool with a pad too few", pool({2, 2}, {1, 1}, {0, 0, 0})},
      {"a pool with a stride too many", pool({2, 2}, {1, 1, 1}, {0, 0, 0, 0})},
      {"a convolution of stride 0",
       of_x(node("Conv", {"x", "w"}, "y", conv), run(5, tensor("w", {1, 2, 3, 3}, std::string(72, '\1'))))},
      {"a transposition of an axis twice", of_x(node("Transpose", {"x"}, "y", integers("perm", {0, 0, 1, 2})))},
      {"a transposition of an axis 9", of_x(node("Transpose", {"x"}, "y", integers("perm", {0, 1, 2, 9})))},
      {"an attribute of a tensor of text",
       of_x(node("Constant", {}, "c", run(5, run(1, "value") + run(5, tensor("t", {1}, "abc", 8)) + number(20, 4))))},
      {"2^26 numbers that are made before anything runs", doubled("ConstantOfShape", {1U << 26}, 0)},
      {"2^24 numbers doubled twelve times", doubled("ConstantOfShape", {1U << 24}, 12)},
      {"3,000 whole numbers doubled forty times", doubled("Tile", {3000}, 40)},
      {"a number repeated 2^40 times", doubled("Tile", {std::uint64_t{1} << 40}, 0)},
      {"a range of 2^62 numbers", range(0, huge, 1)},
      {"a range that steps back by 2^63", range(10, 5, top)},
      {"an opset of 2^63",
       number(1, 8) + run(7, run(1, node("Neg", {"x"}, "y")) + run(11, value("x", {2})) + run(12, value("y", {}))) +
           run(8, number(2, top))},
      {"no graph", number(1, 8) + run(8, number(2, 17))},
      {"an empty graph", model("")},
      {"a group, which no message of ONNX holds", number(1, 8) + varint(7U << 3 | 3) + varint(7U << 3 | 4)},
      {"a number of eleven bytes", number(1, 8) + varint(8) + std::string(10, '\xff') + "\1"},
      {"a field of number 0", number(1, 8) + run(8, number(2, 17)) + varint(2) + varint(0)},
  };
}

// Large, or close to an edge, and nothing wrong with them.
std::vector<std::pair<std::string, std::string>> sound_files() {
  constexpr std::uint64_t top = std::uint64_t{1} << 63;
  return {{"branches that double 15 times and more", nested(30)},
          {"a range that steps by 2^63 - 1", range(5, 10, top - 1)}};
}

}  // namespace

std::vector<Series> crafted_onnx() {
  std::vector<Series> all;
  for (const auto& [name, bytes] : sound_files())
    all.push_back({name, ".onnx", 1, [bytes](std::size_t) { return bytes; }, false, {}, Door::Reader});
  for (const auto& [name, bytes] : files())
    all.push_back({name, ".onnx", 1, [bytes](std::size_t) { return bytes; }, true, {}, Door::Reader});
  return all;
}

}  // namespace convoy::hostile
