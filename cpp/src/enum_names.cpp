#include "sentencode/enum_names.h"

#include <string>

#include "sentencode/error.h"

namespace sentencode {

void refuse_name(std::string_view option, std::span<const std::string_view> values, std::string_view name) {
  std::string list;
  for (std::size_t i = 0; i < values.size(); ++i) {
    list += concat(i == 0 ? "" : i + 1 < values.size() ? ", " : " or ", '\'', values[i], '\'');
  }
  throw InvalidInput(concat(option, " must be ", list, ", got '", name, "'"));
}

}  // namespace sentencode
