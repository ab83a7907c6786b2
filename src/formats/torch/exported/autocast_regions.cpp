#include "formats/torch/exported/autocast_regions.h"

#include "formats/torch/declared_type.h"
#include "formats/torch/exported/autocast.h"
#include "formats/torch/exported/nodes.h"
#include "ops/expect.h"

#include <optional>
#include <set>
#include <utility>

namespace convoy::torch {
namespace {

// The device of a tensor, "cpu"; empty where the file does not say.
std::string device_of(const ExportedBuilder& builder, const std::string& name) {
  const Json* meta = builder.meta_of(name);
  const Json* device = meta ? member(*meta, "device") : nullptr;
  return device ? text_member(*device, "type") : std::string();
}

}  // namespace

Status AutocastRegions::enter(const Json& node) {
  std::string device;
  std::optional<DType> lower;
  for (const Json& input : list_member(node, "inputs"))
    if (const Json* argument = member(input, "arg")) {
      if (device.empty()) device = text_member(*argument, "as_string");
      const Json* said = member(*argument, "as_scalar_type");
      if (!said || lower) continue;
      const auto dtype = exported_dtype(*said);
      if (!dtype) return std::unexpected(dtype.error());
      lower = *dtype;
    }
  auto inside = around_.empty() ? LowerTypes{} : around_.back();
  if (!turns_on(node)) inside.erase(device);
  else if (device.empty() || !lower || !is_floating(*lower))
    return fail(Fault::Format, "autocast of no device or no type");
  else inside[device] = *lower;
  around_.push_back(std::move(inside));
  return {};
}

Status AutocastRegions::cast(const Json& node, const std::string& overload, ExportedArguments& arguments) {
  if (around_.empty() || around_.back().empty()) return {};
  const auto& lower_types = around_.back();
  std::string device;
  std::set<ValueId> subject;  // real tensors of the first device that has autocast
  for (const std::string& name : tensors_named_by(node)) {
    const auto found = builder_.tensors.find(name);
    const std::string lies_on = device_of(builder_, name);
    if (found == builder_.tensors.end() || !found->second || !lower_types.contains(lies_on)) continue;
    if (device.empty()) device = lies_on;
    const DType dtype = builder_.graph[found->second].type.dtype;
    if (lies_on == device && is_floating(dtype) && dtype != DType::F64) subject.insert(found->second);
  }
  if (subject.empty()) return {};
  const auto policy = autocast_policy(device, overload);
  if (!policy) return fail(Fault::Unsupported, "computes in types that autocast chooses on device '" + device + "'");
  constexpr std::size_t operands_of_one_product = 2;
  if (*policy == AutocastPolicy::Within ||
      (*policy == AutocastPolicy::AsRecorded && subject.size() > operands_of_one_product))
    return fail(Fault::Unsupported,
                "has parts that autocast casts for, which are not carried; save "
                "program.run_decompositions(), which names every cast");
  const Json* asked = member(arguments.plain, "dtype");
  if (*policy == AutocastPolicy::None || (*policy == AutocastPolicy::SingleUnlessAsked && asked && !asked->is_null()))
    return {};
  std::vector<DType> types;
  for (const ValueId value : subject) types.push_back(builder_.graph[value].type.dtype);
  DType to = autocast_type(*policy, lower_types.at(device), types);
  if (*policy == AutocastPolicy::AsRecorded) {
    const auto names = names_in(list_member(node, "outputs"));
    auto result = builder_.declared(names.empty() ? std::string() : names[0]);
    if (!result) return pass(result);
    to = result->dtype;
    if (to != lower_types.at(device) && to != DType::F32) return {};  // autocast casts to no other
  }
  for (auto& [word, value] : arguments.tensors)
    if (subject.contains(value)) {
      auto cast = cast_once(node, value, to);
      if (!cast) return pass(cast);
      value = *cast;
    }
  return {};
}

Result<ValueId> AutocastRegions::cast_once(const Json& node, ValueId value, DType to) {
  if (builder_.graph[value].type.dtype == to) return value;
  if (const auto known = casts_.find({value, to}); known != casts_.end()) return known->second;
  auto made = builder_.add(node, "_to_copy.default", {{"dtype", std::string(name_of(to))}}, {{"input", value}}, 1);
  if (!made) return pass(made);
  return casts_[{value, to}] = made->front();
}

}  // namespace convoy::torch
