#include "sentencode/vectors/read.h"

#include <pybind11/stl.h>

#include "bindings.h"
#include "paths.h"
#include "sentencode/error.h"
#include "vectors/strings.h"

namespace sentencode {
namespace {

VectorFormat format_named(std::string_view name) {
  if (name == "auto") return VectorFormat::automatic;
  if (name == "text") return VectorFormat::text;
  if (name == "word2vec_binary") return VectorFormat::word2vec_binary;
  if (name == "fasttext") return VectorFormat::fasttext;
  ST_CHECK(name == "native", InvalidInput,
           "format must be 'auto', 'text', 'word2vec_binary', 'fasttext', 'native', 'npz' or 'kv', got '",
           name, "'");
  return VectorFormat::native;
}

py::tuple read(const Path& path, std::string_view format, std::int64_t limit, const py::object& only,
               const std::optional<std::string>& storage, const std::optional<std::string>& oov,
               std::int64_t dim, const std::string& member, const py::object& progress) {
  ReadOptions options{.format = format_named(format), .limit = limit, .member = member, .dim = dim};
  if (oov) options.oov = parse_enum<OutOfVocabulary>(*oov);
  if (storage) options.storage = parse_enum<Storage>(*storage);
  StringTable keep;
  if (!only.is_none()) {
    keep = strings_of(only, "words");
    options.only = &keep;
  }
  if (!progress.is_none()) {
    options.progress = [&progress](std::int64_t done, std::int64_t total) {
      const WithGil acquire;
      call(progress, done, total);
    };
  }
  ReadReport report;
  std::shared_ptr<const WordVectors> vectors;
  {
    const WithoutGil release;
    vectors = read_vectors(path, options, &report);
  }
  py::dict counts;
  counts["rows"] = report.rows;
  counts["duplicates"] = report.duplicates;
  counts["repaired"] = report.repaired;
  return py::make_tuple(std::const_pointer_cast<WordVectors>(vectors), counts);
}

}  // namespace

void bind_read_vectors(py::module_& m) {
  m.def("read_vectors", &read, py::arg("path"), py::arg("format"), py::arg("limit"), py::arg("only"),
        py::arg("storage"), py::arg("oov"), py::arg("dim"), py::arg("member"), py::arg("progress"),
        "The vectors, and the numbers of rows, duplicates and repaired words.");
}

}  // namespace sentencode
