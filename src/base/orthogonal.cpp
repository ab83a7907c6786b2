#include "base/orthogonal.h"

#include "base/budget.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace convoy {
namespace {

// Counted as it goes where it goes best: a recurrent layer of a thousand units is drawn as a matter of course, a square
// of several thousand is not.
constexpr double steps_per_product = 0.15;
constexpr std::size_t panel = 32;  // columns that are made orthogonal to all before them at once
constexpr std::size_t abreast = 4;  // columns before them, gone through together

// Takes out of `own`, rows of a panel, what it has of the `Count` columns that begin at `before`.
template <std::size_t Count>
[[gnu::always_inline]] inline void take_out_of(double* own, const double* before, std::size_t rows,
                                               std::size_t columns) {
  double dots[Count][panel] = {};
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t n = 0; n < Count; ++n)
      for (std::size_t c = 0; c < panel; ++c) dots[n][c] += before[i * columns + n] * own[i * panel + c];
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t c = 0; c < panel; ++c) {
      double sum = 0;
      for (std::size_t n = 0; n < Count; ++n) sum += before[i * columns + n] * dots[n][c];
      own[i * panel + c] -= sum;
    }
}

// The same products and sums in the same order, four at a time where the processor can.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
[[gnu::target("avx2"), gnu::optimize("O3")]] void take_out_by_four(double* own, const double* before, std::size_t rows,
                                                                   std::size_t columns) {
  take_out_of<abreast>(own, before, rows, columns);
}
const bool has_four = __builtin_cpu_supports("avx2") != 0;
#else
void take_out_by_four(double* own, const double* before, std::size_t rows, std::size_t columns) {
  take_out_of<abreast>(own, before, rows, columns);
}
const bool has_four = true;
#endif

// Columns [from, from + panel) of a, row behind row.
class Panel {
 public:
  Panel(std::vector<double>& a, std::size_t rows, std::size_t columns, std::size_t from)
      : a_(a),
        rows_(rows),
        columns_(columns),
        from_(from),
        width_(std::min(panel, columns - from)),
        own_(rows * panel) {
    for (std::size_t i = 0; i < rows; ++i)
      std::copy_n(a.begin() + static_cast<std::ptrdiff_t>(i * columns + from), width_,
                  own_.begin() + static_cast<std::ptrdiff_t>(i * panel));
  }

  void put_back() const {
    for (std::size_t i = 0; i < rows_; ++i)
      std::copy_n(own_.begin() + static_cast<std::ptrdiff_t>(i * panel), width_,
                  a_.begin() + static_cast<std::ptrdiff_t>(i * columns_ + from_));
  }

  // Takes out what these columns have of those before the panel.
  void project() {
    std::size_t k = 0;
    for (; k + abreast <= from_; k += abreast)
      (has_four ? take_out_by_four : take_out_of<abreast>)(own_.data(), a_.data() + k, rows_, columns_);
    for (; k < from_; ++k) take_out_of<1>(own_.data(), a_.data() + k, rows_, columns_);
  }

  std::array<double, panel> squares() const {
    std::array<double, panel> sums{};
    for (std::size_t i = 0; i < rows_; ++i)
      for (std::size_t c = 0; c < panel; ++c) sums[c] += own_[i * panel + c] * own_[i * panel + c];
    return sums;
  }

  // Makes them orthogonal to each other, each twice, and of length one.
  void settle() {
    for (std::size_t j = 0; j < width_; ++j) {
      for (int pass = 0; pass < 2 && j > 0; ++pass) {
        std::array<double, panel> dots{};
        for (std::size_t i = 0; i < rows_; ++i)
          for (std::size_t c = 0; c < j; ++c) dots[c] += own_[i * panel + c] * own_[i * panel + j];
        for (std::size_t i = 0; i < rows_; ++i)
          for (std::size_t c = 0; c < j; ++c) own_[i * panel + j] -= dots[c] * own_[i * panel + c];
      }
      const double length = std::sqrt(squares()[j]);
      for (std::size_t i = 0; length > 0 && i < rows_; ++i) own_[i * panel + j] /= length;
    }
  }

 private:
  std::vector<double>& a_;
  std::size_t rows_, columns_, from_, width_;
  std::vector<double> own_;
};

}  // namespace

// Gram and Schmidt, a panel of columns at a time, and once more where little of a column is left: then the columns are
// orthogonal to the last bit (Kahan's "twice is enough").
Result<std::vector<double>> orthogonal_factor(std::vector<double> a, std::size_t rows, std::size_t columns) {
  const double products = static_cast<double>(rows) * static_cast<double>(columns) * static_cast<double>(columns) * 1.5;
  const std::string what = "an orthogonal matrix of " + std::to_string(rows) + " by " + std::to_string(columns);
  if (auto paid = budget::spend(steps_per_product * products, what); !paid) return pass(paid);
  if (auto held = budget::afford(static_cast<Size>(rows * panel * sizeof(double)), what); !held) return pass(held);
  for (std::size_t from = 0; from < columns; from += panel) {
    Panel columns_now(a, rows, columns, from);
    const auto before = columns_now.squares();
    columns_now.project();
    const auto left = columns_now.squares();
    bool is_little = false;
    for (std::size_t c = 0; c < panel; ++c) is_little = is_little || left[c] < before[c] / 2;
    if (is_little) columns_now.project();
    columns_now.settle();
    columns_now.put_back();
  }
  return a;
}

}  // namespace convoy
