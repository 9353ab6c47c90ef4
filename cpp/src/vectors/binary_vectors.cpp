#include "vectors/binary_vectors.h"

#include <cstring>
#include <utility>

#include "vectors/fasttext.h"

namespace sentencode {
namespace {

class BinaryVectors final : public VectorsReader {
 public:
  BinaryVectors(ByteReader& input, const ReadOptions& options, ReadReport& report, std::string_view head,
                VectorsHeader header)
      : VectorsReader(input, options, report), carry_(head) {
    header_ = header;
    dim_ = header.dim;
    if (options.dim > 0 && options.dim != dim_) {
      fail("the header says ", dim_, " dimensions, expected ", options.dim);
    }
    whole_ = options.limit <= 0 || options.limit >= header_->rows;
    if (!whole_) header_->rows = options.limit;
  }

 protected:
  void next_block(VectorsBlock& block) override {
    block.parts.clear();
    std::string& bytes = block.bytes;
    bytes = std::exchange(carry_, {});
    if (planned_ == header_->rows && whole_) {
      do {
        if (bytes.find_first_not_of('\n') != std::string::npos) {
          fail("the header says ", header_->rows, " words of ", dim_, " dimensions, but more data follow");
        }
        bytes.clear();
      } while (append_bytes(bytes, options_.block_bytes, input_) > 0);
    }
    while (planned_ < header_->rows) {
      const std::size_t read = append_bytes(bytes, options_.block_bytes, input_);
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
      if (read == 0)
        fail("the header says ", header_->rows, " words, but word ", planned_ + 1, " is incomplete");
    }
  }

  void parse(std::string_view part, VectorsPiece& piece) const override {
    std::vector<float> values(static_cast<std::size_t>(dim_));
    while (!part.empty()) {
      const std::size_t end = record_end(part);
      std::string_view word = part.substr(0, end - vector_bytes() - 1);
      if (word.starts_with('\n')) word.remove_prefix(1);
      std::memcpy(values.data(), part.data() + (end - vector_bytes()), vector_bytes());
      ++piece.units;
      ++piece.read;
      if (wanted(word) && !add_row(word, values, piece)) return;
      part.remove_prefix(end);
    }
  }

  const char* unit() const override { return "vector"; }

 private:
  std::size_t vector_bytes() const { return static_cast<std::size_t>(dim_) * sizeof(float); }

  /// Bytes of the first row, or 0 if it is incomplete. The original program writes a line feed after each
  /// row, others do not: it is read with the next row.
  std::size_t record_end(std::string_view bytes) const {
    const std::size_t space = bytes.substr(0, kMaxWord).find(' ');
    if (space == std::string_view::npos && bytes.size() >= kMaxWord) {
      fail("no space ends word ", planned_ + 1, " within ", kMaxWord, " bytes; this is no word2vec file");
    }
    return space == std::string_view::npos || bytes.size() - space - 1 < vector_bytes()
               ? 0
               : space + 1 + vector_bytes();
  }

  std::string carry_;
  bool whole_ = true;  // all words are read: nothing may follow them
};

}  // namespace

std::shared_ptr<const WordVectors> read_binary_vectors(ByteReader& input, const ReadOptions& options,
                                                       ReadReport& report, std::string_view head,
                                                       VectorsHeader header) {
  return BinaryVectors(input, options, report, head, header).run();
}

}  // namespace sentencode
