// What torch.save wrote, as the program sees it that loads it: tensors, numbers and words in dictionaries, lists and modules.
#pragma once
#include "containers/pickle.h"
#include "formats/format.h"
#include "formats/torch/pickled_tensor.h"

#include <optional>
#include <string>
#include <vector>

namespace convoy::torch {

struct SavedObject {
  enum class Kind : std::uint8_t {
    None,
    Bool,  // whole: 0 or 1
    Whole,
    Real,
    Text,
    List,  // items
    Tuple,  // items
    Dict,  // keys, which are texts or whole numbers (others are left out), items
    Module,  // keys, items: its parameters, buffers and modules, of each a Dict
    Tensor,
    Other,  // text: the class, or what else it is
  } kind = Kind::None;
  std::int64_t whole = 0;
  double real = 0;
  std::string text;
  std::vector<SavedObject> keys, items;
  std::optional<convoy::Tensor> tensor;
};

// Fails: Limit; whatever `tensors` fail with, by the names that lead to a tensor. Nothing is called.
Result<SavedObject> saved_object(const Pickle& pickle, PickledTensors tensors);

// Every tensor of it by the names that lead to it ("state_dict.conv1.weight"). Fails (Format): two have one name.
Result<std::vector<LoadedTensor>> named_tensors(SavedObject object);

}  // namespace convoy::torch
