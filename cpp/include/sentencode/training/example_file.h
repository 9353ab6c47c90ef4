#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sentencode/io/safetensors.h"

namespace sentencode {

enum class Labels { none, int64, float32 };
std::string_view name_of(Labels labels);
Labels labels_named(std::string_view name);  // InvalidInput names the choices

/// The ids of one field of all examples, one example after the other.
struct ExampleField {
  std::string name;
  std::int64_t vocabulary_size = 0;       // all ids are below it: words and symbols
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

/// What a model is trained on: examples, each of named token fields of any length and at most one label, as
/// ids in one mapped safetensors file. It knows nothing of what the fields mean: a sentence, a sentence and
/// its next, a pair, a source and its translation are all the same here. Its tensors are
///   <field>.ids i32 [total], <field>.offsets i64 [n + 1], labels i64 or f32 [n] where there are any, and
///   by_length u32 [n], the examples by the length of their first field, equally long ones by their number;
/// its metadata
///   format "sentencode", format_version "1", kind "Examples", config: JSON (the fields with their
///   vocabularies' sizes and digests, tokenizers and symbols; how they were made, and of what), key: a hash
///   of all that the content depends on, checksum: SHA-256 of the tensors' bytes, which identifies them; and
///   CRC-32 of the header and of each megabyte of each tensor. The first files had the SHA-256 alone.
class ExampleFile {
 public:
  static constexpr std::int64_t kMaxExamples = (std::int64_t{1} << 32) - 1;

  /// Everything that later steps rely on is checked: that bytes are those that were written (with `verify`),
  /// offsets rise, ids are below their vocabulary's size, by_length is such an order. FormatError names file,
  /// tensor and place.
  static std::shared_ptr<const ExampleFile> open(const std::string& path, bool verify = true);
  /// The same of a file that is open already, or that is in memory.
  static std::shared_ptr<const ExampleFile> of(std::shared_ptr<const SafeTensors> file, bool verify = true);

  std::int64_t size() const { return static_cast<std::int64_t>(by_length_.size()); }
  const std::vector<ExampleField>& fields() const { return fields_; }
  const ExampleField& field(std::string_view name) const;  // InvalidInput names those there are
  std::span<const std::uint32_t> by_length() const { return by_length_; }

  Labels labels() const { return labels_; }
  std::span<const std::int64_t> int_labels() const { return int_labels_; }  // [n], or empty
  std::span<const float> float_labels() const { return float_labels_; }     // the like

  const std::string& path() const { return file_->path(); }         // empty where there is no file
  const std::string& config() const { return metadata("config"); }  // JSON
  const std::string& key() const { return metadata("key"); }
  const std::string& checksum() const { return metadata("checksum"); }  // of the content alone

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

/// Writes such a file, as it is said above. `config` and `key` go into its metadata.
void write_examples(const std::string& path, const std::map<std::string, StreamedTensor>& tensors,
                    const std::string& config, const std::string& key);

}  // namespace sentencode
