// Converts Python's sentences for the core.
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "gil.h"
#include "sentencode/sentences.h"

namespace sentencode {

namespace py = pybind11;

/// A view of a list or tuple of str, of bytes, or of token lists (lists or tuples of str or of bytes), or of
/// a SentenceBatch. Texts are not copied. Constructed and destroyed with the GIL; in between it can be used
/// without it. TypeError names the index of an invalid item.
class SentencesArgument {
 public:
  explicit SentencesArgument(const py::object& argument, const char* name = "sentences");
  /// Items [begin, end) of a list or tuple of texts, all of the type of the first one.
  SentencesArgument(const py::object& texts, Py_ssize_t begin, Py_ssize_t end,
                    const char* name = "sentences");

  /// Whether it is a list or tuple of texts.
  static bool holds_texts(const py::object& argument);

  const Sentences& get() const { return sentences_; }

 private:
  std::vector<std::string_view> pieces_;
  std::vector<std::int64_t> offsets_;
  std::vector<py::object> owners_;  // tuples, which cannot change; bytes of encoded texts
  Sentences sentences_;
};

/// Binds a method that reads sentences. It runs without the GIL.
template <typename Self>
auto with_sentences(void (Self::*method)(const Sentences&)) {
  return [method](Self& self, const py::object& sentences) {
    const SentencesArgument argument(sentences);
    const WithoutGil release;
    (self.*method)(argument.get());
  };
}

}  // namespace sentencode
