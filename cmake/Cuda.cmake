# sentencode_cuda(<target>): our kernels for GPUs, compiled by nvcc wherever one is found; a part of the target where
# torch has CUDA, too. Not by CMake's language CUDA, which would ask for a toolkit in every build. The kernels see plain
# memory and a stream, so that nvcc needs none of torch's headers.
set(SENTENCODE_CUDA auto CACHE STRING "Kernels for GPUs: auto, ON (nvcc must be there) or OFF")
set_property(CACHE SENTENCODE_CUDA PROPERTY STRINGS auto ON OFF)
set(SENTENCODE_CUDA_ARCH all-major CACHE STRING "nvcc's -arch: all-major, native (this machine's GPU), sm_90, ...")
set(SENTENCODE_NVCC_FLAGS -O3 -std=c++17 "-arch=${SENTENCODE_CUDA_ARCH}" -Xcompiler -fPIC,-fvisibility=hidden,-Wall)
# With auto, what is missing for a GPU must not stop the build for processors.
if(SENTENCODE_CUDA STREQUAL "auto")
  set(SENTENCODE_CUDA_MISSING WARNING)
else()
  set(SENTENCODE_CUDA_MISSING FATAL_ERROR)
endif()

if(SENTENCODE_CUDA)
  find_program(SENTENCODE_NVCC nvcc HINTS ENV CUDA_HOME PATH_SUFFIXES bin)
  if(NOT SENTENCODE_NVCC AND NOT SENTENCODE_CUDA STREQUAL "auto")
    message(FATAL_ERROR "SENTENCODE_CUDA is ${SENTENCODE_CUDA}, and there is no nvcc")
  endif()
  if(SENTENCODE_NVCC AND NOT SENTENCODE_NVCC_WORKS STREQUAL SENTENCODE_CUDA_ARCH)  # it may refuse this machine's compiler
    set(probe "${CMAKE_BINARY_DIR}/CMakeFiles/nvcc_probe")
    file(WRITE "${probe}.cu" "#include <cstdint>\n__global__ void kernel(std::int64_t* x) { *x = 1; }\n")
    execute_process(COMMAND "${SENTENCODE_NVCC}" ${SENTENCODE_NVCC_FLAGS} -c -o "${probe}.o" "${probe}.cu"
                    RESULT_VARIABLE failed OUTPUT_VARIABLE told ERROR_VARIABLE told)
    if(failed)
      message(${SENTENCODE_CUDA_MISSING} "No kernels for GPUs: ${SENTENCODE_NVCC} does not compile:\n${told}")
    else()
      set(SENTENCODE_NVCC_WORKS "${SENTENCODE_CUDA_ARCH}" CACHE INTERNAL "")
    endif()
  endif()
endif()

function(sentencode_cuda target)
  if(NOT SENTENCODE_CUDA OR NOT SENTENCODE_NVCC_WORKS STREQUAL SENTENCODE_CUDA_ARCH)
    return()
  endif()
  set(objects)
  foreach(source IN LISTS ARGN)
    set(object "${CMAKE_CURRENT_BINARY_DIR}/${source}.o")
    add_custom_command(
      OUTPUT "${object}"
      COMMAND "${SENTENCODE_NVCC}" ${SENTENCODE_NVCC_FLAGS} -c -MD -MF "${object}.d" -o "${object}"
              "${CMAKE_CURRENT_SOURCE_DIR}/${source}"
      DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${source}"
      DEPFILE "${object}.d"
      COMMENT "Building CUDA object ${source}.o" VERBATIM)
    get_filename_component(folder "${object}" DIRECTORY)
    file(MAKE_DIRECTORY "${folder}")
    list(APPEND objects "${object}")
  endforeach()
  # A torch without CUDA could not call them: that they compile is seen all the same.
  add_custom_target(sentencode_cuda_objects ALL DEPENDS ${objects})
  if(NOT SENTENCODE_TORCH_CUDA OR SENTENCODE_TORCH_CUDA STREQUAL "None")
    return()
  endif()
  execute_process(COMMAND "${SENTENCODE_NVCC}" --dryrun -c -x cu /dev/null ERROR_VARIABLE plan OUTPUT_QUIET)
  string(REGEX MATCH "_HERE_=[^\n]*" here "${plan}")
  string(REPLACE "_HERE_=" "" here "${here}")
  find_library(SENTENCODE_CUDART cudart_static PATHS "${here}/.." PATH_SUFFIXES lib64 lib targets/x86_64-linux/lib)
  find_path(SENTENCODE_CUDA_INCLUDE cuda_runtime_api.h PATHS "${here}/.."
            PATH_SUFFIXES include targets/x86_64-linux/include)
  if(NOT SENTENCODE_CUDART OR NOT SENTENCODE_CUDA_INCLUDE)
    message(${SENTENCODE_CUDA_MISSING} "No kernels for GPUs: cudart_static and cuda_runtime_api.h are not next to "
                                       "${SENTENCODE_NVCC}")
    return()
  endif()
  target_sources(${target} PRIVATE ${objects})
  target_compile_definitions(${target} PRIVATE SENTENCODE_HAVE_CUDA)
  # CUDA's runtime comes with what is installed, as the kernels do: the toolkit may be elsewhere there. Its symbols stay
  # inside, because torch has a copy of its own.
  cmake_path(GET SENTENCODE_CUDART FILENAME name)
  target_link_libraries(${target} PUBLIC
    $<BUILD_INTERFACE:${SENTENCODE_CUDART}>
    $<INSTALL_INTERFACE:$<INSTALL_PREFIX>/${CMAKE_INSTALL_LIBDIR}/${name}>
    ${CMAKE_DL_LIBS} rt)
  target_link_options(${target} PUBLIC "LINKER:--exclude-libs,${name}")
  if(SENTENCODE_INSTALL)
    install(FILES "${SENTENCODE_CUDART}" DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT nn)
  endif()
endfunction()
