#include "sentencode/text/corpus.h"

#include <pybind11/stl.h>
#include <pybind11/typing.h>

#include <optional>

#include "bindings.h"
#include "paths.h"
#include "python_text.h"

namespace sentencode {
namespace {

py::typing::List<py::str> texts_of(const SentenceBatch& batch) {
  py::list texts(batch.size());
  for (std::size_t i = 0; i < batch.starts_document().size(); ++i)
    texts[i] = text_of(batch.sentences().pieces[i]);
  return py::typing::List<py::str>(std::move(texts));
}

std::optional<SentenceBatch> next_batch(CorpusReader& reader, std::int64_t max_sentences,
                                        std::optional<std::int64_t> max_bytes) {
  SentenceBatch batch;
  const bool more =
      max_bytes ? reader.next(max_sentences, batch, *max_bytes) : reader.next(max_sentences, batch);
  if (!more) return std::nullopt;
  return std::optional<SentenceBatch>(std::move(batch));
}

}  // namespace

void bind_corpus(py::module_& m) {
  py::class_<SentenceBatch>(m, "SentenceBatch",
                            "A batch of sentences of a corpus, which can be passed wherever sentences can.")
      .def("__len__", &SentenceBatch::size)
      .def("to_list", &texts_of, "The sentences as a list of str.")
      .def_property_readonly("starts_document", &SentenceBatch::starts_document,
                             "Whether each sentence begins a document.");
  py::class_<CorpusReader>(m, "CorpusReader",
                           "Reads files with one sentence per line, once, in constant memory.")
      .def(py::init([](const std::vector<Path>& paths, bool keep_empty) {
             return CorpusReader({paths.begin(), paths.end()}, {.keep_empty = keep_empty});
           }),
           py::arg("paths"), py::kw_only(), py::arg("keep_empty"))
      .def("next", &next_batch, py::arg("max_sentences"), py::arg("max_bytes") = py::none(), Release(),
           "The next SentenceBatch, or None at the end. It ends with the sentence that fills max_bytes.")
      .def_property_readonly("sentences_read", &CorpusReader::sentences_read)
      .def_property_readonly("bytes_read", &CorpusReader::bytes_read)
      .def_property_readonly("bytes_total", &CorpusReader::bytes_total);
  m.def(
      "expand_paths",
      [](const Path& path) {
        std::vector<Path> files;
        for (auto& name : expand_paths(path)) files.push_back({std::move(name)});
        return files;
      },
      py::arg("path"), Release());
}

}  // namespace sentencode
