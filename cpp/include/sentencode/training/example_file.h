#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sentencode/enum_names.h"
#include "sentencode/io/safetensors.h"

namespace sentencode {

enum class Labels { none, int64, float32 };
constexpr EnumNames<3> enum_names(Labels) { return {"labels", {"none", "int64", "float32"}}; }

/// Ids of one field, concatenated over all examples.
struct ExampleField {
  std::string name;
  std::int64_t vocabulary_size = 0;       // words and symbols
  std::span<const std::int32_t> ids;      // [total]
  std::span<const std::int64_t> offsets;  // [n + 1]

  std::int64_t length(std::int64_t i) const {
    const std::int64_t* offset = offsets.data() + i;
    return offset[1] - offset[0];
  }
  std::span<const std::int32_t> operator[](std::int64_t i) const {
    return ids.subspan(static_cast<std::size_t>(offsets[static_cast<std::size_t>(i)]),
                       static_cast<std::size_t>(length(i)));
  }
};

/// Training data: examples with named token fields and at most one label, as ids in a mapped safetensors
/// file. Tensors:
///   <field>.ids i32 [total], <field>.offsets i64 [n + 1], labels i64 or f32 [n] (optional), and
///   by_length u32 [n], the examples sorted by the length of their first field, then by index.
/// Metadata:
///   format "sentencode", format_version "1", kind "Examples",
///   config: JSON (vocabulary sizes and digests, tokenizers and symbols of the fields; options; source),
///   key: hash of all that the content depends on, checksum: SHA-256 of the tensors,
///   and CRC-32 of the header and of each megabyte of each tensor, which the first files lack.
class ExampleFile {
 public:
  static constexpr std::int64_t kMaxExamples = (std::int64_t{1} << 32) - 1;

  /// Checks offsets, ids and by_length, and with `verify` the checksums. FormatError names the file, the
  /// tensor and the position.
  static std::shared_ptr<const ExampleFile> open(const std::string& path, bool verify = true);
  /// The same for an open file, or one in memory.
  static std::shared_ptr<const ExampleFile> of(std::shared_ptr<const SafeTensors> file, bool verify = true);

  std::int64_t size() const { return static_cast<std::int64_t>(by_length_.size()); }
  const std::vector<ExampleField>& fields() const { return fields_; }
  const ExampleField& field(std::string_view name) const;  // InvalidInput lists the names
  std::span<const std::uint32_t> by_length() const { return by_length_; }

  Labels labels() const { return labels_; }
  std::span<const std::int64_t> int_labels() const { return int_labels_; }  // [n], or empty
  std::span<const float> float_labels() const { return float_labels_; }     // [n], or empty

  const std::string& path() const { return file_->path(); }         // empty for a file in memory
  const std::string& config() const { return metadata("config"); }  // JSON
  const std::string& key() const { return metadata("key"); }
  const std::string& checksum() const { return metadata("checksum"); }

 private:
  ExampleFile() = default;
  const std::string& metadata(const std::string& name) const;
  void verify() const;

  std::shared_ptr<const SafeTensors> file_;
  std::vector<ExampleField> fields_;
  std::span<const std::uint32_t> by_length_;
  Labels labels_ = Labels::none;
  std::span<const std::int64_t> int_labels_;
  std::span<const float> float_labels_;
};

/// Writes a file of examples.
void write_examples(const std::string& path, const std::map<std::string, StreamedTensor>& tensors,
                    const std::string& config, const std::string& key);

}  // namespace sentencode
