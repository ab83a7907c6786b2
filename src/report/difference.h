// What `convoy diff` prints: the aligned layers, and each finding with its evidence and the line to write.
#pragma once
#include "containers/json.h"
#include "diagnose/diagnose.h"

#include <string>

namespace convoy {

struct DiffNames {
  std::string file_a, source_a, file_b, source_b;
};
std::string diff_text(const diagnose::Diagnosis& diagnosis, const DiffNames& names);
// Schema 1. A ratio of 1e30 stands for an infinite one: shapes differ, or bits where every bit must agree.
Json diff_json(const diagnose::Diagnosis& diagnosis);

}  // namespace convoy
