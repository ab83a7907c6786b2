// How the options of convoy/tf.h become the arguments of the rows that read TensorFlow's files and text.
#pragma once
#include "convoy/tf.h"
#include "formats/tf/functions.h"
#include "functions/evaluate.h"

namespace convoy::tf {

inline Json json_of(const Pairs& pairs) {
  Json all = Json::array();
  for (const auto& [before, after] : pairs) all.push_back(Json::array({before, after}));
  return all;
}

inline Json json_of(const Padding& padding) {
  if (padding.word().empty()) return json_of(padding.list());
  return padding.word();
}

}  // namespace convoy::tf
