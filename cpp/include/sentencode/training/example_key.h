#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "sentencode/io/sha256.h"
#include "sentencode/sentences.h"
#include "sentencode/training/example_options.h"

namespace sentencode {

/// A hash of all that the content of a file of examples depends on: the digest of the sources, tokenizers,
/// vocabularies, options, and the version.
std::string examples_key(const ExampleOptions& options, const std::string& sources);

/// A digest of the bytes of files, in this order.
std::string digest_of_files(const std::vector<std::vector<std::string>>& files);

/// A digest of batches of sentences.
class ContentDigest {
 public:
  void add(const Sentences& sentences);
  void add(std::span<const std::byte> bytes);
  std::string hex() { return hash_.hex(); }

 private:
  Sha256 hash_;
};

}  // namespace sentencode
