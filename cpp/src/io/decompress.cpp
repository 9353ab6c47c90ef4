// Readers of compressed files, one for each library. All three have the same interface: buffers of input and
// output, of which each call consumes a part.
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <limits>

#include "io/raw_input.h"
#include "sentencode/error.h"

namespace sentencode {
namespace {

// Files whose decompression needs more memory are refused; xz -9 needs 65 MB, zstd --long=31 needs 2 GB.
constexpr std::uint64_t kMaxMemory = std::uint64_t{1} << 32;

class Decompressor : public ByteReader {
 public:
  Decompressor(std::unique_ptr<RawInput> input, std::string_view format)
      : ByteReader(input->path()), input_(std::move(input)), format_(format) {}

  std::int64_t position() const override { return input_->position(); }
  std::int64_t total() const override { return input_->total(); }

 protected:
  [[noreturn]] void damaged(std::string_view why) const {
    throw FormatError(concat(path_, ": damaged ", format_, " data at byte ", position(), ": ", why));
  }
  [[noreturn]] void truncated() const {
    throw FormatError(concat(path_, ": ", format_, " data end too early, at byte ", position()));
  }

  std::unique_ptr<RawInput> input_;
  std::string_view format_;
  bool ended_ = false;
};

class GzipReader final : public Decompressor {
 public:
  explicit GzipReader(std::unique_ptr<RawInput> input) : Decompressor(std::move(input), "gzip") {
    ST_INVARIANT(inflateInit2(&stream_, 15 + 16) == Z_OK);  // 32 kB window, gzip header
  }
  ~GzipReader() override { inflateEnd(&stream_); }

  std::size_t read(std::span<char> buffer) override {
    std::size_t done = 0;
    while (done < buffer.size() && !ended_) {
      const auto in = input_->peek();
      if (in.empty()) truncated();
      const auto room = std::min<std::size_t>(buffer.size() - done, std::numeric_limits<uInt>::max());
      stream_.next_in = const_cast<Bytef*>(in.data());
      stream_.avail_in = static_cast<uInt>(in.size());
      stream_.next_out = reinterpret_cast<Bytef*>(buffer.data() + done);
      stream_.avail_out = static_cast<uInt>(room);
      const int status = inflate(&stream_, Z_NO_FLUSH);
      input_->consume(in.size() - stream_.avail_in);
      done += room - stream_.avail_out;
      if (status == Z_STREAM_END) {
        next_member();
      } else if (status != Z_OK && status != Z_BUF_ERROR) {
        damaged(stream_.msg != nullptr ? stream_.msg : "not a deflate stream");
      }
    }
    return done;
  }

 private:
  void next_member() {
    auto in = input_->peek(2);
    if (in.size() >= 2 && in[0] == 0x1f && in[1] == 0x8b) {
      inflateReset(&stream_);
      return;
    }
    for (; !in.empty(); in = input_->peek()) {  // some tools pad with zeros
      const auto other = std::find_if(in.begin(), in.end(), [](std::uint8_t b) { return b != 0; });
      input_->consume(static_cast<std::size_t>(other - in.begin()));
      if (other != in.end()) damaged("neither the end of the file nor another member");
    }
    ended_ = true;
  }

  z_stream stream_{};
};

class XzReader final : public Decompressor {
 public:
  explicit XzReader(std::unique_ptr<RawInput> input) : Decompressor(std::move(input), "xz") {
    ST_INVARIANT(lzma_stream_decoder(&stream_, kMaxMemory, LZMA_CONCATENATED) == LZMA_OK);
  }
  ~XzReader() override { lzma_end(&stream_); }

  std::size_t read(std::span<char> buffer) override {
    stream_.next_out = reinterpret_cast<std::uint8_t*>(buffer.data());
    stream_.avail_out = buffer.size();
    while (stream_.avail_out > 0 && !ended_) {
      const auto in = input_->peek();
      stream_.next_in = in.data();
      stream_.avail_in = in.size();
      const lzma_ret status = lzma_code(&stream_, in.empty() ? LZMA_FINISH : LZMA_RUN);
      input_->consume(in.size() - stream_.avail_in);
      switch (status) {
        case LZMA_OK:
          break;
        case LZMA_STREAM_END:
          ended_ = true;
          break;
        case LZMA_BUF_ERROR:
          truncated();
        case LZMA_MEMLIMIT_ERROR:
          damaged("needs more than 4 GB of memory");
        case LZMA_MEM_ERROR:
          throw std::bad_alloc();
        default:
          damaged("checksum or structure is wrong");
      }
    }
    return buffer.size() - stream_.avail_out;
  }

 private:
  lzma_stream stream_ = LZMA_STREAM_INIT;
};

class ZstdReader final : public Decompressor {
 public:
  explicit ZstdReader(std::unique_ptr<RawInput> input)
      : Decompressor(std::move(input), "zstd"), stream_(ZSTD_createDStream()) {
    if (stream_ == nullptr) throw std::bad_alloc();
    ZSTD_DCtx_setParameter(stream_, ZSTD_d_windowLogMax, 31);
  }
  ~ZstdReader() override { ZSTD_freeDStream(stream_); }

  std::size_t read(std::span<char> buffer) override {
    ZSTD_outBuffer out{buffer.data(), buffer.size(), 0};
    while (out.pos < out.size) {
      const auto available = input_->peek();
      // The end of the file is an end of the data only between two frames; before, the library may still have
      // output.
      if (available.empty() && between_frames_) break;
      ZSTD_inBuffer in{available.data(), available.size(), 0};
      const std::size_t before = out.pos;
      const std::size_t status = ZSTD_decompressStream(stream_, &out, &in);
      input_->consume(in.pos);
      if (ZSTD_isError(status)) damaged(ZSTD_getErrorName(status));
      between_frames_ = status == 0;
      if (available.empty() && out.pos == before && !between_frames_) truncated();
    }
    return out.pos;
  }

 private:
  ZSTD_DStream* stream_;
  bool between_frames_ = false;
};

}  // namespace

std::unique_ptr<ByteReader> make_gzip_reader(std::unique_ptr<RawInput> input) {
  return std::make_unique<GzipReader>(std::move(input));
}
std::unique_ptr<ByteReader> make_xz_reader(std::unique_ptr<RawInput> input) {
  return std::make_unique<XzReader>(std::move(input));
}
std::unique_ptr<ByteReader> make_zstd_reader(std::unique_ptr<RawInput> input) {
  return std::make_unique<ZstdReader>(std::move(input));
}

}  // namespace sentencode
