#include <algorithm>
#include <charconv>

#include "sentencode/error.h"
#include "sentencode/io/atomic_file.h"
#include "sentencode/parallel.h"
#include "sentencode/vectors/read.h"

namespace sentencode {
namespace {

constexpr std::int64_t kWordsPerBlock = 8192;  // formatted at a time
constexpr std::int64_t kWordsPerPiece = 256;

bool is_white(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

/// Refuses words that would be read back as another word, or as several fields.
void check_word(std::string_view word, bool spaces) {
  const bool inner = !word.empty() && !is_white(word.front()) && !is_white(word.back()) &&
                     std::none_of(word.begin(), word.end(),
                                  [spaces](char c) { return is_white(c) && (c != ' ' || !spaces); });
  ST_CHECK(inner, InvalidInput, "the word '", word,
           "' cannot be written in this format, where white space ends a word");
}

void append_numbers(const float* row, std::int64_t dim, std::string& out) {
  char buffer[32];
  for (std::int64_t i = 0; i < dim; ++i) {
    const auto result =
        std::to_chars(buffer, buffer + sizeof buffer, row[i]);  // the shortest that reads back exactly
    out += ' ';
    out.append(buffer, result.ptr);
  }
}

/// Writes one record per word, formatted by append(word, row, out) on all threads.
template <typename Append>
void write_records(const WordVectors& vectors, const std::string& path, const std::string& header,
                   bool spaces, const Append& append) {
  AtomicFile file(path);
  file.write(header);
  for (std::int64_t block = 0; block < vectors.size(); block += kWordsPerBlock) {
    const std::int64_t block_end = std::min(block + kWordsPerBlock, vectors.size());
    std::vector<std::string> pieces(static_cast<std::size_t>((block_end - block - 1) / kWordsPerPiece + 1));
    parallel_for(block, block_end, kWordsPerPiece, [&](std::int64_t begin, std::int64_t end) {
      std::string& out = pieces[static_cast<std::size_t>((begin - block) / kWordsPerPiece)];
      std::vector<float> row(static_cast<std::size_t>(vectors.dim()));
      for (std::int64_t i = begin; i < end; ++i) {
        check_word(vectors.words()[i], spaces);
        vectors.row(static_cast<std::int32_t>(i), row.data());
        append(vectors.words()[i], row.data(), out);
      }
    });
    for (const std::string& piece : pieces) file.write(piece);
  }
  file.commit();
}

std::string header_of(const WordVectors& vectors) { return concat(vectors.size(), ' ', vectors.dim(), '\n'); }

}  // namespace

void write_text(const WordVectors& vectors, const std::string& path, TextFormat format) {
  const bool header = format == TextFormat::word2vec;
  write_records(vectors, path, header ? header_of(vectors) : "", !header,
                [&](std::string_view word, const float* row, std::string& out) {
                  out.append(word);
                  append_numbers(row, vectors.dim(), out);
                  out += '\n';
                });
}

void write_word2vec_binary(const WordVectors& vectors, const std::string& path) {
  write_records(vectors, path, header_of(vectors), false,
                [&](std::string_view word, const float* row, std::string& out) {
                  out.append(word);
                  out += ' ';
                  out.append(reinterpret_cast<const char*>(row),
                             static_cast<std::size_t>(vectors.dim()) * sizeof(float));
                  out += '\n';
                });
}

}  // namespace sentencode
