// What the fuzz targets of the vector readers share.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz.h"
#include "sentencode/error.h"
#include "sentencode/parallel.h"
#include "sentencode/vectors/read.h"

namespace sentencode {

/// A file that is none.
class MemoryReader final : public ByteReader {
 public:
  explicit MemoryReader(std::string_view bytes) : ByteReader("input"), bytes_(bytes) {}
  std::size_t read(std::span<char> buffer) override {
    const std::size_t size = std::min(buffer.size(), bytes_.size() - at_);
    if (size > 0) std::memcpy(buffer.data(), bytes_.data() + at_, size);
    at_ += size;
    return size;
  }
  std::int64_t position() const override { return static_cast<std::int64_t>(at_); }
  std::int64_t total() const override { return static_cast<std::int64_t>(bytes_.size()); }

 private:
  std::string_view bytes_;
  std::size_t at_ = 0;
};

struct Outcome {
  std::shared_ptr<const WordVectors> vectors;  // null: a FormatError
  ReadReport report;
};

inline Outcome outcome_of(std::string_view bytes, const ReadOptions& options) {
  Outcome outcome;
  try {
    MemoryReader input(bytes);
    outcome.vectors = read_vectors(input, options, &outcome.report);
  } catch (const FormatError&) {
  }
  return outcome;
}

inline void fuzz_vectors(std::string_view bytes, VectorFormat format, std::uint8_t choices) {
  set_num_threads(1 + (choices & 1));
  const StringTable only = [] {
    StringTable words;
    for (const auto* word : {"the", "a b", "", "\xEF\xBF\xBD"}) words.insert(word);
    return words;
  }();
  ReadOptions options{.format = format};
  options.storage = static_cast<Storage>((choices >> 1 & 3) % 3);
  options.limit = (choices >> 3 & 1) != 0 ? 2 : 0;
  options.only = (choices >> 4 & 1) != 0 ? &only : nullptr;
  options.dim = (choices >> 5 & 1) != 0 ? 2 : 0;
  const Outcome whole = outcome_of(bytes, options);
  options.block_bytes = 1 + (choices >> 6) * 5;
  const Outcome cut = outcome_of(bytes, options);
  FUZZ_REQUIRE((whole.vectors == nullptr) == (cut.vectors == nullptr));
  if (whole.vectors == nullptr) return;

  const WordVectors& vectors = *whole.vectors;
  FUZZ_REQUIRE(vectors.fingerprint() == cut.vectors->fingerprint());
  FUZZ_REQUIRE(whole.report.rows == cut.report.rows && whole.report.repaired == cut.report.repaired);
  FUZZ_REQUIRE(vectors.size() + whole.report.duplicates <= whole.report.rows);
  FUZZ_REQUIRE(options.limit == 0 || whole.report.rows <= options.limit);
  std::vector<float> row(static_cast<std::size_t>(vectors.dim()));
  for (std::int64_t i = 0; i < vectors.size(); ++i) {
    FUZZ_REQUIRE(vectors.words().find(vectors.words()[i]) == i);
    FUZZ_REQUIRE(options.only == nullptr || only.find(vectors.words()[i]) >= 0);
    vectors.row(static_cast<std::int32_t>(i), row.data());
    FUZZ_REQUIRE(std::all_of(row.begin(), row.end(), [](float x) { return std::isfinite(x); }));
  }
}

}  // namespace sentencode
