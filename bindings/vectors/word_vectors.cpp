#include "sentencode/vectors/word_vectors.h"

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include "arrays.h"
#include "bindings.h"
#include "paths.h"
#include "python_text.h"
#include "sentences.h"
#include "sentencode/error.h"
#include "sentencode/vectors/read.h"
#include "vectors/strings.h"

namespace sentencode {
namespace {

/// Python's holder is not const, but the class has no method that changes it.
using Table = std::shared_ptr<WordVectors>;
Table hold(std::shared_ptr<const WordVectors> vectors) {
  return std::const_pointer_cast<WordVectors>(vectors);
}

std::int32_t checked_id(const WordVectors& self, std::int64_t id) {
  if (id < 0 || id >= self.rows())
    throw py::index_error(concat("no row ", id, " in a table of ", self.rows()));
  return static_cast<std::int32_t>(id);
}

Table from_matrix(const std::shared_ptr<SafeTensors>& file, const std::string& name, const py::object& words,
                  const std::optional<py::array_t<std::int64_t, py::array::c_style>>& mapping,
                  std::int64_t columns) {
  std::span<const std::int64_t> rows;
  if (mapping) rows = {mapping->data(), static_cast<std::size_t>(mapping->size())};
  std::shared_ptr<SubwordTokenizer> tokenizer;
  if (py::isinstance<SubwordTokenizer>(words)) tokenizer = words.cast<std::shared_ptr<SubwordTokenizer>>();
  StringTable table = tokenizer ? tokenizer->tokens() : strings_of(words, "words", true);
  const WithoutGil release;
  return hold(WordVectors::from_matrix(file, name, std::move(table), rows, columns, tokenizer));
}

std::optional<OutOfVocabulary> policy(const std::optional<std::string>& name) {
  return name ? std::optional(parse_enum<OutOfVocabulary>(*name)) : std::nullopt;
}

Table from_array(const py::object& words, const py::array& rows,
                 const std::optional<py::array_t<std::int64_t, py::array::c_style>>& counts,
                 std::string_view storage, std::string_view oov) {
  const StringTable table = strings_of(words, "words", true);
  const ConstMatrixView view = matrix_view(rows, "matrix");
  std::span<const std::int64_t> counted;
  if (counts) counted = {counts->data(), static_cast<std::size_t>(counts->size())};
  const WithoutGil release;
  return hold(WordVectors::from_array(table, view, counted, parse_enum<Storage>(storage),
                                      parse_enum<OutOfVocabulary>(oov)));
}

py::array_t<float> rows(const WordVectors& self, const py::array_t<std::int64_t, py::array::c_style>& ids) {
  for (py::ssize_t i = 0; i < ids.size(); ++i) checked_id(self, ids.data()[i]);
  py::array_t<float> out({ids.size(), static_cast<py::ssize_t>(self.dim())});
  const std::int64_t* id = ids.data();
  float* row = out.mutable_data();
  const WithoutGil release;
  for (py::ssize_t i = 0; i < ids.size(); ++i)
    self.row(static_cast<std::int32_t>(id[i]), row + i * self.dim());
  return out;
}

py::array_t<float> matrix(const WordVectors& self) {
  py::array_t<float> out({static_cast<py::ssize_t>(self.size()), static_cast<py::ssize_t>(self.dim())});
  float* row = out.mutable_data();
  const WithoutGil release;
  self.matrix(row);
  return out;
}

py::list words(const WordVectors& self, std::int64_t begin, std::int64_t end) {
  begin = std::clamp<std::int64_t>(begin, 0, self.size());
  end = std::clamp<std::int64_t>(end, begin, self.size());
  py::list result(static_cast<std::size_t>(end - begin));
  for (std::int64_t i = begin; i < end; ++i)
    result[static_cast<std::size_t>(i - begin)] = text_of(self.words()[i]);
  return result;
}

/// A read-only view of the table's memory.
py::object counts(const Table& self) {
  const auto held = self->counts();
  if (held.empty()) return py::none();
  py::array_t<std::int64_t> array(static_cast<py::ssize_t>(held.size()), held.data(), py::cast(self));
  array.attr("setflags")(py::arg("write") = false);
  return array;
}

py::tuple lookup(const WordVectors& self, const Tokenizer& tokenizer, const py::object& sentences,
                 std::int64_t max_tokens) {
  const SentencesArgument argument(sentences);
  RaggedIds ids;
  {
    const WithoutGil release;
    self.lookup(tokenizer, argument.get(), ids, max_tokens);
  }
  return py::make_tuple(
      py::array_t<std::int32_t>(static_cast<py::ssize_t>(ids.ids.size()), ids.ids.data()),
      py::array_t<std::int64_t>(static_cast<py::ssize_t>(ids.offsets.size()), ids.offsets.data()));
}

py::list most_similar(const WordVectors& self, const py::array_t<float, py::array::c_style>& query,
                      std::int64_t k, const std::vector<std::int32_t>& exclude) {
  ST_CHECK(query.ndim() == 1 && query.size() == self.dim(), InvalidInput, "the query must be a vector of ",
           self.dim(), " dimensions, got ", query.size());
  std::vector<std::pair<std::int32_t, float>> nearest;
  {
    const WithoutGil release;
    nearest = self.most_similar(query.data(), k, exclude);
  }
  py::list result;
  for (const auto& [id, similarity] : nearest)
    result.append(py::make_tuple(text_of(self.words()[id]), similarity));
  return result;
}

void write(const WordVectors& vectors, const Path& path, std::string_view format) {
  if (format == "glove") return write_text(vectors, path, TextFormat::glove);
  if (format == "word2vec") return write_text(vectors, path, TextFormat::word2vec);
  ST_CHECK(format == "word2vec_binary", InvalidInput,
           "format must be 'glove', 'word2vec' or 'word2vec_binary', got '", format, "'");
  write_word2vec_binary(vectors, path);
}

}  // namespace

void bind_word_vectors(py::module_& m) {
  py::class_<WordVectors, Table>(m, "WordVectors", "An immutable table of words and vectors.")
      .def_static("from_array", &from_array, py::arg("words"), py::arg("matrix"), py::arg("counts"),
                  py::arg("storage"), py::arg("oov"))
      .def_static(
          "from_matrix", &from_matrix, py::arg("file").none(false), py::arg("name"), py::arg("words"),
          py::arg("mapping") = py::none(), py::arg("columns") = 0,
          "A view of a matrix in a file of another library. words: A list, or the tokenizer that has them.")
      .def_static(
          "open",
          [](const Path& path, const std::optional<std::string>& oov, bool verify) {
            return hold(WordVectors::open(path, policy(oov), verify));
          },
          py::arg("path"), py::arg("oov"), py::arg("verify") = false, Release())
      .def_static(
          "from_bytes",
          [](const py::bytes& content, const std::optional<std::string>& oov) {
            std::string bytes = content;
            const WithoutGil released;
            return hold(WordVectors::from_bytes(std::move(bytes), policy(oov)));
          },
          py::arg("bytes"), py::arg("oov"))
      .def("to_bytes",
           [](const WordVectors& self) {
             std::string bytes;
             {
               const WithoutGil released;
               bytes = self.to_bytes();
             }
             return py::bytes(bytes);
           })
      .def(
          "save", [](const WordVectors& self, const Path& path) { self.save(path); }, py::arg("path"),
          Release())
      .def("write", &write, py::arg("path"), py::arg("format"), Release())
      .def(
          "with_oov",
          [](const WordVectors& self, std::string_view oov) {
            return hold(self.with_oov(parse_enum<OutOfVocabulary>(oov)));
          },
          py::arg("oov"), Release())
      .def(
          "with_subwords",
          [](const WordVectors& self, std::array<std::int32_t, 2> lengths, const py::array& rows) {
            const ConstMatrixView view = matrix_view(rows, "rows");
            const WithoutGil released;
            return hold(self.with_subwords(lengths, view));
          },
          py::arg("lengths"), py::arg("rows"))
      .def_property_readonly(
          "subwords",
          [](const WordVectors& self) {
            const Subwords& pieces = self.subwords();
            return std::array<std::int64_t, 3>{pieces.lengths[0], pieces.lengths[1], pieces.buckets};
          },
          "Shortest and longest subwords, and the number of buckets (0 without subwords).")
      .def(
          "row_of_subwords",
          [](const WordVectors& self, std::string_view word) -> py::object {
            py::array_t<float> out(static_cast<py::ssize_t>(self.dim()));
            return self.row_of_subwords(word, out.mutable_data()) ? py::object(out) : py::none();
          },
          py::arg("word"), "The row of a word's subwords; None if it has none.")
      .def(
          "with_storage",
          [](const WordVectors& self, std::string_view storage) {
            return hold(self.with_storage(parse_enum<Storage>(storage)));
          },
          py::arg("storage"), Release())
      .def(
          "only",
          [](const WordVectors& self, const py::object& words) {
            const StringTable keep = strings_of(words, "words");
            const WithoutGil released;
            return hold(self.only(keep));
          },
          py::arg("words"))
      .def(
          "first", [](const WordVectors& self, std::int64_t count) { return hold(self.first(count)); },
          py::arg("count"), Release())
      .def("__len__", &WordVectors::size)
      .def_property_readonly("row_count", &WordVectors::rows,
                             "Number of rows, including those of unknown words.")
      .def_property_readonly("dim", &WordVectors::dim)
      .def_property_readonly("storage", [](const WordVectors& self) { return name_of(self.storage()); })
      .def_property_readonly("oov", [](const WordVectors& self) { return name_of(self.oov()); })
      .def_property_readonly("path", [](const WordVectors& self) { return Path{self.path()}; })
      .def_property_readonly("prefix", &WordVectors::prefix)
      .def_property_readonly("cased", &WordVectors::cased)
      .def_property_readonly("compounds", &WordVectors::compounds)
      .def_property_readonly("counts", &counts)
      .def("fingerprint", &WordVectors::fingerprint, Release())
      .def("words", &words, py::arg("begin"), py::arg("end"))
      .def(
          "find",
          [](const WordVectors& self, const py::str& word) {
            return find_text(word, [&](std::string_view text) { return self.words().find(text); });
          },
          py::arg("word"), "The word's row, or -1, for any policy.")
      .def("rows", &rows, py::arg("ids"))
      .def("matrix", &matrix)
      .def("lookup", &lookup, py::arg("tokenizer"), py::arg("sentences"), py::arg("max_tokens") = 0,
           "Ids of all sentences, and the offsets of each.")
      .def("most_similar", &most_similar, py::arg("query"), py::arg("k"), py::arg("exclude"));
}

}  // namespace sentencode
