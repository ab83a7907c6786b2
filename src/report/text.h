// Reports as text for people and as JSON for programs: the same facts.
#pragma once
#include "containers/json.h"
#include "port/port.h"

#include <filesystem>
#include <string>

namespace convoy {

std::string port_text(const PortReport& report, const std::string& file);
Json port_json(const PortReport& report, const std::string& file);

}  // namespace convoy
