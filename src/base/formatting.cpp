// fmt as part of the library: its functions stand here once, compiled with -fkeep-inline-functions, so that whoever links the
// library or loads the Python module needs no libfmt.
#define FMT_HEADER_ONLY 1
#include <fmt/format.h>
