// A checkpoint: a table of what is where (prefix.index), and files with the numbers (prefix.data-00000-of-00002).
#pragma once
#include "base/mapped_file.h"
#include "convoy/tensor.h"

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace convoy::tf {

struct BundleEntry {
  std::string key;
  Size type = 0;
  Sizes shape;
  Size shard = 0, offset = 0, size = 0;
  std::uint32_t sum = 0;
  bool sliced = false;  // its parts stand under keys of their own
};

class Bundle {
 public:
  // `prefix`: the names of the files without ".index". Fails: no such files, a broken table, entries that make no sense.
  static Result<Bundle> open(const std::filesystem::path& prefix);

  const std::vector<BundleEntry>& entries() const { return entries_; }  // in the order of their keys
  const BundleEntry* find(const std::string& key) const;
  // A view into the file. Fails: a place outside of its file, a size that is not the shape's, another checksum.
  Result<Tensor> tensor(const BundleEntry& entry);
  // One text.
  Result<std::string> text(const BundleEntry& entry);
  // The keys by the names that the object graph inside gives variables ("conv1/kernel"); empty where there is none.
  Result<std::map<std::string, std::string>> keys_by_name();

 private:
  Result<Bytes> bytes_of_entry(const BundleEntry& entry);

  std::filesystem::path prefix_;
  Size shards_ = 1;
  std::vector<BundleEntry> entries_;
  std::map<Size, std::shared_ptr<const MappedFile>> files_;
};

}  // namespace convoy::tf
