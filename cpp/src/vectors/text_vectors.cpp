#include "vectors/text_vectors.h"

#include <algorithm>
#include <map>
#include <utility>

#include "sentencode/text/utf8.h"
#include "vectors/fasttext.h"
#include "vectors/fields.h"
#include "vectors/parse_float.h"

namespace sentencode {
namespace {

class TextVectors final : public VectorsReader {
 public:
  /// `head`: The beginning of the file, without its header line.
  TextVectors(ByteReader& input, const ReadOptions& options, ReadReport& report, std::string_view head,
              std::optional<VectorsHeader> header)
      : VectorsReader(input, options, report), carry_(head) {
    header_ = header;
    units_ = header ? 1 : 0;
    dim_ = header ? header->dim : options.dim > 0 ? options.dim : guess_dim(head);
    if (options.dim > 0 && options.dim != dim_) {
      fail("the header says ", dim_, " dimensions, expected ", options.dim);
    }
  }

 protected:
  void next_block(VectorsBlock& block) override {
    block.parts.clear();
    if (ended_) return;
    std::string& bytes = block.bytes;
    bytes = std::exchange(carry_, {});
    std::size_t end = 0;
    for (;;) {  // until there is at least one whole line
      const std::size_t read = append_bytes(bytes, options_.block_bytes, input_);
      if (read < options_.block_bytes) {
        ended_ = true;
        end = bytes.size();
        break;
      }
      if (const auto newline = bytes.rfind('\n'); newline != std::string::npos) {
        end = newline + 1;
        break;
      }
      if (bytes.size() > kMaxLine)
        fail("a line after line ", units_, " is longer than ", kMaxLine, " bytes; this is no text file");
    }
    carry_.assign(bytes, end);
    bytes.resize(end);
    bytes.append(kParseFloatPadding, '\0');
    split(block, std::string_view(bytes).substr(0, up_to_limit(end, bytes)));
  }

  void parse(std::string_view part, VectorsPiece& piece) const override {
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
    // A few words may contain spaces, so dim is that of most lines; of a tie, the smaller one. The last line
    // may be incomplete.
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

  /// End of the lines within the limit.
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

  static void split(VectorsBlock& block, std::string_view lines) {
    const std::size_t size = lines.size() / kPartsPerBlock + 1;
    while (!lines.empty()) {
      const std::size_t newline = lines.find('\n', std::min(size, lines.size()) - 1);
      const std::size_t end = newline == std::string_view::npos ? lines.size() : newline + 1;
      block.parts.push_back(lines.substr(0, end));
      lines.remove_prefix(end);
    }
  }

  /// False, with an error in the piece, if the line is not a row.
  bool parse_line(std::string_view line, std::vector<float>& values, VectorsPiece& piece) const {
    while (!line.empty() && is_blank(line.back())) line.remove_suffix(1);
    if (trimmed(line).empty()) return true;
    ++piece.read;
    const char* const end = line.data() + line.size();
    const char* const word_end = std::find_if(line.data(), end, is_blank);
    const std::string_view word(line.data(), static_cast<std::size_t>(word_end - line.data()));
    // Skips an unwanted word without parsing its values, if it certainly contains no spaces.
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

  /// The slow path: a word with spaces, or an error.
  bool parse_from_right(std::string_view line, std::vector<float>& values, VectorsPiece& piece) const {
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

  std::string carry_;  // the beginning of an incomplete line
  bool ended_ = false;
};

}  // namespace

std::shared_ptr<const WordVectors> read_text_vectors(ByteReader& input, const ReadOptions& options,
                                                     ReadReport& report, std::string_view head,
                                                     std::optional<VectorsHeader> header) {
  return TextVectors(input, options, report, head, header).run();
}

}  // namespace sentencode
