// The numbers of a stored tensor: a view into the model's file or into a file beside it, or a short list turned into
// bytes.
#pragma once
#include "formats/onnx/model.h"

#include "base/mapped_file.h"

#include <filesystem>
#include <map>

namespace convoy::onnx {

// Where tensors come from: the model's own bytes, and the files that it names below its folder, each opened once.
class TensorSource {
 public:
  // `elsewhere`: where a file of that name lies that is not there yet, given by the caller and not by the model.
  TensorSource(std::shared_ptr<const void> keeper, std::filesystem::path folder,
               std::map<std::string, std::filesystem::path> elsewhere = {})
      : keeper_(std::move(keeper)),
        folder_(std::move(folder)),
        elsewhere_(std::move(elsewhere)) {}

  // Fails: a type that is not carried; bytes or numbers that are not as many as the shape says; external data outside
  // the folder, behind a link, past the end of its file, or of another checksum.
  Result<Tensor> tensor(const StoredTensor& stored);

 private:
  struct Span {
    Bytes bytes;
    std::shared_ptr<const MappedFile> keeper;
  };
  Result<Span> outside(const StoredTensor& stored);
  Result<Tensor> narrow_tensor(const StoredTensor& stored, Size count);

  std::shared_ptr<const void> keeper_;
  std::filesystem::path folder_;
  std::map<std::string, std::filesystem::path> elsewhere_;
  std::map<std::string, std::shared_ptr<const MappedFile>> files_;
};

}  // namespace convoy::onnx
