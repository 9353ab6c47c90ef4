#include "sentencode/text/tokenizer.h"
#include "sentencode/text/utf8.h"

#include <pybind11/stl.h>
#include <pybind11/typing.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bindings.h"
#include "paths.h"
#include "python_text.h"
#include "sentences.h"
#include "sentencode/error.h"
#include "sentencode/io/mapped_file.h"
#include "sentencode/parallel.h"

namespace sentencode {
namespace {

using TokenLists = py::typing::List<py::typing::List<py::str>>;

TokenLists tokenise(const Tokenizer& tokenizer, const py::object& argument) {
  const SentencesArgument sentences(argument);
  const TokenisedSentences tokenised = [&] {
    const WithoutGil release;
    return TokenisedSentences(tokenizer, sentences.get());
  }();
  const Sentences views = tokenised.sentences();
  py::list result(views.size());
  for (std::size_t i = 0; i + 1 < views.offsets.size(); ++i) {
    const auto begin = static_cast<std::size_t>(views.offsets[i]);
    const auto count = static_cast<std::size_t>(views.offsets[i + 1]) - begin;
    py::list tokens(count);
    for (std::size_t t = 0; t < count; ++t) tokens[t] = text_of(views.pieces[begin + t]);
    result[i] = std::move(tokens);
  }
  return TokenLists(std::move(result));
}

std::vector<std::vector<std::int32_t>> encode(const SubwordTokenizer& tokenizer, const py::object& argument) {
  constexpr std::int64_t kTexts = 256;  // per piece of work
  const SentencesArgument sentences(argument);
  const auto& texts = sentences.get().pieces;
  ST_CHECK(!sentences.get().tokenised(), InvalidInput, "encode expects texts, not lists of tokens");
  std::vector<std::vector<std::int32_t>> ids(texts.size());
  const WithoutGil release;
  parallel_for(0, std::ssize(texts), kTexts, [&](std::int64_t begin, std::int64_t end) {
    Tokens scratch;
    const Tokenizer splitter{.split = Split::subwords, .subwords = tokenizer.shared_from_this()};
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      scratch.clear();
      splitter.append_ids(texts[i], scratch, ids[i]);
    }
  });
  return ids;
}

}  // namespace

void bind_tokenizer(py::module_& m) {
  py::class_<SubwordTokenizer, std::shared_ptr<SubwordTokenizer>>(
      m, "SubwordTokenizer", "A tokenizer.json of Hugging Face's package tokenizers.")
      .def(py::init(
               [](std::string json, bool keep_unknown, std::int64_t max_tokens, std::int64_t max_characters) {
                 const WithoutGil release;
                 return std::const_pointer_cast<SubwordTokenizer>(SubwordTokenizer::from_json(
                     std::move(json), {max_characters, max_tokens, keep_unknown}));
               }),
           py::arg("json"), py::kw_only(), py::arg("keep_unknown") = true, py::arg("max_tokens") = 0,
           py::arg("max_characters") = 0)
      .def_static(
          "open",
          [](const Path& path) {
            std::string json;
            {
              const auto file = MappedFile::open(path);
              json.assign(reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size());
            }
            if (json.starts_with(kByteOrderMark)) json.erase(0, kByteOrderMark.size());
            return std::const_pointer_cast<SubwordTokenizer>(SubwordTokenizer::from_json(std::move(json)));
          },
          py::arg("path"), Release(), "The tokenizer of a file.")
      .def(
          "with_options",
          [](const SubwordTokenizer& self, bool keep_unknown, std::int64_t max_tokens,
             std::int64_t max_characters) {
            return self.with_options({max_characters, max_tokens, keep_unknown});
          },
          py::kw_only(), py::arg("keep_unknown"), py::arg("max_tokens"), py::arg("max_characters"),
          "The same tokenizer with other options, without reading its JSON again.")
      .def("__len__", &SubwordTokenizer::size)
      .def_property_readonly(
          "tokens",
          [](const SubwordTokenizer& self) {
            py::typing::List<py::str> tokens;
            for (std::int32_t id = 0; id < self.size(); ++id) tokens.append(text_of(self.token(id)));
            return tokens;
          },
          "The tokens in the order of ids; empty texts for ids without one.")
      .def("id", &SubwordTokenizer::id, py::arg("token"), "The id of a token, or -1.")
      .def(
          "token", [](const SubwordTokenizer& self, std::int32_t id) { return text_of(self.token(id)); },
          py::arg("id"), "The token with an id, or an empty text.")
      .def_property_readonly("unknown_id", &SubwordTokenizer::unknown_id)
      .def_property_readonly("json", [](const SubwordTokenizer& self) { return text_of(self.json()); })
      .def_property_readonly("missing_id", &SubwordTokenizer::missing_id,
                             "The first id without a token, or -1.")
      .def_property_readonly("median_characters", &SubwordTokenizer::median_characters,
                             "Median of the tokens' lengths, rounded down.")
      .def_property_readonly("truncation", &SubwordTokenizer::truncation,
                             "The field \"truncation\" as JSON, which encode ignores.")
      .def_property_readonly("keep_unknown",
                             [](const SubwordTokenizer& self) { return self.options().keep_unknown; })
      .def_property_readonly("max_tokens",
                             [](const SubwordTokenizer& self) { return self.options().max_tokens; })
      .def_property_readonly("max_characters",
                             [](const SubwordTokenizer& self) { return self.options().max_characters; })
      .def("encode", &encode, py::arg("texts"), "The ids of the tokens of each text, on all threads.");
  py::class_<Tokenizer>(m, "Tokenizer", "Splits text into tokens.")
      .def(py::init([](std::string_view split, bool lowercase, std::string_view invalid, std::string name,
                       std::shared_ptr<const SubwordTokenizer> subwords) {
             const Tokenizer made{parse_enum<Split>(split), lowercase, parse_enum<InvalidUtf8>(invalid),
                                  std::move(name), std::move(subwords)};
             ST_CHECK((made.split == Split::subwords) == (made.subwords != nullptr), InvalidInput,
                      "subwords must be a SubwordTokenizer if split is 'subwords', else None");
             return made;
           }),
           py::arg("split"), py::kw_only(), py::arg("lowercase"), py::arg("invalid"), py::arg("name") = "",
           py::arg("subwords") = py::none())
      .def_property_readonly("split", [](const Tokenizer& self) { return name_of(self.split); })
      .def_readonly("lowercase", &Tokenizer::lowercase)
      .def_property_readonly("invalid", [](const Tokenizer& self) { return name_of(self.invalid); })
      .def_readonly("name", &Tokenizer::name)
      .def_property_readonly(
          "subwords",
          [](const Tokenizer& self) { return std::const_pointer_cast<SubwordTokenizer>(self.subwords); })
      .def("__call__", &tokenise, py::arg("sentences"), "The tokens of each sentence, on all threads.")
      .def("to_json", &Tokenizer::to_json)
      .def_static("from_json", &Tokenizer::from_json, py::arg("json"))
      .def("__eq__",
           [](const Tokenizer& self, const py::object& other) {
             return py::isinstance<Tokenizer>(other) && self == other.cast<const Tokenizer&>();
           })
      .def("__hash__", [](const Tokenizer& self) { return py::hash(py::str(self.to_json())); });
}

}  // namespace sentencode
