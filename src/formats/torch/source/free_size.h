// Sizes that are free, and what a program computes of them: known where it comes out alike at every size.
#pragma once
#include "formats/torch/source/program.h"
#include "graph/graph.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace convoy::torch {

class Tracer;

// A size that is free. It may be handed on; what is computed of one free size is itself one, or a number where it is the
// same at every size that is tried.
class FreeSize : public python::Object {
 public:
  // What it is where the free size is n.
  using At = std::function<Result<python::Value>(python::Interpreter& in, Size n)>;

  FreeSize(ValueId of, Size which, std::string words, At number = {})
      : tensor(of),
        axis(which),
        text(std::move(words)),
        at(std::move(number)) {}
  std::string type_name() const override { return "size that is free"; }
  Result<std::optional<python::Value>> attribute(python::Interpreter& in, const std::string& name) override;
  Result<std::optional<python::Value>> binary(python::Interpreter& in, std::string_view symbol, python::Value other,
                                              bool reversed) override;
  Result<std::optional<python::Value>> unary(python::Interpreter& in, std::string_view symbol) override;
  Result<bool> truth(python::Interpreter& in) override;
  bool is_size() const { return !at; }  // the size itself
  Result<python::Value> number(python::Interpreter& in, Size n) const;

  // scale * n + offset, where that is what it is at every size that is tried.
  struct Steady {
    Size scale = 1, offset = 0;
  };
  std::optional<Steady> steady(python::Interpreter& in) const;

  const ValueId tensor;
  const Size axis;  // of the tensor; -1: worked out of several
  const std::string text;
  const At at;
};

// A size that is free, or what grows steadily with it, as a number that the model counts: ones along its axis, added up.
// Fails (Usage): another function of it.
Result<python::Value> number_of(Tracer& tracer, python::Interpreter& in, const FreeSize& free);

// The sizes at which a computation is tried.
const std::vector<Size>& tried_sizes();

// Pads of one axis in front and behind, which a free size decides.
struct FreePad {
  struct Axis {
    python::Value before, after;  // whole numbers, or sizes that are free
  };
  ValueId of;  // what is padded
  std::vector<Axis> axes;  // one per axis of the tensor
};

}  // namespace convoy::torch
