// The archive of a program that torch.export saved: its graph as JSON and its tensors.
#pragma once
#include "containers/json.h"
#include "containers/zip.h"
#include "convoy/tensor.h"

#include <nlohmann/json.hpp>

#include <map>
#include <set>
#include <string>

namespace convoy::torch {

struct ExportedArchive {
  Json program;                           // models/<name>.json
  std::map<std::string, Tensor> weights;  // parameters and buffers, by the names of the module
  std::map<std::string, Tensor> constants;
  std::set<std::string> frozen;           // those whose requires_grad is False: all buffers, and frozen parameters
};

// Whether this archive is one of torch.export, of any layout.
bool is_exported(const ZipArchive& zip);

// Fails: Format, Truncated, Limit; Unsupported: layouts before torch 2.8, schemas of another major version than 8,
// several models in one archive, pickled payloads.
Result<ExportedArchive> read_exported(const ZipArchive& zip);

// The element type behind the number that the graph's JSON uses; not ATen's own numbering. Fails (Unsupported).
Result<DType> exported_dtype(const Json& number);
// One key and its value, as every union of the schema is written. Fails (Format): anything else.
struct Union {
  std::string_view key;
  const Json* value = nullptr;
};
Result<Union> union_of(const Json& json);
// The member of an object; null where it is absent or no object holds it.
const Json* member(const Json& object, std::string_view key);

}  // namespace convoy::torch
