// Runs a program on these values alone: no file, no network, no attribute but those of our own objects. Steps and memory
// are bounded; whatever is not understood is refused at its place.
#pragma once
#include "containers/python/syntax.h"
#include "containers/python/value.h"

#include <map>
#include <memory>
#include <set>

namespace convoy::python {

// What a program does that Python would refuse.
inline std::unexpected<Error> wrong(std::string what) { return fail(Fault::Format, std::move(what)); }

// Counts one level of nesting while it lives.
struct Deeper {
  explicit Deeper(int& depth) : depth_(depth) { ++depth_; }
  Deeper(const Deeper&) = delete;
  Deeper& operator=(const Deeper&) = delete;
  ~Deeper() { --depth_; }
  int& depth_;
};

struct Limits {
  Size steps = 1'500'000;
  Size memory = Size{128} << 20;  // bytes made in all, whether still used or not
  int depth = 900;  // of calls and expressions inside each other
};

// Who answers imports: the frameworks, and files beside the program.
class Library {
 public:
  Library() = default;
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  virtual ~Library() = default;
  // The module of this full name. Nothing: not ours.
  virtual Result<std::optional<Value>> module(Interpreter&, const std::string& name) = 0;
  // What a name means that the program never defined, as pasted code has it. Nothing: not ours.
  virtual Result<std::optional<Value>> implied(Interpreter&, const std::string& name) = 0;
  // Whether names of the form __x inside of a class are its own, as Python has it.
  virtual bool has_private_names() const { return true; }
};

struct SourceFile {
  std::string name, text;  // the name of a module's file tells it from all others
  std::string folder;  // where its relative imports begin, as the one who finds files writes it
};

struct ProgramFile {
  SourceFile source;
  Syntax tree;
  Scope* scope = nullptr;
  struct Starred {
    std::string module, why;
  };
  std::vector<Starred> starred;  // modules whose names it wants all, and that are not read
};

// Text of the module "a.b" beside the program; nothing: there is none. `folder`: of the file that imports. Fails: a path
// outside the root.
using FindSource =
    std::function<Result<std::optional<SourceFile>>(const std::string& module, Size dots, const std::string& folder)>;

class Interpreter {
 public:
  Interpreter(std::vector<Library*> libraries, FindSource find, Limits limits = {});

  // Runs a program and gives its names. Fails with "file:line:column" as place and the line itself in the sentence.
  Result<Scope*> run(const SourceFile& file);
  // The same as far as it is understood: a statement that is not leaves the names that it would have bound or changed unread
  // (unread.h), and the program goes on behind it. Fails: what Python refuses, what leads out of the program, limits.
  Result<Scope*> run_as_far(const SourceFile& file);
  struct LeftOut {
    const Syntax* statement = nullptr;
    Error error;
    std::set<std::string> bound, changed;  // the names that are unread now
    NameTable before;  // their values until then
  };
  const std::vector<LeftOut>& left_out() const { return left_out_; }  // of the program itself, not of its imports

  // Whether the program stands in a `try` that might catch what is asked of the world around it.
  bool expects_exceptions() const { return handlers_ > 0; }

  // --set NAME=VALUE: the value of a name that the program does not bind, or binds to what is not known.
  std::map<std::string, Value> lent;
  std::set<std::string> lent_used;
  Value known_or_lent(const std::string& name, const Value& bound);

  // A refusal that ends the program wherever it stands.
  std::unexpected<Error> forbidden(std::string what);
  // A failure that was met before, and has its place.
  std::unexpected<Error> fail_again(const Error& first);

  template <class T, class... Parts>
  T* make(Parts&&... parts) {
    auto made = std::make_unique<T>(std::forward<Parts>(parts)...);
    T* object = made.get();
    spent_ += static_cast<Size>(sizeof(T)) + 32;
    objects_.push_back(std::move(made));
    return object;
  }
  Value text(std::string words, std::string shown = "");
  Value list(ValueList items);
  Value tuple(ValueList items);
  Value native(std::string name, NativeFunction function);
  Class* make_class(std::string name, std::vector<Class*> bases);

  // Fails (Limit) where the program has made more than it may; before large things are made.
  Status charge(Size bytes);
  Status step(Size count = 1);

  Result<Value> call(Value function, Arguments arguments);
  Result<Value> call(Value function, ValueList placed) { return call(function, Arguments{std::move(placed), {}}); }
  Result<Value> attribute(Value of, const std::string& name);
  // Nothing: it has no such attribute.
  Result<std::optional<Value>> find_attribute(Value of, const std::string& name);
  Status set_attribute(Value of, const std::string& name, Value value);
  Result<Value> item(Value of, Value key);
  Result<bool> truth(Value value);
  Result<Size> length(Value value);
  Result<ValueList> elements(Value value);
  Result<Iterator*> iterator(Value value);
  Result<std::optional<Value>> pull(Iterator& of);
  Result<bool> contains(Value container, Value value);
  Result<Value> binary(std::string_view symbol, Value a, Value b);
  Result<Value> unary(std::string_view symbol, Value a);
  Result<bool> compare(std::string_view symbol, Value a, Value b);  // == != < <= > >=
  Result<std::optional<bool>> said_by_program(std::string_view symbol, Value a, Value b);
  Result<bool> equal(Value a, Value b) { return compare("==", a, b); }
  Result<bool> same_or_equal(Value a, Value b);  // as `in`, lists and their methods ask
  Result<Value> call_function(Function& function, Arguments arguments);
  // "__enter__" or "__exit__" of a framework's context; what lacks them does nothing.
  Status tell_context(const Value& context, const std::string& word);
  // Fails as Python raises it, so that the program may catch it.
  std::unexpected<Error> raises(const char* exception, std::string what);
  // Whether what has just failed is this exception, or derives from it: it is caught then.
  bool catches(const char* exception);
  // An attribute that was found on a class, for this instance.
  Result<Value> described(Value found, Value self, Class* type);

  // `from`: the file that imports, for what lies beside it.
  Result<Value> import(const std::string& name, const ProgramFile* from = nullptr);
  // As repr(), str() and format() write it. Fails (Unsupported): what Python writes there is not known.
  Result<std::string> written(Value value);
  Result<std::string> string_of(Value value);
  Result<std::string> formatted(Value value, const std::string& specification);
  // The text, or where it is not known what stands for it: the program may print it, and nothing may depend on it.
  Result<Value> text_or_outside(Result<std::string> words);
  // "{value!r:>4}"; conversion: "r", "s" or empty.
  Result<Value> formatted_as(Value value, const std::string& conversion, const std::string& specification);

  std::map<std::string, Value> builtins;
  Class* object_class = nullptr;  // `object`
  Class* exception_class = nullptr;  // `Exception`
  Value not_implemented;  // `NotImplemented`: what a method gives that has no answer
  // A folder where FindSource would find a module if it were allowed to look there; empty: none is known.
  std::function<std::string(const std::string& module)> advises_root;

 private:
  friend class Evaluator;
  Result<ProgramFile*> opened(const SourceFile& source);
  Status follow(ProgramFile& file, std::vector<LeftOut>* left_out);
  bool ends_all(const Error& error) const;
  Result<Value> import_source(const std::string& name, Size dots, const ProgramFile* from);
  Status bind(Function& function, Arguments& arguments, Scope& scope);

  std::vector<Library*> libraries_;
  FindSource find_;
  Limits limits_;
  Size steps_ = 0, spent_ = 0, paid_steps_ = 0;
  int depth_ = 0;
  std::vector<std::unique_ptr<Object>> objects_;
  std::vector<std::unique_ptr<ProgramFile>> files_;
  std::map<std::string, Value> imported_;
  std::vector<LeftOut> left_out_;
  int imports_ = 0;  // files that are being read inside each other
  bool forbidden_ = false;
  bool tries_imports_ = false;  // inside a `try` that catches imports which find nothing
  int handlers_ = 0;  // `try` blocks with handlers that the program stands in
  bool placed_ = false;
  Class* raised_ = nullptr;  // what the program raised, or the import that found nothing: what `except` can catch
  Value raised_object_, handled_;  // the exception itself, and the one whose handler is running; None: there is none
};

// The arguments of a function of ours by the names in `words`: "size *dim" has its own rules beside it. Fails: an
// unknown name, one given twice, too many, fewer than `least`.
Result<std::vector<std::optional<Value>>> bound(const Arguments& given, std::string_view words, std::size_t least,
                                                std::string_view function);

void add_builtins(Interpreter& in);
// math, functools, operator, itertools, collections, typing, numpy's constants and their like. Nothing: not one of them.
std::optional<Value> standard_module(Interpreter& in, const std::string& name);

Status make_members(Interpreter& in, Class& type);  // of a class that derives from Enum

// a[start:stop:step] of n elements: the indices.
struct Part {
  std::int64_t start, step;
  Size count;
};
Result<Part> part_of(const Cut& cut, Size n);

}  // namespace convoy::python
