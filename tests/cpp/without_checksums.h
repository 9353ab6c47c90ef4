#pragma once

#include <string>

#include "sentencode/io/safetensors.h"

namespace sentencode {

/// A saved file without its checksums, to test the checks that follow them.
inline std::string without_checksums(const std::string& path) {
  const auto file = SafeTensors::open(path);
  auto metadata = file->metadata();
  std::erase_if(metadata, [](const auto& item) { return item.first.starts_with("checksum."); });
  for (const char* key : {"version", "format_version"}) {
    if (metadata.contains(key)) metadata[key] = "1";
  }
  const SafeTensorsPieces pieces = safetensors_pieces(file->tensors(), metadata);
  std::string bytes = pieces.header;
  for (const auto piece : pieces.data)
    bytes.append(reinterpret_cast<const char*>(piece.data()), piece.size());
  return bytes;
}

}  // namespace sentencode
