// Reports as text for people and as JSON for programs: the same facts.
#pragma once
#include "containers/json.h"
#include "port/port.h"

#include <filesystem>
#include <string>

namespace convoy {

std::string summary_text(const Graph& graph, const std::string& file);
Json summary_json(const Graph& graph, const std::string& file);

std::string port_text(const PortReport& report, const std::string& file);
Json port_json(const PortReport& report, const std::string& file);

}  // namespace convoy
