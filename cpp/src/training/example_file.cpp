#include "sentencode/training/example_file.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "json_depth.h"
#include "sentencode/error.h"
#include "sentencode/io/sha256.h"
#include "sentencode/parallel.h"

namespace sentencode {
namespace {

using nlohmann::json;

constexpr std::string_view kFormat = "sentencode", kVersion = "1", kKind = "Examples";
constexpr std::int64_t kChunk = 1 << 18;  // elements that a thread checks at once

/// The first invalid position in [0, n), or n. bad(begin, end) returns the first one of a chunk, or its end.
template <typename Bad>
std::int64_t first_bad(std::int64_t n, const Bad& bad) {
  std::vector<std::int64_t> first(static_cast<std::size_t>((n + kChunk - 1) / kChunk), n);
  parallel_for(0, n, kChunk, [&](std::int64_t begin, std::int64_t end) {
    if (const std::int64_t at = bad(begin, end); at < end)
      first[static_cast<std::size_t>(begin / kChunk)] = at;
  });
  return first.empty() ? n : std::ranges::min(first);
}

void check_offsets(const std::string& source, const ExampleField& field) {
  const auto offsets = field.offsets;
  const auto fail = [&](std::int64_t at, const char* expected) {
    throw FormatError(concat(source, ": tensor '", field.name, ".offsets': [", at, "] is ",
                             offsets[static_cast<std::size_t>(at)], "; expected ", expected));
  };
  if (offsets.front() != 0) fail(0, "0");
  const auto n = std::ssize(offsets) - 1;
  const std::int64_t fall = first_bad(n, [&](std::int64_t begin, std::int64_t end) {
    const auto* first = offsets.data() + begin;
    return begin + (std::is_sorted_until(first, offsets.data() + end + 1) - first) - 1;
  });
  if (fall < n) fail(fall + 1, "at least the previous one");
  if (offsets.back() != std::ssize(field.ids)) fail(n, "the number of ids");
}

void check_ids(const std::string& source, const ExampleField& field) {
  const auto size = static_cast<std::uint32_t>(field.vocabulary_size);
  const auto n = std::ssize(field.ids);
  const std::int64_t at = first_bad(n, [&](std::int64_t begin, std::int64_t end) -> std::int64_t {
    const std::int32_t* ids = field.ids.data();
    std::uint32_t largest = 0;  // a negative id is a large one
    for (std::int64_t i = begin; i < end; ++i)
      largest = std::max(largest, static_cast<std::uint32_t>(ids[i]));
    if (largest < size) return end;
    return std::find_if(ids + begin, ids + end,
                        [&](std::int32_t id) { return static_cast<std::uint32_t>(id) >= size; }) -
           ids;
  });
  ST_CHECK(at == n, FormatError, source, ": tensor '", field.name, ".ids': [", at, "] is ",
           field.ids[static_cast<std::size_t>(at)], "; expected 0 to ", field.vocabulary_size - 1);
}

/// Checks that indices are below n and ascend by (length, index), so that each is there once.
void check_order(const std::string& source, const ExampleField& primary,
                 std::span<const std::uint32_t> by_length) {
  const auto n = std::ssize(by_length);
  const auto good = [&](std::int64_t i) {
    const auto index = by_length[static_cast<std::size_t>(i)];
    if (index >= n) return false;
    if (i == 0) return true;
    const auto previous = by_length[static_cast<std::size_t>(i) - 1];
    return previous < n &&
           std::pair(primary.length(previous), previous) < std::pair(primary.length(index), index);
  };
  const std::int64_t at = first_bad(n, [&](std::int64_t begin, std::int64_t end) {
    while (begin < end && good(begin)) ++begin;
    return begin;
  });
  ST_CHECK(at == n, FormatError, source, ": tensor 'by_length': [", at, "] is ",
           by_length[static_cast<std::size_t>(at)], ", which is not sorted by length");
}

}  // namespace

const std::string& ExampleFile::metadata(const std::string& name) const {
  const auto item = file_->metadata().find(name);
  ST_CHECK(item != file_->metadata().end(), FormatError, file_->source(), ": has no ", name,
           " in its metadata");
  return item->second;
}

std::shared_ptr<const ExampleFile> ExampleFile::open(const std::string& path, bool verify) {
  return of(SafeTensors::open(path), verify);
}

std::shared_ptr<const ExampleFile> ExampleFile::of(std::shared_ptr<const SafeTensors> opened, bool verify) {
  const std::shared_ptr<ExampleFile> examples(new ExampleFile);
  examples->file_ = std::move(opened);
  const SafeTensors& file = *examples->file_;
  const std::string& source = file.source();
  const auto says = [&](const char* name, std::string_view value) {
    const auto item = file.metadata().find(name);
    return item != file.metadata().end() && item->second == value;
  };
  ST_CHECK(says("format", kFormat) && says("kind", kKind), FormatError, source,
           ": is a safetensors file, but not a file of examples");
  ST_CHECK(says("format_version", kVersion), FormatError, source, ": format version '",
           examples->metadata("format_version"), "'; this library reads version ", kVersion);
  examples->key();
  if (verify) examples->verify();

  check_json_depth(examples->config(), concat(source, ": config"));
  const json config = json::parse(examples->config(), nullptr, false);
  ST_CHECK(config.is_object() && config.contains("fields") && config["fields"].is_array() &&
               !config["fields"].empty(),
           FormatError, source, ": config has no list of fields");
  const std::int64_t n = static_cast<std::int64_t>(file.values<std::uint32_t>("by_length", {-1}).size());
  ST_CHECK(n <= kMaxExamples, FormatError, source, ": ", n, " examples; at most ", kMaxExamples,
           " are possible");
  std::set<std::string> expected{"by_length"};
  for (const json& item : config["fields"]) {
    constexpr std::int64_t kMostWords = std::int64_t{1} << 31;
    ST_CHECK(item.is_object() && item.contains("name") && item["name"].is_string() &&
                 item.contains("vocabulary_size") && item["vocabulary_size"].is_number_integer() &&
                 item["vocabulary_size"] >= 0 && item["vocabulary_size"] <= kMostWords,
             FormatError, source, ": config: a field needs a name and the size of its vocabulary");
    ExampleField field;
    field.name = item["name"].get<std::string>();
    field.vocabulary_size = item["vocabulary_size"].get<std::int64_t>();
    ST_CHECK(expected.insert(field.name + ".ids").second, FormatError, source, ": config: the field '",
             field.name, "' occurs twice");
    expected.insert(field.name + ".offsets");
    field.ids = file.values<std::int32_t>(field.name + ".ids", {-1});
    field.offsets = file.values<std::int64_t>(field.name + ".offsets", {n + 1});
    check_offsets(source, field);
    check_ids(source, field);
    examples->fields_.push_back(std::move(field));
  }
  if (file.has("labels")) {
    expected.insert("labels");
    const bool whole = file.tensors().at("labels").dtype == DType::i64;
    examples->labels_ = whole ? Labels::int64 : Labels::float32;
    if (whole) {
      examples->int_labels_ = file.values<std::int64_t>("labels", {n});
    } else {
      examples->float_labels_ = file.values<float>("labels", {n});
    }
  }
  for (const auto& [name, tensor] : file.tensors()) {
    ST_CHECK(expected.contains(name), FormatError, source, ": unknown tensor '", name, "'");
  }
  examples->by_length_ = file.values<std::uint32_t>("by_length", {n});
  check_order(source, examples->fields_.front(), examples->by_length_);
  return examples;
}

const ExampleField& ExampleFile::field(std::string_view name) const {
  std::string names;
  for (const auto& field : fields_) {
    if (field.name == name) return field;
    names += concat(names.empty() ? "'" : ", '", field.name, "'");
  }
  throw InvalidInput(concat("examples have no field '", name, "'; they have ", names));
}

void ExampleFile::verify() const {
  if (file_->has_checksums()) {
    for (const auto& [name, tensor] : file_->tensors()) file_->verify(name);
    return;
  }
  const auto sums = file_->metadata().lower_bound("checksum.");  // the first files only have "checksum"
  ST_CHECK(sums == file_->metadata().end() || !sums->first.starts_with("checksum."), FormatError,
           file_->source(), ": is damaged: has checksums, but none of its header");
  Sha256 hash;
  for (const auto& [name, tensor] : file_->tensors()) {
    constexpr std::size_t kPiece = 1 << 24;
    for (std::size_t i = 0; i < tensor.bytes.size(); i += kPiece) {
      poll_interrupt();
      hash.update(tensor.bytes.subspan(i, std::min(kPiece, tensor.bytes.size() - i)));
    }
  }
  ST_CHECK(hash.hex() == metadata("checksum"), FormatError, file_->source(),
           ": is damaged: its checksum does not match");
}

void write_examples(const std::string& path, const std::map<std::string, StreamedTensor>& tensors,
                    const std::string& config, const std::string& key) {
  // The checksum precedes the tensors, so they are streamed twice.
  Sha256 hash;
  auto metadata = block_checksums(tensors, [&](std::span<const std::byte> bytes) { hash.update(bytes); });
  metadata.insert({{"format", std::string(kFormat)},
                   {"format_version", std::string(kVersion)},
                   {"kind", std::string(kKind)},
                   {"config", config},
                   {"key", key},
                   {"checksum", hash.hex()}});
  stream_safetensors(path, tensors, metadata);
}

}  // namespace sentencode
