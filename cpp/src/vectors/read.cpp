#include "sentencode/vectors/read.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include "sentencode/error.h"
#include "sentencode/parallel.h"
#include "sentencode/text/utf8.h"
#include "vectors/fasttext.h"
#include "vectors/parse_float.h"

namespace sentencode {
namespace {

constexpr std::size_t kMaxLine = std::size_t{1} << 26;  // bytes of a line in a text file
constexpr std::size_t kPartsPerBlock = 16;
constexpr int kLinesToGuessFrom = 100;

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  return text;
}

/// Takes the field that ends the text, with the blanks in front of it.
std::string_view take_last_field(std::string_view& text) {
  std::size_t begin = text.size();
  while (begin > 0 && !is_blank(text[begin - 1])) --begin;
  const std::string_view field = text.substr(begin);
  text.remove_suffix(field.size());
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return field;
}

std::int64_t count_fields(std::string_view line) {
  std::int64_t fields = 0;
  for (line = trimmed(line); !line.empty(); ++fields) take_last_field(line);
  return fields;
}

std::string excerpt(std::string_view text) {
  constexpr std::size_t kLongest = 60;
  return concat('\'', repair_utf8(text.substr(0, kLongest)), text.size() > kLongest ? "...'" : "'");
}

/// The two numbers of a header line, or nothing.
struct Header {
  std::int64_t rows = 0, dim = 0;
};
std::optional<Header> parse_header(std::string_view line) {
  Header header;
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

bool is_number(std::string_view field, float& value) {
  return !field.empty() &&
         parse_float(field.data(), field.data() + field.size(), value) == field.data() + field.size();
}

/// Whether a line is text, a word and numbers, and no bytes of raw numbers: some fields may be wrong. Behind
/// it there must be room for parse_float.
bool looks_like_row(std::string_view line) {
  std::int64_t fields = 0, numbers = 0;
  float value = 0.0F;
  for (line = trimmed(line); !line.empty(); ++fields) numbers += is_number(take_last_field(line), value);
  return fields > 1 && 2 * numbers >= fields - 1;
}

/// Appends so many bytes of the file, less only at its end; says how many. In steps, for a file may be small.
std::size_t append(std::string& bytes, std::size_t wanted, ByteReader& input) {
  constexpr std::size_t kFirstStep = 1 << 16;
  const std::size_t before = bytes.size();
  for (std::size_t step = kFirstStep; bytes.size() < before + wanted; step *= 2) {
    const std::size_t at = bytes.size(), size = std::min(step, before + wanted - at);
    bytes.resize(at + size);
    const std::size_t got = input.read(std::span(bytes).subspan(at));
    bytes.resize(at + got);
    if (got < size) break;
  }
  return bytes.size() - before;
}

/// Bytes of the file that hold whole rows, and where it may be cut for the threads.
struct Block {
  std::string bytes;  // with room behind them for parse_float
  std::vector<std::string_view> parts;
};

/// The rows of one part, stored, but not yet part of the table.
struct Piece {
  std::string words;              // one after the other
  std::vector<std::size_t> ends;  // of each
  std::vector<std::byte> rows;
  std::vector<float> scales;
  std::vector<std::int64_t> places;  // of the rows in the table; -1 for a duplicate
  std::int64_t seen = 0;             // rows in the file, those that are not wanted included
  std::int64_t units = 0;            // of counting for messages: lines, or rows
  std::int64_t repaired = 0;
  std::string error;  // of the last unit; the rest of the part was not read
};

/// What both formats share: a block is read while the one before it is parsed, and what was parsed is taken
/// up in order.
class Reader {
 public:
  Reader(ByteReader& input, const ReadOptions& options, ReadReport& report)
      : input_(input), options_(options), report_(report) {}
  virtual ~Reader() { std::free(rows_); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  std::shared_ptr<const WordVectors> run() {
    // Pointers, so that the blocks themselves stay where they are: their parts look at their bytes.
    auto now = std::make_unique<Block>(), next = std::make_unique<Block>();
    next_block(*now);
    while (!now->parts.empty()) {
      std::vector<Piece> pieces(now->parts.size());
      // Whoever writes into a pipe may pause: it is read on the thread that looks at Ctrl-C.
      const bool ahead = input_.total() > 0;
      if (!ahead) next_block(*next);
      parallel_for(ahead ? 0 : 1, std::ssize(pieces) + 1, 1, [&](std::int64_t i, std::int64_t) {
        if (i == 0) {
          next_block(*next);
        } else {
          parse(now->parts[static_cast<std::size_t>(i - 1)], pieces[static_cast<std::size_t>(i - 1)]);
        }
      });
      take(pieces);
      if (options_.progress) options_.progress(input_.position(), input_.total());
      std::swap(now, next);
    }
    check_end();
    return finish();
  }

 protected:
  /// Makes the next block; without parts at the end.
  virtual void next_block(Block& block) = 0;
  virtual void parse(std::string_view part, Piece& piece) const = 0;
  virtual const char* unit() const = 0;
  virtual void check_end() const {}

  template <typename... Why>
  [[noreturn]] void fail(const Why&... why) const {
    throw FormatError(concat(input_.path(), ": ", why...));
  }
  std::size_t row_bytes() const { return static_cast<std::size_t>(dim_) * element_bytes(storage_); }
  bool wanted(std::string_view word) const {
    return options_.only == nullptr || options_.only->find(word) != StringTable::kMissing;
  }

  /// Appends a row; false, with the reason, when a number cannot be stored.
  bool add_row(std::string_view word, std::span<const float> values, Piece& piece) const {
    const bool good = find_invalid_utf8(word) == std::string_view::npos;
    const std::string repaired = good ? std::string() : repair_utf8(word);
    piece.repaired += !good;
    if (!good) word = repaired;
    if (!wanted(word)) return true;
    const std::size_t before = piece.rows.size();
    piece.rows.resize(before + row_bytes());
    if (storage_ == Storage::int8) piece.scales.push_back(0.0F);
    float* scale = piece.scales.empty() ? nullptr : &piece.scales.back();
    if (!store_row(values, storage_, piece.rows.data() + before, scale)) {
      piece.error = why_not_stored(values, excerpt(word));
      return false;
    }
    piece.words.append(word);
    piece.ends.push_back(piece.words.size());
    return true;
  }

  ByteReader& input_;
  const ReadOptions& options_;
  ReadReport& report_;
  Storage storage_ = options_.storage.value_or(Storage::float32);
  std::int64_t dim_ = 0;
  std::optional<Header> header_;
  std::int64_t planned_ = 0;  // rows of all blocks so far
  std::int64_t units_ = 0;    // taken up, the header line included

 private:
  /// Words one after the other, for the first of equals counts; then the rows, on all threads.
  void take(std::vector<Piece>& pieces) {
    for (Piece& piece : pieces) {
      for (std::size_t i = 0, begin = 0; i < piece.ends.size(); begin = piece.ends[i++]) {
        const std::int64_t before = words_.size();
        words_.insert(std::string_view(piece.words).substr(begin, piece.ends[i] - begin));
        const bool is_new = words_.size() > before;
        report_.duplicates += !is_new;
        piece.places.push_back(is_new ? before : -1);
        if (is_new && !piece.scales.empty()) scales_.push_back(piece.scales[i]);
      }
      report_.rows += piece.seen;
      report_.repaired += piece.repaired;
      units_ += piece.units;
      if (!piece.error.empty()) fail(unit(), " ", units_, ": ", piece.error);
    }
    const std::size_t needed = static_cast<std::size_t>(words_.size()) * row_bytes();
    if (needed > capacity_) resize(std::max(needed, capacity_ + capacity_ / 2));
    parallel_for(0, static_cast<std::int64_t>(pieces.size()), 1, [&](std::int64_t p, std::int64_t) {
      const Piece& piece = pieces[static_cast<std::size_t>(p)];
      for (std::size_t i = 0; i < piece.places.size(); ++i) {
        if (piece.places[i] < 0) continue;
        std::memcpy(rows_ + static_cast<std::size_t>(piece.places[i]) * row_bytes(),
                    piece.rows.data() + i * row_bytes(), row_bytes());
      }
    });
  }

  void resize(std::size_t bytes) {  // large memory is moved by the system without being copied
    auto* rows = static_cast<std::byte*>(std::realloc(rows_, std::max<std::size_t>(1, bytes)));
    if (rows == nullptr) throw std::bad_alloc();
    rows_ = rows;
    capacity_ = bytes;
  }

  std::shared_ptr<const WordVectors> finish() {
    struct Held {
      std::byte* rows = nullptr;
      std::vector<float> scales;
      ~Held() { std::free(rows); }
    };
    if (report_.rows == 0) fail("holds no vectors");
    const std::size_t bytes = static_cast<std::size_t>(words_.size()) * row_bytes();
    resize(bytes);
    auto memory = std::make_shared<Held>();
    memory->rows = std::exchange(rows_, nullptr);
    memory->scales = std::move(scales_);
    WordVectors::Parts parts;
    parts.words = std::move(words_);
    parts.dim = dim_;
    parts.storage = storage_;
    parts.rows = {memory->rows, bytes};
    parts.scales = memory->scales;
    parts.oov = options_.oov.value_or(OutOfVocabulary::skip);
    parts.keep = std::move(memory);
    return std::make_shared<WordVectors>(std::move(parts));
  }

  StringTable words_;
  std::byte* rows_ = nullptr;
  std::size_t capacity_ = 0;
  std::vector<float> scales_;
};

// --- a line for each word
// --------------------------------------------------------------------------------------------

class TextReader final : public Reader {
 public:
  /// `head`: what was read of the file already, without its header line.
  TextReader(ByteReader& input, const ReadOptions& options, ReadReport& report, std::string_view head,
             std::optional<Header> header)
      : Reader(input, options, report), carry_(head) {
    header_ = header;
    units_ = header ? 1 : 0;
    dim_ = header ? header->dim : options.dim > 0 ? options.dim : guess_dim(head);
    if (options.dim > 0 && options.dim != dim_) {
      fail("the header says ", dim_, " numbers a word, expected ", options.dim);
    }
  }

 protected:
  void next_block(Block& block) override {
    block.parts.clear();
    if (ended_) return;
    std::string& bytes = block.bytes;
    bytes = std::exchange(carry_, {});
    std::size_t end = 0;
    for (;;) {  // until there is at least one whole line
      const std::size_t got = append(bytes, options_.block_bytes, input_);
      if (got < options_.block_bytes) {
        ended_ = true;
        end = bytes.size();
        break;
      }
      if (const auto newline = bytes.rfind('\n'); newline != std::string::npos) {
        end = newline + 1;
        break;
      }
      if (bytes.size() > kMaxLine)
        fail("a line behind line ", units_, " is longer than ", kMaxLine, " bytes; this is no text file");
    }
    carry_.assign(bytes, end);
    bytes.resize(end);
    bytes.append(kParseFloatPadding, '\0');
    cut(block, std::string_view(bytes).substr(0, up_to_limit(end, bytes)));
  }

  void parse(std::string_view part, Piece& piece) const override {
    std::vector<float> values(static_cast<std::size_t>(dim_));
    piece.rows.reserve(row_bytes() * (part.size() / (static_cast<std::size_t>(dim_) * 8) + 1));
    while (!part.empty()) {
      const std::size_t newline = std::min(part.find('\n'), part.size());
      ++piece.units;
      if (!parse_line(part.substr(0, newline), values, piece)) return;
      part.remove_prefix(std::min(newline + 1, part.size()));
    }
  }

  const char* unit() const override { return "line"; }

  void check_end() const override {
    if (header_ && options_.limit == 0 && report_.rows < header_->rows) {
      fail("the header says ", header_->rows, " words, but the file ends after ", report_.rows);
    }
  }

 private:
  std::int64_t guess_dim(std::string_view head) const {
    // A few words may hold spaces, so the number of fields that most lines have decides, the smaller of two
    // equals. The last line may be cut off.
    if (const auto newline = head.rfind('\n'); newline != std::string_view::npos)
      head = head.substr(0, newline);
    std::map<std::int64_t, int> votes;
    for (int i = 0; i < kLinesToGuessFrom && !head.empty(); ++i) {
      const std::size_t newline = std::min(head.find('\n'), head.size());
      if (const std::int64_t fields = count_fields(head.substr(0, newline)); fields > 0) ++votes[fields - 1];
      head.remove_prefix(std::min(newline + 1, head.size()));
    }
    const auto most = std::max_element(votes.begin(), votes.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most == votes.end()) fail("holds no vectors");
    if (most->first < 1 || most->first > kMaxDim) {
      fail("line 1: expected a word and its numbers, found ", most->first + 1, " fields");
    }
    return most->first;
  }

  /// Where the lines end that the limit leaves.
  std::size_t up_to_limit(std::size_t end, std::string_view bytes) {
    std::size_t at = 0;
    if (options_.limit == 0) return end;
    while (at < end && planned_ < options_.limit) {
      const std::size_t newline = std::min(bytes.find('\n', at), end);
      planned_ += !trimmed(bytes.substr(at, newline - at)).empty();
      at = std::min(newline + 1, end);
    }
    if (planned_ >= options_.limit) ended_ = true;
    return at;
  }

  static void cut(Block& block, std::string_view lines) {
    const std::size_t size = lines.size() / kPartsPerBlock + 1;
    while (!lines.empty()) {
      const std::size_t newline = lines.find('\n', std::min(size, lines.size()) - 1);
      const std::size_t end = newline == std::string_view::npos ? lines.size() : newline + 1;
      block.parts.push_back(lines.substr(0, end));
      lines.remove_prefix(end);
    }
  }

  /// False, with the piece's error set, when the line is no row.
  bool parse_line(std::string_view line, std::vector<float>& values, Piece& piece) const {
    while (!line.empty() && is_blank(line.back())) line.remove_suffix(1);
    if (trimmed(line).empty()) return true;
    ++piece.seen;
    const char* const end = line.data() + line.size();
    const char* const word_end = std::find_if(line.data(), end, is_blank);
    const std::string_view word(line.data(), static_cast<std::size_t>(word_end - line.data()));
    // A word that is not wanted is passed over without a look at its numbers, once it is sure to be the whole
    // word.
    if (!wanted(word) && find_invalid_utf8(word) == std::string_view::npos &&
        std::count_if(word_end, end, is_blank) == dim_) {
      return true;
    }

    const char* p = word_end;
    std::size_t done = 0;
    for (; done < values.size(); ++done) {
      while (p < end && is_blank(*p)) ++p;
      const char* const number = p;
      if (p < end) p = parse_float(number, end, values[done]);
      if (p == number || (p < end && !is_blank(*p))) break;
    }
    if (done == values.size() && p == end) return add_row(word, values, piece);
    return parse_from_right(line, values, piece);
  }

  /// The rare line: a word with spaces, or an error.
  bool parse_from_right(std::string_view line, std::vector<float>& values, Piece& piece) const {
    std::string_view rest = line;
    for (std::size_t i = values.size(); i-- > 0;) {
      const std::string_view field = take_last_field(rest);
      if (field.empty() || (rest.empty() && !is_blank(line[0]))) {
        piece.error = concat("expected a word and ", dim_, " numbers, found ", count_fields(line),
                             " fields: ", excerpt(line));
        return false;
      }
      if (!is_number(field, values[i])) {
        piece.error = concat("number ", i + 1, " of ", dim_, " is ", excerpt(field), ": ", excerpt(line));
        return false;
      }
    }
    return add_row(rest, values, piece);
  }

  std::string carry_;  // the beginning of a line whose end is not read yet
  bool ended_ = false;
};

// --- words and raw numbers
// -------------------------------------------------------------------------------------------

class BinaryReader final : public Reader {
 public:
  BinaryReader(ByteReader& input, const ReadOptions& options, ReadReport& report, std::string_view head,
               Header header)
      : Reader(input, options, report), carry_(head) {
    header_ = header;
    dim_ = header.dim;
    if (options.dim > 0 && options.dim != dim_) {
      fail("the header says ", dim_, " numbers a word, expected ", options.dim);
    }
    whole_ = options.limit <= 0 || options.limit >= header_->rows;
    if (!whole_) header_->rows = options.limit;
  }

 protected:
  void next_block(Block& block) override {
    block.parts.clear();
    std::string& bytes = block.bytes;
    bytes = std::exchange(carry_, {});
    if (planned_ == header_->rows && whole_) {
      do {
        if (bytes.find_first_not_of('\n') != std::string::npos) {
          fail("the header says ", header_->rows, " words of ", dim_, " numbers, but more follows them");
        }
        bytes.clear();
      } while (append(bytes, options_.block_bytes, input_) > 0);
    }
    while (planned_ < header_->rows) {
      const std::size_t got = append(bytes, options_.block_bytes, input_);
      const std::size_t part_bytes = bytes.size() / kPartsPerBlock + 1;
      std::size_t begin = 0, at = 0;
      while (planned_ < header_->rows) {
        const std::size_t end = record_end(std::string_view(bytes).substr(at));
        if (end == 0) break;
        at += end;
        ++planned_;
        if (at - begin >= part_bytes) {
          block.parts.push_back(std::string_view(bytes).substr(begin, at - begin));
          begin = at;
        }
      }
      if (at > begin) block.parts.push_back(std::string_view(bytes).substr(begin, at - begin));
      if (at > 0) {
        carry_.assign(bytes, at);
        return;
      }
      if (got == 0)
        fail("the header says ", header_->rows, " words, but word ", planned_ + 1, " is cut off at the end");
    }
  }

  void parse(std::string_view part, Piece& piece) const override {
    std::vector<float> values(static_cast<std::size_t>(dim_));
    while (!part.empty()) {
      const std::size_t end = record_end(part);
      std::string_view word = part.substr(0, end - number_bytes() - 1);
      if (word.starts_with('\n')) word.remove_prefix(1);
      std::memcpy(values.data(), part.data() + (end - number_bytes()), number_bytes());
      ++piece.units;
      ++piece.seen;
      if (wanted(word) && !add_row(word, values, piece)) return;
      part.remove_prefix(end);
    }
  }

  const char* unit() const override { return "vector"; }

 private:
  std::size_t number_bytes() const { return static_cast<std::size_t>(dim_) * sizeof(float); }

  /// The bytes of the row at the beginning, or 0 when it is not there whole. The original program writes a
  /// line feed behind each row, others do not: it counts to the row that follows.
  std::size_t record_end(std::string_view bytes) const {
    const std::size_t space = bytes.substr(0, kMaxWord).find(' ');
    if (space == std::string_view::npos && bytes.size() >= kMaxWord) {
      fail("no space ends word ", planned_ + 1, " within ", kMaxWord, " bytes; this is no word2vec file");
    }
    return space == std::string_view::npos || bytes.size() - space - 1 < number_bytes()
               ? 0
               : space + 1 + number_bytes();
  }

  std::string carry_;
  bool whole_ = true;  // the file is read to its end
};

// --- which of them
// ---------------------------------------------------------------------------------------------------

constexpr std::size_t kLongestMagic = 64;

/// Reads until there are so many bytes or the file ends; false when nothing came.
bool extend(std::string& head, std::size_t bytes, ByteReader& input) {
  return head.size() < bytes && append(head, bytes - head.size(), input) > 0;
}

/// Reads until there are so many whole lines, or the file ends, or these are no lines.
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
  if (head.starts_with("\xEF\xBB\xBF")) head.erase(0, 3);
  extend_to_lines(head, 1, input);
  const std::size_t line_end = std::min(head.find('\n'), head.size());
  const std::size_t body = std::min(line_end + 1, head.size());
  std::optional<Header> header = parse_header(std::string_view(head).substr(0, line_end));
  bool binary = options.format == VectorFormat::word2vec_binary;
  ST_CHECK(header || !binary, FormatError, input.path(),
           ": byte 0: expected a header line of two numbers, found ",
           excerpt(std::string_view(head).substr(0, line_end)));
  if (header && !binary) {
    // Does a row of text follow? Its numbers have at most some thirty characters each.
    extend(head, body + kMaxWord + static_cast<std::size_t>(header->dim) * 32, input);
    std::string line = head.substr(body, std::min(head.find('\n', body), head.size()) - body);
    const bool nothing = line.empty() && body == head.size();
    line.append(kParseFloatPadding, '\n');
    const bool row = looks_like_row(std::string_view(line).substr(0, line.size() - kParseFloatPadding));
    binary = !row && !nothing && options.format == VectorFormat::automatic;
    // Who asks for one number a word may have a first word that is a whole number itself.
    if (options.dim == 1 && header->dim != 1) header.reset();
  }
  if (!header && options.dim == 0)
    extend_to_lines(head, kLinesToGuessFrom, input);  // whatever the block's size
  const std::string_view rest = std::string_view(head).substr(header ? body : 0);
  return binary ? BinaryReader(input, options, counts, rest, *header).run()
                : TextReader(input, options, counts, rest, header).run();
}

/// Our own format, to which the options are applied afterwards.
std::shared_ptr<const WordVectors> open_native(const std::string& path, const ReadOptions& options,
                                               ReadReport* report) {
  auto vectors = WordVectors::open(path, options.oov);
  if (report != nullptr) *report = {.rows = vectors->size()};
  ST_CHECK(options.dim == 0 || options.dim == vectors->dim(), FormatError, path, ": has ", vectors->dim(),
           " numbers a word, expected ", options.dim);
  if (options.limit > 0 && options.limit < vectors->size()) vectors = vectors->first(options.limit);
  if (options.only != nullptr) vectors = vectors->only(*options.only);
  const Storage storage = options.storage.value_or(vectors->storage());
  return storage == vectors->storage() ? vectors : vectors->with_storage(storage);
}

/// The first eight bytes of our own format are a number far smaller than what eight characters of a text
/// make.
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
    ST_CHECK(input->path() == path, FormatError, input->path(),
             ": Sentencode's own format is mapped, which only a file of its own can be: unpack it");
    return open_native(path, options, report);
  }
  return read_from(*input, std::move(head), options, report);
}

}  // namespace sentencode
