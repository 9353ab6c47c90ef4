#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "sentencode/io/sha256.h"
#include "sentencode/sentences.h"
#include "sentencode/training/example_options.h"

namespace sentencode {

/// A hash of all that the examples' content depends on: the digest of their sources, tokenizers,
/// vocabularies, options, and the version of the format.
std::string examples_key(const ExampleOptions& options, const std::string& sources);

/// A digest of files as they lie on disk, in this order.
std::string digest_of_files(const std::vector<std::vector<std::string>>& files);

/// The like of what is not a file: of sentences, batch after batch.
class ContentDigest {
 public:
  void add(const Sentences& sentences);
  void add(std::span<const std::byte> bytes);
  std::string hex() { return hash_.hex(); }

 private:
  Sha256 hash_;
};

}  // namespace sentencode
