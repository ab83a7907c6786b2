// One call with its arguments bound, on the way to the graph it means; one function per framework.
#pragma once
#include "explain/arguments.h"
#include "explain/question.h"
#include "formats/function.h"

#include <optional>

namespace convoy::explain {

struct Asked {
  Named named;
  std::vector<python::Argument> given;
  Arguments arguments{};
  std::optional<python::Expression> output_size{};  // of the layer's call, in PyTorch
  std::optional<python::Expression> inner{};        // a call whose result the layer reads
  std::size_t results = 1;                          // outputs that an ONNX node names
  std::string activation{};                         // a function called with the layer's result
};

Result<Spoken> ask_torch(const Asked& asked, const Question& question);
Result<Spoken> ask_tensorflow(const Asked& asked, const Question& question);
Result<Spoken> ask_onnx(const Asked& asked, const Question& question);
Result<Spoken> ask_keras(const Asked& asked, const Question& question);

// A number of channels, which may be a name that stands for any number. Fails (Usage): below 1.
Result<Channels> channels_of(const Asked& asked, std::string_view argument, Channels otherwise);

// `axes` sizes of the input: those asked for, one for all, or all free. Fails (Usage): another number of them.
Result<std::vector<Dim>> sizes_for(const Question& question, std::size_t axes);
// `axes` sizes of a kernel that the call leaves open. Fails (Usage): --kernel is missing or has another number of them.
Result<Sizes> kernel_for(const Question& question, std::size_t axes);
// Channels last or first, if --layout says so. Fails (Usage): a word that is no layout of this many axes.
Result<std::optional<Order>> order_for(const Question& question, std::size_t axes);
// What the function reads: x, or x behind a pad that is called inside the call, F.conv2d(F.pad(x, ...), w). Of any other
// call inside it is noted that the answer begins behind it.
Result<ValueId> padded_input(const Asked& asked, std::string_view argument, std::span<const FunctionRow> rows,
                             Spoken& spoken, ValueId x);
void note_inner(const Asked& asked, const python::Expression& inner, Spoken& spoken);
// [N, C, n...] or [N, n..., C]
TensorType input_type(Order order, Size channels, const std::vector<Dim>& sizes);
// The digit in "conv2d", "Conv2DTranspose"; nothing where there is none.
std::optional<std::size_t> axes_in(std::string_view name);

}  // namespace convoy::explain
