// A document as the files that Keras opens.
#pragma once
#include "base/bytes.h"
#include "formats/keras/write/document.h"

#include <functional>

namespace convoy::keras {

using AppendBytes = std::function<Status(Bytes)>;

// The version whose words are written.
inline constexpr std::string_view written_version = "3.15.1";

// A .keras archive: metadata.json, config.json, model.weights.h5. Opens with keras.saving.load_model(path, safe_mode=True)
// and no custom objects. The same document gives the same bytes.
Status write_archive(const Document& document, const AppendBytes& append);
// The older form of one HDF5 file, which Keras 3 opens by its extension .h5.
// Fails: operations of keras.ops, which that form cannot name, with the layer.
Status write_hdf5(const Document& document, const AppendBytes& append);

// model.weights.h5 alone: what model.load_weights takes.
Status write_weights(const Document& document, const AppendBytes& append);

// The model as config.json says it. `legacy`: as the attribute model_config of an HDF5 file says it.
Json config_of(const Document& document, bool legacy = false);
// As Python writes JSON: numbers that are none are NaN, Infinity and -Infinity.
std::string python_json(const Json& value);

}  // namespace convoy::keras
