// Finds the model in a program, and lets the framework that it is written in make a graph of it.
#include "formats/source.h"

#include "base/budget.h"
#include "base/mapped_file.h"
#include "base/nearest.h"
#include "base/sha256.h"
#include "containers/json.h"
#include "containers/python/unread.h"
#include "formats/arrays.h"
#include "formats/helper_packages.h"
#include "graph/cut.h"

#include <algorithm>
#include <cstdio>
#include <utility>

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
  budget::grant_file(0, 0, static_cast<Size>(text.size()));
  return text;
}

// The code of a notebook, cell behind cell.
Result<std::string> code_of_notebook(std::string_view text) {
  const auto book = parse_json(text);
  if (!book) return std::unexpected(book.error());
  const auto cells = book->is_object() ? book->find("cells") : book->end();
  if (cells == book->end() || !cells->is_array()) return fail(Fault::Format, "is no notebook: it has no cells");
  std::string code;
  for (const Json& cell : *cells) {
    if (!cell.is_object() || cell.value("cell_type", Json()) != "code") continue;
    const Json lines = cell.value("source", Json());
    if (lines.is_string()) code += lines.get<std::string>();
    for (const Json& line : lines.is_array() ? lines : Json::array())
      if (line.is_string()) code += line.get<std::string>();
    code += "\n";
  }
  return code;
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
  std::string text(text_of(blob.bytes));
  if (file.extension() == ".ipynb") {
    auto code = within(file.filename().string(), code_of_notebook(text));
    if (!code) return pass(code);
    text = std::move(*code);
  }
  return python::SourceFile{file.filename().string(), std::move(text)};
}

fs::path folder_of(const fs::path& file) {
  std::error_code ignored;
  return fs::absolute(file, ignored).lexically_normal().parent_path();
}

// Where the outermost package of the file lies: each folder between holds an __init__.py.
fs::path package_root(const fs::path& file) {
  std::error_code ignored;
  fs::path folder = folder_of(file);
  for (int i = 0; i < 64 && fs::exists(folder / "__init__.py", ignored) && folder.has_parent_path(); ++i)
    folder = folder.parent_path();
  return folder;
}

// A way from a root as Program and finder write it: "@2/models" is in the second of those that --allow-root adds.
std::string below(std::size_t number, std::string way) {
  if (way == ".") way.clear();
  return number > 0 ? "@" + std::to_string(number) + "/" + way : way;
}

// The file of the module `path` in the folder `base`, no symbolic link on the way. Nothing: there is none.
Result<std::optional<python::SourceFile>> source_below(const fs::path& base, const std::string& path,
                                                       const fs::path& root, std::size_t number) {
  std::error_code ignored;
  for (const char* end : {".py", "/__init__.py"}) {
    if (path.empty() && end[0] == '.') continue;  // the package itself
    const fs::path found = (path.empty() ? base / "__init__.py" : base / (path + end)).lexically_normal();
    if (!fs::is_regular_file(found, ignored)) continue;
    for (fs::path part = found; part != base && part.has_relative_path(); part = part.parent_path())
      if (fs::is_symlink(part, ignored))
        return fail(Fault::UnsafePath, "module '" + path + "' lies behind a symbolic link");
    auto source = source_at(found);
    if (!source) return pass(source);
    source->name = fs::relative(found, root, ignored).string();
    source->folder = fs::relative(found.parent_path(), root, ignored).string();
    source->folder = below(number, source->folder);
    return std::optional(std::move(*source));
  }
  return std::nullopt;
}

// A folder without an __init__.py is a package, too, whose modules are its files (PEP 420).
std::optional<python::SourceFile> bare_package(const fs::path& base, const std::string& path, const fs::path& root,
                                               std::size_t number) {
  std::error_code ignored;
  const fs::path folder = base / path;
  if (path.empty() || !fs::is_directory(fs::symlink_status(folder, ignored))) return std::nullopt;
  const std::string way = below(number, fs::relative(folder, root, ignored).string());
  return python::SourceFile{way + "/__init__.py", {}, way};
}

// The nearest folder above the file below which the module lies: the one to give with --allow-root. Empty: none.
std::string folder_to_allow(const fs::path& file, std::string module) {
  std::ranges::replace(module, '.', '/');
  std::error_code ignored;
  fs::path folder = folder_of(file);
  for (int i = 0; i < 8 && folder.has_relative_path(); ++i, folder = folder.parent_path())
    for (const char* end : {".py", "/__init__.py"})
      if (fs::is_regular_file(folder / (module + end), ignored)) return folder.string();
  return {};
}

// Modules as files below the root of the program and those that --allow-root adds. A folder is written as its way from its
// root.
python::FindSource finder(const fs::path& file, const std::vector<fs::path>& roots) {
  const bool is_file = file != "-";
  const fs::path root = is_file ? package_root(file) : fs::path(), top = is_file ? folder_of(file) : fs::path();
  // The outermost package itself; a file that is in none has what lies beside it.
  const fs::path package = root == top ? root : root / *top.lexically_relative(root).begin();
  std::vector<fs::path> others;
  for (const fs::path& one : roots) others.push_back(fs::absolute(one).lexically_normal());
  return [root, top, package, others](const std::string& module, Size dots,
                                      const std::string& importing) -> Result<std::optional<python::SourceFile>> {
    std::string path = module;
    std::ranges::replace(path, '.', '/');
    if (path.find("..") != std::string::npos || path.starts_with("/")) return std::nullopt;
    // `importing` is a way from the root that its file was found below: "@2/models" counts the others from 1.
    const bool of_other = importing.starts_with("@");
    const std::size_t number = of_other ? std::stoul(importing.substr(1)) : 0;
    const fs::path& own_root = of_other ? others.at(number - 1) : root;
    const fs::path& outermost = of_other ? own_root : package;
    const auto slash = importing.find('/');
    const std::string way = !of_other ? importing : slash == std::string::npos ? "" : importing.substr(slash + 1);
    const fs::path here = importing.empty() ? top : own_root / way;
    std::vector<std::pair<fs::path, std::size_t>> places;  // where to look, below which root
    if (dots > 0) {
      fs::path folder = here;
      for (Size i = 1; i < dots; ++i) folder = folder.parent_path();
      std::error_code ignored;
      const auto inside = fs::relative(folder, outermost, ignored).string();
      if (!ignored && !inside.starts_with("..") && !here.empty()) places.emplace_back(folder, number);
    } else {
      const std::string first = path.substr(0, path.find('/'));
      if (!root.empty() && (root == package || first == package.filename())) places.emplace_back(root, 0);
      if (!here.empty()) places.emplace_back(here, number);
      // The file's own folder by its name, as a program knows it that is started from the folder above.
      if (root == top && !root.empty() && first == top.filename()) places.emplace_back(top.parent_path(), 0);
      for (std::size_t i = 0; i < others.size(); ++i) places.emplace_back(others[i], i + 1);
    }
    for (const auto& [base, which] : places) {
      auto found = source_below(base, path, which ? others[which - 1] : root, which);
      if (!found || *found) return found;
    }
    if (dots == 0)
      for (const auto& [base, which] : places)
        if (auto found = bare_package(base, path, which ? others[which - 1] : root, which)) return found;
    const std::string_view known = dots > 0 ? std::string_view{} : helper_package(module);
    if (known.empty()) return std::nullopt;
    return std::optional(python::SourceFile{module, std::string(known), {}});
  };
}

// Where the parenthesis that opens at `open` is closed, quotes and inner ones aside; npos: nowhere.
std::size_t closed_at(const std::string& text, std::size_t open) {
  int depth = 0;
  char quote = 0;
  for (std::size_t i = open; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != 0) {
      if (c == '\\') ++i;
      else if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '(' || c == '[' || c == '{') {
      ++depth;
    } else if ((c == ')' || c == ']' || c == '}') && --depth == 0) {
      return i;
    }
  }
  return std::string::npos;
}

// More than a name and what it is called with: "Net.from_name('b0')", "Generator(28, 28).generator()".
bool is_expression(const std::string& part) {
  const auto open = part.find('(');
  if (part.substr(0, open).find('.') != std::string::npos) return true;
  const auto close = open == std::string::npos ? open : closed_at(part, open);
  return close != std::string::npos && close + 1 < part.size();
}

// What stands behind the file's name: "Net", "Net(3, 64)", "(3, 64)", "Net.from_name('b0')".
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
        arrays_(keras_, torch_),
        options_(options),
        in_({&torch_, &arrays_, &keras_}, finder(file_, options.import_roots)) {
    if (file_ != "-")
      in_.advises_root = [of = file_](const std::string& module) { return folder_to_allow(of, module); };
    if (is_expression(part_)) {
      expression_ = std::exchange(part_, {});
    } else if (const auto open = part_.find('('); open != std::string::npos) {
      arguments_ = part_.substr(open);
      part_.resize(open);
    }
  }

  Result<Graph> run() {
    auto source = source_at(file_);
    if (!source) return pass(source);
    // As if it had been imported: another file of the package that imports this one gets the same module.
    std::error_code ignored;
    source->folder = fs::relative(folder_of(file_), package_root(file_), ignored).string();
    if (source->folder == ".") source->folder.clear();
    return run(std::move(*source));
  }

  Result<Graph> run(python::SourceFile given) {
    const python::SourceFile* source = &given;
    name_ = source->name;
    if (auto lent = lend_values(); !lent) return pass(lent);
    auto scope = in_.run_as_far(*source);
    if (!scope) return pass(scope);
    if (const auto* lost = spoiling()) return std::unexpected(lost->error);
    lend_names(**scope);
    auto model = !expression_.empty() ? said() : part_.empty() ? chosen(**scope) : named(**scope);
    if (!model) return within(name_, Result<Graph>(pass(model)));
    auto graph = graph_of(*model);
    if (options_.names_taken) options_.names_taken->insert(in_.lent_used.begin(), in_.lent_used.end());
    if (graph && options_.for_one_model)
      for (const auto& [name, value] : in_.lent)
        if (!in_.lent_used.contains(name))
          return fail(Fault::Usage,
                      "--set " + name + ": the model asks for no such name, or the program itself says it");
    if (graph && graph->name.empty()) graph->name = part_.empty() ? fs::path(name_).stem().string() : part_;
    if (graph && options_.remarks) tell_left_out(given.text);
    if (!graph && graph.error().where.find(name_) == std::string::npos) return within(name_, std::move(graph));
    return graph;
  }

  // Of a module of PyTorch, once it is run.
  Result<std::vector<LoadedTensor>> state() const { return within(name_, torch_.state()); }

 private:
  // The first words of what was read over; of many statements the first few.
  void tell_left_out(const std::string& text) {
    constexpr std::size_t most = 5;
    const auto& all = in_.left_out();
    for (std::size_t i = 0; i < all.size() && i < most; ++i) {
      const std::size_t at = std::min(all[i].statement->at, text.size());
      const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
      std::string words = python::line_around(text, at);
      if (words.size() > 50) words = words.substr(0, 50) + "...";
      options_.remarks->push_back(name_ + ":" + std::to_string(line) + " was read over: " + words);
    }
    if (all.size() > most)
      options_.remarks->push_back(std::to_string(all.size() - most) + " more statements of " + name_ +
                                  " were read over");
  }

  bool is_model(Value v) const { return keras_.is_model(v) || torch_.is_model(v); }
  bool is_tensor(Value v) const { return v.as<keras::SourceTensor>() || torch_.is_tensor(v); }
  bool is_class(Value v) const { return keras_.is_model_class(v) || torch_.is_model_class(v); }

  Result<Graph> graph_of(Value model) {
    if (torch_.is_model(model) || torch_.is_tensor(model)) {
      auto graph = torch_.graph_of(in_, model);
      return graph ? cut_at(*std::move(graph), options_.outputs) : std::move(graph);
    }
    return keras_.graph_of(in_, model);
  }

  // --set NAME=VALUE, in Python's words.
  Status lend_values() {
    for (const std::string& said : options_.names) {
      const auto equals = said.find('=');
      const std::string name = said.substr(0, equals);
      const bool is_name = !name.empty() && name.find_first_not_of(
                                                "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                                "0123456789_") == std::string::npos;
      if (equals == std::string::npos || !is_name)
        return fail(Fault::Usage, "--set: '" + said + "' is not NAME=VALUE, such as img_size=(32,32,3)");
      auto made = in_.run({"--set", "value = (" + said.substr(equals + 1) + ")\n", {}});
      if (!made) {
        made.error().fault = Fault::Usage;
        return pass(made);
      }
      in_.lent[name] = *(*made)->names.find("value");
    }
    return {};
  }

  // What the command line says sees the file's own names.
  void lend_names(const python::Scope& scope) {
    if (arguments_.empty() && expression_.empty()) return;
    for (const auto& [name, value] : scope.names.all()) in_.builtins[name] = value;
  }

  // What a call with these arguments is given: --args 3,64,stride=2
  Result<python::Arguments> arguments_in(const std::string& place, const std::string& parenthesis) {
    python::Arguments given;
    in_.builtins["arguments"] = in_.native("arguments", [&](Interpreter&, python::Arguments& a) -> Result<Value> {
      given = a;
      return Value();
    });
    auto done = in_.run({place, "arguments" + parenthesis});
    if (!done) {
      // What the file itself says is no fault of the command line.
      if (done.error().where.empty() || done.error().where.starts_with(place)) done.error().fault = Fault::Usage;
      return pass(done);
    }
    return given;
  }
  Result<python::Arguments> arguments() {
    if (arguments_.empty()) return python::Arguments{};
    return arguments_in("--args", arguments_);
  }

  // The value of an expression of the file's names.
  Result<Value> said() {
    auto given = arguments_in(name_ + ":" + expression_, "(" + expression_ + ")");
    if (!given && given.error().fault != Fault::Usage) return within(expression_, Result<Value>(pass(given)));
    if (!given) return pass(given);
    if (given->placed.size() != 1 || !given->named.empty())
      return fail(Fault::Usage, "'" + expression_ + "' is not one model");
    const Value value = given->placed.front();
    if (is_model(value) || is_tensor(value)) return value;
    if (const auto* unread = value.as<python::NotRead>()) return unread->refused(in_);
    if (is_class(value) || value.as<python::Function>()) return within(expression_, made(value));
    return fail(Fault::Usage, "'" + expression_ + "' is a " + python::type_name(value) + ", which is no model");
  }

  // The parameters of a function that --shape names are inputs.
  void give_inputs(const Value& maker, python::Arguments& given) {
    const auto* function = maker.as<python::Function>();
    if (!function) return;
    const auto is_array = [](const std::string& word) { return word == "tf" || word == "np" || word == "tensorflow"; };
    const bool as_arrays = python::mentions(*function->body, is_array);
    const auto& parameters = function->parameters->parts;
    for (std::size_t i = given.placed.size(); i < parameters.size(); ++i)
      if (const auto said = options_.shapes.find(parameters[i].text); said != options_.shapes.end())
        given.named.emplace_back(said->first, torch_.input(in_, said->first, said->second, as_arrays));
  }

  Result<Value> made(Value maker) {
    auto given = arguments();
    if (!given) return pass(given);
    give_inputs(maker, *given);
    auto model = in_.call(maker, std::move(*given));
    if (!model && model.error().where.empty() && model.error().what.find("is missing") != std::string::npos)
      return fail(Fault::Usage, model.error().what + "; give it with --args");
    if (model && !is_model(*model) && !is_tensor(*model))
      return fail(Fault::Unsupported, "gives a " + python::type_name(*model) + ", which is no model");
    return model;
  }

  Result<Value> named(python::Scope& scope) {
    const Value* found = scope.names.find(part_);
    if (!found && !in_.left_out().empty()) return std::unexpected(in_.left_out().front().error);
    if (!found)
      return fail(Fault::Usage,
                  "there is no '" + part_ + "' in it" + did_you_mean(part_, models_in(scope), listed(scope)));
    if (is_model(*found) || is_tensor(*found)) return *found;
    if (const auto* unread = found->as<python::NotRead>()) return unread->refused(in_);
    if (is_class(*found) || found->as<python::Function>()) return within(part_, made(*found));
    return fail(Fault::Usage,
                "'" + part_ + "' is a " + python::type_name(*found) + ", which is no model" + behind(listed(scope)));
  }

  std::vector<std::string> models_in(const python::Scope& scope) const {
    std::vector<std::string> names;
    for (const auto& [name, value] : scope.names.all())
      if (is_model(value) || is_class(value) || value.as<python::Function>()) names.push_back(name);
    return names;
  }

  std::string listed(const python::Scope& scope, bool with_parameters = false) const {
    std::string names;
    for (const std::string& name : models_in(scope))
      names += (names.empty() ? "it has " : ", ") + name + (with_parameters ? wanted_by(scope, name) : "");
    return names;
  }

  // "(classes, depth)": what a function of the program cannot be called without.
  static std::string wanted_by(const python::Scope& scope, const std::string& name) {
    const auto* function = scope.names.find(name)->as<python::Function>();
    if (!function) return {};
    std::string words;
    for (const python::Syntax& p : function->parameters->parts)
      if (p.parts[0].kind == python::SyntaxKind::Absent &&
          static_cast<python::ParameterKind>(p.integer) <= python::ParameterKind::NameOnly)
        words += (words.empty() ? "" : ", ") + p.text;
    return "(" + words + ")";
  }

  std::string asking_for_arguments(const python::Scope& scope) const {
    const auto& all = scope.names.all();
    const bool any =
        std::ranges::any_of(all, [](const auto& one) { return one.second.template as<python::Function>(); });
    return any ? "; name one of them with its arguments, as in '" + name_ + ":build(10)'" : "";
  }

  static std::string behind(const std::string& sentence) { return sentence.empty() ? "" : "; " + sentence; }

  Result<Value> chosen(const python::Scope& scope) {
    const auto& all = scope.names.all();
    for (const bool tensors : {false, true})
      for (std::size_t i = all.size(); i-- > 0;)
        if (tensors ? is_tensor(all[i].second) && !torch_.is_literal(all[i].second) : is_model(all[i].second)) {
          if (const auto* left = rival(scope, i)) return std::unexpected(asking_for_a_name(*left));
          return all[i].second;
        }
    const bool all_parts = std::ranges::all_of(all, [&](const auto& one) {
      const auto at = static_cast<std::size_t>(&one - all.data());
      return !is_class(one.second) || is_base(all, at) || is_part(all, at);
    });
    for (std::size_t i = all.size(); i-- > 0;)
      if (is_class(all[i].second) && !is_base(all, i) && (all_parts || !is_part(all, i))) {
        if (const auto* left = rival(scope, i)) return std::unexpected(asking_for_a_name(*left));
        return within(all[i].first, made(all[i].second));
      }
    if (!in_.left_out().empty()) return std::unexpected(in_.left_out().front().error);
    // A function that can be called as it stands.
    std::vector<std::pair<std::string, Value>> makers;
    for (const auto& [name, value] : all)
      if (const auto* f = value.as<python::Function>()) {
        const bool ready = std::ranges::none_of(f->parameters->parts, [](const python::Syntax& p) {
          return p.parts[0].kind == python::SyntaxKind::Absent &&
                 static_cast<python::ParameterKind>(p.integer) <= python::ParameterKind::NameOnly;
        });
        const bool has_inputs = std::ranges::any_of(
            f->parameters->parts, [&](const python::Syntax& p) { return options_.shapes.contains(p.text); });
        if (ready || has_inputs || !arguments_.empty()) makers.emplace_back(name, value);
      }
    // The last of them that makes one: others load files, or check.
    std::optional<Result<Value>> first_refused;
    for (auto maker = makers.rbegin(); maker != makers.rend(); ++maker) {
      auto model = within(maker->first, made(maker->second));
      if (model || is_too_much(model.error().fault)) return model;
      if (!first_refused) first_refused = std::move(model);
    }
    if (first_refused) return std::move(*first_refused);
    return fail(Fault::Unsupported,
                "holds no model: no module, no Keras model, and no function that makes one as it stands" +
                    behind(listed(scope, true)) + asking_for_arguments(scope));
  }

  using LeftOut = Interpreter::LeftOut;

  bool is_of_models(const Value* v) const { return v && (is_model(*v) || is_tensor(*v) || is_class(*v)); }

  // A statement that was not understood and might have changed a model or a class of the program.
  const LeftOut* spoiling() const {
    for (const LeftOut& left : in_.left_out())
      for (const std::string& name : left.changed)
        if (is_of_models(left.before.find(name))) return &left;
    return nullptr;
  }

  // What was not understood and might have been the model that is meant, rather than the one at this place: a class, or
  // what is made of models, bound behind it.
  const LeftOut* rival(const python::Scope& scope, std::size_t place) const {
    const auto& all = scope.names.all();
    for (const LeftOut& left : in_.left_out()) {
      const auto is_meant = [&](const std::string& word) {
        return is_of_models(left.before.find(word)) || is_of_models(scope.names.find(word));
      };
      const bool binds = left.statement->kind == python::SyntaxKind::Assign;
      if (left.statement->kind != python::SyntaxKind::Class &&
          !(binds && python::mentions(left.statement->parts.back(), is_meant)))
        continue;
      for (const std::string& name : left.bound) {
        const auto found = std::ranges::find(all, name, &std::pair<std::string, Value>::first);
        const bool was_model = is_of_models(left.before.find(name));
        if (was_model || (found != all.end() && static_cast<std::size_t>(found - all.begin()) > place)) return &left;
      }
    }
    return nullptr;
  }

  Error asking_for_a_name(const LeftOut& left) const {
    Error error = left.error;
    error.what += "\n    (another model of the file is read where it is named, as in " + name_ + ":Net)";
    return error;
  }

  // Whether another class of the program derives from it.
  bool is_base(const std::vector<std::pair<std::string, Value>>& all, std::size_t at) const {
    const auto* self = all[at].second.as<python::Class>();
    return std::ranges::any_of(all, [&](const auto& other) {
      const auto* type = other.second.template as<python::Class>();
      return type && type != self && type->derives_from(self);
    });
  }

  // Whether another class of the program makes one of it, and so is nearer to the model that is meant.
  bool is_part(const std::vector<std::pair<std::string, Value>>& all, std::size_t at) const {
    const auto* self = all[at].second.as<python::Class>();
    const auto is_it = [&](const std::string& word) { return word == all[at].first; };
    return std::ranges::any_of(all, [&](const auto& other) {
      const auto* type = other.second.template as<python::Class>();
      if (!type || type == self || !is_class(other.second)) return false;
      return std::ranges::any_of(type->attributes.all(), [&](const auto& one) {
        const auto* function = one.second.template as<python::Function>();
        return function && function->body && python::mentions(*function->body, is_it);
      });
    });
  }

  fs::path file_;
  std::string part_, arguments_, expression_, name_;
  keras::SourceLibrary keras_;
  torch::SourceLibrary torch_;
  ArrayLibrary arrays_;
  const LoadOptions& options_;
  Interpreter in_;
};

}  // namespace

Result<std::optional<fs::path>> weights_beside(const fs::path& file) {
  const fs::path program = file_of(file);
  if (program == "-") return std::nullopt;
  const auto source = source_at(program);
  if (!source) return std::nullopt;
  constexpr std::string_view name = "\nWEIGHTS_SHA256 = \"";
  const auto at = source->text.find(name);
  if (at == std::string::npos) return std::nullopt;
  const std::string wanted = source->text.substr(at + name.size(), 64);
  std::string others;
  const std::string meanwhile = "." + wanted.substr(0, 16);  // where both were being replaced: base/atomic_output.h
  for (const std::string& end : {meanwhile + ".safetensors", meanwhile + ".pt", meanwhile + ".weights.h5",
                                 std::string(".safetensors"), std::string(".pt"), std::string(".weights.h5")}) {
    const fs::path beside = fs::path(program).replace_extension(end);
    std::error_code ignored;
    if (!fs::is_regular_file(beside, ignored)) continue;
    const auto mapped = open_file(beside.string());
    if (mapped && sha256_hex((*mapped)->bytes()) == wanted) return beside;
    others += (others.empty() ? "'" : " and '") + beside.filename().string() + "'";
  }
  if (others.empty()) return std::nullopt;
  return within(program.filename().string(),
                Result<std::optional<fs::path>>(fail(
                    Fault::Usage, "names other weights than " + others + " beside it holds (WEIGHTS_SHA256 = \"" +
                                      wanted.substr(0, 8) + "...\"); name the file that is meant with --weights")));
}

fs::path file_of(const fs::path& file) {
  const std::string text = file.string();
  if (text.starts_with("-(")) return "-";
  for (const std::string end : {".py", ".ipynb"})
    if (const auto at = text.find(end + ":"); at != std::string::npos) return text.substr(0, at + end.size());
  return file;
}

bool is_source(const fs::path& file) {
  const fs::path program = file_of(file);
  return program == "-" || program.extension() == ".py" || program.extension() == ".ipynb";
}

Result<Graph> read_source_text(std::string text, const std::string& part, const LoadOptions& options) {
  return Program("-", part, options).run({"the text", std::move(text)});  // nothing lies beside it
}

Result<Graph> read_source(const fs::path& file, const LoadOptions& options) { return Program(file, options).run(); }

Result<std::vector<LoadedTensor>> state_of_source(const fs::path& file, const LoadOptions& options) {
  Program program(file, options);
  if (auto graph = program.run(); !graph) return pass(graph);
  return program.state();
}

}  // namespace convoy
