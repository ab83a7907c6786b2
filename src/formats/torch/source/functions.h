// How a call by PyTorch's words becomes a call of a row.
#pragma once
#include "formats/torch/source/tracer.h"

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace convoy::torch {

// The row of ATen's operator, "split.Tensor"; the one that reads `name` as a function of torch. Null: there is none.
const FunctionRow* aten_named(std::string_view name);
const FunctionRow* row_named(std::string_view name);

// Words that say where numbers lie, and nothing of the numbers.
bool is_silent(std::string_view word);
using NamedValues = std::vector<std::pair<std::string, python::Value>>;
// Arguments by name: by place, by keyword, and all that are left for the last.
Result<NamedValues> named_arguments(python::Interpreter& in, const python::Arguments& given,
                                    std::string_view parameters, const std::string& name);

struct Prepared {
  Json plain = Json::object();
  TensorArguments tensors;
  SourceTensor* first = nullptr;
  bool in_place = false;
};

// Tensors by name, the rest as JSON.
Result<Prepared> prepared(Tracer& tracer, python::Interpreter& in, const NamedValues& named);
// A row's answers as the program sees them.
Result<python::Value> answered(Tracer& tracer, python::Interpreter& in, const std::vector<ValueId>& values, int storage,
                               bool several);

// ---- functions with rules of their own
// F.pad by sizes that are free. Nothing: all pads are known.
Result<std::optional<python::Value>> padded_freely(Tracer& tracer, python::Interpreter& in, const NamedValues& named);
Result<python::Value> filled(Tracer& tracer, python::Interpreter& in, const std::string& name, python::Arguments given);
Result<python::Value> dropped(Tracer& tracer, python::Interpreter& in, const std::string& called,
                              python::Arguments given);
// `name` is the function's own.
Result<python::Value> extreme(Tracer& tracer, python::Interpreter& in, const std::string& name,
                              python::Arguments given);
Result<python::Value> ordered(Tracer& tracer, python::Interpreter& in, const std::string& name,
                              python::Arguments given);
Result<python::Value> repeated(Tracer& tracer, python::Interpreter& in, const std::string& name,
                               python::Arguments given);
Result<python::Value> sampled(Tracer& tracer, python::Interpreter& in, const std::string& name,
                              python::Arguments given);
Result<python::Value> gridded(Tracer& tracer, python::Interpreter& in, const std::string& name,
                              python::Arguments given);
Result<python::Value> embedded(Tracer& tracer, python::Interpreter& in, const std::string& name,
                               python::Arguments given);
Result<python::Value> split_up(Tracer& tracer, python::Interpreter& in, const std::string& name,
                               python::Arguments given);
Result<python::Value> tensor_split(Tracer& tracer, python::Interpreter& in, const std::string& name,
                                   python::Arguments given);
Result<python::Value> meshgrid(Tracer& tracer, python::Interpreter& in, const std::string& name,
                               python::Arguments given);
Result<python::Value> difference(Tracer& tracer, python::Interpreter& in, const std::string& name,
                                 python::Arguments given);
Result<python::Value> nonzero(Tracer& tracer, python::Interpreter& in, const std::string& name,
                              python::Arguments given);
// x.unfold(dim, size, step), which is not F.unfold.
Result<python::Value> unfolded(Tracer& tracer, python::Interpreter& in, const std::string& name,
                               python::Arguments given);

}  // namespace convoy::torch
