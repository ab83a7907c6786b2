// Kernels over rows of float32 against the functions of the standard library, on every instruction set that the machine has.
#include "run/fast/rows.h"

#include "run/fast/tile.h"

#include <gtest/gtest.h>
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace convoy::rows_test {
namespace {

using fast::Map;

// How many floats lie between two of them.
double steps_between(float a, double wanted) {
  const auto b = static_cast<float>(wanted);
  if (a == b || (std::isnan(a) && std::isnan(b))) return 0;
  const float next = std::nextafter(std::abs(b), std::numeric_limits<float>::infinity());
  return std::abs(static_cast<double>(a) - wanted) / static_cast<double>(next - std::abs(b));
}

// From the smallest to the largest, densely near zero, and what is no number; a count that leaves a rest behind any vector.
std::vector<float> all_kinds() {
  std::vector<float> all{0.0F,
                         -0.0F,
                         1e-40F,
                         -1e-40F,
                         std::numeric_limits<float>::infinity(),
                         -std::numeric_limits<float>::infinity(),
                         std::numeric_limits<float>::quiet_NaN()};
  for (int i = -40000; i <= 40000; ++i) all.push_back(static_cast<float>(i) * 0.0027F);
  for (int i = -120; i < 8; ++i) all.push_back(std::ldexp(1.1F, i)), all.push_back(std::ldexp(-1.7F, i));
  return all;
}

struct Wanted {
  fast::MapCall call;
  double (*function)(double);
  double most;  // steps
};

TEST(Rows, FunctionsAreWithinTwoStepsOfTheTruth) {
  const std::vector<float> x = all_kinds();
  for (const Wanted& wanted : {
           Wanted{{Map::Exp}, [](double v) { return std::exp(v); }, 2},
           Wanted{{Map::Sigmoid}, [](double v) { return 1 / (1 + std::exp(-v)); }, 2.5},
           Wanted{{Map::Tanh}, [](double v) { return std::tanh(v); }, 2},
           Wanted{{Map::Erf}, [](double v) { return std::erf(v); }, 2},
           Wanted{{Map::Over, 1.5F}, [](double v) { return v / 1.5; }, 0.5},
           Wanted{{Map::Silu}, [](double v) { return v / (1 + std::exp(-v)); }, 3.5},
           Wanted{{Map::Leaky, 0.25F}, [](double v) { return v < 0 ? 0.25 * v : v; }, 0},
           Wanted{{Map::Clamp, -1.5F, 6}, [](double v) { return v < -1.5 ? -1.5
                                                                : v > 6  ? 6
                                                                         : v; }, 0},
       })
    for (int set = 0; set < fast::instruction_sets(); ++set) {
      std::vector<float> y(x.size(), -77);
      fast::row_kernels_of(set).map(wanted.call, x.data(), y.data(), static_cast<Size>(x.size()));
      for (std::size_t i = 0; i < x.size(); ++i) {
        const double truth = wanted.function(static_cast<double>(x[i]));
        if (std::abs(truth) < 1e-36 && std::abs(static_cast<double>(y[i])) < 1e-36) continue;  // fewer digits there
        if (std::isinf(x[i]) && std::isnan(truth)) continue;  // -infinity * 0
        ASSERT_LE(steps_between(y[i], truth), wanted.most)
            << static_cast<int>(wanted.call.map) << " of " << x[i] << ": " << y[i] << ", expected " << truth;
      }
    }
}

// Where erf is near -1 its sum with 1 has fewer digits: as in PyTorch, the error is a part of x.
TEST(Rows, GeluIsWithinTwoRoundingsOfItsArgument) {
  const std::vector<float> x = all_kinds();
  const double root = static_cast<double>(1.4142135F);
  for (int set = 0; set < fast::instruction_sets(); ++set) {
    std::vector<float> y(x.size(), -77);
    fast::row_kernels_of(set).map({Map::GeluErf, 1.4142135F, 0.5F}, x.data(), y.data(), static_cast<Size>(x.size()));
    for (std::size_t i = 0; i < x.size(); ++i) {
      const auto v = static_cast<double>(x[i]), truth = 0.5 * v * (1 + std::erf(v / root));
      if (std::isfinite(v))
        ASSERT_LE(std::abs(static_cast<double>(y[i]) - truth), 0x1p-22 * std::abs(v) + 1e-44) << x[i];
      else EXPECT_EQ(std::isnan(y[i]), !(v > 0)) << x[i];
    }
  }
}

TEST(Rows, SoftmaxIsWithinFourStepsOfTheTruth) {
  for (const std::size_t count : {1, 5, 37, 197})
    for (int set = 0; set < fast::instruction_sets(); ++set) {
      std::vector<float> x(count), y(count, -77);
      double total = 0, most = -1e9;
      for (std::size_t i = 0; i < count; ++i) x[i] = static_cast<float>(static_cast<double>(i * 31 % 97) * 0.125 - 5);
      x[count / 2] = -std::numeric_limits<float>::infinity();
      x[count - 1] = 6.5F;
      for (const float v : x) most = std::max(most, static_cast<double>(v));
      for (const float v : x) total += std::exp(static_cast<double>(v) - most);
      fast::row_kernels_of(set).softmax(x.data(), y.data(), static_cast<Size>(count));
      for (std::size_t i = 0; i < count; ++i)
        ASSERT_LE(steps_between(y[i], std::exp(static_cast<double>(x[i]) - most) / total), 4) << count << ", " << i;
      x[count / 2] = std::numeric_limits<float>::quiet_NaN();
      fast::row_kernels_of(set).softmax(x.data(), y.data(), static_cast<Size>(count));
      for (const float v : y) ASSERT_TRUE(std::isnan(v)) << count;
    }
}

// The gates' sums as the kernel finds them, the state and a number behind it that is not touched.
struct CellNumbers {
  std::size_t units;
  std::vector<float> x, inner, peepholes, state, memory, reset;

  explicit CellNumbers(std::size_t count) : units(count) {
    const auto filled = [](std::size_t size, int step) {
      std::vector<float> all;
      for (std::size_t i = 0; i < size; ++i)
        all.push_back(static_cast<float>(static_cast<int>(i) * step % 23 - 11) / 8);
      return all;
    };
    x = filled(4 * count, 5), inner = filled(4 * count, 7), peepholes = filled(3 * count, 3);
    state = filled(count + 1, 9), memory = filled(count + 1, 4), reset = filled(count + 1, 2);
  }
  fast::CellCall call(fast::Cell cell) {
    return {.cell = cell,
            .activation = {Map::Tanh},
            .gate = {Map::Sigmoid},
            .units = static_cast<Size>(units),
            .x = x.data(),
            .inner = inner.data(),
            .state = state.data(),
            .memory = memory.data()};
  }
  double sum(std::size_t gate, std::size_t i) const {
    return static_cast<double>(x[gate * units + i]) + static_cast<double>(inner[gate * units + i]);
  }
  double sigmoid(std::size_t gate, std::size_t i, double more = 0) const {
    return 1 / (1 + std::exp(-sum(gate, i) - more));
  }
};

TEST(Rows, CellsAreWhatTheirFormulasSay) {
  for (const std::size_t units : {1U, 37U, 64U, 130U})
    for (int set = 0; set < fast::instruction_sets(); ++set) {
      const auto run = [&](const fast::CellCall& call) { fast::row_kernels_of(set).cell(call); };
      const CellNumbers before(units);
      CellNumbers lstm(units), after(units), resetting(units), in_front(units), simple(units);
      fast::CellCall seeing = lstm.call(fast::Cell::Lstm), resets = resetting.call(fast::Cell::GruReset);
      fast::CellCall with_reset = in_front.call(fast::Cell::Gru);
      seeing.peepholes = lstm.peepholes.data(), resets.reset = resetting.reset.data(), resets.r = 1;
      with_reset.reset = in_front.reset.data(), with_reset.r = 1;
      for (const fast::CellCall& call :
           {seeing, after.call(fast::Cell::Gru), resets, with_reset, simple.call(fast::Cell::Simple)})
        run(call);
      for (std::size_t i = 0; i < units; ++i) {
        const auto h = static_cast<double>(before.state[i]), c = static_cast<double>(before.memory[i]);
        const auto seen = [&](std::size_t gate, double cell) {
          return static_cast<double>(before.peepholes[gate * units + i]) * cell;
        };
        const double kept =
            before.sigmoid(1, i, seen(1, c)) * c + before.sigmoid(0, i, seen(0, c)) * std::tanh(before.sum(2, i));
        ASSERT_NEAR(lstm.memory[i], kept, 1e-6);
        ASSERT_NEAR(lstm.state[i], before.sigmoid(3, i, seen(2, kept)) * std::tanh(kept), 1e-6);
        const auto x = static_cast<double>(before.x[2 * units + i]),
                   inner = static_cast<double>(before.inner[2 * units + i]);
        const double candidate = std::tanh(x + before.sigmoid(0, i) * inner), z = before.sigmoid(1, i);
        ASSERT_NEAR(after.state[i], z * h + (1 - z) * candidate, 1e-6);
        ASSERT_NEAR(resetting.reset[i], before.sigmoid(1, i) * h, 1e-6);
        const double first = before.sigmoid(0, i);
        ASSERT_NEAR(in_front.state[i], first * h + (1 - first) * std::tanh(before.sum(2, i)), 1e-6);
        ASSERT_NEAR(simple.state[i], std::tanh(before.sum(0, i)), 1e-6);
      }
      for (const CellNumbers* one : {&lstm, &after, &resetting, &in_front, &simple}) {
        EXPECT_EQ(one->state[units], before.state[units]);
        EXPECT_EQ(one->memory[units], before.memory[units]);
        EXPECT_EQ(one->reset[units], before.reset[units]);
      }
    }
}

TEST(Rows, AMaximumIsNoNumberWhereAnOperandIsNone) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> a{1, nan, 3, -2, nan}, b{2, 5, nan, -7, nan};
  for (int set = 0; set < fast::instruction_sets(); ++set) {
    std::vector<float> y(5);
    fast::row_kernels_of(set).pair({fast::Pair::Maximum, a.data(), b.data(), y.data(), 1, 5, 5, 5, 5});
    EXPECT_EQ(y[0], 2);
    EXPECT_EQ(y[3], -2);
    for (const std::size_t i : {1U, 2U, 4U}) EXPECT_TRUE(std::isnan(y[i])) << i;
  }
}

}  // namespace
}  // namespace convoy::rows_test
