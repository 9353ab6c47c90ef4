#include "io/raw_input.h"

#include <poll.h>

#include <algorithm>
#include <cstring>

#include "io/system.h"
#include "sentencode/error.h"
#include "sentencode/parallel.h"

namespace sentencode {

RawInput::RawInput(const std::string& path) : path_(path), buffer_(new std::uint8_t[kBuffer]) {
  struct stat info {};
  descriptor_ = open_for_reading(path, info);
  is_stream_ = !S_ISREG(info.st_mode);
  total_ = is_stream_ ? 0 : info.st_size;
}

RawInput::~RawInput() { ::close(descriptor_); }

void RawInput::wait() const {
  constexpr int kMilliseconds = 100;
  struct pollfd input {
    descriptor_, POLLIN, 0
  };
  for (int ready = 0; ready == 0; poll_interrupt()) {
    ready = ::poll(&input, 1, kMilliseconds);
    if (ready < 0 && errno == EINTR) ready = 0;
  }
}

std::size_t RawInput::read_some(void* out, std::size_t bytes) {
  for (;;) {
    if (is_stream_) wait();
    const auto got = ::read(descriptor_, out, std::min<std::size_t>(bytes, 1 << 26));
    if (got >= 0) {
      taken_ += got;
      return static_cast<std::size_t>(got);
    }
    if (errno != EINTR) fail_to("read", path_);
  }
}

std::span<const std::uint8_t> RawInput::peek(std::size_t wanted) {
  ST_INVARIANT(wanted <= kBuffer);
  if (begin_ == end_) begin_ = end_ = 0;
  if (begin_ > 0 && end_ - begin_ < wanted) {
    std::memmove(buffer_.get(), buffer_.get() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  while (end_ - begin_ < wanted) {
    const std::size_t got = read_some(buffer_.get() + end_, kBuffer - end_);
    if (got == 0) break;
    end_ += got;
  }
  return {buffer_.get() + begin_, end_ - begin_};
}

std::size_t RawInput::read(std::span<char> out) {
  std::size_t done = std::min(out.size(), end_ - begin_);
  if (done > 0) std::memcpy(out.data(), buffer_.get() + begin_, done);
  begin_ += done;
  while (done < out.size()) {
    const std::size_t got = read_some(out.data() + done, out.size() - done);
    if (got == 0) break;
    done += got;
  }
  return done;
}

}  // namespace sentencode
