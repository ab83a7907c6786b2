// Certificates: what --report keeps of a proof so that it can be run again, and what `convoy diff --check` does with it.
//
// {"schema": 1, "certificate": "port" or "diff", "convoy": version, "options": {...}, "sources": [{"path", "bytes",
// "sha256"}], "files": [the same, of what was written], and the results as --json says them}. Paths are relative to the
// certificate's folder. Nothing in it depends on the time or the place: the same work gives the same bytes.
#pragma once
#include "base/atomic_output.h"
#include "cli/command.h"
#include "containers/json.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace convoy::cli {

// The file that --report names, begun before any work: it appears whole, when what `take` gives is committed, or not at all.
class CertificateFile {
 public:
  // Fails (Io): it exists (without `force`), is one of `sources`, or cannot be written.
  static Result<CertificateFile> begin(const std::string& file, bool force, const std::vector<std::string>& sources);
  // {"path", "bytes", "sha256"}. Fails (Io): the file cannot be read.
  Result<Json> described(const std::filesystem::path& file) const;
  std::string path_from_here(const std::filesystem::path& file) const;
  Status write(const Json& certificate);
  // The file, to be put in place together with others.
  OutputSet take() { return std::move(out_); }

 private:
  CertificateFile(OutputSet out, std::filesystem::path folder) : out_(std::move(out)), folder_(std::move(folder)) {}
  OutputSet out_;
  std::filesystem::path folder_;
};

// The head of a certificate, with the checksums of these sources. Results follow it.
Result<Json> begun_certificate(const CertificateFile& file, const char* kind, Json options,
                               const std::vector<std::filesystem::path>& sources);

// A certificate's work once more: the results as it has them, `files` with names alone. `folder`: the certificate's.
Result<Json> port_again(const Json& options, const std::filesystem::path& folder, int threads);
Result<Json> diff_again(const Json& options, const std::filesystem::path& folder, int threads);

struct CheckOptions {
  std::string file;
  bool json = false, quiet = false;
  int threads = 0;
};
// Says which files changed and which results differ; returns the exit code: 0, or 1 where anything did.
int check_certificate(const CheckOptions& options);

// The words of an option as they stand in a certificate. Nothing where it is absent or another kind of value.
std::string word_in(const Json& options, const char* name);
std::vector<std::string> words_in(const Json& options, const char* name);
bool flag_in(const Json& options, const char* name);

// How a model, or both of two, is read beside its file and weights: kept in a certificate's options, and taken from them again.
void keep_reading(const ModelOptions& model, const CertificateFile& file, Json& options);
void read_again(const Json& options, const std::filesystem::path& folder, ModelOptions& model);
std::uint64_t seed_in(const Json& options);

}  // namespace convoy::cli
