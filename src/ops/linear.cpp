#include "ops/linear.h"

#include "ops/elementwise.h"
#include "ops/expect.h"

#include <string>

namespace convoy {

Result<TensorTypes> infer(const Linear& linear, const Inputs& in) {
  if (in[0].rank() < 1) return fail(Fault::Format, "input of a linear layer has rank 0, expected 1 or more");
  if (auto s = expect_rank("kernel", in[1], 2); !s) return pass(s);
  const bool in_first = linear.order == LinearOrder::InOut;
  const Dim inputs = in[1].shape[in_first ? 0 : 1], outputs = in[1].shape[in_first ? 1 : 0];
  if (!agreed(in[0].shape.back(), inputs))
    return fail(Fault::Format, "input has shape " + text_of(in[0].shape) + ", but the kernel of shape " +
                                   text_of(in[1].shape) + " reads " + std::to_string(*inputs) + " numbers");
  if (in.has(2))
    if (auto s = expect_shape("bias", in[2], {outputs}); !s) return pass(s);
  Shape shape = in[0].shape;
  shape.back() = outputs;
  return one_type(arithmetic(in[0].dtype), std::move(shape));
}

Result<TensorTypes> infer(const MatMul&, const Inputs& in) {
  const Shape &a = in[0].shape, &b = in[1].shape;
  if (a.size() < 2 || b.size() < 2)
    return fail(Fault::Format, "matmul of shapes " + text_of(a) + " and " + text_of(b) + ", expected rank 2 or more");
  if (!agreed(a.back(), b[b.size() - 2]))
    return fail(Fault::Format, "matmul of shapes " + text_of(a) + " and " + text_of(b) + ": the inner sizes differ");
  auto shape = broadcast(Shape(a.begin(), a.end() - 2), Shape(b.begin(), b.end() - 2));
  if (!shape) return pass(shape);
  shape->push_back(a[a.size() - 2]);
  shape->push_back(b.back());
  const DType met = meeting(in[0].dtype, in[1].dtype);
  return one_type(met == DType::Bool ? DType::F32 : met, *std::move(shape));
}

Result<EinsumLetters> letters_of(const Einsum& einsum) {
  const std::string& text = einsum.equation;
  const auto wrong = [&](std::string_view why) {
    return fail(Fault::Unsupported, "einsum equation '" + text + "' " + std::string(why));
  };
  const auto comma = text.find(','), arrow = text.find("->");
  if (comma == std::string::npos || arrow == std::string::npos || comma > arrow)
    return wrong("does not read like 'ab,bc->ac'");
  EinsumLetters letters{text.substr(0, comma), text.substr(comma + 1, arrow - comma - 1), text.substr(arrow + 2)};
  for (const std::string* part : {&letters.a, &letters.b, &letters.out})
    for (std::size_t i = 0; i < part->size(); ++i) {
      const char c = (*part)[i];
      if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))) return wrong("holds more than letters");
      if (part->find(c, i + 1) != std::string::npos) return wrong("names an axis twice in one operand");
    }
  for (const char c : letters.out)
    if (letters.a.find(c) == std::string::npos && letters.b.find(c) == std::string::npos)
      return wrong("gives an axis that no operand has");
  return letters;
}

Result<TensorTypes> infer(const Einsum& einsum, const Inputs& in) {
  const auto letters = letters_of(einsum);
  if (!letters) return std::unexpected(letters.error());
  const DType dtype = meeting(in[0].dtype, in[1].dtype);
  if (!is_floating(dtype))
    return fail(Fault::Unsupported, "einsum '" + einsum.equation + "' of whole numbers (" +
                                        std::string(name_of(dtype)) +
                                        "); cast them to a floating type in front, or multiply and sum them");
  if (auto s = expect_rank("first operand of '" + einsum.equation + "'", in[0], static_cast<Size>(letters->a.size()));
      !s)
    return pass(s);
  if (auto s = expect_rank("second operand of '" + einsum.equation + "'", in[1], static_cast<Size>(letters->b.size()));
      !s)
    return pass(s);
  Shape shape;
  for (std::size_t i = 0; i < letters->a.size(); ++i) {
    const auto other = letters->b.find(letters->a[i]);
    if (other != std::string::npos && !agreed(in[0].shape[i], in[1].shape[other]))
      return fail(Fault::Format, "einsum '" + einsum.equation + "' of shapes " + text_of(in[0].shape) + " and " +
                                     text_of(in[1].shape) + ": axis '" + letters->a[i] + "' has two sizes");
  }
  for (const char c : letters->out) {
    const auto first = letters->a.find(c), second = letters->b.find(c);
    const Dim left = first == std::string::npos ? Dim::unknown() : in[0].shape[first];
    const Dim right = second == std::string::npos ? Dim::unknown() : in[1].shape[second];
    // Frameworks stretch 1 beside another size: where that one is free, so is the result's.
    const bool stretched = left == Dim(1) && second != std::string::npos;
    shape.push_back(left.known() && !stretched ? left : right == Dim(1) && first != std::string::npos ? left : right);
  }
  return one_type(dtype, std::move(shape));
}

Result<TensorTypes> infer(const Embedding&, const Inputs& in) {
  if (auto s = expect_rank("table", in[1], 2); !s) return pass(s);
  Shape shape = in[0].shape;
  shape.push_back(in[1].shape[1]);
  return one_type(in[1].dtype, std::move(shape));
}

}  // namespace convoy
