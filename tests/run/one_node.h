// One operator over small tensors, for tests that spell their numbers out.
#pragma once
#include "run/run.h"

#include <gtest/gtest.h>
#include <utility>
#include <vector>

namespace convoy::test {

inline Tensor numbers(Sizes shape, std::vector<double> values) {
  return Tensor::of(std::move(shape), std::move(values));
}

// 1, 2, 3, ...
inline Tensor counting(Sizes shape) {
  std::vector<double> values(static_cast<std::size_t>(*checked_count(shape)));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i + 1);
  return Tensor::of(std::move(shape), std::move(values));
}

// Small whole numbers, so that every sum is exact in float32 too; the same ones for the same seed.
inline Tensor whole(Sizes shape, unsigned seed) {
  std::vector<double> values(static_cast<std::size_t>(*checked_count(shape)));
  for (double& value : values) {
    seed = seed * 1664525U + 1013904223U;
    value = static_cast<double>(seed >> 29) - 3;
  }
  return Tensor::of(std::move(shape), std::move(values));
}

inline Result<std::vector<Tensor>> ran(Op op, const std::vector<Tensor>& inputs,
                                       Precision precision = Precision::Single, int threads = 1,
                                       const EdgeRules& rules = {}) {
  Node node{.op = std::move(op)};
  std::vector<const Tensor*> given;
  for (const Tensor& input : inputs) given.push_back(&input);
  return run_node(node, given, precision, threads, rules);
}

// Runs with both precisions and expects the same whole numbers from each.
inline void expect_numbers(const Op& op, const std::vector<Tensor>& inputs, const Sizes& shape,
                           const std::vector<double>& wanted, double tolerance = 0) {
  for (const Precision precision : {Precision::Single, Precision::Double}) {
    const auto out = ran(op, inputs, precision);
    ASSERT_TRUE(out) << message(out.error());
    EXPECT_EQ(out->front().shape(), shape);
    EXPECT_EQ(out->front().dtype(), precision == Precision::Single ? DType::F32 : DType::F64);
    const auto values = out->front().doubles();
    ASSERT_EQ(values.size(), wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(values[i], wanted[i], tolerance) << "at " << i;
  }
}

}  // namespace convoy::test
