# sentencode_torch: the LibTorch of the Python that was found, and SENTENCODE_TORCH_VERSION.
#
# Not by find_package(Torch): on a torch with CUDA that asks for a CUDA toolkit, even for code that has no kernel. The
# libraries beside torch/__init__.py are all that is needed, on every flavour. Users of Sentencode::nn run this file, too.
# torch is not imported: a CUDA build can be compiled against where its CUDA libraries are not installed.
if(TARGET sentencode_torch)  # of an earlier find_package, perhaps in another folder
  get_target_property(SENTENCODE_TORCH_VERSION sentencode_torch SENTENCODE_TORCH_VERSION)
  return()
endif()
execute_process(
  COMMAND "${Python_EXECUTABLE}" -c
    "import importlib.util as u, pathlib, runpy, sys; s = u.find_spec('torch') or sys.exit('torch is not installed'); t = pathlib.Path(s.origin).parent; v = runpy.run_path(str(t / 'version.py')); print(t, v['__version__'], v['cuda'], sep=';')"
  OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_VARIABLE why RESULT_VARIABLE failed)
if(failed AND CMAKE_FIND_PACKAGE_NAME STREQUAL "Sentencode")
  set(Sentencode_NOT_FOUND_MESSAGE "Sentencode's component nn needs torch in ${Python_EXECUTABLE}.\n${why}")
  return()
elseif(failed)
  message(FATAL_ERROR "Sentencode's neural half needs torch in ${Python_EXECUTABLE}; SENTENCODE_NN=OFF builds the half "
                      "that does not.\n${why}")
endif()
list(GET found 0 torch_folder)
list(GET found 1 SENTENCODE_TORCH_VERSION)
list(GET found 2 SENTENCODE_TORCH_CUDA)

add_library(sentencode_torch INTERFACE)
set_target_properties(sentencode_torch PROPERTIES SENTENCODE_TORCH_VERSION "${SENTENCODE_TORCH_VERSION}")
# System headers: their warnings are not ours. pybind11 is among them; bindings put another copy before it.
target_include_directories(sentencode_torch SYSTEM INTERFACE
  "${torch_folder}/include" "${torch_folder}/include/torch/csrc/api/include")
set(torch_libraries c10 torch_cpu torch)
if(SENTENCODE_CUDA AND NOT SENTENCODE_TORCH_CUDA STREQUAL "None")
  list(APPEND torch_libraries c10_cuda)  # which stream is the current one
endif()
foreach(name IN LISTS torch_libraries)
  unset(library)
  find_library(library ${name} PATHS "${torch_folder}/lib" NO_DEFAULT_PATH NO_CACHE REQUIRED)
  target_link_libraries(sentencode_torch INTERFACE "${library}")
endforeach()
# What torch's libraries need themselves (CUDA's, say) lies in other packages, which Python loads.
if(NOT APPLE)  # whose linker does not look
  target_link_options(sentencode_torch INTERFACE LINKER:--allow-shlib-undefined)
endif()
# Without OpenMP, at::parallel_for of ours is a loop on one thread, and nothing says so. The threads are torch's own, of the
# very library that torch brings: a second copy would have as many again. What other compilers than GCC emit is not for it.
file(GLOB SENTENCODE_TORCH_OPENMP
  "${torch_folder}/lib/libgomp*" "${torch_folder}/lib/libiomp*" "${torch_folder}/lib/libomp*"
  "${torch_folder}/../torch.libs/libgomp*")
if(SENTENCODE_TORCH_OPENMP AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  list(GET SENTENCODE_TORCH_OPENMP 0 SENTENCODE_TORCH_OPENMP)
  target_compile_options(sentencode_torch INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fopenmp>)
  if(NOT SENTENCODE_NN_WHEEL)
    target_link_libraries(sentencode_torch INTERFACE "${SENTENCODE_TORCH_OPENMP}")
  endif()
else()
  find_package(OpenMP REQUIRED COMPONENTS CXX)
  target_link_libraries(sentencode_torch INTERFACE OpenMP::OpenMP_CXX)
endif()

add_library(sentencode_torch_python INTERFACE)
unset(library)
find_library(library torch_python PATHS "${torch_folder}/lib" NO_DEFAULT_PATH NO_CACHE REQUIRED)
target_link_libraries(sentencode_torch_python INTERFACE sentencode_torch "${library}")
