// One class of the module: writes __init__ and forward of a list of steps, line by line, and collects its tensors.
#pragma once
#include "base/fresh_names.h"
#include "formats/torch/call.h"
#include "formats/torch/shared_classes.h"
#include "formats/torch/steps.h"
#include "formats/torch/torch.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace convoy::torch {

// Names that a variable of forward must not take: they are used by the text itself. "x" is given out apart.
const std::set<std::string>& taken_variables();

// What the classes of one module share.
struct ModuleText {
  const Graph& graph;
  std::set<std::string>& flattened;
  std::vector<ClassText> classes;                 // the nested ones, inner before outer
  std::vector<std::string> helpers;
  FreshNames class_names;
  std::map<std::string, std::string> known;       // body of a class -> its name: equal models share one class
  bool again = false;                             // a model was flattened on the way: write everything anew
};

struct WrittenClass {
  std::string name, body;  // the body starts behind the docstring
  std::vector<Parameter> parameters;
};

class Block : public Call {
 public:
  Block(ModuleText& module, const std::vector<Step>& steps, const std::vector<ValueId>& inputs,
        const std::vector<ValueId>& outputs, bool nested = false);
  // `check` are lines in front of forward. The keys are those of a dictionary that forward takes or gives; else empty.
  // One output may be given in a tuple of one.
  Result<WrittenClass> write(const std::vector<std::string>& arguments, const std::string& check,
                             const std::vector<std::string>& input_keys = {},
                             const std::vector<std::string>& output_keys = {}, bool in_tuple = false);

  Expression follow(std::size_t i) override;
  Expression begin(std::size_t i) override;
  std::string name(std::size_t i) override;
  std::string module(std::string constructor, std::vector<State> states, std::string comment,
                     std::vector<std::string> then) override;
  std::string tensor(State state) override;
  bool says_defaults() const override { return nested_in_; }
  void helper(std::string_view source) override;
  std::string class_of(const std::string& wanted, const std::string& body) override;
  void result(Expression e) override;
  void results(std::string text) override;

 private:
  struct Pending {
    ValueId value;
    Expression e;
    std::string layer;
  };

  Status write_step(const Step& step);
  struct Made {
    std::string class_name;
    std::vector<Parameter> parameters;
  };
  Result<Made> class_for(const Step& step);
  Status write_nested(const Step& step);
  std::size_t sequence_end() const;
  Status write_sequence(std::size_t end);
  void count_uses();
  Expression take(ValueId v, int most_calls, bool only_light);
  std::string constant_text(ValueId v);
  std::string variable_for(ValueId v, const std::string& layer);
  void call_by(ValueId v, std::string variable);
  void assign(ValueId v, const Expression& e, const std::string& layer);
  void flush();
  void set_result(ValueId v, Expression e);
  std::string return_line(const std::vector<std::string>& keys, bool in_tuple);
  std::string train_method() const;
  void declare(const std::string& text, const std::string& comment = {});
  std::string member_name(const std::vector<State>& states);

  ModuleText& text_;
  const std::vector<Step>& steps_;
  const std::vector<ValueId>& inputs_;
  const std::vector<ValueId>& outputs_;
  bool nested_in_ = false;  // a class that others use
  std::map<ValueId, int> uses_;
  std::map<ValueId, std::size_t> last_use_, made_at_;
  std::map<ValueId, std::string> variables_;
  std::set<std::string> named_;  // all texts of variables_
  std::size_t at_ = 0;  // the step being written
  std::string layer_;  // its layer's name in this class
  std::optional<std::size_t> x_needed_until_;  // last step that reads what `x` holds now
  bool taking_ = false;  // inputs of the step are being taken: what they name must stay
  std::optional<Pending> pending_;
  FreshNames members_, names_;
  bool holds_unlike_types_ = false;  // weights of the module that was declared last, which PyTorch gives one type
  std::map<std::string, std::string> known_members_;
  std::string init_, forward_;
  std::vector<std::string> frozen_norms_;  // their members
  std::vector<Parameter> own_parameters_, own_buffers_, children_;
  struct Nested {
    std::string attribute, class_name;
    std::vector<Parameter> parameters;
  };
  std::map<std::string, Nested> nested_;
};

}  // namespace convoy::torch
