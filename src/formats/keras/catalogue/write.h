// What the rows of the catalogue say to the writers.
#pragma once
#include "formats/keras/catalogue/catalogue.h"
#include "formats/keras/catalogue/layer_text.h"
#include "formats/keras/write/sink.h"

namespace convoy::keras::writing {

// Layer, operation or word by its name in the catalogue, with the arguments that differ from their defaults; a word with
// such ones is written as the operation of its row.
LayerConfig layer_as(Sink& sink, std::string_view name, const Given& given = {});
Status write_as(Sink& sink, std::string_view name, const Given& given = {});

// The name by which a function of one number is written. Empty: Keras has none.
std::string_view written_name(Function function);
// Of two numbers, without the module: "Add". Empty: Keras has none.
std::string_view written_name(BinaryFunction function);

}  // namespace convoy::keras::writing
