// How the extension modules start.
#pragma once

#include "gil.h"

/// As PYBIND11_MODULE, which in a sub-interpreter would wait for ever for the lock that this very thread has.
#define SENTENCODE_MODULE(name, variable, ...)                  \
  extern "C" PyObject* PyInit_guarded##name();                  \
  extern "C" PYBIND11_EXPORT PyObject* PyInit_##name();         \
  PyObject* PyInit_##name() {                                   \
    sentencode::refuse_subinterpreters();                       \
    return PyErr_Occurred() ? nullptr : PyInit_guarded##name(); \
  }                                                             \
  PYBIND11_MODULE(guarded##name, variable, ##__VA_ARGS__)
