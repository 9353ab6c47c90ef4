#pragma once

#include "vectors/vectors_reader.h"

namespace sentencode {

/// Reads words and raw floats. `head`: The beginning of the file, without its header line.
std::shared_ptr<const WordVectors> read_binary_vectors(ByteReader& input, const ReadOptions& options,
                                                       ReadReport& report, std::string_view head,
                                                       VectorsHeader header);

}  // namespace sentencode
