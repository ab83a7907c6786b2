// Reads Keras: .keras (Keras 3 and tf_keras), .h5/.hdf5 (Keras 1, 2, tf.keras), model.json with weights beside it.
#pragma once
#include "containers/json.h"
#include "formats/format.h"

#include <memory>
#include <span>

namespace convoy::keras {

// `bytes` is the whole file, kept alive by `keeper`; `file` is only for messages and side files the user named.
Result<Graph> read_archive(std::span<const std::byte> bytes, std::shared_ptr<const void> keeper,
                           const LoadOptions& options);
Result<Graph> read_hdf5(std::span<const std::byte> bytes, std::shared_ptr<const void> keeper,
                        const LoadOptions& options);
Result<Graph> read_json(std::string_view text, const LoadOptions& options);
Result<std::vector<LoadedTensor>> weights_of_archive(std::span<const std::byte> bytes,
                                                     std::shared_ptr<const void> keeper);
Result<std::vector<LoadedTensor>> weights_of_hdf5(std::span<const std::byte> bytes, std::shared_ptr<const void> keeper);

// One layer by its config, as `keras.layers.NAME(**config)` builds it, for tests and explanations: input types are
// those of `inputs`, weights are given in the layer's own order (kernel, bias, ...) or, where there are none, zeros of the
// declared shapes. Today's rules hold: those of Keras 3.
Result<Graph> graph_of_layer(const std::string& class_name, const Json& config, const std::vector<TensorType>& inputs,
                             const std::vector<Tensor>& weights);

// The class names of layers and keras.ops nodes that are read.
std::vector<std::string_view> layer_classes();

// Every operator of the vocabulary: its name, and why Keras has no form for it (empty: it has one).
std::vector<std::pair<std::string_view, std::string_view>> operators();

}  // namespace convoy::keras
