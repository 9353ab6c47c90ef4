#include "sentencode/io/sha256.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace sentencode {
namespace {

TEST(Sha256, MatchesThePublishedExamples) {
  const auto of = [](std::string_view text) { return sha256(std::as_bytes(std::span(text))); };
  EXPECT_EQ(of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(of(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, DoesNotDependOnThePieces) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += static_cast<char>(i * i % 251);
  const auto bytes = std::as_bytes(std::span(text));
  for (std::size_t length = 0; length < 200; ++length) {
    const std::string whole = sha256(bytes.first(length));
    for (const std::size_t split : {std::size_t{0}, length / 3, length / 2, length}) {
      Sha256 hash;
      hash.update(bytes.first(split));
      hash.update(bytes.subspan(split, length - split));
      EXPECT_EQ(hash.hex(), whole) << length << " " << split;
    }
  }
}

}  // namespace
}  // namespace sentencode
