#include "sentencode/text/vocabulary.h"

#include <pybind11/numpy.h>
#include <pybind11/typing.h>

#include <memory>

#include "bindings.h"
#include "paths.h"
#include "python_text.h"
#include "sentences.h"
#include "sentencode/error.h"
#include "sentencode/text/alphabet.h"
#include "vectors/strings.h"

namespace sentencode {
namespace {

Vocabulary make(const py::object& words, const py::array_t<std::int64_t, py::array::c_style>& counts,
                std::int64_t total) {
  const SentencesArgument texts(words, "words");
  ST_CHECK(counts.ndim() == 1, InvalidInput, "counts must have one dimension, got ", counts.ndim());
  StringTable table;
  for (const std::string_view word : texts.get().pieces) {
    const std::int64_t before = table.size();
    ST_CHECK(table.insert(word) == before, InvalidInput, "the word '", word, "' occurs twice");
  }
  return {table, {counts.data(), static_cast<std::size_t>(counts.size())}, total};
}

py::typing::List<py::str> words_in(const Vocabulary& self) {
  py::list words(self.size());
  for (std::int64_t id = 0; id < self.size(); ++id)
    words[static_cast<std::size_t>(id)] = text_of(self.words()[id]);
  return py::typing::List<py::str>(std::move(words));
}

py::array_t<std::int64_t> characters_of(const py::object& words, std::string_view characters,
                                        std::int64_t most) {
  const SentencesArgument texts(words, "words");
  ST_CHECK(most >= 1, InvalidInput, "most must be at least 1, got ", most);
  const Alphabet alphabet(characters);
  const auto count = std::ssize(texts.get().pieces);
  py::array_t<std::int64_t> ids({count, most});
  for (std::int64_t i = 0; i < count; ++i) {
    alphabet(texts.get().pieces[static_cast<std::size_t>(i)],
             {ids.mutable_data(i, 0), static_cast<std::size_t>(most)});
  }
  return ids;
}

}  // namespace

void bind_vocabulary(py::module_& m) {
  py::class_<Vocabulary, std::shared_ptr<Vocabulary>>(m, "Vocabulary",
                                                      "Words and their counts, most frequent first.")
      .def(py::init(&make), py::arg("words"), py::arg("counts"), py::arg("total") = 0)
      .def("__len__", &Vocabulary::size)
      .def(
          "find",
          [](const Vocabulary& self, const py::str& word) {
            return find_text(word, [&](std::string_view text) { return self.find(text); });
          },
          py::arg("word"), "The word's index, or -1.")
      .def_property_readonly("words", &words_in)
      .def_property_readonly("counts",
                             [](const py::object& self) {
                               const auto& counts = self.cast<const Vocabulary&>().counts();
                               py::array_t<std::int64_t> view(static_cast<py::ssize_t>(counts.size()),
                                                              counts.data(), self);
                               view.attr("setflags")(py::arg("write") = false);
                               return view;
                             })
      .def_property_readonly("total", &Vocabulary::total)
      .def("pruned", &Vocabulary::pruned, py::arg("min_count"), py::arg("max_size"), Release())
      .def_static(
          "read", [](const Path& path) { return Vocabulary::read(path); }, py::arg("path"), Release())
      .def(
          "write", [](const Vocabulary& self, const Path& path) { self.write(path); }, py::arg("path"),
          Release());
  m.def("characters_of", &characters_of, py::arg("words"), py::arg("alphabet"), py::arg("most"),
        "Ids of the first characters of words [n, most]: 0 for padding, 1 for unknown characters.");
}

void bind_vocabulary_counter(py::module_& m) {
  py::class_<VocabularyCounter>(m, "VocabularyCounter", "Counts words batch by batch, on all threads.")
      .def(py::init<Tokenizer>(), py::arg("tokenizer"))
      .def("add", with_sentences(&VocabularyCounter::add), py::arg("sentences"))
      .def("merge", &VocabularyCounter::merge, py::arg("other"))
      .def("finish", &VocabularyCounter::finish, py::kw_only(), py::arg("min_count"), py::arg("max_size"),
           Release())
      .def_property_readonly("sentences", &VocabularyCounter::sentences);
}

}  // namespace sentencode
