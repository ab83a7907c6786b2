// One function per reader that strangers' bytes reach. Each takes any bytes, reads them as its format and forgets the
// answer: what is looked for is a crash, undefined behaviour, a hang, or a fault that the reader calls its own.
#pragma once
#include "base/bytes.h"
#include "graph/graph.h"

#include <array>
#include <string_view>

namespace convoy::fuzz {

void pickle(Bytes bytes);
void checkpoint(Bytes bytes);  // .pt: the zip archive and the older stream
void exported(Bytes bytes);    // .pt2
void safetensors(Bytes bytes);
void onnx(Bytes bytes);
void tflite(Bytes bytes);
void hdf5(Bytes bytes);   // every object of the file
void keras(Bytes bytes);  // .keras and .h5
void python(Bytes bytes);
void graphdef(Bytes bytes);  // TensorFlow's graphs: frozen, and as SavedModels without their variables
void bundle(Bytes bytes);  // the table of a checkpoint
void source(Bytes bytes);  // programs, followed as far as they go

// Says a graph as JSON and writes it for every target. Of the plain program alone.
void write_everywhere(const Graph& graph);

struct Target {
  std::string_view name;
  void (*read)(Bytes);
};
inline constexpr std::array targets{
    Target{"pickle", pickle}, Target{"checkpoint", checkpoint},   Target{"exported", exported},
    Target{"onnx", onnx},     Target{"safetensors", safetensors}, Target{"hdf5", hdf5},
    Target{"keras", keras},   Target{"python", python},           Target{"source", source},
    Target{"graphdef", graphdef}, Target{"bundle", bundle},     Target{"tflite", tflite}};

}  // namespace convoy::fuzz
