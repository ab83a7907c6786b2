// Which element types ONNX's operators take, and which of them ONNX Runtime has kernels for.
#pragma once
#include "formats/onnx/write/document.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace convoy::onnx {

// The element types of a document's values, node by node in their order.
// Source: the type constraints of onnx 1.23's schemas, operator sets 11 to 22.
class ElementTypes {
 public:
  explicit ElementTypes(const Document& document);  // what its inputs and initializers are

  struct Untaken {
    std::optional<DType> type{};  // nothing: the operator has no row
    Size since = 0;  // the operator set that takes it first; 0: none
    std::optional<DType> beside{};  // another input's, which it would have to be
  };
  // Types the results of the next node. Something: the operator does not take what it reads, or cannot give what it should.
  std::optional<Untaken> enter(const DocumentNode& node);

 private:
  std::optional<DType> of(std::string_view value) const;

  Size opset_;
  std::map<std::string, DType, std::less<>> types_;
};

// Whether ONNX Runtime's processor has a kernel of float64 for it. Source: its own list, get_all_opkernel_def of 1.30.
bool has_kernel_of_doubles(std::string_view op);

}  // namespace convoy::onnx
