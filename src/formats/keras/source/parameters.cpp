#include "formats/keras/source/parameters.h"

#include "base/words.h"
#include "formats/keras/catalogue/catalogue.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace convoy::keras {
namespace {

struct Other {
  std::string_view word, keras;
};
// Source: the signatures of TensorFlow 2.
constexpr std::array others{Other{"input_tensor", "x"},
                            Other{"tensor", "x"},
                            Other{"input", "x"},
                            Other{"logits", "x"},
                            Other{"features", "x"},
                            Other{"a", "x1"},
                            Other{"b", "x2"},
                            Other{"y", "x2"},
                            Other{"perm", "axes"},
                            Other{"pattern", "axes"},
                            Other{"multiples", "repeats"},
                            Other{"n", "repeats"},
                            Other{"paddings", "pad_width"},
                            Other{"method", "interpolation"},
                            Other{"shape", "newshape"},
                            Other{"target_shape", "newshape"},
                            Other{"values", "xs"},
                            Other{"arrays", "xs"},
                            Other{"tensors", "xs"},
                            Other{"num_or_size_splits", "indices_or_sections"},
                            Other{"clip_value_min", "x_min"},
                            Other{"clip_value_max", "x_max"},
                            Other{"min_value", "x_min"},
                            Other{"max_value", "x_max"},
                            Other{"alpha", "negative_slope"},
                            Other{"axes", "axis"},
                            Other{"keep_dims", "keepdims"},
                            Other{"x", "x1"},
                            Other{"x", "xs"},
                            Other{"values", "x"},
                            Other{"arrays", "x"},
                            Other{"x", "inputs"},
                            Other{"x", "images"}};

Value lowered(Interpreter& in, const Value& value) {
  const auto* text = value.as<python::Text>();
  if (!text) return value;
  std::string words = text->text;
  std::ranges::transform(words, words.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return in.text(std::move(words));
}

}  // namespace

Status in_words_of_keras(Interpreter& in, const std::string& class_name, Arguments& given) {
  const CatalogueRow* row = catalogued_operation(class_name);
  const std::string names = row ? words_of(*row, Use::Kind::Operation) : "";
  std::erase_if(given.named, [](const auto& one) { return one.first == "name"; });
  for (auto& [word, value] : given.named) {
    if (has_word(names, word)) continue;
    const auto other = std::ranges::find_if(others, [&, argument = std::string_view(word)](const Other& o) {
      return o.word == argument && has_word(names, o.keras);
    });
    if (other == others.end())
      return fail(Fault::Unsupported, "argument '" + word + "' of this function is not read; it takes " + names);
    word = std::string(other->keras);
  }
  // TensorFlow says its modes and paddings in large letters.
  if (has_word(names, "mode") || has_word(names, "interpolation") || has_word(names, "padding")) {
    for (Value& value : given.placed) value = lowered(in, value);
    for (auto& [word, value] : given.named) value = lowered(in, value);
  }
  return {};
}

}  // namespace convoy::keras
