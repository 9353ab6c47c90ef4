#pragma once

#include "vectors/vectors_reader.h"

namespace sentencode {

/// Reads a line for each word. `head`: what was read of the file already, without its header line.
std::shared_ptr<const WordVectors> read_text_vectors(ByteReader& input, const ReadOptions& options,
                                                     ReadReport& report, std::string_view head,
                                                     std::optional<VectorsHeader> header);

}  // namespace sentencode
