// Where Keras keeps the arrays of the layers that a program's own layers and models hold: by the attributes that lead there.
#pragma once
#include "formats/keras/source/objects.h"

namespace convoy::keras {

using Groups = std::map<const SourceLayer*, std::string>;

// The layer's own group is `path`; those of what it holds lie below it, each where a walk over the attributes in the order of
// their names meets it first. Source: keras/src/saving/saving_lib.py, _walk_saveable.
void add_groups(SourceLayer& layer, const std::string& path, Groups& groups);
// The names of several layers in one list: "dense", "dense_1".
std::vector<std::string> numbered(const std::vector<SourceLayer*>& layers);

}  // namespace convoy::keras
