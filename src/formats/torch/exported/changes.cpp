// Tensors of an exported program that are changed in place.
#include "formats/torch/exported/changes.h"

#include "formats/torch/catalogue/views.h"
#include "formats/torch/exported/nodes.h"
#include "formats/torch/kept_state.h"

#include <algorithm>
#include <set>
#include <string_view>

namespace convoy::torch {
namespace {

bool asks_for_copy(const Json& node) {
  return std::ranges::any_of(list_member(node, "inputs"), [](const Json& input) {
    const Json* argument = member(input, "arg");
    const Json* truth = argument && text_member(input, "name") == "copy" ? member(*argument, "as_bool") : nullptr;
    return truth && *truth == true;
  });
}

}  // namespace

void InPlaceChanges::share(const Json& node, const std::string& operation, const std::vector<std::string>& names) {
  // Looks at several tensors: what is changed through one is not followed.
  if (const auto subjects = subjects_of(node); may_share_memory(operation) && subjects.size() == names.size())
    for (std::size_t i = 0; i < names.size(); ++i)
      builder_.views.add(names[i], {subjects[i], &node, operation, i, false});
  const std::string of = subject_of(node);
  const auto known = builder_.tensors.find(of);
  if (known == builder_.tensors.end() || names.empty()) return;
  Sharing sharing = changes_in_place(operation) ? Sharing::Always : sharing_of(operation);
  const bool stays = known->second == builder_.tensors[names[0]] && !asks_for_copy(node) &&
                     have_same_strides(builder_.meta_of(of), builder_.meta_of(names[0]));
  if ((operation == "to" || operation == "type_as") && stays) sharing = Sharing::Always;
  if (operation == "contiguous" && !stays) sharing = Sharing::Never;
  const bool row_major = sharing != Sharing::Never && sharing != Sharing::Always && is_row_major(builder_.meta_of(of));
  if (sharing == Sharing::Never || (sharing == Sharing::WhereRowMajor && !row_major)) return;
  const bool certain = sharing != Sharing::PerhapsWhereRowMajor || row_major;
  for (std::size_t i = 0; i < names.size(); ++i)
    builder_.views.add(names[i], {of, changes_in_place(operation) ? nullptr : &node, operation, i, certain});
}

Status InPlaceChanges::change(const Json& node, const std::string& answer) {
  std::string name = subject_of(node);
  const auto before = builder_.tensors.find(name);
  if (before == builder_.tensors.end() || !before->second) return {};
  tell_of_state(name);
  ValueId value = builder_.tensors[answer];
  if (value && builder_.graph[value].type != builder_.graph[before->second].type) {
    auto same = builder_.add(node, "copy.default", Json::object(), {{"input", before->second}, {"src", value}}, 1);
    value = same && !same->empty() ? same->front() : ValueId{};
  }
  std::set<std::string> changed{name};
  std::vector<std::string> rest{name};
  builder_.tensors[name] = value;
  while (const View* view = builder_.views.find(name)) {
    const ValueId whole = builder_.tensors[view->of];
    auto put = view->certain && value && whole ? put_back(*view, whole, value) : Result<ValueId>(ValueId{});
    value = put ? *put : ValueId{};
    name = view->of;
    if (!changed.insert(name).second) return fail(Fault::Format, "changes a view of itself");
    builder_.tensors[name] = value;
    rest.push_back(name);
  }
  for (std::size_t i = 0; i < rest.size(); ++i) {
    const std::string of = rest[i];
    for (const std::string& shown : builder_.views.shown(of)) {
      if (!changed.insert(shown).second) continue;
      if (auto s = show_again(shown, builder_.tensors[of]); !s) return s;
      rest.push_back(shown);
    }
  }
  return {};
}

// A weight or buffer that a call leaves changed behind.
void InPlaceChanges::tell_of_state(const std::string& changed) const {
  const auto whole = builder_.tensors.find(builder_.views.whole(changed));
  if (whole == builder_.tensors.end()) return;
  for (const auto& [known_as, value] : builder_.weights)
    if (value && value == whole->second && !builder_.graph[value].literal) builder_.remark(changes_itself(known_as));
}

Status InPlaceChanges::show_again(const std::string& name, ValueId of) {
  // Every change takes every view along: their product is what a file could ask for.
  if (++shown_again_ > most_shown_again) return fail(Fault::Limit, "changes tensors of too many views, too often");
  const View& view = *builder_.views.find(name);
  if (!of || !view.certain) builder_.tensors[name] = {};
  else if (!view.node) builder_.tensors[name] = of;
  else {
    auto arguments = call_arguments(*view.node, builder_.tensors, builder_.symbols, builder_.values);
    if (!arguments) return pass(arguments);
    const std::string target = text_member(*view.node, "target");
    auto results = builder_.add(*view.node, target.substr(std::string_view("torch.ops.aten.").size()),
                                std::move(arguments->plain), std::move(arguments->tensors), view.part + 1);
    if (!results) return pass(results);
    builder_.tensors[name] = view.part < results->size() ? (*results)[view.part] : ValueId{};
  }
  return {};
}

// `whole` with `part` where the view shows it.
Result<ValueId> InPlaceChanges::put_back(const View& view, ValueId whole, ValueId part) {
  if (!view.node) return part;
  auto arguments = call_arguments(*view.node, builder_.tensors, builder_.symbols, builder_.values);
  if (!arguments) return pass(arguments);
  auto way = way_back(view, arguments->plain, builder_.graph[whole].type.shape);
  if (!way) return pass(way);
  if (way->overload.empty()) return part;
  TensorArguments tensors{{"input", part}};
  if (way->overload.find("scatter") != std::string::npos) tensors = {{"input", whole}, {"src", part}};
  auto made = builder_.add(*view.node, way->overload, way->arguments, std::move(tensors), 1);
  if (!made) return pass(made);
  return made->empty() ? ValueId{} : made->front();
}

}  // namespace convoy::torch
