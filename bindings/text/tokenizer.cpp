#include "sentencode/text/tokenizer.h"

#include <pybind11/typing.h>

#include "bindings.h"
#include "python_text.h"
#include "sentences.h"

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

}  // namespace

void bind_tokenizer(py::module_& m) {
  py::class_<Tokenizer>(m, "Tokenizer", "Splits text into tokens.")
      .def(py::init([](std::string_view split, bool lowercase, std::string_view invalid, std::string name) {
             return Tokenizer{parse_enum<Split>(split), lowercase, parse_enum<InvalidUtf8>(invalid),
                              std::move(name)};
           }),
           py::arg("split"), py::kw_only(), py::arg("lowercase"), py::arg("invalid"), py::arg("name") = "")
      .def_property_readonly("split", [](const Tokenizer& self) { return name_of(self.split); })
      .def_readonly("lowercase", &Tokenizer::lowercase)
      .def_property_readonly("invalid", [](const Tokenizer& self) { return name_of(self.invalid); })
      .def_readonly("name", &Tokenizer::name)
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
