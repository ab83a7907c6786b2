#include "run/plain/define.h"
#include "run/plain/gemm.h"

#include <algorithm>
#include <string>

namespace convoy::plain {

namespace {

// Some columns of the kernel at a time, so that a large one is not held twice.
template <class T, class Stored>
void by_columns(const Linear& op, const Stored* kernel, const Call<T>& call) {
  constexpr Size most_packed = Size{1} << 22;  // numbers
  const Sizes& shape = call.in[1].shape;
  const bool in_first = op.order == LinearOrder::InOut;
  const Size inputs = in_first ? shape[0] : shape[1], outputs = in_first ? shape[1] : shape[0];
  const Size rows = static_cast<Size>(call.out[0].values.size()) / outputs;
  const Size input_stride = in_first ? outputs : 1, output_stride = in_first ? 1 : inputs;
  const Size block = block_panels * tile_columns<T>;
  const Size at_once = std::max<Size>(most_packed / std::max<Size>(inputs, 1) / block, 1) * block;
  const T* bias = call.optional(2);
  for (Size first = 0; first < outputs; first += at_once) {
    const Size columns = std::min(at_once, outputs - first);
    const PackedRight<T> right(kernel + first * output_stride, inputs, columns, input_stride, output_stride);
    multiply(call.data(0), rows, right, bias ? bias + first : nullptr, call.out[0].values.data() + first, outputs,
             call.threads);
  }
}

}  // namespace

template <class T>
Status compute(const Linear& op, const Call<T>& call) {
  if (call.out[0].values.empty()) return {};
  if (call.in[1].values.empty()) by_columns(op, call.in[1].stored->template raw<float>().data(), call);
  else by_columns(op, call.data(1), call);
  return {};
}

namespace {

// y [m, n] = a [m, k] * b [k, n]
template <class T>
void multiply_matrices(const T* a, const T* b, T* y, Size m, Size k, Size n, int threads) {
  const PackedRight<T> right(b, k, n, n, 1);
  multiply<T>(a, m, right, nullptr, y, threads);
}
// Sums of whole numbers wrap around.
void multiply_matrices(const std::int64_t* a, const std::int64_t* b, std::int64_t* y, Size m, Size k, Size n, int) {
  for (Size i = 0; i < m; ++i, y += n)
    for (Size row = 0; row < k; ++row) {
      const auto factor = static_cast<std::uint64_t>(a[i * k + row]);
      for (Size j = 0; j < n; ++j)
        y[j] = static_cast<std::int64_t>(static_cast<std::uint64_t>(y[j]) +
                                         factor * static_cast<std::uint64_t>(b[row * n + j]));
    }
}

}  // namespace

template <class T>
Status compute(const MatMul&, const Call<T>& call) {
  const Sizes &a = call.in[0].shape, &b = call.in[1].shape, &y = call.out[0].shape;
  if (call.out[0].values.empty()) return {};
  const Size m = y[y.size() - 2], n = y.back(), k = a.back();
  const Size products = static_cast<Size>(call.out[0].values.size()) / (m * n);
  // The matrix of an operand that belongs to product i: axes of size 1 stay where they are.
  const auto matrix_of = [&](const Sizes& shape, Size i) {
    Size at = 0, step = 1;
    for (std::size_t back = 3; back <= y.size(); ++back) {
      const Size size = y[y.size() - back], index = i % size;
      i /= size;
      if (back > shape.size()) continue;
      const Size own = shape[shape.size() - back];
      if (own != 1) at += index * step;
      step *= own;
    }
    return at;
  };
  for (Size i = 0; i < products; ++i)
    multiply_matrices(call.data(0) + matrix_of(a, i) * m * k, call.data(1) + matrix_of(b, i) * k * n,
                      call.out[0].values.data() + i * m * n, m, k, n, call.threads);
  return {};
}

namespace {

// Strides of an operand along the letters of a loop: 0 where it does not have the letter.
Sizes strides_along(const std::string& loop, const std::string& own, const Sizes& shape) {
  const Sizes strides = strides_of(shape);
  Sizes along;
  for (const char c : loop) {
    const auto at = own.find(c);
    along.push_back(at == std::string::npos ? 0 : strides[at]);
  }
  return along;
}

}  // namespace

// Every equation over two operands is a sum over the letters that the result lacks; the letters fall into those of both
// and the result (one product each), of a alone (rows), of b alone (columns) and those that are summed.
template <class T>
Status compute(const Einsum& op, const Call<T>& call) {
  const auto letters = letters_of(op);
  if (!letters) return std::unexpected(letters.error());
  const std::string& out = letters->out;
  std::string summed;
  for (const char c : letters->a + letters->b)
    if (out.find(c) == std::string::npos && summed.find(c) == std::string::npos) summed += c;
  const std::string loop = out + summed;
  Sizes sizes;
  for (const char c : loop) {
    const auto in_a = letters->a.find(c), in_b = letters->b.find(c);
    sizes.push_back(in_a != std::string::npos ? call.in[0].shape[in_a] : call.in[1].shape[in_b]);
  }
  const Sizes a = strides_along(loop, letters->a, call.in[0].shape);
  const Sizes b = strides_along(loop, letters->b, call.in[1].shape);
  Size terms = 1;
  for (std::size_t i = out.size(); i < loop.size(); ++i) terms *= sizes[i];
  // Offsets of every term once: the inner loop is then a plain sum of products.
  std::vector<std::pair<Size, Size>> offsets;
  const auto spread = [&](Size index, std::size_t first, std::size_t last) {
    std::pair<Size, Size> at{0, 0};
    for (std::size_t i = last; i-- > first;) {
      at.first += index % sizes[i] * a[i];
      at.second += index % sizes[i] * b[i];
      index /= sizes[i];
    }
    return at;
  };
  for (Size t = 0; t < terms; ++t) offsets.push_back(spread(t, out.size(), loop.size()));
  for (Size i = 0; i < static_cast<Size>(call.out[0].values.size()); ++i) {
    const auto [from_a, from_b] = spread(i, 0, out.size());
    double sum = 0;
    for (const auto& [more_a, more_b] : offsets)
      sum += static_cast<double>(call.data(0)[from_a + more_a]) * static_cast<double>(call.data(1)[from_b + more_b]);
    call.out[0].values[static_cast<std::size_t>(i)] = static_cast<T>(sum);
  }
  return {};
}

template <class T>
Status compute(const Embedding&, const Call<T>& call) {
  const Size rows = call.in[1].shape[0], width = call.in[1].shape[1];
  const std::vector<Size> indices = call.in[0].stored->integers();
  for (std::size_t i = 0; i < indices.size(); ++i) {
    if (indices[i] < 0 || indices[i] >= rows)
      return fail(Fault::Numeric,
                  "index " + std::to_string(indices[i]) + " lies outside a table of " + std::to_string(rows) + " rows");
    std::copy_n(call.data(1) + indices[i] * width, width, call.out[0].values.data() + static_cast<Size>(i) * width);
  }
  return {};
}

template struct Kernels<Linear, MatMul, Einsum, Embedding>;
template struct WholeKernels<MatMul, Embedding>;

}  // namespace convoy::plain
