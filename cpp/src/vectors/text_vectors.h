#pragma once

#include "vectors/vectors_reader.h"

namespace sentencode {

/// Reads a line per word. `head`: The beginning of the file, without its header line.
std::shared_ptr<const WordVectors> read_text_vectors(ByteReader& input, const ReadOptions& options,
                                                     ReadReport& report, std::string_view head,
                                                     std::optional<VectorsHeader> header);

}  // namespace sentencode
