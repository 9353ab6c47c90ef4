#include "vectors/vectors_reader.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "sentencode/parallel.h"
#include "sentencode/text/utf8.h"
#include "vectors/fields.h"

namespace sentencode {

std::size_t append_bytes(std::string& bytes, std::size_t count, ByteReader& input) {
  constexpr std::size_t kFirstStep = 1 << 16;
  const std::size_t before = bytes.size();
  for (std::size_t step = kFirstStep; bytes.size() < before + count; step *= 2) {
    const std::size_t at = bytes.size(), size = std::min(step, before + count - at);
    bytes.resize(at + size);
    const std::size_t got = input.read(std::span(bytes).subspan(at));
    bytes.resize(at + got);
    if (got < size) break;
  }
  return bytes.size() - before;
}

std::shared_ptr<const WordVectors> VectorsReader::run() {
  // Pointers, because the parts of a block are views of its bytes.
  auto now = std::make_unique<VectorsBlock>(), next = std::make_unique<VectorsBlock>();
  next_block(*now);
  while (!now->parts.empty()) {
    std::vector<VectorsPiece> pieces(now->parts.size());
    // The writer of a pipe may pause, so it is read on the thread that polls for Ctrl-C.
    const bool ahead = input_.total() > 0;
    if (!ahead) next_block(*next);
    parallel_for(ahead ? 0 : 1, std::ssize(pieces) + 1, 1, [&](std::int64_t i, std::int64_t) {
      if (i == 0) {
        next_block(*next);
      } else {
        parse(now->parts[static_cast<std::size_t>(i - 1)], pieces[static_cast<std::size_t>(i - 1)]);
      }
    });
    add(pieces);
    if (options_.progress) options_.progress(input_.position(), input_.total());
    std::swap(now, next);
  }
  check_end();
  return finish();
}

bool VectorsReader::add_row(std::string_view word, std::span<const float> values, VectorsPiece& piece) const {
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

/// Words one after the other, for the first of equals counts; then the rows, on all threads.
void VectorsReader::add(std::vector<VectorsPiece>& pieces) {
  for (VectorsPiece& piece : pieces) {
    for (std::size_t i = 0, begin = 0; i < piece.ends.size(); begin = piece.ends[i++]) {
      const std::int64_t before = words_.size();
      words_.insert(std::string_view(piece.words).substr(begin, piece.ends[i] - begin));
      const bool is_new = words_.size() > before;
      report_.duplicates += !is_new;
      piece.positions.push_back(is_new ? before : -1);
      if (is_new && !piece.scales.empty()) scales_.push_back(piece.scales[i]);
    }
    report_.rows += piece.read;
    report_.repaired += piece.repaired;
    units_ += piece.units;
    if (!piece.error.empty()) fail(unit(), " ", units_, ": ", piece.error);
  }
  const std::size_t needed = static_cast<std::size_t>(words_.size()) * row_bytes();
  if (needed > capacity_) resize(std::max(needed, capacity_ + capacity_ / 2));
  parallel_for(0, static_cast<std::int64_t>(pieces.size()), 1, [&](std::int64_t p, std::int64_t) {
    const VectorsPiece& piece = pieces[static_cast<std::size_t>(p)];
    for (std::size_t i = 0; i < piece.positions.size(); ++i) {
      if (piece.positions[i] < 0) continue;
      std::memcpy(rows_ + static_cast<std::size_t>(piece.positions[i]) * row_bytes(),
                  piece.rows.data() + i * row_bytes(), row_bytes());
    }
  });
}

void VectorsReader::resize(std::size_t bytes) {  // realloc moves large memory without copying it
  auto* rows = static_cast<std::byte*>(std::realloc(rows_, std::max<std::size_t>(1, bytes)));
  if (rows == nullptr) throw std::bad_alloc();
  rows_ = rows;
  capacity_ = bytes;
}

std::shared_ptr<const WordVectors> VectorsReader::finish() {
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

}  // namespace sentencode
