# sentencode_blas: the BLAS/LAPACK behind sentencode/dense.h.
#   SENTENCODE_HAVE_BLAS      0: Eigen alone. 1: Fortran symbols <prefix>sgemm_, <prefix>ssyevd_, ...
#   SENTENCODE_BLAS_PREFIX    scipy_ or nothing
#   SENTENCODE_HAVE_OPENBLAS  1: <prefix>openblas_set_num_threads exists
if(NOT SENTENCODE_BLAS MATCHES "^(auto|scipy|system|eigen)$")
  message(FATAL_ERROR "SENTENCODE_BLAS must be auto, scipy, system or eigen, got \"${SENTENCODE_BLAS}\"")
endif()
add_library(sentencode_blas INTERFACE)
set(SENTENCODE_BLAS_FOUND eigen)

if(SENTENCODE_BLAS MATCHES "^(auto|scipy)$" AND NOT Python_Interpreter_FOUND)
  find_package(Python QUIET COMPONENTS Interpreter)
endif()
if(SENTENCODE_BLAS MATCHES "^(auto|scipy)$" AND Python_Interpreter_FOUND)
  execute_process(
    COMMAND "${Python_EXECUTABLE}" -c "import scipy_openblas32 as b; print(b.get_lib_dir())"
    OUTPUT_VARIABLE scipy_openblas_dir OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  find_library(SENTENCODE_SCIPY_OPENBLAS scipy_openblas PATHS "${scipy_openblas_dir}" NO_DEFAULT_PATH)
  if(SENTENCODE_SCIPY_OPENBLAS)
    set(SENTENCODE_BLAS_FOUND scipy)
    # The library comes with whatever is installed: the Python environment that it lies in may go away.
    cmake_path(GET SENTENCODE_SCIPY_OPENBLAS FILENAME name)
    target_link_libraries(sentencode_blas INTERFACE
      $<BUILD_INTERFACE:${SENTENCODE_SCIPY_OPENBLAS}>
      $<INSTALL_INTERFACE:$<INSTALL_PREFIX>/${CMAKE_INSTALL_LIBDIR}/${name}>)
    if(SENTENCODE_INSTALL)
      install(FILES "${SENTENCODE_SCIPY_OPENBLAS}" DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT core)
    endif()
    target_compile_definitions(sentencode_blas INTERFACE
      SENTENCODE_HAVE_BLAS=1 SENTENCODE_HAVE_OPENBLAS=1 SENTENCODE_BLAS_PREFIX=scipy_)
  endif()
endif()
if(SENTENCODE_BLAS_FOUND STREQUAL "eigen" AND SENTENCODE_BLAS MATCHES "^(auto|system)$")
  find_library(SENTENCODE_SYSTEM_OPENBLAS openblas)
  if(SENTENCODE_SYSTEM_OPENBLAS)
    set(SENTENCODE_BLAS_FOUND system)
    target_link_libraries(sentencode_blas INTERFACE
      $<BUILD_INTERFACE:${SENTENCODE_SYSTEM_OPENBLAS}> $<INSTALL_INTERFACE:openblas>)
    target_compile_definitions(sentencode_blas INTERFACE
      SENTENCODE_HAVE_BLAS=1 SENTENCODE_HAVE_OPENBLAS=1 SENTENCODE_BLAS_PREFIX=)
  endif()
endif()
if(SENTENCODE_BLAS_FOUND STREQUAL "eigen")
  # Never unasked: nothing but the time that it takes would tell.
  if(NOT SENTENCODE_BLAS STREQUAL "eigen")
    message(FATAL_ERROR
      "SENTENCODE_BLAS=${SENTENCODE_BLAS}: no OpenBLAS was found. Without it, fitting and evaluating take several "
      "times as long.\n"
      "Install one of:\n"
      "  python -m pip install scipy-openblas32       for the Python package, with the Python that builds it\n"
      "  apt install libopenblas-dev                  Debian, Ubuntu\n"
      "  dnf install openblas-devel                   Fedora\n"
      "  conda install -c conda-forge libopenblas\n"
      "Or build the slow way:\n"
      "  SENTENCODE_BLAS=eigen pip install .\n"
      "  cmake -DSENTENCODE_BLAS=eigen ...\n")
  endif()
  target_compile_definitions(sentencode_blas INTERFACE SENTENCODE_HAVE_BLAS=0 SENTENCODE_HAVE_OPENBLAS=0)
endif()
