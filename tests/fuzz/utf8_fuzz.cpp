// Repaired text is UTF-8, valid text is left alone, and lower-casing stays within its bound and UTF-8.
#include "sentencode/text/utf8.h"

#include <string>
#include <string_view>

#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sentencode;
  const std::string_view text(reinterpret_cast<const char*>(data), size);

  const std::string repaired = repair_utf8(text);
  const std::size_t bad = find_invalid_utf8(text);
  FUZZ_REQUIRE(find_invalid_utf8(repaired) == std::string_view::npos);
  FUZZ_REQUIRE(bad == std::string_view::npos ? repaired == text
                                             : repaired.substr(0, bad) == text.substr(0, bad));

  std::string lower(lowercase_bound(repaired.size()), '\0');
  const std::size_t written = lowercase_utf8(repaired, lower.data());
  FUZZ_REQUIRE(written <= lower.size());
  lower.resize(written);
  FUZZ_REQUIRE(find_invalid_utf8(lower) == std::string_view::npos);

  for (std::string_view rest = repaired; !rest.empty();) {
    const CodePoint point = decode_utf8(rest);
    FUZZ_REQUIRE(point.valid() && point.length >= 1 && point.length <= rest.size());
    char bytes[4];
    FUZZ_REQUIRE(std::string_view(bytes, encode_utf8(point.code, bytes)) == rest.substr(0, point.length));
    FUZZ_REQUIRE(whitespace_length(rest) <= rest.size());
    rest.remove_prefix(point.length);
  }
  return 0;
}
