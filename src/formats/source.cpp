// Finds the model in a program, and lets the framework that it is written in make a graph of it.
#include "formats/source.h"

#include "base/mapped_file.h"
#include "containers/python/interpreter.h"
#include "formats/keras/source/library.h"
#include "formats/torch/source/library.h"

#include <algorithm>
#include <cstdio>

namespace convoy {
namespace {

namespace fs = std::filesystem;
using python::Interpreter;
using python::Value;

constexpr std::size_t longest_source = std::size_t{1} << 20;

Result<std::string> standard_input() {
  std::string text;
  char buffer[65536];
  for (std::size_t n; (n = std::fread(buffer, 1, sizeof buffer, stdin)) > 0;) {
    text.append(buffer, n);
    if (text.size() > longest_source) return fail(Fault::Limit, "standard input: the text is longer than 1 MiB");
  }
  if (std::ferror(stdin)) return fail(Fault::Io, "standard input cannot be read");
  return text;
}

Result<python::SourceFile> source_at(const fs::path& file) {
  if (file == "-") {
    auto text = standard_input();
    if (!text) return pass(text);
    return python::SourceFile{"standard input", std::move(*text)};
  }
  const auto mapped = open_file(file.string());
  if (!mapped) return std::unexpected(mapped.error());
  const Blob blob = blob_of(*mapped);
  if (blob.bytes.size() > longest_source) return fail(Fault::Limit, file.string() + ": the text is longer than 1 MiB");
  return python::SourceFile{file.filename().string(), std::string(text_of(blob.bytes))};
}

// The outermost folder that is a package of the file: each one up holds an __init__.py.
fs::path package_root(const fs::path& file) {
  std::error_code ignored;
  fs::path folder = fs::absolute(file).parent_path();
  for (int i = 0; i < 64 && fs::exists(folder / "__init__.py", ignored) && folder.has_parent_path(); ++i)
    folder = folder.parent_path();
  return folder;
}

// Modules as files below the root, no symbolic link on the way. A folder is written as its way from the root.
python::FindSource finder(const fs::path& file) {
  if (file == "-") return {};
  const fs::path root = package_root(file), top = fs::absolute(file).parent_path();
  return [root, top](const std::string& module, Size dots,
                     const std::string& importing) -> Result<std::optional<python::SourceFile>> {
    std::error_code ignored;
    const fs::path here = importing.empty() ? top : root / importing;
    fs::path folder = dots > 0 ? here : root;
    for (Size i = 1; i < dots; ++i) folder = folder.parent_path();
    const auto inside = fs::relative(folder, root, ignored).string();
    if (ignored || inside.starts_with("..")) return std::nullopt;
    std::string path = module;
    std::ranges::replace(path, '.', '/');
    if (path.find("..") != std::string::npos || path.starts_with("/")) return std::nullopt;
    for (const fs::path& base : {folder, dots > 0 ? folder : here})
      for (const char* end : {".py", "/__init__.py"}) {
        const fs::path found = (base / (path + end)).lexically_normal();
        if (!fs::is_regular_file(found, ignored)) continue;
        for (fs::path part = found; part != base && part.has_relative_path(); part = part.parent_path())
          if (fs::is_symlink(part, ignored))
            return fail(Fault::UnsafePath, "module '" + module + "' lies behind a symbolic link");
        auto source = source_at(found);
        if (!source) return pass(source);
        source->name = fs::relative(found, root, ignored).string();
        source->folder = fs::relative(found.parent_path(), root, ignored).string();
        if (source->folder == ".") source->folder.clear();
        return std::optional(std::move(*source));
      }
    return std::nullopt;
  };
}

// What stands behind the file's name: "Net", "Net(3, 64)", "(3, 64)".
std::string part_of(const fs::path& file) {
  const std::string text = file.string(), whole = file_of(file).string();
  if (text == whole) return {};
  return text.substr(whole.size() + (text[whole.size()] == ':'));
}

class Program {
 public:
  Program(const fs::path& file, const LoadOptions& options) : Program(file_of(file), part_of(file), options) {}
  Program(fs::path file, std::string part, const LoadOptions& options)
      : file_(std::move(file)),
        part_(std::move(part)),
        keras_(options),
        torch_(options),
        in_({&torch_, &keras_}, finder(file_)) {
    if (const auto open = part_.find('('); open != std::string::npos) {
      arguments_ = part_.substr(open);
      part_.resize(open);
    }
  }

  Result<Graph> run() {
    auto source = source_at(file_);
    if (!source) return pass(source);
    return run(std::move(*source));
  }

  Result<Graph> run(python::SourceFile given) {
    const python::SourceFile* source = &given;
    name_ = source->name;
    auto scope = in_.run(*source);
    if (!scope) return pass(scope);
    auto model = part_.empty() ? chosen(**scope) : named(**scope);
    if (!model) return within(name_, Result<Graph>(pass(model)));
    auto graph = graph_of(*model);
    if (graph && graph->name.empty()) graph->name = part_.empty() ? fs::path(name_).stem().string() : part_;
    if (!graph && graph.error().where.find(name_) == std::string::npos) return within(name_, std::move(graph));
    return graph;
  }

 private:
  bool is_model(Value v) const { return keras_.is_model(v) || torch_.is_model(v); }
  bool is_tensor(Value v) const { return v.as<keras::SourceTensor>() || torch_.is_tensor(v); }
  bool is_class(Value v) const { return keras_.is_model_class(v) || torch_.is_model_class(v); }

  Result<Graph> graph_of(Value model) {
    if (torch_.is_model(model) || torch_.is_tensor(model)) return torch_.graph_of(in_, model);
    return keras_.graph_of(in_, model);
  }

  // --args 3,64,stride=2
  Result<python::Arguments> arguments() {
    python::Arguments given;
    if (arguments_.empty()) return given;
    in_.builtins["arguments"] = in_.native("arguments", [&](Interpreter&, python::Arguments& a) -> Result<Value> {
      given = a;
      return Value();
    });
    auto done = in_.run({"--args", "arguments" + arguments_});
    if (!done) {
      done.error().fault = Fault::Usage;
      return pass(done);
    }
    return given;
  }

  Result<Value> made(Value maker) {
    auto given = arguments();
    if (!given) return pass(given);
    auto model = in_.call(maker, std::move(*given));
    if (!model && model.error().where.empty() && model.error().what.find("is missing") != std::string::npos)
      return fail(Fault::Usage, model.error().what + "; give it with --args");
    if (model && !is_model(*model) && !is_tensor(*model))
      return fail(Fault::Unsupported, "gives a " + python::type_name(*model) + ", which is no model");
    return model;
  }

  Result<Value> named(python::Scope& scope) {
    const Value* found = scope.names.find(part_);
    if (!found) return fail(Fault::Usage, "there is no '" + part_ + "' in it" + listed(scope));
    if (is_model(*found) || is_tensor(*found)) return *found;
    if (is_class(*found) || found->as<python::Function>()) return within(part_, made(*found));
    return fail(Fault::Usage,
                "'" + part_ + "' is a " + python::type_name(*found) + ", which is no model" + listed(scope));
  }

  std::string listed(const python::Scope& scope) const {
    std::string names;
    for (const auto& [name, value] : scope.names.all())
      if (is_model(value) || is_class(value) || value.as<python::Function>())
        names += (names.empty() ? "" : ", ") + name;
    return names.empty() ? "" : "; it has " + names;
  }

  Result<Value> chosen(const python::Scope& scope) {
    const auto& all = scope.names.all();
    for (const bool tensors : {false, true})
      for (std::size_t i = all.size(); i-- > 0;)
        if (tensors ? is_tensor(all[i].second) : is_model(all[i].second)) return all[i].second;
    for (std::size_t i = all.size(); i-- > 0;)
      if (is_class(all[i].second) && !is_base(all, i)) return within(all[i].first, made(all[i].second));
    // A function that can be called as it stands.
    std::vector<std::pair<std::string, Value>> makers;
    for (const auto& [name, value] : all)
      if (const auto* f = value.as<python::Function>()) {
        const bool ready = std::ranges::none_of(f->parameters->parts, [](const python::Syntax& p) {
          return p.parts[0].kind == python::SyntaxKind::Absent &&
                 static_cast<python::ParameterKind>(p.integer) <= python::ParameterKind::NameOnly;
        });
        if (ready || !arguments_.empty()) makers.emplace_back(name, value);
      }
    // The last of them that makes one: others load files, or check.
    std::optional<Result<Value>> first_refused;
    for (auto maker = makers.rbegin(); maker != makers.rend(); ++maker) {
      auto model = within(maker->first, made(maker->second));
      if (model || model.error().fault == Fault::Limit) return model;
      if (!first_refused) first_refused = std::move(model);
    }
    if (first_refused) return std::move(*first_refused);
    return fail(
        Fault::Unsupported,
        "holds no model: no module, no Keras model, and no function that makes one as it stands" + listed(scope));
  }

  // Whether another class of the program derives from it.
  bool is_base(const std::vector<std::pair<std::string, Value>>& all, std::size_t at) const {
    const auto* self = all[at].second.as<python::Class>();
    return std::ranges::any_of(all, [&](const auto& other) {
      const auto* type = other.second.template as<python::Class>();
      return type && type != self && type->derives_from(self);
    });
  }

  fs::path file_;
  std::string part_, arguments_, name_;
  keras::SourceLibrary keras_;
  torch::SourceLibrary torch_;
  Interpreter in_;
};

}  // namespace

fs::path file_of(const fs::path& file) {
  const std::string text = file.string();
  if (text.starts_with("-(")) return "-";
  const auto at = text.find(".py:");
  return at == std::string::npos ? file : fs::path(text.substr(0, at + 3));
}

bool is_source(const fs::path& file) { return file_of(file) == "-" || file_of(file).extension() == ".py"; }

Result<Graph> read_source_text(std::string text, const std::string& part, const LoadOptions& options) {
  return Program("-", part, options).run({"the text", std::move(text)});  // nothing lies beside it
}

Result<Graph> read_source(const fs::path& file, const LoadOptions& options) { return Program(file, options).run(); }

}  // namespace convoy
