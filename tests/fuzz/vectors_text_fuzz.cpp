// Any bytes are vectors or a FormatError. Vectors do not depend on how the file is cut into blocks; the table
// is sound; and what can be written as text comes back the same.
#include "sentencode/error.h"
#include "vectors_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sentencode;
  if (size < 1) return 0;
  fuzz_vectors(std::string_view(reinterpret_cast<const char*>(data) + 1, size - 1), VectorFormat::automatic,
               data[0]);
  return 0;
}
