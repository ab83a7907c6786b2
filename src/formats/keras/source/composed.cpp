// Layers of Keras that are others put together, in the words that programs use themselves. What they hold lies in weights files where Keras keeps it: by the attributes that lead there.
#include "formats/keras/source/library.h"

namespace convoy::keras {

namespace {

// Source: keras/engine/topology.py of Keras 1.
constexpr const char* composed_layers = R"(
from keras import layers
from keras.layers import merge

class Merge(layers.Layer):  # of Keras 1: a layer with a word for what it does, in front of it the models that it joins
    def __init__(self, layers=None, mode="sum", concat_axis=-1, dot_axes=-1, output_shape=None, output_mask=None,
                 arguments=None, node_indices=None, tensor_indices=None, name=None, **kwargs):
        super().__init__(name=name)
        self.branches = list(layers or [])
        self.mode, self.concat_axis, self.dot_axes, self.arguments = mode, concat_axis, dot_axes, arguments

    def call(self, inputs):
        if self.branches:
            inputs = [branch(x) for branch, x in zip(self.branches, inputs)]
        return merge(inputs, mode=self.mode, concat_axis=self.concat_axis, dot_axes=self.dot_axes,
                     arguments=self.arguments or {})
)";

}  // namespace

Result<std::optional<Value>> SourceLibrary::composed(Interpreter& in, const std::string& name) {
  if (name.find('.') != std::string::npos) return composed_function(in, name);
  if (name != "Merge") return std::nullopt;
  if (!composed_) {
    auto made = in.run({"keras", composed_layers, ""});
    if (!made) return pass(made);
    composed_ = *made;
  }
  const Value* found = composed_->names.find(name);
  if (!found) return fail(Fault::Internal, "a layer that is put together is not there: " + name);
  return *found;
}

}  // namespace convoy::keras
