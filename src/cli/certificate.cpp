#include "cli/certificate.h"

#include "base/mapped_file.h"
#include "base/sha256.h"
#include "base/words.h"
#include "cli/output.h"
#include "containers/json.h"
#include "formats/source.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <string_view>

namespace convoy::cli {
namespace {

namespace fs = std::filesystem;

fs::path folder_of(const fs::path& file) { return fs::absolute(file).lexically_normal().parent_path(); }

// Numbers that rounding moves: another processor may sum in another order. Their verdicts stand beside them.
bool is_measured(std::string_view key) {
  constexpr std::array words{"r",     "largest",    "whole_largest",   "ratio",         "ratio_after_fix",
                             "share", "ratio_next", "outputs_largest", "outputs_moved", "magnified"};
  return is_among(words, key);
}

struct Parted {
  std::vector<std::string> results, measured;  // "proof.layers conv.same: was true, is false"
};

std::string worded(const Json& value) {
  std::string text = json_text(value);
  return text.size() > 80 ? text.substr(0, 77) + "..." : text;
}

// What an entry of a list is called, so that a reader finds it.
std::string called(const Json& entry, std::size_t i) {
  for (const char* key : {"layer", "name", "path", "a"}) {
    const auto at = entry.is_object() ? entry.find(key) : entry.end();
    if (entry.is_object() && at != entry.end() && at->is_string()) return " " + at->get<std::string>();
  }
  return " " + std::to_string(i + 1);
}

void compare(const Json& was, const Json& is, const std::string& place, std::string_view key, Parted& parted) {
  if (was.is_object() && is.is_object()) {
    for (const auto& [name, value] : was.items()) {
      const std::string below = place.empty() ? name : place + "." + name;
      if (is.contains(name)) compare(value, is.at(name), below, name, parted);
      else parted.results.push_back(below + ": was " + worded(value) + ", is not there");
    }
    for (const auto& [name, value] : is.items())
      if (!was.contains(name)) parted.results.push_back(place + "." + name + ": was not there, is " + worded(value));
    return;
  }
  if (was.is_array() && is.is_array() && was.size() == is.size()) {
    for (std::size_t i = 0; i < was.size(); ++i) compare(was[i], is[i], place + called(was[i], i), key, parted);
    return;
  }
  if (was == is) return;
  auto& list = is_measured(key) && was.is_number() && is.is_number() ? parted.measured : parted.results;
  list.push_back(place + ": was " + worded(was) + ", is " + worded(is));
}

Json described_bytes(std::string path, Bytes bytes) {
  return {{"path", std::move(path)}, {"bytes", bytes.size()}, {"sha256", sha256_hex(bytes)}};
}

Result<Json> read_certificate(const std::string& file) {
  const auto mapped = open_file(file);
  if (!mapped) return std::unexpected(mapped.error());
  const Bytes bytes = (*mapped)->bytes();
  auto json = within(file, parse_json({reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
  if (!json) return json;
  const std::string kind = word_in(*json, "certificate");
  const bool is_complete = json->is_object() && json->contains("options") && (*json)["options"].is_object() &&
                           json->contains("sources") && (*json)["sources"].is_array();
  if ((kind != "port" && kind != "diff") || !is_complete)
    return fail(Fault::Format,
                "'" + file + "' is no certificate; convoy port --report FILE and convoy diff --report FILE write one");
  return json;
}

// One line for each file that is not what the certificate says.
std::vector<std::string> changed_files(const Json& certificate, const fs::path& folder, Size& count, bool& runs) {
  std::vector<std::string> changed;
  for (const char* key : {"sources", "files"}) {
    if (!certificate.contains(key) || !certificate[key].is_array()) continue;
    for (const Json& entry : certificate[key]) {
      const std::string path = word_in(entry, "path"), wanted = word_in(entry, "sha256");
      ++count;
      const auto mapped = open_file((folder / path).string());
      if (!mapped) {
        changed.push_back("missing  " + path);
        runs = runs && key != std::string_view("sources");
        continue;
      }
      const std::string now = sha256_hex((*mapped)->bytes());
      if (now != wanted)
        changed.push_back(fmt::format("changed  {}: sha256 {}, was {}", path, now.substr(0, 16), wanted.substr(0, 16)));
    }
  }
  return changed;
}

// The certificate's results, files by their names alone.
Json results_of(Json certificate) {
  for (const char* head : {"certificate", "convoy", "options", "sources"}) certificate.erase(head);
  if (certificate.contains("files") && certificate["files"].is_array())
    for (Json& file : certificate["files"]) file["path"] = fs::path(word_in(file, "path")).filename().string();
  return certificate;
}

}  // namespace

Result<CertificateFile> CertificateFile::begin(const std::string& file, bool force,
                                               const std::vector<std::string>& sources) {
  std::vector<fs::path> kept;
  for (const std::string& source : sources)
    if (!source.empty()) kept.push_back(file_of(source));
  auto out = OutputSet::begin({file}, force, kept);
  if (!out) return pass(out);
  return CertificateFile(*std::move(out), folder_of(file));
}

std::string CertificateFile::path_from_here(const fs::path& file) const {
  return fs::absolute(file).lexically_normal().lexically_proximate(folder_).generic_string();
}

Result<Json> CertificateFile::described(const fs::path& file) const {
  const auto mapped = open_file(file.string());
  if (!mapped) return std::unexpected(mapped.error());
  return described_bytes(path_from_here(file), (*mapped)->bytes());
}

Status CertificateFile::write(const Json& certificate) {
  const std::string text = json_text(certificate, 1) + "\n";
  if (auto done = out_.append(0, bytes_of(text)); !done) return done;
  if (auto closed = out_.close(0); !closed) return pass(closed);
  return {};
}

Result<Json> begun_certificate(const CertificateFile& file, const char* kind, Json options,
                               const std::vector<fs::path>& sources) {
  Json certificate{{"schema", 1}, {"certificate", kind}, {"convoy", CONVOY_VERSION}, {"options", std::move(options)}};
  certificate["sources"] = Json::array();
  for (const fs::path& source : sources) {
    auto entry = file.described(source);
    if (!entry) return entry;
    certificate["sources"].push_back(*std::move(entry));
  }
  return certificate;
}

std::string word_in(const Json& options, const char* name) {
  if (!options.is_object() || !options.contains(name) || !options[name].is_string()) return {};
  return options[name].get<std::string>();
}
std::vector<std::string> words_in(const Json& options, const char* name) {
  std::vector<std::string> words;
  if (!options.is_object() || !options.contains(name) || !options[name].is_array()) return words;
  for (const Json& word : options[name])
    if (word.is_string()) words.push_back(word.get<std::string>());
  return words;
}
bool flag_in(const Json& options, const char* name) {
  return options.is_object() && options.contains(name) && options[name].is_boolean() && options[name].get<bool>();
}

void keep_reading(const ModelOptions& model, const CertificateFile& file, Json& options) {
  Json roots = Json::array();
  for (const std::string& root : model.roots) roots.push_back(file.path_from_here(root));
  options["roots"] = std::move(roots);
  options["set"] = model.names;
  options["signature"] = model.signature;
  options["dequantize"] = model.dequantizes;
}

void read_again(const Json& options, const std::filesystem::path& folder, ModelOptions& model) {
  model.size = word_in(options, "size");
  model.shapes = words_in(options, "shapes");
  for (const std::string& root : words_in(options, "roots"))
    model.roots.push_back(root.empty() ? root : (folder / root).string());
  model.names = words_in(options, "set");
  model.signature = word_in(options, "signature");
  model.dequantizes = flag_in(options, "dequantize");
}
std::uint64_t seed_in(const Json& options) {
  if (!options.is_object() || !options.contains("seed")) return 0;
  const Json& seed = options["seed"];
  return seed.is_number_unsigned() ? seed.get<std::uint64_t>()
                                   : static_cast<std::uint64_t>(seed.is_number_integer() ? seed.get<Size>() : 0);
}

int check_certificate(const CheckOptions& o) {
  const auto certificate = read_certificate(o.file);
  if (!certificate) return report(certificate.error());
  const fs::path folder = folder_of(o.file);
  const std::string kind = word_in(*certificate, "certificate"), version = word_in(*certificate, "convoy");
  const Json& options = (*certificate)["options"];
  Size count = 0;
  bool runs = true;
  const auto changed = changed_files(*certificate, folder, count, runs);
  Parted parted;
  std::string trouble = runs ? "" : "a source is missing";
  if (runs) {
    const auto again = kind == "port" ? port_again(options, folder, o.threads) : diff_again(options, folder, o.threads);
    if (again) compare(results_of(*certificate), results_of(*again), "", "", parted);
    else trouble = message(again.error());
  }
  const bool same = changed.empty() && parted.results.empty() && trouble.empty();
  if (o.json) {
    const Json json{{"schema", 1},
                    {"same", same},
                    {"files", count},
                    {"changed", changed},
                    {"trouble", trouble},
                    {"results", parted.results},
                    {"measured", parted.measured}};
    print_json(json);
    return same ? Done : Differs;
  }
  if (o.quiet && same) return Done;
  const auto listed = [](const std::vector<std::string>& lines) {
    constexpr std::size_t most = 12;
    for (std::size_t i = 0; i < lines.size() && i < most; ++i) print("        {}\n", lines[i]);
    if (lines.size() > most) print("        and {} more\n", lines.size() - most);
  };
  print("checked {}  {} by convoy {}\n", fs::path(o.file).filename().string(), kind, version);
  print("files   {} of {} as they were\n", count - static_cast<Size>(changed.size()), count);
  listed(changed);
  if (!trouble.empty()) print("proof   not run again: {}\n", trouble);
  else if (parted.results.empty()) print("proof   run again: the same results\n");
  else print("proof   run again, with other results\n");
  listed(parted.results);
  if (!parted.measured.empty() && parted.results.empty()) {
    print("note    {} measured figures moved, all verdicts stand; another processor may round otherwise\n",
          parted.measured.size());
    listed(parted.measured);
  }
  if (version != CONVOY_VERSION) print("note    run again by convoy {}\n", CONVOY_VERSION);
  return same ? Done : Differs;
}

}  // namespace convoy::cli
