#include "sentences.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "bindings.h"
#include "sentencode/error.h"
#include "sentencode/text/corpus.h"

namespace sentencode {
namespace {

constexpr Py_ssize_t kAhead = 16;  // prefetched texts, whose objects are scattered in memory

/// A short description of an object: "float (nan)".
std::string shown(PyObject* item) {
  constexpr Py_ssize_t kLongest = 40;
  py::str value = py::repr(item);
  if (py::len(value) > kLongest) value = py::str(value[py::slice(0, kLongest, 1)]) + py::str("...");
  const py::str text = py::str("{} ({})").format(py::type::handle_of(item).attr("__name__"), value);
  return text.attr("encode")("utf-8", "backslashreplace").cast<std::string>();
}

bool is_token_list(PyObject* item) { return PyList_Check(item) || PyTuple_Check(item); }

/// A tuple of the same items, as a list could change while the core reads it.
py::tuple frozen(PyObject* sequence) {
  if (PyTuple_Check(sequence)) return py::reinterpret_borrow<py::tuple>(sequence);
  PyObject* tuple = PyList_AsTuple(sequence);
  if (tuple == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::tuple>(tuple);
}

/// The bytes of texts, and their owners.
class Converter {
 public:
  static constexpr Py_ssize_t kNone = -1;

  Converter(const char* name, std::vector<std::string_view>& pieces, std::vector<py::object>& owners)
      : name_(name), pieces_(pieces), owners_(owners) {}

  /// Sets the type of all texts to that of this one.
  void expect(PyObject* text) { kind_ = PyBytes_Check(text) ? Kind::bytes : Kind::str; }

  /// Adds texts, all str or all bytes: sentences, with the index of the first, or tokens of a sentence.
  void add(PyObject* texts, Py_ssize_t sentence = kNone, Py_ssize_t number = 0) {
    const Py_ssize_t count = PyTuple_GET_SIZE(texts);
    for (Py_ssize_t i = 0; i < count; ++i) {
      if (i + kAhead < count) __builtin_prefetch(PyTuple_GET_ITEM(texts, i + kAhead));
      PyObject* text = PyTuple_GET_ITEM(texts, i);
      if (kind_ == Kind::unknown) expect(text);
      if (kind_ == Kind::str && PyUnicode_Check(text)) {
        pieces_.push_back(utf8(text));
      } else if (kind_ == Kind::bytes && PyBytes_Check(text)) {
        pieces_.emplace_back(PyBytes_AS_STRING(text), static_cast<std::size_t>(PyBytes_GET_SIZE(text)));
      } else {
        misfit(text, kind_ == Kind::str ? "str" : "bytes", number + i, sentence);
      }
    }
  }

  [[noreturn]] void misfit(PyObject* item, const char* expected, Py_ssize_t i,
                           Py_ssize_t sentence = kNone) const {
    const std::string outer = sentence == kNone ? "" : concat("[", sentence, "]");
    throw py::type_error(concat(name_, outer, "[", i, "] is ", shown(item), "; expected ", expected));
  }

 private:
  enum class Kind { unknown, str, bytes };

  std::string_view utf8(PyObject* text) {
    if (PyUnicode_IS_COMPACT_ASCII(text)) {
      return {static_cast<const char*>(PyUnicode_DATA(text)),
              static_cast<std::size_t>(PyUnicode_GET_LENGTH(text))};
    }
    Py_ssize_t size = 0;
    if (const char* bytes = PyUnicode_AsUTF8AndSize(text, &size))
      return {bytes, static_cast<std::size_t>(size)};
    // Lone surrogates are encoded with surrogatepass, so that the tokenizer repairs or refuses them.
    if (PyErr_ExceptionMatches(PyExc_UnicodeEncodeError) == 0) throw py::error_already_set();
    PyErr_Clear();
    PyObject* encoded = PyUnicode_AsEncodedString(text, "utf-8", "surrogatepass");
    if (encoded == nullptr) throw py::error_already_set();
    owners_.push_back(py::reinterpret_steal<py::object>(encoded));
    return {PyBytes_AS_STRING(encoded), static_cast<std::size_t>(PyBytes_GET_SIZE(encoded))};
  }

  const char* name_;
  std::vector<std::string_view>& pieces_;
  std::vector<py::object>& owners_;
  Kind kind_ = Kind::unknown;
};

/// list[begin:end] as a tuple, in one pass.
py::tuple tuple_of(const py::list& list, Py_ssize_t begin, Py_ssize_t end) {
#ifdef Py_GIL_DISABLED  // other threads may change the list
  PyObject* slice = PyList_GetSlice(list.ptr(), begin, end);
  if (slice == nullptr) throw py::error_already_set();
  return frozen(py::reinterpret_steal<py::list>(slice).ptr());
#endif
  end = std::clamp<Py_ssize_t>(end, 0, PyList_GET_SIZE(list.ptr()));
  begin = std::clamp<Py_ssize_t>(begin, 0, end);
  py::tuple items(end - begin);
  for (Py_ssize_t i = begin; i < end; ++i) {
    if (i + kAhead < end) __builtin_prefetch(PyList_GET_ITEM(list.ptr(), i + kAhead), /*for writing*/ 1);
    PyObject* item = PyList_GET_ITEM(list.ptr(), i);
    Py_INCREF(item);
    PyTuple_SET_ITEM(items.ptr(), i - begin, item);
  }
  return items;
}

}  // namespace

SentencesArgument::SentencesArgument(const py::object& argument, const char* name) {
  if (py::isinstance<SentenceBatch>(argument)) {
    owners_.push_back(argument);
    sentences_ = argument.cast<const SentenceBatch&>().sentences();
    return;
  }
  if (!is_token_list(argument.ptr())) {
    throw py::type_error(
        concat(name, " is ", shown(argument.ptr()), "; expected a list of str, bytes or token lists"));
  }
  const py::tuple items = frozen(argument.ptr());
  owners_.push_back(items);
  const Py_ssize_t count = PyTuple_GET_SIZE(items.ptr());
  Converter converter(name, pieces_, owners_);
  if (count == 0 || !is_token_list(PyTuple_GET_ITEM(items.ptr(), 0))) {
    pieces_.reserve(static_cast<std::size_t>(count));
    converter.add(items.ptr());
    sentences_ = {pieces_, {}};
    return;
  }
  offsets_.reserve(static_cast<std::size_t>(count) + 1);
  owners_.reserve(static_cast<std::size_t>(count) + 1);
  offsets_.push_back(0);
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* tokens = PyTuple_GET_ITEM(items.ptr(), i);
    if (!is_token_list(tokens)) converter.misfit(tokens, "a list of tokens", i);
    owners_.push_back(frozen(tokens));
    converter.add(owners_.back().ptr(), i);
    offsets_.push_back(static_cast<std::int64_t>(pieces_.size()));
  }
  sentences_ = {pieces_, offsets_};
}

SentencesArgument::SentencesArgument(const py::object& texts, Py_ssize_t begin, Py_ssize_t end,
                                     const char* name) {
  py::tuple items = PyList_Check(texts.ptr())
                        ? tuple_of(py::reinterpret_borrow<py::list>(texts), begin, end)
                        : py::reinterpret_steal<py::tuple>(PyTuple_GetSlice(texts.ptr(), begin, end));
  if (!items) throw py::error_already_set();
  const Py_ssize_t size = PySequence_Fast_GET_SIZE(texts.ptr());
  if (PyTuple_GET_SIZE(items.ptr()) != end - begin) {
    throw std::runtime_error(concat(name, " had ", end, " items or more, and now has ", size));
  }
  owners_.push_back(items);
  pieces_.reserve(static_cast<std::size_t>(end - begin));
  Converter converter(name, pieces_, owners_);
  converter.expect(PySequence_Fast_GET_ITEM(texts.ptr(), 0));
  converter.add(items.ptr(), Converter::kNone, begin);
  sentences_ = {pieces_, {}, begin};
}

bool SentencesArgument::holds_texts(const py::object& argument) {
  return is_token_list(argument.ptr()) && PySequence_Fast_GET_SIZE(argument.ptr()) > 0 &&
         !is_token_list(PySequence_Fast_GET_ITEM(argument.ptr(), 0));
}

void bind_sentences(py::module_& m) {
  m.def("tuple_of", &tuple_of, py::arg("list"), py::arg("begin"), py::arg("end"),
        "list[begin:end] as a tuple, without a list in between.");
}

}  // namespace sentencode
