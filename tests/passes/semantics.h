// Runs a graph before and after the passes on small whole numbers and compares what comes out, through the origins.
#pragma once
#include "graph/text.h"
#include "passes/passes.h"
#include "run/run.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace convoy {

// The source's tensor as a value with this origin and shape carries it.
inline Tensor carried_by(const Origin& origin, Tensor source, const Shape& shape) {
  if (origin.permutation.empty()) return source;
  if (!origin.split.empty()) {
    Sizes split = origin.split;
    Size known = 1;
    for (const Size n : split) known *= n < 0 ? 1 : n;
    for (Size& n : split)
      if (n < 0) n = source.count() / known;
    source = source.reshaped(split);
  }
  source = source.permuted(origin.permutation);
  if (source.rank() == static_cast<Size>(shape.size())) return source;
  Sizes sizes;
  for (const Dim n : shape) sizes.push_back(n.known() ? *n : -1);
  Size known = 1;
  for (const Size n : sizes) known *= n < 0 ? 1 : n;
  for (Size& n : sizes)
    if (n < 0) n = source.count() / known;
  return source.reshaped(sizes);
}

// Whole numbers of both signs without a pattern that a wrong axis could hide in.
inline Tensor whole_numbers(const Sizes& shape, std::uint64_t seed) {
  std::vector<double> numbers(static_cast<std::size_t>(*checked_count(shape)));
  std::uint64_t state = seed * 2654435761U + 12345;
  for (double& n : numbers) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    n = static_cast<double>((state >> 33) % 19) - 9;
  }
  return Tensor::of(shape, std::move(numbers));
}

// The graph after the passes; fails the test when a pass does.
inline Graph rewritten(const Graph& source, const std::vector<std::string>& without = {},
                       const Target& toward = torch_target()) {
  Graph target = source;
  auto done = run_passes(target, toward, without);
  if (!done) ADD_FAILURE() << message(done.error());
  return target;
}

inline Graph parsed(const std::string& text) {
  auto graph = parse_graph(text);
  if (!graph) ADD_FAILURE() << message(graph.error()) << "\n" << text;
  return graph ? std::move(*graph) : Graph{};
}

inline void expect_same(const Tensor& wanted, const Tensor& got, const std::string& what) {
  ASSERT_EQ(wanted.shape(), got.shape()) << what;
  const auto a = wanted.doubles(), b = got.doubles();
  for (std::size_t i = 0; i < a.size(); ++i)
    ASSERT_LE(std::abs(a[i] - b[i]), 1e-6 * (1 + std::abs(a[i]))) << what << "\nat element " << i;
}

// `shapes`: one full shape per input, in the source's order.
inline void expect_same_numbers(const Graph& source, const Graph& target, const std::vector<Sizes>& shapes) {
  const std::string what = text_of(source) + "became\n" + text_of(target);
  std::vector<Tensor> inputs, moved;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    inputs.push_back(whole_numbers(shapes[i], i + 7));
    const Value& input = target[target.inputs[i]];
    moved.push_back(input.origin ? carried_by(*input.origin, inputs.back(), input.type.shape) : inputs.back());
  }
  const RunOptions options{.precision = Precision::Double, .threads = 1};
  auto before = run(source, inputs, options), after = run(target, moved, options);
  ASSERT_TRUE(before) << message(before.error()) << "\n" << what;
  ASSERT_TRUE(after) << message(after.error()) << "\n" << what;
  for (std::size_t i = 0; i < source.outputs.size(); ++i) {
    const Value& output = target[target.outputs[i]];
    const Tensor& wanted = before->at(source.outputs[i]);
    expect_same(output.origin ? carried_by(*output.origin, wanted, output.type.shape) : wanted,
                after->at(target.outputs[i]), what);
  }
}

inline void expect_same_numbers(const std::string& text, const std::vector<Sizes>& shapes) {
  const Graph source = parsed(text);
  if (!source.outputs.empty()) expect_same_numbers(source, rewritten(source), shapes);
}

// Toward Keras, and what is left in its words.
inline Graph in_keras(const std::string& text) { return rewritten(parsed(text), {}, keras_target()); }
inline void expect_same_in_keras(const std::string& text, const std::vector<Sizes>& shapes) {
  const Graph source = parsed(text);
  if (!source.outputs.empty()) expect_same_numbers(source, rewritten(source, {}, keras_target()), shapes);
}

}  // namespace convoy
