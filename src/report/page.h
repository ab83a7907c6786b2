// `convoy diff --html`: both models side by side as one page that needs nothing from elsewhere.
#pragma once
#include "diagnose/diagnose.h"
#include "report/difference.h"

#include <string>

namespace convoy {

// The page of src/report/page.html with its data in it: the layers of both as they were read, what was compared, maps of the
// differences (Options::maps), drawings of the windows, and the lines to write. The same diagnosis gives the same bytes.
// Whatever comes from the files stands in the data alone and is never markup.
std::string diff_page(const diagnose::Diagnosis& diagnosis, const Graph& a, const Graph& b, const DiffNames& names);

}  // namespace convoy
