// TensorFlow's messages by hand, for graphs that no framework writes.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace convoy::tf_messages {

inline std::string varint(std::uint64_t n) {
  std::string text;
  for (; n >= 128; n >>= 7) text += static_cast<char>(n % 128 + 128);
  return text + static_cast<char>(n);
}
inline std::string number(int field, std::uint64_t value) {
  return varint(static_cast<std::uint64_t>(field) << 3) + varint(value);
}
inline std::string run(int field, const std::string& bytes) {
  return varint(static_cast<std::uint64_t>(field) << 3 | 2) + varint(bytes.size()) + bytes;
}

inline std::string shape(const std::vector<std::int64_t>& sizes) {
  std::string all;
  for (const std::int64_t size : sizes) all += run(2, number(1, static_cast<std::uint64_t>(size)));
  return all;
}
inline std::string attribute(const std::string& name, const std::string& value) {
  return run(5, run(1, name) + run(2, value));
}
inline std::string type(int code) { return number(6, static_cast<std::uint64_t>(code)); }
inline std::string node(const std::string& name, const std::string& op, const std::vector<std::string>& inputs = {},
                        const std::string& attributes = {}) {
  std::string all = run(1, name) + run(2, op);
  for (const std::string& input : inputs) all += run(3, input);
  return all + attributes;
}
inline std::string placeholder(const std::string& name, const std::vector<std::int64_t>& sizes) {
  return node(name, "Placeholder", {}, attribute("dtype", type(1)) + attribute("shape", run(7, shape(sizes))));
}
// One float32 number, as often as the shape says.
inline std::string repeated(const std::string& name, const std::vector<std::int64_t>& sizes,
                            const std::string& four_bytes) {
  const std::string tensor = number(1, 1) + run(2, shape(sizes)) + run(5, four_bytes);
  return node(name, "Const", {}, attribute("dtype", type(1)) + attribute("value", run(8, tensor)));
}
inline std::string whole_numbers(const std::string& name, const std::vector<std::int64_t>& all, bool scalar = false) {
  std::string values;
  for (const std::int64_t n : all) values += varint(static_cast<std::uint64_t>(n));
  const std::string tensor =
      number(1, 3) + run(2, scalar ? "" : shape({static_cast<std::int64_t>(all.size())})) + run(7, values);
  return node(name, "Const", {}, attribute("dtype", type(3)) + attribute("value", run(8, tensor)));
}
// "x" and "y" are the arguments' and the results' names, each float32.
inline std::string function(const std::string& name, const std::vector<std::string>& arguments,
                            const std::vector<std::string>& nodes,
                            const std::vector<std::pair<std::string, std::string>>& returns) {
  std::string signature = run(1, name), all;
  for (const std::string& argument : arguments) signature += run(2, run(1, argument) + number(3, 1));
  for (const auto& [result, place] : returns) signature += run(3, run(1, result) + number(3, 1));
  all = run(1, signature);
  for (const std::string& one : nodes) all += run(3, one);
  for (const auto& [result, place] : returns) all += run(4, run(1, result) + run(2, place));
  return run(1, all);
}
inline std::string graph(const std::vector<std::string>& nodes, const std::string& functions = {}) {
  std::string all;
  for (const std::string& one : nodes) all += run(1, one);
  return functions.empty() ? all : all + run(2, functions);
}

}  // namespace convoy::tf_messages
