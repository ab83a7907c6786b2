// What a file calls the values and weights of a graph, noted while it is read and given back to them at its end.
#pragma once
#include "formats/onnx/model.h"
#include "graph/graph.h"

#include <map>

namespace convoy::onnx {

class FileNames {
 public:
  void of_value(ValueId value, std::string name) { said_.emplace_back(value, std::move(name)); }
  // `numbers`: where those of an initializer lie.
  void of_weight(const std::byte* numbers, std::string name) { stored_.emplace(numbers, std::move(name)); }
  // The constants from `first` on that a row made of the blocks of a cell's weights are called what the weights are.
  void of_blocks(const Graph& graph, const ModelNode& node, const std::string& layer, std::size_t first);

  // Values carry the file's names; what stands between them, of an operator that became several, takes others.
  void keep_values(Graph& graph) const;
  // A row may give an initializer's numbers another shape: they are still that initializer. For a pruned graph.
  void keep_weights(Graph& graph) const;

 private:
  void keep_blocks(Graph& graph) const;  // where nothing else goes by that name any more

  std::vector<std::pair<ValueId, std::string>> said_, blocks_;
  std::map<const std::byte*, std::string> stored_;
};

}  // namespace convoy::onnx
