#include "vectors/fields.h"

#include "sentencode/error.h"
#include "sentencode/text/utf8.h"
#include "vectors/parse_float.h"

namespace sentencode {

std::string_view take_last_field(std::string_view& text) {
  std::size_t begin = text.size();
  while (begin > 0 && !is_blank(text[begin - 1])) --begin;
  const std::string_view field = text.substr(begin);
  text.remove_suffix(field.size());
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return field;
}

std::int64_t count_fields(std::string_view line) {
  std::int64_t fields = 0;
  for (line = trimmed(line); !line.empty(); ++fields) take_last_field(line);
  return fields;
}

bool is_number(std::string_view field, float& value) {
  return !field.empty() &&
         parse_float(field.data(), field.data() + field.size(), value) == field.data() + field.size();
}

std::string excerpt(std::string_view text) {
  constexpr std::size_t kLongest = 60;
  return concat('\'', repair_utf8(text.substr(0, kLongest)), text.size() > kLongest ? "...'" : "'");
}

}  // namespace sentencode
