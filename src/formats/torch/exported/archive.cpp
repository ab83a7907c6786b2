// Source: torch/export/pt2_archive/_package.py, torch/_export/serde/schema.py (major version 8).
#include "formats/torch/exported/archive.h"

#include "containers/json.h"
#include "formats/torch/checkpoint.h"

#include <optional>

namespace convoy::torch {
namespace {

constexpr Size known_major = 8;
constexpr const char* export_again =
    "; export it again with torch 2.8 or later: torch.export.save(torch.export.export(model.eval(), (x,)), "
    "\"model.pt2\")";

// What stands in front of "archive_format": "" or "model/".
std::optional<std::string> program_root_of(const ZipArchive& zip) {
  for (const ZipEntry& entry : zip.entries())
    if (entry.name == "archive_format" || entry.name.ends_with("/archive_format"))
      return entry.name.substr(0, entry.name.size() - 14);
  return std::nullopt;
}

Result<Json> json_in(const ZipArchive& zip, const std::string& name) {
  auto text = zip.read(name);
  if (!text) return pass(text);
  return within(name, parse_json(text_of(text->bytes)));
}

// Sizes, strides and offsets are unions: a tensor in the archive has them all as numbers.
std::optional<Size> number_of(const Json* json) {
  if (!json) return std::nullopt;
  if (json->is_object() && json->size() == 1 && json->contains("as_int")) json = &(*json)["as_int"];
  if (!json->is_number_integer() || (json->is_number_unsigned() && json->get<std::uint64_t>() >> 63U))
    return std::nullopt;
  return json->get<Size>();
}

std::optional<Sizes> numbers_of(const Json* json) {
  if (!json || !json->is_array()) return std::nullopt;
  Sizes all;
  for (const Json& one : *json) {
    const auto n = number_of(&one);
    if (!n) return std::nullopt;
    all.push_back(*n);
  }
  return all;
}

// What the tensors of one archive share: members, each read once, and the room for their views.
struct Storages {
  const ZipArchive& zip;
  std::map<std::string, Blob> members{};
  ViewRoom room{zip};

  Result<Blob> read(const std::string& name) {
    if (const auto known = members.find(name); known != members.end()) return known->second;
    auto blob = zip.read(name);
    if (blob) members.emplace(name, *blob);
    return blob;
  }
};

Result<Tensor> tensor_in(Storages& storages, const std::string& folder, const Json& entry) {
  const Json *path = member(entry, "path_name"), *meta = member(entry, "tensor_meta");
  if (const Json* pickled = member(entry, "use_pickle"); pickled && pickled->is_boolean() && pickled->get<bool>())
    return fail(Fault::Unsupported, "is kept as a pickle, which is not carried");
  if (!path || !path->is_string() || !meta) return fail(Fault::Format, "has no path_name or tensor_meta");
  const Json* number = member(*meta, "dtype");
  if (!number) return fail(Fault::Format, "has no dtype");
  const auto dtype = exported_dtype(*number);
  if (!dtype) return std::unexpected(dtype.error());
  const auto sizes = numbers_of(member(*meta, "sizes")), strides = numbers_of(member(*meta, "strides"));
  const auto offset = number_of(member(*meta, "storage_offset"));
  if (!sizes || !strides || !offset) return fail(Fault::Format, "has sizes, strides or an offset that are no numbers");
  if (auto room = storages.room.take(*dtype, *sizes, *strides); !room) return pass(room);
  auto storage = storages.read(folder + path->get<std::string>());
  if (!storage) return pass(storage);
  return strided_tensor(*dtype, *sizes, *strides, *offset, *storage);
}

// Where the archive says it: parameters and buffers alike, and no buffer learns.
bool learns(const Json& entry) {
  const Json* meta = member(entry, "tensor_meta");
  const Json* said = meta ? member(*meta, "requires_grad") : nullptr;
  return !said || *said != false;
}

// The tensors by their names; those of them that do not learn go into `frozen`.
Result<std::map<std::string, Tensor>> tensors_in(Storages& storages, const std::string& folder,
                                                 const std::string& config_name, std::set<std::string>& frozen) {
  std::map<std::string, Tensor> tensors;
  const ZipArchive& zip = storages.zip;
  if (!zip.find(folder + config_name)) return tensors;
  const auto config = json_in(zip, folder + config_name);
  if (!config) return std::unexpected(config.error());
  const Json* entries = member(*config, "config");
  if (!entries || !entries->is_object()) return fail(Fault::Format, "'" + config_name + "' holds no config");
  for (const auto& [name, entry] : entries->items()) {
    auto tensor = within("tensor '" + name + "'", tensor_in(storages, folder, entry));
    if (!tensor) return pass(tensor);
    tensors.emplace(name, std::move(*tensor));
    if (!learns(entry)) frozen.insert(name);
  }
  return tensors;
}

Status check_version(const Json& program) {
  const Json* version = member(program, "schema_version");
  const auto major = number_of(version ? member(*version, "major") : nullptr);
  if (!major) return fail(Fault::Format, "has no schema_version");
  if (*major == known_major) return {};
  return fail(Fault::Unsupported,
              "has schema version " + std::to_string(*major) + ", and version 8 is read" + export_again);
}

}  // namespace

const Json* member(const Json& object, std::string_view key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(std::string(key));
  return found == object.end() ? nullptr : &*found;
}

Result<Union> union_of(const Json& json) {
  if (!json.is_object() || json.size() != 1) return fail(Fault::Format, "a value is not one key with its content");
  const auto only = json.items().begin();
  return Union{only.key(), &only.value()};
}

Result<DType> exported_dtype(const Json& number) {
  switch (number_of(&number).value_or(-1)) {
    case 1: return DType::U8;
    case 2: return DType::I8;
    case 3: return DType::I16;
    case 4: return DType::I32;
    case 5: return DType::I64;
    case 6: return DType::F16;
    case 7: return DType::F32;
    case 8: return DType::F64;
    case 12: return DType::Bool;
    case 13: return DType::BF16;
    case 28: return DType::U16;
    default: return fail(Fault::Unsupported, "is of element type " + json_text(number) + ", which is not carried");
  }
}

bool is_exported(const ZipArchive& zip) {
  return program_root_of(zip).has_value() || zip.find("serialized_exported_program.json");
}

Result<ExportedArchive> read_exported(const ZipArchive& zip) {
  const auto root = program_root_of(zip);
  if (!root)
    return fail(Fault::Unsupported,
                std::string("is a torch.export archive of a layout before torch 2.8") + export_again);
  std::string model;
  const std::string models = *root + "models/";
  for (const ZipEntry& entry : zip.entries()) {
    if (!entry.name.starts_with(models) || !entry.name.ends_with(".json")) continue;
    if (!model.empty()) return fail(Fault::Unsupported, "holds several models, and one is read");
    model = entry.name.substr(models.size(), entry.name.size() - models.size() - 5);
  }
  if (model.empty()) return fail(Fault::Format, "holds no model");
  if (zip.find(*root + "data/weights/" + model + ".pt"))
    return fail(Fault::Unsupported, std::string("keeps its weights in an archive of their own") + export_again);
  ExportedArchive archive;
  auto program = json_in(zip, models + model + ".json");
  if (!program) return pass(program);
  archive.program = std::move(*program);
  if (auto known = check_version(archive.program); !known) return pass(known);
  Storages storages{zip};
  auto weights = tensors_in(storages, *root + "data/weights/", model + "_weights_config.json", archive.frozen);
  if (!weights) return pass(weights);
  archive.weights = std::move(*weights);
  auto constants = tensors_in(storages, *root + "data/constants/", model + "_constants_config.json", archive.frozen);
  if (!constants) return pass(constants);
  archive.constants = std::move(*constants);
  return archive;
}

}  // namespace convoy::torch
