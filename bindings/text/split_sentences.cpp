#include <pybind11/typing.h>

#include "bindings.h"
#include "python_text.h"
#include "sentences.h"
#include "sentencode/text/corpus.h"

namespace sentencode {
namespace {

py::typing::List<py::str> split(const py::str& text) {
  const SentencesArgument argument(py::make_tuple(text), "text");
  const std::vector<std::string_view> sentences = [&] {
    const WithoutGil release;
    return split_sentences(argument.get().pieces[0]);
  }();
  py::list result(sentences.size());
  for (std::size_t i = 0; i < sentences.size(); ++i) result[i] = text_of(sentences[i]);
  return py::typing::List<py::str>(std::move(result));
}

}  // namespace

void bind_split_sentences(py::module_& m) { m.def("split_sentences", &split, py::arg("text")); }

}  // namespace sentencode
