// Walks zip members, JSON texts, and every object, attribute and dataset of HDF5 files.
#include "hostile/walk.h"

#include "base/mapped_file.h"
#include "containers/hdf5.h"
#include "containers/json.h"
#include "containers/npy.h"
#include "containers/safetensors.h"
#include "containers/zip.h"

#include <nlohmann/json.hpp>

namespace convoy::hostile {
namespace {

// A file may name one group under many names: the count of visits bounds the walk, the depth its stack.
Status walk_object(const Hdf5Object& object, int depth, int& visits) {
  if (depth > 64 || ++visits > 2000) return fail(Fault::Limit, "the walk was cut short");
  auto attributes = object.attribute_names();
  if (!attributes) return pass(attributes);
  for (const std::string& name : *attributes)
    if (auto value = object.attribute(name); !value) return pass(value);
  if (object.is_dataset()) {
    auto value = object.value();
    if (!value) return pass(value);
    return {};
  }
  auto names = object.names();
  if (!names) return pass(names);
  for (const std::string& name : *names) {
    auto child = object.open(name);
    if (!child) return pass(child);
    if (auto walked = walk_object(*child, depth + 1, visits); !walked) return walked;
  }
  return {};
}

Status walk_hdf5(const Blob& blob) {
  auto file = Hdf5File::open(blob);
  if (!file) return pass(file);
  int visits = 0;
  return walk_object(file->root(), 0, visits);
}

Status walk_zip(const Blob& blob) {
  auto archive = ZipArchive::open(blob);
  if (!archive) return pass(archive);
  for (const ZipEntry& entry : archive->entries()) {
    auto member = archive->read(entry.name);
    if (!member) return pass(member);
    if (!Hdf5File::begins(member->bytes)) continue;
    if (auto walked = within(entry.name, walk_hdf5(*member)); !walked) return walked;
  }
  return {};
}

}  // namespace

Status walk(const std::filesystem::path& path) {
  auto file = open_file(path.string());
  if (!file) return pass(file);
  const Blob blob = blob_of(*file);
  if (path.extension() == ".json") {
    auto json = parse_json(text_of(blob.bytes));
    return json ? Status{} : Status(pass(json));
  }
  if (path.extension() == ".npy") {
    auto tensor = read_npy(blob);
    return tensor ? Status{} : Status(pass(tensor));
  }
  if (path.extension() == ".keras") return walk_zip(blob);
  return walk_hdf5(blob);
}

}  // namespace convoy::hostile
