// Start of the extension modules.
#pragma once

#include "gil.h"

/// PYBIND11_MODULE without its deadlock in sub-interpreters.
#define SENTENCODE_MODULE(name, variable, ...)                  \
  extern "C" PyObject* PyInit_guarded##name();                  \
  extern "C" PYBIND11_EXPORT PyObject* PyInit_##name();         \
  PyObject* PyInit_##name() {                                   \
    sentencode::refuse_subinterpreters();                       \
    return PyErr_Occurred() ? nullptr : PyInit_guarded##name(); \
  }                                                             \
  PYBIND11_MODULE(guarded##name, variable, ##__VA_ARGS__)
