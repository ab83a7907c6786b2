// PyTorch as a program sees it: torch, torch.nn and torch.nn.functional. Modules are built and called; what they compute
// becomes a graph through the rows that read PyTorch's functions everywhere.
#pragma once
#include "containers/python/interpreter.h"
#include "formats/format.h"

#include <memory>

namespace convoy::torch {

class Libraries;
class Tracer;

class SourceLibrary : public python::Library {
 public:
  explicit SourceLibrary(const LoadOptions& options);
  ~SourceLibrary() override;
  Result<std::optional<python::Value>> module(python::Interpreter& in, const std::string& name) override;
  Result<std::optional<python::Value>> implied(python::Interpreter& in, const std::string& name) override;

  Tracer& tracer();
  // An input of this shape for a function of the program: a tensor of PyTorch, or an array of NumPy and TensorFlow.
  python::Value input(python::Interpreter& in, const std::string& name, const Shape& shape, bool as_array);

  bool is_model(python::Value value) const;  // an instance of a torch.nn.Module
  bool is_tensor(python::Value value) const;
  bool is_literal(python::Value value) const;  // a tensor of numbers that stand in the program: no model
  bool is_model_class(python::Value value) const;  // a class of the program that derives from torch.nn.Module
  // Calls the module on inputs of the shapes that --shape gives. Without weights from a file, those of PyTorch's own
  // initialisers. Fails: what a row refuses; weights of a file that the module does not have, or has otherwise.
  Result<Graph> graph_of(python::Interpreter& in, python::Value model);
  // The state_dict of that module. Fails (Unsupported): weights that a parametrization computes of others.
  Result<std::vector<LoadedTensor>> state() const;

 private:
  std::unique_ptr<Libraries> all_;
};

}  // namespace convoy::torch
