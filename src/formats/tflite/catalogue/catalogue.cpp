// The rows of all families together.
#include "formats/tflite/catalogue/catalogue.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

namespace convoy::tflite {

std::span<const Operator> all_operators() {
  static const std::vector<Operator> all = [] {
    std::vector<Operator> rows;
    for (const auto family : {convolution_operators(), pooling_operators(), pad_operators(), resize_operators(),
                              reshape_operators(), activation_operators(), elementwise_operators(),
                              reduction_operators(), linear_operators(), slice_operators(), recurrent_operators()})
      rows.insert(rows.end(), family.begin(), family.end());
    return rows;
  }();
  return all;
}

const Operator* operator_of(int code) {
  static const auto by_code = [] {
    std::map<int, const Operator*> all;
    for (const Operator& row : all_operators()) all.emplace(row.code, &row);
    return all;
  }();
  const auto found = by_code.find(code);
  return found == by_code.end() ? nullptr : found->second;
}

namespace {

// The reader follows those that lead to other subgraphs and what is kept between calls; the others are refused by name.
constexpr std::array<std::pair<int, std::string_view>, 40> without_rows{{{10, "HASHTABLE_LOOKUP"},
                                                                         {15, "LSH_PROJECTION"},
                                                                         {16, "LSTM"},
                                                                         {24, "RNN"},
                                                                         {27, "SVDF"},
                                                                         {29, "CONCAT_EMBEDDINGS"},
                                                                         {30, "SKIP_GRAM"},
                                                                         {31, "CALL"},
                                                                         {33, "EMBEDDING_LOOKUP_SPARSE"},
                                                                         {46, "BIDIRECTIONAL_SEQUENCE_RNN"},
                                                                         {52, "BIDIRECTIONAL_SEQUENCE_LSTM"},
                                                                         {68, "SPARSE_TO_DENSE"},
                                                                         {80, "FAKE_QUANT"},
                                                                         {103, "UNIQUE"},
                                                                         {109, "WHERE"},
                                                                         {118, "IF"},
                                                                         {119, "WHILE"},
                                                                         {120, "NON_MAX_SUPPRESSION_V4"},
                                                                         {121, "NON_MAX_SUPPRESSION_V5"},
                                                                         {129, "CALL_ONCE"},
                                                                         {136, "HASHTABLE"},
                                                                         {137, "HASHTABLE_FIND"},
                                                                         {138, "HASHTABLE_IMPORT"},
                                                                         {139, "HASHTABLE_SIZE"},
                                                                         {142, "VAR_HANDLE"},
                                                                         {143, "READ_VARIABLE"},
                                                                         {144, "ASSIGN_VARIABLE"},
                                                                         {146, "RANDOM_STANDARD_NORMAL"},
                                                                         {147, "BUCKETIZE"},
                                                                         {148, "RANDOM_UNIFORM"},
                                                                         {149, "MULTINOMIAL"},
                                                                         {151, "DYNAMIC_UPDATE_SLICE"},
                                                                         {153, "UNSORTED_SEGMENT_PROD"},
                                                                         {154, "UNSORTED_SEGMENT_MAX"},
                                                                         {156, "ATAN2"},
                                                                         {157, "UNSORTED_SEGMENT_MIN"},
                                                                         {159, "BITCAST"},
                                                                         {161, "RIGHT_SHIFT"},
                                                                         {203, "DILATE"},
                                                                         {205, "REDUCE_WINDOW"}}};

}  // namespace

std::string name_of_operator(int code) {
  if (const Operator* row = operator_of(code)) return std::string(row->name);
  const auto found = std::ranges::find(without_rows, code, &std::pair<int, std::string_view>::first);
  return found == without_rows.end() ? "builtin " + std::to_string(code) : std::string(found->second);
}

const Operator* operator_named(std::string_view name) {
  const auto found = std::ranges::find(all_operators(), name, &Operator::name);
  return found == all_operators().end() ? nullptr : &*found;
}

std::span<const FunctionRow> functions() {
  static const std::vector<FunctionRow> all = [] {
    std::vector<FunctionRow> rows;
    for (const Operator& row : all_operators())
      if (row.read) rows.push_back({row.name, row.inputs, row.read});
    return rows;
  }();
  return all;
}

}  // namespace convoy::tflite
