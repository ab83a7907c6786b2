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

class SourceTensor;
class Tracer;

// A size that is free. It may be handed on; what is computed of one free size is itself one, or a number where it is the
// same at every size that is tried.
class FreeSize : public python::Object {
 public:
  // How many cells a size stands for; nothing: it cannot have been met.
  using Cells = std::function<std::optional<Size>(const FreeSize& size)>;
  // What it is where sizes are so many.
  using At = std::function<Result<python::Value>(python::Interpreter& in, const Cells& cells)>;
  // What it was computed with: "+" of two, "int" of one.
  struct Computed {
    std::string function;
    python::ValueList of;
  };

  FreeSize(ValueId tensor_of, Size which, std::string words, At number = {}, Computed made_with = {})
      : tensor(tensor_of),
        axis(which),
        text(std::move(words)),
        at(std::move(number)),
        how(std::move(made_with)) {}
  std::string type_name() const override { return "size that is free"; }
  Result<std::optional<python::Value>> attribute(python::Interpreter& in, const std::string& name) override;
  Result<std::optional<python::Value>> binary(python::Interpreter& in, std::string_view symbol, python::Value other,
                                              bool reversed) override;
  Result<std::optional<python::Value>> unary(python::Interpreter& in, std::string_view symbol) override;
  Result<bool> truth(python::Interpreter& in) override;
  Status expect_no_number() const override;
  bool is_size() const { return !at; }  // the size itself
  Result<python::Value> number(python::Interpreter& in, const Cells& cells) const;
  // Of one size alone.
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
  const Computed how;
};

// What is computed of these, some of which are free.
FreeSize* computed_of(python::Interpreter& in, std::string words, const python::ValueList& read, FreeSize::At compute);

// A number as the model counts it: ones along the axis, added up, and what is computed of it. Fails (Usage): no operator of tensors
// computes it.
Result<python::Value> number_of(Tracer& tracer, python::Interpreter& in, const FreeSize& free);

// The size of a list of so many cells, which the model makes of one size that it is fed; itself, where it is a size. Fails (Usage):
// it does not grow in steps.
Result<FreeSize*> length_of(Tracer& tracer, python::Interpreter& in, FreeSize& free);

// The one number that it is at every size, or from a small one on, which becomes a condition of the graph. Nothing: it is several.
Result<std::optional<Size>> constant_of(Tracer& tracer, python::Interpreter& in, const FreeSize& free);

// The same for each of a list of sizes that is no size of a tensor.
Result<python::Value> lengths_in(Tracer& tracer, python::Interpreter& in, const python::Value& list);

// x in another shape of which several sizes are free, one group of axes that hold as many cells after the other. Nothing: it is one
// group alone.
Result<std::optional<python::Value>> reshaped_by_groups(Tracer& tracer, python::Interpreter& in, const python::Value& x,
                                                        const python::ValueList& to);

// Makes it a condition of the graph that sizes, some of which are free, hold as many cells as others: that sizes of its inputs are
// multiples of a number. Fails (Usage): it is no such condition.
Status expect_as_many(Tracer& tracer, python::Interpreter& in, const python::ValueList& from,
                      const python::ValueList& to);

// Makes it a condition of the graph that a tensor has so many cells along an axis, if its size is free.
Status expect_at_least(Tracer& tracer, python::Interpreter& in, SourceTensor& tensor, Size axis, Size least);

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
