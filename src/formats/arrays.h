// NumPy's and TensorFlow's functions on arrays that a program holds: what TensorFlow calls by its own words is read by the
// rows of formats/tf, the rest as PyTorch's functions of the same meaning.
#pragma once
#include "formats/keras/source/library.h"
#include "formats/torch/source/library.h"

namespace convoy {

// Stands in front of Keras's library: a function that is called on tensors of Keras is Keras's.
class ArrayLibrary : public python::Library {
 public:
  ArrayLibrary(keras::SourceLibrary& keras, torch::SourceLibrary& torch) : keras_(keras), torch_(torch) {}
  Result<std::optional<python::Value>> module(python::Interpreter& in, const std::string& name) override;
  Result<std::optional<python::Value>> implied(python::Interpreter&, const std::string&) override {
    return std::nullopt;
  }

 private:
  Result<std::optional<python::Value>> numpy(python::Interpreter& in, const std::string& name);
  Result<std::optional<python::Value>> member(python::Interpreter& in, const std::string& module,
                                              const std::string& word);
  Result<python::Value> call(python::Interpreter& in, const std::string& name, python::Arguments& given,
                             const std::optional<python::Value>& of_keras);
  keras::SourceLibrary& keras_;
  torch::SourceLibrary& torch_;
};

}  // namespace convoy
