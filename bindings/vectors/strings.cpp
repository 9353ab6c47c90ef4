#include "vectors/strings.h"

#include "sentences.h"
#include "sentencode/error.h"
#include "sentencode/text/utf8.h"

namespace sentencode {

StringTable strings_of(const py::object& words, const char* name, bool distinct) {
  const SentencesArgument argument(words, name);
  ST_CHECK(!argument.get().tokenised(), InvalidInput, name, " must be a list of str, got lists");
  StringTable table;
  for (const std::string_view word : argument.get().pieces) {
    ST_CHECK(find_invalid_utf8(word) == std::string_view::npos, InvalidInput, name,
             " must be valid Unicode, got '", repair_utf8(word), "'");
    const std::int64_t before = table.size();
    const std::int32_t id = table.insert(word);
    ST_CHECK(!distinct || table.size() > before, InvalidInput, name, " must differ, but '", word, "' is at ",
             id, " and ", before);
  }
  return table;
}

}  // namespace sentencode
