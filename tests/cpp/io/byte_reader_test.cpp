#include "sentencode/io/byte_reader.h"

#include <gtest/gtest.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include <random>
#include <string>

#include "sentencode/error.h"
#include "temporary_folder.h"

namespace sentencode {
namespace {

std::string gzip(std::string_view text) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string xz(std::string_view text) {
  std::string out(lzma_stream_buffer_bound(text.size()), '\0');
  std::size_t size = 0;
  EXPECT_EQ(lzma_easy_buffer_encode(6, LZMA_CHECK_CRC64, nullptr,
                                    reinterpret_cast<const std::uint8_t*>(text.data()), text.size(),
                                    reinterpret_cast<std::uint8_t*>(out.data()), &size, out.size()),
            LZMA_OK);
  out.resize(size);
  return out;
}

std::string zst(std::string_view text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);  // as the command line tool does
  out.resize(ZSTD_compress2(context, out.data(), out.size(), text.data(), text.size()));
  ZSTD_freeCCtx(context);
  return out;
}

std::string read_all(const std::string& path, std::size_t step) {
  const auto reader = ByteReader::open(path);
  std::string text, piece(step, '\0');
  while (const std::size_t got = reader->read(piece)) text.append(piece, 0, got);
  EXPECT_EQ(reader->read(piece), 0U) << "the end stays the end";
  EXPECT_EQ(reader->position(), reader->total());
  return text;
}

/// Words and noise, long enough for several buffers of input and output.
std::string sample_text() {
  std::mt19937 random(7);
  std::string text;
  while (text.size() < 700'000) {
    text += "the quick brown fox ";
    for (int i = 0; i < 20; ++i) text += static_cast<char>(random() % 256);
  }
  return text;
}

using Compress = std::string (*)(std::string_view);
struct Format {
  const char* name;
  Compress compress;
};
class Compressed : public testing::TestWithParam<Format> {};

TEST_P(Compressed, RoundTrips) {
  const TemporaryFolder folder;
  const std::string text = sample_text();
  const std::string path = folder.write("file", GetParam().compress(text));
  for (const std::size_t step : {std::size_t{997}, std::size_t{1} << 16, text.size() + 1}) {
    EXPECT_TRUE(read_all(path, step) == text) << "in steps of " << step;
  }
}

TEST_P(Compressed, ReadsSeveralParts) {
  const TemporaryFolder folder;
  const auto& compress = GetParam().compress;
  const std::string path =
      folder.write("file", compress("one\n") + compress("") + compress(sample_text()) + compress("x"));
  EXPECT_TRUE(read_all(path, 4096) == "one\n" + sample_text() + "x");
}

TEST_P(Compressed, ReadsEmptyFiles) {
  const TemporaryFolder folder;
  EXPECT_EQ(read_all(folder.write("file", GetParam().compress("")), 10), "");
}

TEST_P(Compressed, RefusesEveryTruncation) {
  const TemporaryFolder folder;
  const std::string whole =
      GetParam().compress("a sentence that is long enough to be packed, packed, packed");
  for (std::size_t length = 6; length < whole.size(); ++length) {
    const std::string path = folder.write("file", whole.substr(0, length));
    SCOPED_TRACE(length);
    EXPECT_THROW_WITH(read_all(path, 16), FormatError, path);
  }
}

TEST_P(Compressed, RefusesDamageWithItsPosition) {
  const TemporaryFolder folder;
  std::string damaged = GetParam().compress(sample_text());
  for (std::size_t i = damaged.size() / 2; i < damaged.size() / 2 + 100; ++i)
    damaged[i] = static_cast<char>(~damaged[i]);
  EXPECT_THROW_WITH(read_all(folder.write("file", damaged), 1 << 16), FormatError, "byte");
  EXPECT_THROW_WITH(read_all(folder.write("file", GetParam().compress("text") + "rubbish"), 64), FormatError,
                    "byte");
}

INSTANTIATE_TEST_SUITE_P(Formats, Compressed,
                         testing::Values(Format{"gzip", gzip}, Format{"xz", xz}, Format{"zstd", zst}),
                         [](const auto& format) { return format.param.name; });

TEST(ByteReader, DetectsFormatsByContent) {
  const TemporaryFolder folder;
  EXPECT_EQ(read_all(folder.write("empty.gz", ""), 10), "");
  EXPECT_EQ(read_all(folder.write("short.xz", "\x1f"), 10), "\x1f");
  EXPECT_EQ(read_all(folder.write("plain.gz", "plain text"), 3), "plain text");
  EXPECT_TRUE(read_all(folder.write("long", sample_text()), 100'000) == sample_text());
}

TEST(ByteReader, SkipsZerosAfterTheLastGzipMember) {
  const TemporaryFolder folder;
  EXPECT_EQ(read_all(folder.write("padded", gzip("text") + std::string(1000, '\0')), 64), "text");
}

TEST(ByteReader, ReportsWhyAFileCannotBeOpened) {
  const TemporaryFolder folder;
  EXPECT_THROW_WITH(ByteReader::open(folder.path("absent")), IoError, "absent: No such file");
  EXPECT_THROW_WITH(ByteReader::open(folder.path("")), IoError, "directory");
}

}  // namespace
}  // namespace sentencode
