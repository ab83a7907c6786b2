#include "containers/python/unread.h"
#include "base/words.h"

#include <algorithm>
#include <array>

namespace convoy::python {

Result<std::optional<Value>> Unread::attribute(Interpreter& in, const std::string&) { return refused(in); }

std::unexpected<Error> Unread::refused(Interpreter& in) const {
  if (first_) return in.fail_again(*first_);
  return fail(Fault::Unsupported, "'" + name + "' is not read: " + why_);
}

std::unexpected<Error> Outside::refused(Interpreter&) const {
  return fail(Fault::Unsupported,
              "'" + name + "' is not read, and the model depends on it; write what it is in its place");
}

Value Outside::changed(Interpreter& in) {
  auto* made = in.make<Outside>(name);
  made->note_change();
  return Value::of(made);
}

Result<std::optional<Value>> Outside::attribute(Interpreter& in, const std::string& word) {
  if (word == "__enter__")
    return in.native(word, [this](Interpreter&, Arguments&) -> Result<Value> { return Value::of(this); });
  if (word.starts_with("__")) return std::nullopt;
  constexpr std::array<std::string_view, 5> changing{"pop", "popitem", "update", "setdefault", "clear"};
  if (std::ranges::find(changing, word) != changing.end()) note_change();
  return Value::of(in.make<Outside>(name + "." + word, this));
}

Result<Value> Outside::call(Interpreter& in, Arguments&) {
  if (auto paid = in.charge(static_cast<Size>(name.size())); !paid) return pass(paid);
  return Value::of(in.make<Outside>(name + "()"));
}

Result<Value> Outside::item(Interpreter& in, Value key) {
  const auto* word = key.as<Text>();
  if (auto paid = in.charge(static_cast<Size>(name.size() + (word ? word->text.size() : 0))); !paid) return pass(paid);
  return Value::of(in.make<Outside>(name + (word ? "['" + word->text + "']" : "[]"), this));
}

Result<std::optional<Value>> Outside::binary(Interpreter& in, std::string_view, Value, bool) {
  return Value::of(in.make<Outside>(name));
}

namespace {

// Methods and functions that leave a model's layers as they are.
constexpr std::array<std::string_view, 44> harmless{"train",
                                                    "eval",
                                                    "parameters",
                                                    "named_parameters",
                                                    "to",
                                                    "cuda",
                                                    "cpu",
                                                    "zero_grad",
                                                    "state_dict",
                                                    "modules",
                                                    "children",
                                                    "named_modules",
                                                    "compile",
                                                    "fit",
                                                    "fit_generator",
                                                    "train_on_batch",
                                                    "evaluate",
                                                    "predict",
                                                    "summary",
                                                    "save",
                                                    "save_weights",
                                                    "half",
                                                    "float",
                                                    "requires_grad_",
                                                    "backward",
                                                    "step",
                                                    "item",
                                                    "numpy",
                                                    "detach",
                                                    "format",
                                                    "get_shape",
                                                    "named_children",
                                                    "predict_classes",
                                                    "to_json",
                                                    "plot_model",
                                                    "add_graph",
                                                    "export",
                                                    "watch",
                                                    "profile",
                                                    "make_dot",
                                                    "dump",
                                                    "get_model_complexity_info",
                                                    "share_memory",
                                                    "count_params"};

bool is_harmless(const std::string& word) { return is_among(harmless, word); }

// The name that a chain of attributes, items and calls begins with; null: it begins with none.
const Syntax* root_of(const Syntax& s) {
  const Syntax* at = &s;
  while (at->kind == SyntaxKind::Attribute || at->kind == SyntaxKind::Subscript || at->kind == SyntaxKind::Call ||
         at->kind == SyntaxKind::Starred)
    at = &at->parts[0];
  return at->kind == SyntaxKind::Name ? at : nullptr;
}

class Toucher {
 public:
  Toucher(const Scope& known, int depth) : known_(known), depth_(depth) {}
  Touched names;

  void walk(const Syntax& s) {
    switch (s.kind) {
      case SyntaxKind::Assign:
        for (std::size_t i = 0; i + 1 < s.parts.size(); ++i) target(s.parts[i]);
        break;
      case SyntaxKind::Augmented:
      case SyntaxKind::Annotated:
      case SyntaxKind::For:
      case SyntaxKind::Delete: target(s.parts[0]); break;
      case SyntaxKind::Def:
      case SyntaxKind::Class: names.bound.insert(s.text); return;
      case SyntaxKind::Walrus:
      case SyntaxKind::Handler:
        if (!s.text.empty()) names.bound.insert(s.text);
        break;
      case SyntaxKind::With:
        for (std::size_t i = 0; i + 1 < s.parts.size(); ++i)
          if (!s.parts[i].text.empty()) names.bound.insert(s.parts[i].text);
        break;
      case SyntaxKind::Import:
      case SyntaxKind::ImportFrom:
        for (const Syntax& alias : s.parts)
          names.bound.insert(alias.parts.empty() ? alias.text.substr(0, alias.text.find('.')) : alias.parts[0].text);
        return;
      case SyntaxKind::Call:
        if (s.parts[0].kind == SyntaxKind::Name && s.parts[0].text == "print") return;
        call(s);
        break;
      default: break;
    }
    for (const Syntax& part : s.parts) walk(part);
  }

 private:
  void target(const Syntax& s) {
    if (s.kind == SyntaxKind::Tuple || s.kind == SyntaxKind::List) {
      for (const Syntax& part : s.parts) target(part);
      return;
    }
    if (const Syntax* root = root_of(s)) (root == &s ? names.bound : names.changed).insert(root->text);
  }

  void call(const Syntax& s) {
    const Syntax& called = s.parts[0];
    if ((called.kind == SyntaxKind::Attribute || called.kind == SyntaxKind::Name) && is_harmless(called.text)) return;
    const Value* callee = called.kind == SyntaxKind::Name ? known_.names.find(called.text) : nullptr;
    if (called.kind == SyntaxKind::Attribute)
      if (const Syntax* root = root_of(called)) names.changed.insert(root->text);
    const auto* function = callee ? callee->as<Function>() : nullptr;
    const bool unknown = called.kind == SyntaxKind::Attribute || !callee || callee->as<Unread>();
    std::set<std::string> inside;
    if (function && depth_ < 4) {
      Toucher inner(known_, depth_ + 1);
      inner.walk(*function->body);
      inside = std::move(inner.names.changed);
    }
    for (std::size_t i = 1; i < s.parts.size(); ++i) {
      if (s.parts[i].parts.empty() || s.parts[i].parts[0].kind != SyntaxKind::Name) continue;
      bool changed = unknown;
      if (function) {
        const auto& parameters = function->parameters->parts;
        const std::string word = !s.parts[i].text.empty()    ? s.parts[i].text
                                 : i - 1 < parameters.size() ? parameters[i - 1].text
                                                             : "";
        changed = depth_ >= 4 || inside.contains(word);
      }
      if (changed) names.changed.insert(s.parts[i].parts[0].text);
    }
  }

  const Scope& known_;
  const int depth_;
};

}  // namespace

Touched touched_by(const Syntax& statement, const Scope& known) {
  Toucher toucher(known, 0);
  toucher.walk(statement);
  return std::move(toucher.names);
}

bool mentions(const Syntax& syntax, const std::function<bool(const std::string&)>& is_meant) {
  if (syntax.kind == SyntaxKind::Name && is_meant(syntax.text)) return true;
  if ((syntax.kind == SyntaxKind::Attribute || syntax.kind == SyntaxKind::Call) && !syntax.parts.empty()) {
    const Syntax& called = syntax.kind == SyntaxKind::Call ? syntax.parts[0] : syntax;
    if (is_harmless(called.text)) return false;
  }
  return std::ranges::any_of(syntax.parts, [&](const Syntax& part) { return mentions(part, is_meant); });
}

}  // namespace convoy::python
