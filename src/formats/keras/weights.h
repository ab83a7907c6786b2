// Where a layer's arrays lie in a file. Binding is by place, as Keras itself does; names are checked where there are any.
#pragma once
#include "containers/hdf5.h"
#include "convoy/tensor.h"
#include "formats/format.h"
#include "formats/keras/version.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace convoy::keras {

// A layer in both of the ways that files count: the v3 group ("layers/conv2d_1") and the names down to it.
struct Location {
  std::string group;
  std::vector<std::string> names;
  Location child(const std::string& attribute) const;  // the inside of a wrapper: same names, one group deeper
};

struct Variable {
  std::string name;  // "kernel", or empty where the file does not say
  Tensor tensor;
  bool taken = false;
};
// All arrays of one layer, in the order in which Keras made them.
struct Variables {
  std::vector<Variable> all;
};

class WeightSource {
 public:
  virtual ~WeightSource() = default;
  virtual Result<Variables> of(const Location& location) = 0;
  // Whether the inside of a wrapper has a group of its own; otherwise its arrays stand in the wrapper's list.
  virtual bool nests() const = 0;
  // What a layer keeps in a file of text beside its arrays. Nothing: there is no such file.
  virtual Result<std::optional<std::string>> text(const Location& location, std::string_view file) {
    static_cast<void>(location), static_cast<void>(file);
    return std::nullopt;
  }
};

// model.weights.h5. `checks_names`: the names in the file must be those of the layers.
Result<std::unique_ptr<WeightSource>> weights_v3(const Hdf5Object& root, bool checks_names);
// The group model_weights of an old model file, or the root of an old weights file.
Result<std::unique_ptr<WeightSource>> weights_legacy(const Hdf5Object& group);
// One layer's arrays, given.
std::unique_ptr<WeightSource> weights_given(std::vector<Tensor> tensors);

// Whichever of the two an HDF5 file is.
bool is_legacy_weights(const Hdf5Object& root);
Result<std::unique_ptr<WeightSource>> weights_of_file(const Hdf5Object& root);
Result<std::vector<LoadedTensor>> list_weights(const Hdf5Object& root);

// "Conv2DTranspose" -> "conv2d_transpose", as Keras names groups.
std::string snake_case(const std::string& class_name);

// An attribute of strings, joined where the file split it into name0, name1, ...
Result<std::vector<std::string>> strings_of(const Hdf5Object& object, const std::string& attribute);
Result<std::string> string_of(const Hdf5Object& object, const std::string& attribute);  // "" where it is absent

}  // namespace convoy::keras
