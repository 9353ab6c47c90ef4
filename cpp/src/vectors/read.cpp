#include "sentencode/vectors/read.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <utility>

#include "sentencode/error.h"
#include "vectors/binary_vectors.h"
#include "vectors/fasttext.h"
#include "vectors/fields.h"
#include "vectors/parse_float.h"
#include "vectors/text_vectors.h"

namespace sentencode {
namespace {

std::optional<VectorsHeader> parse_header(std::string_view line) {
  VectorsHeader header;
  if (line.empty() || is_blank(line.front())) return std::nullopt;
  line = trimmed(line);
  const auto take = [&line](std::int64_t& number) {
    const auto result = std::from_chars(line.data(), line.data() + line.size(), number);
    line = line.substr(static_cast<std::size_t>(result.ptr - line.data()));
    return result.ec == std::errc() && number >= 0;
  };
  if (!take(header.rows) || line.empty() || !is_blank(line[0])) return std::nullopt;
  line = trimmed(line);
  if (!take(header.dim) || !line.empty() || header.dim < 1 || header.dim > kMaxDim) return std::nullopt;
  return header;
}

/// Whether a line looks like a word and numbers in text, not raw floats; some fields may be wrong. It must be
/// padded for parse_float.
bool looks_like_row(std::string_view line) {
  std::int64_t fields = 0, numbers = 0;
  float value = 0.0F;
  for (line = trimmed(line); !line.empty(); ++fields) {
    const std::string_view field = take_last_field(line);
    numbers += !line.empty() && is_number(field, value);  // not the word, which may be a number, too
  }
  return fields > 1 && 2 * numbers >= fields - 1;
}

constexpr std::size_t kLongestMagic = 64;

/// Reads until there are `size` bytes or the file ends; false if nothing was read.
bool extend(std::string& head, std::size_t bytes, ByteReader& input) {
  return head.size() < bytes && append_bytes(head, bytes - head.size(), input) > 0;
}

/// Reads until there are that many whole lines, or the file ends, or these are not lines.
void extend_to_lines(std::string& head, std::ptrdiff_t lines, ByteReader& input) {
  while (std::count(head.begin(), head.end(), '\n') < lines && head.size() <= kMaxLine) {
    if (!extend(head, 2 * head.size() + kLongestMagic, input)) break;
  }
}

void refuse_other_formats(std::string_view head, const std::string& path) {
  struct Other {
    std::string_view magic, what;
  };
  using namespace std::string_view_literals;
  constexpr Other kOthers[] = {
      {"\x80\x02"sv,
       "a pickle: load it where it comes from, as with gensim, and use WordVectors.from_keyed_vectors"},
      {"\x80\x03"sv,
       "a pickle: load it where it comes from, as with gensim, and use WordVectors.from_keyed_vectors"},
      {"\x80\x04"sv,
       "a pickle: load it where it comes from, as with gensim, and use WordVectors.from_keyed_vectors"},
      {"\x80\x05"sv,
       "a pickle: load it where it comes from, as with gensim, and use WordVectors.from_keyed_vectors"},
      {"PK\x03\x04"sv, "a zip archive within another: unpack it first"},
      {"\x89HDF"sv, "an HDF5 file"},
      {"\x93NUMPY"sv, "a NumPy array without words: use WordVectors.from_array"},
  };
  for (const auto& [magic, what] : kOthers) {
    ST_CHECK(!head.starts_with(magic), FormatError, path, ": this is ", what);
  }
}

std::shared_ptr<const WordVectors> read_from(ByteReader& input, std::string head, const ReadOptions& options,
                                             ReadReport* report) {
  ST_CHECK(options.limit >= 0, InvalidInput, "limit must not be negative, got ", options.limit);
  ST_CHECK(options.dim >= 0 && options.dim <= kMaxDim, InvalidInput, "dim must be from 1 to ", kMaxDim,
           ", got ", options.dim);
  ST_CHECK(options.block_bytes > 0, InvalidInput, "block_bytes must be positive");
  ReadReport unused;
  ReadReport& counts = report != nullptr ? *report : unused;
  counts = {};

  extend(head, std::max(options.block_bytes, kLongestMagic), input);
  refuse_other_formats(head, input.path());
  const bool model = options.format == VectorFormat::automatic && is_fasttext(head);
  if (model || options.format == VectorFormat::fasttext) {
    ST_CHECK(is_fasttext(head), FormatError, input.path(), ": byte 0: no model of fastText's begins so");
    return read_fasttext(input, std::move(head), options, counts);
  }
  if (head.starts_with(kByteOrderMark)) head.erase(0, kByteOrderMark.size());
  extend_to_lines(head, 1, input);
  const std::size_t line_end = std::min(head.find('\n'), head.size());
  const std::size_t body = std::min(line_end + 1, head.size());
  std::optional<VectorsHeader> header = parse_header(std::string_view(head).substr(0, line_end));
  bool binary = options.format == VectorFormat::word2vec_binary;
  ST_CHECK(header || !binary, FormatError, input.path(),
           ": byte 0: expected a header line of two numbers, found ",
           excerpt(std::string_view(head).substr(0, line_end)));
  if (header && !binary) {
    // Is the next row text? Its numbers have at most about thirty characters each.
    extend(head, body + kMaxWord + static_cast<std::size_t>(header->dim) * 32, input);
    std::string line = head.substr(body, std::min(head.find('\n', body), head.size()) - body);
    const bool nothing = line.empty() && body == head.size();
    line.append(kParseFloatPadding, '\n');
    const bool row = looks_like_row(std::string_view(line).substr(0, line.size() - kParseFloatPadding));
    binary = !row && !nothing && options.format == VectorFormat::automatic;
    // With dim=1, this may be a word that is an integer.
    if (options.dim == 1 && header->dim != 1) header.reset();
  }
  if (!header && options.dim == 0)
    extend_to_lines(head, kLinesToGuessFrom, input);  // regardless of block_bytes
  const std::string_view rest = std::string_view(head).substr(header ? body : 0);
  return binary ? read_binary_vectors(input, options, counts, rest, *header)
                : read_text_vectors(input, options, counts, rest, header);
}

/// Opens the native format, and then applies the options.
std::shared_ptr<const WordVectors> open_native(const std::string& path, const ReadOptions& options,
                                               ReadReport* report) {
  auto vectors = WordVectors::open(path, options.oov);
  if (report != nullptr) *report = {.rows = vectors->size()};
  ST_CHECK(options.dim == 0 || options.dim == vectors->dim(), FormatError, path, ": has ", vectors->dim(),
           " dimensions, expected ", options.dim);
  if (options.limit > 0 && options.limit < vectors->size()) vectors = vectors->first(options.limit);
  if (options.only != nullptr) vectors = vectors->only(*options.only);
  const Storage storage = options.storage.value_or(vectors->storage());
  return storage == vectors->storage() ? vectors : vectors->with_storage(storage);
}

/// The native format begins with a 64-bit length, which is much smaller than eight characters of text.
bool is_native(std::string_view head) {
  std::uint64_t length = 0;
  if (head.size() < 9) return false;
  std::memcpy(&length, head.data(), 8);
  return length < std::uint64_t{1} << 32 && head[8] == '{';
}

}  // namespace

std::shared_ptr<const WordVectors> read_vectors(ByteReader& input, const ReadOptions& options,
                                                ReadReport* report) {
  ST_CHECK(options.format != VectorFormat::native, InvalidInput, "only a file can be mapped");
  return read_from(input, {}, options, report);
}

std::shared_ptr<const WordVectors> read_vectors(const std::string& path, const ReadOptions& options,
                                                ReadReport* report) {
  if (options.format == VectorFormat::native) return open_native(path, options, report);
  const auto input = ByteReader::open(path, options.member);
  std::string head;
  extend(head, kLongestMagic, *input);
  if (options.format == VectorFormat::automatic && is_native(head)) {
    ST_CHECK(
        input->path() == path, FormatError, input->path(),
        ": Sentencode's native format must be mapped, which is impossible in an archive: unpack it first");
    return open_native(path, options, report);
  }
  return read_from(*input, std::move(head), options, report);
}

}  // namespace sentencode
