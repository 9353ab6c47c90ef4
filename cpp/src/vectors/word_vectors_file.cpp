// The native file of word vectors.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <utility>

#include "sentencode/error.h"
#include "sentencode/parallel.h"
#include "vectors/word_vectors_shared.h"

namespace sentencode {
namespace {

// Version 3 has checksums, with or without subwords. Without checksums, in memory and in old files, version 2
// has subwords, and version 1 has not.
constexpr std::string_view kVersion = "3", kWithSubwords = "2", kFirst = "1";

std::span<const float> checked_scales(const SafeTensors& file, const std::string& name, std::int64_t n) {
  const auto scales = file.values<float>(name, {n});
  ST_CHECK(std::ranges::all_of(scales, [](float scale) { return std::isfinite(scale); }), FormatError,
           file.source(), ": tensor '", name, "' holds NaN or infinity");
  return scales;
}

}  // namespace

void WordVectors::add_to(std::map<std::string, Tensor>& tensors, const std::string& prefix) const {
  constexpr DType kTypes[] = {DType::f32, DType::f16, DType::i8};
  tensors[prefix + "words"] = tensor_of(words().bytes(), {static_cast<std::int64_t>(words().bytes().size())});
  tensors[prefix + "offsets"] = tensor_of(words().offsets(), {size() + 1});
  tensors[prefix + "slots"] = tensor_of(words().slots(), {static_cast<std::int64_t>(words().slots().size())});
  tensors[prefix + "rows"] = {kTypes[static_cast<std::size_t>(storage())], {size(), dim()}, parts_.rows};
  if (!parts_.scales.empty()) tensors[prefix + "scales"] = tensor_of(parts_.scales, {size()});
  if (!counts().empty()) tensors[prefix + "counts"] = tensor_of(counts(), {size()});
  const Subwords& pieces = subwords();
  if (pieces.buckets == 0) return;
  tensors[prefix + "subwords.lengths"] = tensor_of(std::span<const std::int32_t>(pieces.lengths), {2});
  tensors[prefix + "subwords.rows"] = {
      kTypes[static_cast<std::size_t>(storage())], {pieces.buckets, dim()}, pieces.rows};
  if (!pieces.scales.empty())
    tensors[prefix + "subwords.scales"] = tensor_of(pieces.scales, {pieces.buckets});
}

std::shared_ptr<const WordVectors> WordVectors::from_tensors(std::shared_ptr<const SafeTensors> file,
                                                             const std::string& prefix,
                                                             std::optional<OutOfVocabulary> oov,
                                                             bool verify) {
  for (const char* name :
       {"words", "offsets", "slots", "scales", "counts", "subwords.lengths", "subwords.scales"})
    file->verify(prefix + name);
  for (const char* name : {"rows", "subwords.rows"}) {
    if (verify) file->verify(prefix + name);
  }
  Parts parts;
  try {
    parts.words = StringTable::view(file->values<char>(prefix + "words", {-1}),
                                    file->values<std::uint64_t>(prefix + "offsets", {-1}),
                                    file->values<std::uint64_t>(prefix + "slots", {-1}));
  } catch (const FormatError& error) {
    if (std::string_view(error.what()).starts_with(file->source())) throw;
    throw FormatError(concat(file->source(), ": ", error.what()));
  }
  const std::int64_t n = parts.words.size();
  const auto rows = file->tensors().find(prefix + "rows");
  const DType type = rows == file->tensors().end() ? DType::f32 : rows->second.dtype;
  parts.storage = type == DType::f16  ? Storage::float16
                  : type == DType::i8 ? Storage::int8
                                      : Storage::float32;
  const Tensor& table = file->tensor(prefix + "rows", parts.storage == Storage::float32 ? DType::f32 : type,
                                     std::array{n, std::int64_t{-1}});
  parts.dim = table.shape[1];
  parts.rows = table.bytes;
  ST_CHECK(parts.dim >= 1, FormatError, file->source(), ": tensor '", prefix, "rows' has no columns");
  if (parts.storage == Storage::int8) {
    parts.scales = checked_scales(*file, prefix + "scales", n);
  }
  if (file->has(prefix + "counts")) parts.counts = file->values<std::int64_t>(prefix + "counts", {n});
  if (file->has(prefix + "subwords.rows")) {
    Subwords& pieces = parts.subwords;
    const Tensor& rows_of =
        file->tensor(prefix + "subwords.rows", table.dtype, std::array{std::int64_t{-1}, parts.dim});
    const auto lengths = file->values<std::int32_t>(prefix + "subwords.lengths", {2});
    pieces = {{lengths[0], lengths[1]}, rows_of.shape[0], rows_of.bytes, {}};
    ST_CHECK(pieces.buckets >= 1 && are_lengths(pieces.lengths), FormatError, file->source(), ": ",
             pieces.buckets, " subwords of ", pieces.lengths[0], " to ", pieces.lengths[1], " characters");
    if (parts.storage == Storage::int8)
      pieces.scales = checked_scales(*file, prefix + "subwords.scales", pieces.buckets);
  }
  parts.oov = oov.value_or(parts.subwords.buckets > 0 ? OutOfVocabulary::subwords : OutOfVocabulary::skip);
  ST_CHECK(parts.oov != OutOfVocabulary::subwords || parts.subwords.buckets > 0, InvalidInput, file->source(),
           ": oov='subwords', but it holds none");
  parts.path = file->path();
  parts.prefix = prefix;
  parts.keep = file;
  auto result = std::make_shared<WordVectors>(std::move(parts));
  if (verify) result->check_finite(file->source());
  return result;
}

void WordVectors::check_finite(const std::string& source) const {
  if (storage() == Storage::int8) return;  // its scales were checked
  // Copied, as rows in a file may be unaligned.
  const auto all_finite = [&]<typename Bits>(Bits exponent, const std::byte* at) {
    Bits bad = 0;
    for (std::int64_t c = 0; c < dim(); ++c, at += sizeof(Bits)) {
      Bits bits = 0;
      std::memcpy(&bits, at, sizeof bits);
      bad |= static_cast<Bits>((bits & exponent) == exponent);
    }
    return bad == 0;
  };
  const auto finite = [&](std::span<const std::byte> rows, std::int64_t i) {
    const std::byte* row = rows.data() + static_cast<std::size_t>(i) * row_bytes();
    return storage() == Storage::float16 ? all_finite(std::uint16_t{0x7c00}, row)
                                         : all_finite(std::uint32_t{0x7f800000}, row);
  };
  parallel_for(0, size(), kRowsPerPiece, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      ST_CHECK(finite(parts_.rows, i), FormatError, source, ": the vector of '", words()[i],
               "' holds NaN or infinity");
    }
  });
  parallel_for(0, subwords().buckets, kRowsPerPiece, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      ST_CHECK(finite(subwords().rows, i), FormatError, source, ": the vector of subword ", i,
               " holds NaN or infinity");
    }
  });
}

std::map<std::string, std::string> WordVectors::metadata(bool checksums) const {
  return {{"format", std::string(kVectorsFormat)},
          {"version", std::string(checksums                ? kVersion
                                  : subwords().buckets > 0 ? kWithSubwords
                                                           : kFirst)},
          {"fingerprint", fingerprint()}};
}

void WordVectors::save(const std::string& path) const {
  std::map<std::string, Tensor> tensors;
  add_to(tensors, "");
  write_safetensors(path, tensors, metadata(true));
}

std::string WordVectors::to_bytes() const {
  std::map<std::string, Tensor> tensors;
  add_to(tensors, "");
  SafeTensorsPieces pieces = safetensors_pieces(tensors, metadata(false));
  std::string bytes = std::move(pieces.header);
  std::size_t size = bytes.size();
  for (const auto piece : pieces.data) size += piece.size();
  bytes.reserve(size);
  for (const auto piece : pieces.data)
    bytes.append(reinterpret_cast<const char*>(piece.data()), piece.size());
  return bytes;
}

std::shared_ptr<const WordVectors> WordVectors::open(const std::string& path,
                                                     std::optional<OutOfVocabulary> oov, bool verify) {
  return from_native(SafeTensors::open(path), oov, verify);
}

std::shared_ptr<const WordVectors> WordVectors::from_bytes(std::string bytes,
                                                           std::optional<OutOfVocabulary> oov) {
  const auto keep = std::make_shared<const std::string>(std::move(bytes));
  return from_native(SafeTensors::parse(keep, std::as_bytes(std::span(*keep)), "word vectors in memory"), oov,
                     false);
}

std::shared_ptr<const WordVectors> WordVectors::from_native(std::shared_ptr<const SafeTensors> file,
                                                            std::optional<OutOfVocabulary> oov, bool verify) {
  const auto& metadata = file->metadata();
  const auto value = [&](const char* key) {
    const auto entry = metadata.find(key);
    return entry == metadata.end() ? std::string() : entry->second;
  };
  ST_CHECK(value("format") == kVectorsFormat, FormatError, file->source(),
           ": a safetensors file, but not one of word vectors");
  const std::string version = value("version"), fingerprint = value("fingerprint");
  const bool old = version == kFirst || version == kWithSubwords;
  ST_CHECK(old || version == kVersion, FormatError, file->source(), ": version ", version, " of the format ",
           kVectorsFormat, "; this library reads versions ", kFirst, " to ", kVersion);
  ST_CHECK(old || file->has_checksums(), FormatError, file->source(), ": has no checksums");
  auto result = from_tensors(std::move(file), "", oov, verify);
  if (fingerprint.size() == 64) result->lazy_->fingerprint = fingerprint;
  return result;
}

}  // namespace sentencode
