#include "lines.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "sentencode/error.h"
#include "sentencode/parallel.h"

namespace sentencode {
namespace {

constexpr std::size_t kChunkBytes = 1 << 18;

}  // namespace

LineReader::LineReader(const std::string& path, std::size_t max_line_bytes)
    : bytes_(ByteReader::open(path)), max_line_bytes_(max_line_bytes) {
  fill();
  const std::string_view start(buffer_.data(), end_);
  if (start.starts_with(kByteOrderMark)) begin_ = kByteOrderMark.size();
  ST_CHECK(!start.starts_with("\xFF\xFE") && !start.starts_with("\xFE\xFF"), FormatError, path,
           " is UTF-16 text; expected UTF-8");
}

std::optional<std::string_view> LineReader::next() {
  std::size_t searched = 0;
  while (true) {
    const char* from = buffer_.data() + begin_;
    const std::size_t held = end_ - begin_;
    const auto* newline = static_cast<const char*>(std::memchr(from + searched, '\n', held - searched));
    if (newline != nullptr) {
      const auto size = static_cast<std::size_t>(newline - from);
      begin_ += size + 1;
      return line({from, size});
    }
    searched = held;
    if (held <= max_line_bytes_ && fill()) continue;
    if (held == 0) return std::nullopt;
    begin_ = end_;
    return line({buffer_.data() + end_ - held, held});
  }
}

std::string_view LineReader::line(std::string_view text) {
  ++number_;
  ST_CHECK(text.size() <= max_line_bytes_, FormatError, bytes_->path(), ":", number_,
           ": a line of more than ", max_line_bytes_, " bytes");
  if (text.ends_with('\r')) text.remove_suffix(1);
  return text;
}

bool LineReader::fill() {
  poll_interrupt();
  std::copy(buffer_.begin() + static_cast<std::ptrdiff_t>(begin_),
            buffer_.begin() + static_cast<std::ptrdiff_t>(end_), buffer_.begin());
  end_ -= begin_;
  begin_ = 0;
  if (buffer_.size() < end_ + kChunkBytes) buffer_.resize(std::max(2 * buffer_.size(), end_ + kChunkBytes));
  const std::size_t got = bytes_->read(std::span(buffer_).subspan(end_, kChunkBytes));
  end_ += got;
  return got > 0;
}

}  // namespace sentencode
