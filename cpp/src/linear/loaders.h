#pragma once

#include <map>
#include <string>

#include "sentencode/encoder.h"

namespace sentencode {

/// How files of the linear kinds are read.
const std::map<std::string, EncoderLoader>& linear_loaders();

}  // namespace sentencode
