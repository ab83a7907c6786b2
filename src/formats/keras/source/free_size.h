// Sizes that are free in a program of Keras, as ops.shape and tf.shape give them, and what is computed of them.
#pragma once
#include "formats/keras/source/objects.h"
#include "formats/numbers.h"

namespace convoy::keras {

// A size of a tensor that is known only when the model runs: so many times that, and something added; of kind Unknown: worked
// out of several, of which only a reshape can make sense.
class FreeSize : public python::Object {
 public:
  FreeSize(SourceTensor* of, std::size_t which, Number what, std::string words)
      : tensor(of),
        axis(which),
        number(what),
        text(std::move(words)) {}
  std::string type_name() const override { return "size that is free"; }
  Result<std::optional<python::Value>> attribute(python::Interpreter& in, const std::string& name) override;
  Result<std::optional<python::Value>> binary(python::Interpreter& in, std::string_view symbol, python::Value other,
                                              bool reversed) override;
  Result<std::optional<python::Value>> unary(python::Interpreter& in, std::string_view symbol) override;
  Result<bool> truth(python::Interpreter& in) override;

  SourceTensor* const tensor;
  const std::size_t axis;
  const Number number;
  const std::string text;
};

// The size of each axis of a tensor, as its program asks for them when the model runs.
python::Value running_sizes(python::Interpreter& in, SourceTensor& tensor);

// As an argument of a call, which reads `tensor` at that place.
Json json_of(const FreeSize& size, std::size_t tensor);

// "depends on size 1 of [?, ?, 4], which is free; ..."
std::unexpected<Error> depends_on(const FreeSize& size);

}  // namespace convoy::keras
