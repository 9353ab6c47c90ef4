#include "sentencode/io/byte_reader.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "io/raw_input.h"
#include "sentencode/error.h"

namespace sentencode {
namespace {

class PlainReader final : public ByteReader {
 public:
  explicit PlainReader(std::unique_ptr<RawInput> input)
      : ByteReader(input->path()), input_(std::move(input)) {}
  std::size_t read(std::span<char> buffer) override { return input_->read(buffer); }
  std::int64_t position() const override { return input_->position(); }
  std::int64_t total() const override { return input_->total(); }

 private:
  std::unique_ptr<RawInput> input_;
};

}  // namespace

std::unique_ptr<ByteReader> ByteReader::open(const std::string& path, const std::string& member) {
  auto input = std::make_unique<RawInput>(path);
  const auto head = input->peek(6);
  const auto starts = [&](std::initializer_list<std::uint8_t> magic) {
    return head.size() >= magic.size() && std::equal(magic.begin(), magic.end(), head.begin());
  };
  if (starts({'P', 'K', 3, 4}) || starts({'P', 'K', 5, 6})) return make_zip_reader(path, member);
  ST_CHECK(member.empty(), InvalidInput, path, ": is no zip archive, and has no member '", member, "'");
  if (starts({0x1f, 0x8b})) return make_gzip_reader(std::move(input));
  if (starts({0xfd, '7', 'z', 'X', 'Z', 0})) return make_xz_reader(std::move(input));
  if (starts({0x28, 0xb5, 0x2f, 0xfd})) return make_zstd_reader(std::move(input));
  return std::make_unique<PlainReader>(std::move(input));
}

}  // namespace sentencode
