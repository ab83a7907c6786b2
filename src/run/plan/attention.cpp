#include "run/plan/attention.h"

#include "run/threads.h"

#include <algorithm>

namespace convoy::plan {

void Attend::prepare(const Places& places) {
  query_ = numbers_at(places, query.from), key_ = numbers_at(places, key.from);
  value_ = numbers_at(places, value.from), y_ = numbers_at(places, y);
  query_starts_ = matrix_starts(query, outer), key_starts_ = matrix_starts(key, outer);
  value_starts_ = matrix_starts(value, outer);
  if (added) added_ = numbers_at(places, added->from), added_starts_ = matrix_starts(*added, outer);
  Sizes shape = outer;
  shape.insert(shape.end(), {query.shape[query.shape.size() - 2], value.shape.back()});
  y_starts_ = matrix_starts({y, 0, shape, y_strides, {}, {}}, outer);
}

void Attend::attend(Workspace& at, std::size_t pair, int threads) const {
  const Size queries = query.shape[query.shape.size() - 2], depth = query.shape.back(), keys = key.shape.back();
  const Size columns = value.shape.back(), y_step = y_strides[y_strides.size() - 2];
  constexpr Size line = 16, page = 1024;  // numbers
  Size step = (keys + line - 1) / line * line;
  if (step % page == 0) step += line;  // rows whose distance puts all of them into one set of the cache
  const Size query_step = queries == 1 ? depth : row_stride(query);
  const auto& kernels = fast::kernels<float>();
  const fast::Convolution<float> weigh({{}, queries, 1, depth, keys, query_step, step}, key_.in(at) + key_starts_[pair],
                                       {0, 0, row_stride(key), column_stride(key)}, nullptr, kernels);
  const fast::Convolution<float> gather({{}, queries, 1, keys, columns, step, y_step},
                                        value_.in(at) + value_starts_[pair],
                                        {0, 0, row_stride(value), column_stride(value)}, nullptr, kernels);
  const float* const from = query_.in(at) + query_starts_[pair];
  const float* const more = added ? added_.in(at) + added_starts_[pair] : nullptr;
  const Size more_step = added && added->shape[added->shape.size() - 2] > 1 ? row_stride(*added) : 0;
  float* const to = y_.out(at) + y_starts_[pair];
  fast::Finish<float> scaled;
  scaled.map = scale;
  const Size tile = kernels.tile_rows[1], part = std::clamp<Size>(12288 / step / tile, 1, 4) * tile;
  for_each_item(threads, (queries + part - 1) / part, [&](Size item) {
    thread_local fast::Aligned<float> scores;
    const Size first = item * part, rows = std::min(part, queries - first);
    if (static_cast<Size>(scores.size()) < part * step) scores.resize(static_cast<std::size_t>(part * step));
    weigh.run_pixels(from + first * query_step, scores.data(), rows, scaled);
    if (more)
      fast::row_kernels().pair(
          {fast::Pair::Add, scores.data(), more + first * more_step, scores.data(), rows, keys, step, more_step, step});
    for (Size r = 0; r < rows; ++r)
      fast::row_kernels().softmax(scores.data() + r * step, scores.data() + r * step, keys);
    gather.run_pixels(scores.data(), to + first * y_step, rows, {});
  });
}

// Where threads outnumber the pairs they share the queries of each.
Status Attend::run(Workspace& at) const {
  const int threads = threads_for(at.threads, operations);
  const auto pairs = static_cast<Size>(y_starts_.size());
  if (pairs >= threads) {
    for_each_item(threads, pairs, [&](Size pair) { attend(at, static_cast<std::size_t>(pair), 1); });
  } else {
    for (std::size_t pair = 0; pair < y_starts_.size(); ++pair) attend(at, pair, threads);
  }
  return {};
}

}  // namespace convoy::plan
