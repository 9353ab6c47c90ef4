// Reads one file of a zip archive. The archive is mapped, as its list of files is at its end.
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "io/raw_input.h"
#include "sentencode/error.h"
#include "sentencode/io/mapped_file.h"

namespace sentencode {
namespace {

using Bytes = std::span<const std::byte>;

constexpr std::uint64_t kUnknown32 = 0xffffffff,
                        kUnknown16 = 0xffff;  // the number is in a 64-bit extra field

struct Member {
  std::string name;
  std::uint64_t packed = 0, size = 0, header = 0;  // bytes; position of its local header
  std::uint32_t crc = 0;
  std::uint16_t method = 0, flags = 0;
};

/// Bounds-checked access to the archive.
class Archive {
 public:
  explicit Archive(std::shared_ptr<const MappedFile> file) : file_(std::move(file)) {}

  const std::string& path() const { return file_->path(); }
  std::uint64_t size() const { return file_->bytes().size(); }

  template <typename... Why>
  [[noreturn]] void damaged(std::uint64_t at, const Why&... why) const {
    throw FormatError(concat(path(), ": damaged zip archive at byte ", at, ": ", why...));
  }
  Bytes bytes(std::uint64_t at, std::uint64_t count) const {
    if (at > size() || count > size() - at) damaged(at, "it ends there");
    return file_->bytes().subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(count));
  }
  template <typename T>
  T number(std::uint64_t at) const {
    T value{};
    std::memcpy(&value, bytes(at, sizeof value).data(), sizeof value);
    return value;
  }
  std::string text(std::uint64_t at, std::uint64_t count) const {
    const Bytes text = bytes(at, count);
    return {reinterpret_cast<const char*>(text.data()), text.size()};
  }

  /// All files, without folders and the metadata of macOS.
  std::vector<Member> members() const {
    constexpr std::uint32_t kEntry = 0x02014b50;
    auto [at, count] = directory();
    std::vector<Member> members;
    for (; count > 0; --count) {
      if (number<std::uint32_t>(at) != kEntry) damaged(at, "expected an entry of the list of files");
      Member member;
      member.flags = number<std::uint16_t>(at + 8);
      member.method = number<std::uint16_t>(at + 10);
      member.crc = number<std::uint32_t>(at + 16);
      member.packed = number<std::uint32_t>(at + 20);
      member.size = number<std::uint32_t>(at + 24);
      member.header = number<std::uint32_t>(at + 42);
      const std::uint64_t name = number<std::uint16_t>(at + 28), extra = number<std::uint16_t>(at + 30),
                          comment = number<std::uint16_t>(at + 32);
      member.name = text(at + 46, name);
      read_extra(at + 46 + name, extra, member);
      at += 46 + name + extra + comment;
      if (!member.name.ends_with('/') && !member.name.starts_with("__MACOSX/"))
        members.push_back(std::move(member));
    }
    return members;
  }

  /// The compressed bytes of a member.
  Bytes content(const Member& member) const {
    constexpr std::uint32_t kHeader = 0x04034b50;
    const std::uint64_t at = member.header;
    if (number<std::uint32_t>(at) != kHeader) damaged(at, "expected the header of '", member.name, "'");
    return bytes(at + 30 + number<std::uint16_t>(at + 26) + number<std::uint16_t>(at + 28), member.packed);
  }

 private:
  struct Directory {
    std::uint64_t at = 0, entries = 0;
  };

  Directory directory() const {
    constexpr std::uint32_t kEnd = 0x06054b50, kEnd64 = 0x06064b50, kLocator64 = 0x07064b50;
    constexpr std::uint64_t kEndBytes = 22, kLongestComment = 0xffff;
    for (std::uint64_t back = kEndBytes; back <= std::min(size(), kEndBytes + kLongestComment); ++back) {
      const std::uint64_t end = size() - back;
      if (number<std::uint32_t>(end) != kEnd) continue;
      const std::uint64_t entries = number<std::uint16_t>(end + 10), at = number<std::uint32_t>(end + 16);
      if (entries != kUnknown16 && at != kUnknown32) return {at, entries};
      if (end < 20 || number<std::uint32_t>(end - 20) != kLocator64) return {at, entries};
      const auto end64 = number<std::uint64_t>(end - 12);
      if (number<std::uint32_t>(end64) != kEnd64) damaged(end64, "expected the end of the list of files");
      return {number<std::uint64_t>(end64 + 48), number<std::uint64_t>(end64 + 32)};
    }
    damaged(size(), "its list of files is missing; it may be truncated");
  }

  /// Reads the zip64 extra field: numbers of more than 32 bits.
  void read_extra(std::uint64_t at, std::uint64_t left, Member& member) const {
    constexpr std::uint16_t kZip64 = 1;
    while (left >= 4) {
      const auto kind = number<std::uint16_t>(at);
      std::uint64_t bytes = number<std::uint16_t>(at + 2), value = at + 4;
      if (bytes > left - 4) damaged(at, "an extra field that is longer than its entry");
      for (std::uint64_t* field : {&member.size, &member.packed, &member.header}) {
        if (kind != kZip64 || *field != kUnknown32 || bytes < 8) continue;
        *field = number<std::uint64_t>(value);
        value += 8, bytes -= 8;
      }
      const std::uint64_t size = 4 + std::uint64_t{number<std::uint16_t>(at + 2)};
      at += size;
      left -= size;
    }
  }

  std::shared_ptr<const MappedFile> file_;
};

/// The requested file, or the only one.
Member chosen(const Archive& archive, const std::string& name) {
  constexpr std::size_t kMostNames = 20;
  std::vector<Member> members = archive.members();
  std::string names;
  for (std::size_t i = 0; i < members.size() && i < kMostNames; ++i) {
    names += concat(i == 0 ? "'" : ", '", members[i].name, "'");
  }
  if (members.size() > kMostNames) names += concat(" and ", members.size() - kMostNames, " more");
  ST_CHECK(!members.empty(), FormatError, archive.path(), ": a zip archive without files");
  if (name.empty()) {
    ST_CHECK(members.size() == 1, InvalidInput, archive.path(),
             ": a zip archive of several files; choose one as its member: ", names);
    return members.front();
  }
  const auto member = std::ranges::find(members, name, &Member::name);
  ST_CHECK(member != members.end(), InvalidInput, archive.path(), ": has no member '", name, "'; it has ",
           names);
  return *member;
}

class ZipReader final : public ByteReader {
 public:
  ZipReader(const Archive& archive, Member member)
      : ByteReader(concat(archive.path(), ": ", member.name)),
        archive_(archive),
        member_(std::move(member)),
        content_(archive_.content(member_)),
        stored_(member_.method == 0) {
    constexpr std::uint16_t kDeflate = 8, kEncrypted = 1;
    ST_CHECK((member_.flags & kEncrypted) == 0, FormatError, path_, ": is encrypted: unpack it first");
    ST_CHECK(stored_ || member_.method == kDeflate, FormatError, path_, ": is packed by method ",
             member_.method, " of zip; deflate alone is read: unpack it first");
    ST_INVARIANT(inflateInit2(&stream_, -15) == Z_OK);  // raw deflate, without a header
  }
  ~ZipReader() override { inflateEnd(&stream_); }

  std::size_t read(std::span<char> buffer) override {
    std::size_t done = 0;
    while (done < buffer.size() && !ended_) {
      const Bytes in = content_.subspan(consumed_);
      std::size_t room = std::min<std::size_t>(buffer.size() - done, std::numeric_limits<uInt>::max());
      const std::size_t before = consumed_;
      if (stored_) {
        room = std::min(room, in.size());
        std::memcpy(buffer.data() + done, in.data(), room);
        consumed_ += room;
        ended_ = consumed_ == content_.size();
      } else {
        const std::size_t available = std::min<std::size_t>(in.size(), std::numeric_limits<uInt>::max());
        stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(in.data()));
        stream_.avail_in = static_cast<uInt>(available);
        stream_.next_out = reinterpret_cast<Bytef*>(buffer.data() + done);
        stream_.avail_out = static_cast<uInt>(room);
        const int status = inflate(&stream_, Z_NO_FLUSH);
        consumed_ += available - stream_.avail_in;
        room -= stream_.avail_out;
        ended_ = status == Z_STREAM_END;
        if (!ended_ && status != Z_OK && status != Z_BUF_ERROR) {
          damaged(stream_.msg != nullptr ? stream_.msg : "not a deflate stream");
        }
        if (!ended_ && room == 0 && consumed_ == before) damaged("its data end too early");
      }
      written_ += room;
      if (written_ > member_.size) damaged("more data than it says");
      crc_ = crc32_z(crc_, reinterpret_cast<const Bytef*>(buffer.data() + done), room);
      done += room;
    }
    if (ended_ && !checked_) {
      checked_ = true;
      if (written_ != member_.size) damaged("fewer data than it says");
      if (crc_ != member_.crc) damaged("its checksum is wrong");
    }
    return done;
  }
  std::int64_t position() const override { return static_cast<std::int64_t>(consumed_); }
  std::int64_t total() const override { return static_cast<std::int64_t>(content_.size()); }

 private:
  [[noreturn]] void damaged(std::string_view why) const {
    throw FormatError(concat(path_, ": damaged zip data at byte ", consumed_, ": ", why));
  }

  Archive archive_;
  Member member_;
  Bytes content_;
  bool stored_, ended_ = false, checked_ = false;
  std::size_t consumed_ = 0;
  std::uint64_t written_ = 0;
  uLong crc_ = 0;
  z_stream stream_{};
};

}  // namespace

std::unique_ptr<ByteReader> make_zip_reader(const std::string& path, const std::string& member) {
  const Archive archive(MappedFile::open(path));
  return std::make_unique<ZipReader>(archive, chosen(archive, member));
}

}  // namespace sentencode
