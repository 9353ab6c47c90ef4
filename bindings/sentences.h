// What Python users pass for sentences, as the core sees it. The one place where this is decided.
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "sentencode/sentences.h"

namespace sentencode {

namespace py = pybind11;

/// Takes a list or tuple of str, of bytes, or of token lists (lists or tuples of str or of bytes), or a
/// SentenceBatch. Texts are not copied. Make it, and let it go, with the GIL held; in between the core may
/// work without. Raises TypeError with the index of what does not fit.
class SentencesArgument {
 public:
  explicit SentencesArgument(const py::object& argument, const char* name = "sentences");
  /// Items [begin, end) of a list or tuple of texts, whose first one tells what they all must be.
  SentencesArgument(const py::object& texts, Py_ssize_t begin, Py_ssize_t end,
                    const char* name = "sentences");

  /// Whether it is such a list or tuple; not a batch, nor one of token lists.
  static bool holds_texts(const py::object& argument);

  const Sentences& get() const { return sentences_; }

 private:
  std::vector<std::string_view> pieces_;
  std::vector<std::int64_t> offsets_;
  std::vector<py::object>
      owners_;  // tuples, which nobody can change meanwhile; bytes of texts that had to be encoded
  Sentences sentences_;
};

}  // namespace sentencode
