// A TFLite file as plain data: what the schema calls Model, with the fields that are used. Nothing is copied but lists of
// numbers and names; the numbers of weights stay in the file. Source: schema.fbs, version 3.
#pragma once
#include "base/bytes.h"
#include "containers/flatbuffer.h"
#include "convoy/result.h"
#include "convoy/size.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace convoy::tflite {

struct StoredQuantization {
  std::vector<float> scale;
  std::vector<std::int64_t> zero_point;
  std::int32_t axis = 0;
  bool is_custom = false;
};

// An axis of numbers that are stored sparsely: all of its places, or those that a list names for each place of the axes before it.
struct SparseAxis {
  bool is_dense = true;
  std::int32_t size = 0;  // where all places are stored
  std::vector<std::int64_t> segments,
      places;  // of the others: where each list begins and the last one ends, and the lists
};

// In the order in which the numbers lie: the tensor's axes, cut into blocks where `blocked` names them, and the axes inside the blocks.
struct StoredSparsity {
  std::vector<std::int32_t> order, blocked;
  std::vector<SparseAxis> axes;
};

struct StoredTensor {
  std::string name;
  std::vector<std::int32_t> shape, signature;  // signature: with -1 for sizes that are free; empty: as `shape` says
  int type = 0;
  std::uint32_t buffer = 0, external = 0;
  StoredQuantization quantization;
  bool is_variable = false;
  std::optional<StoredSparsity> sparsity;
  bool is_packed = false;  // its numbers are of 4 bits, two to a byte: `type` is int8 then
  bool is_quantized() const { return !quantization.scale.empty() || quantization.is_custom; }
};

struct OperatorCode {
  int builtin = 0, version = 1;
  std::string custom;
};

struct StoredOperator {
  std::uint32_t code = 0;
  std::vector<std::int32_t> inputs, outputs;
  int options_kind = 0, options_2_kind = 0;
  std::optional<FlatTable> options;
};

struct SubGraph {
  std::string name;
  std::vector<StoredTensor> tensors;
  std::vector<std::int32_t> inputs, outputs;
  std::vector<StoredOperator> operators;
};

struct Signature {
  std::string key;
  std::uint32_t subgraph = 0;
  std::map<std::int64_t, std::string> inputs;  // names by tensor
  std::map<std::int64_t, std::vector<std::string>> outputs;  // one tensor may have several
};

// Where the numbers of a tensor lie: in the flatbuffer, or behind it.
struct Model {
  std::shared_ptr<FlatFile> file;  // which the options refer to
  std::uint32_t version = 0;
  std::string description;
  std::vector<OperatorCode> codes;
  std::vector<SubGraph> subgraphs;
  std::vector<Bytes> buffers;
  std::vector<Signature> signatures;
};

bool begins_model(Bytes bytes);
// Fails: whatever leaves the file; a version other than 3; buffers that lie in other files.
Result<Model> parse_model(Bytes bytes);

}  // namespace convoy::tflite
