# What the core needs: found on the system, else fetched. Either way the targets have the names that the libraries'
# own packages give them.
#   SENTENCODE_DEPS=auto|system|fetch     fetch: look at nothing that is installed
#   SENTENCODE_DEPS_MIRROR=<folder|URL>   where the archives are looked for first (for machines without a network)
set(SENTENCODE_DEPS auto CACHE STRING "C++ dependencies: auto, system or fetch")
set_property(CACHE SENTENCODE_DEPS PROPERTY STRINGS auto system fetch)
set(SENTENCODE_DEPS_MIRROR "" CACHE STRING "Folder or URL that holds the archives of C++ dependencies")
include(Fetch)

find_package(Threads REQUIRED)

# What whoever links the installed core has to find as well, as arguments of find_dependency.
set(SENTENCODE_SYSTEM_PACKAGES "")
# Libraries that are built here and installed with the core.
set(SENTENCODE_FETCHED_TARGETS "")

# sentencode_find(<package> <target> [version]): sets <package>_FOUND; a missing package is an error only where the
# system is all we may use.
macro(sentencode_find package target)
  set(${package}_FOUND OFF)
  if(NOT SENTENCODE_DEPS STREQUAL "fetch")
    find_package(${package} ${ARGN} QUIET)
  endif()
  if(TARGET ${target})
    set(${package}_FOUND ON)
    string(STRIP "${package} ${ARGN}" arguments)
    string(REPLACE ";" " " arguments "${arguments}")
    list(APPEND SENTENCODE_SYSTEM_PACKAGES "${arguments}")
    message(STATUS "${package}: installed")
  elseif(SENTENCODE_DEPS STREQUAL "system")
    message(FATAL_ERROR "${package} ${ARGN} is not installed; -DSENTENCODE_DEPS=auto fetches it")
  endif()
endmacro()

# sentencode_fetched(<target> <alias> <type> <include folder>...): a library to be made of fetched sources, installed
# with the core. Its headers are the system's to us: no warnings from there.
macro(sentencode_fetched target alias type include)
  if("${type}" STREQUAL "INTERFACE")
    add_library(${target} INTERFACE)
  else()
    add_library(${target} ${type} ${ARGN})
    set_target_properties(${target} PROPERTIES C_VISIBILITY_PRESET hidden)
  endif()
  target_include_directories(${target} SYSTEM INTERFACE $<BUILD_INTERFACE:${include}>)
  add_library(${alias} ALIAS ${target})
  list(APPEND SENTENCODE_FETCHED_TARGETS ${target})
  message(STATUS "${target}: fetched")
endmacro()

sentencode_find(Eigen3 Eigen3::Eigen 3.4 CONFIG)
if(NOT Eigen3_FOUND)
  sentencode_fetch(eigen e/eigen3/eigen3_3.4.0.orig.tar.bz2
    b4c198460eba6f28d34894e3a5710998818515104d6e74e5cc331ce31e46e626)
  sentencode_fetched(sentencode_eigen Eigen3::Eigen INTERFACE "${eigen}")
  # The core's headers show Eigen's types, so that its own users need these headers too.
  set(headers ${CMAKE_INSTALL_INCLUDEDIR}/sentencode/third_party/eigen)
  if(SENTENCODE_INSTALL)
    install(DIRECTORY "${eigen}/Eigen" DESTINATION ${headers} COMPONENT core)
    install(DIRECTORY "${eigen}/unsupported/Eigen" DESTINATION ${headers}/unsupported COMPONENT core)
  endif()
  target_include_directories(sentencode_eigen SYSTEM INTERFACE $<INSTALL_INTERFACE:${headers}>)
endif()

sentencode_find(nlohmann_json nlohmann_json::nlohmann_json 3.10 CONFIG)
if(NOT nlohmann_json_FOUND)
  sentencode_fetch(json n/nlohmann-json3/nlohmann-json3_3.11.2.orig.tar.gz
    d69f9deb6a75e2580465c6c4c5111b89c4dc2fa94e3a85fcd2ffcd9a143d9273)
  sentencode_fetched(sentencode_json nlohmann_json::nlohmann_json INTERFACE "${json}/single_include")
endif()

sentencode_find(ZLIB ZLIB::ZLIB)
if(NOT ZLIB_FOUND)
  sentencode_fetch(zlib z/zlib/zlib_1.2.13.dfsg.orig.tar.bz2
    71feb7947e3c00ef125f83b79a4e529bde31171e5babe48b391f06758d1ab0a1)
  file(GLOB sources "${zlib}/*.c")
  sentencode_fetched(sentencode_zlib ZLIB::ZLIB STATIC "${zlib}" ${sources})
  target_compile_definitions(sentencode_zlib PRIVATE HAVE_UNISTD_H)
endif()

sentencode_find(LibLZMA LibLZMA::LibLZMA)
if(NOT LibLZMA_FOUND)
  sentencode_fetch(xz x/xz-utils/xz-utils_5.4.1.orig.tar.xz
    5d9827aa1875b21c288f78864bb26d2650b436ea8d2cad364e4921eb6266a5a5)
  # Of all these, only this library's own build knows how to configure its sources.
  set(BUILD_SHARED_LIBS OFF)
  set(HAVE_GETOPT_LONG OFF)  # without its programs, whose rules current versions of CMake write twice
  add_subdirectory("${xz}" "${CMAKE_BINARY_DIR}/_deps/xz" EXCLUDE_FROM_ALL)
  unset(BUILD_SHARED_LIBS)
  unset(HAVE_GETOPT_LONG)
  target_include_directories(liblzma SYSTEM INTERFACE $<BUILD_INTERFACE:${xz}/src/liblzma/api>)
  add_library(LibLZMA::LibLZMA ALIAS liblzma)
  list(APPEND SENTENCODE_FETCHED_TARGETS liblzma)
endif()

sentencode_find(zstd zstd::libzstd)
if(NOT zstd_FOUND)
  sentencode_fetch(zstd libz/libzstd/libzstd_1.5.4+dfsg2.orig.tar.xz
    8cf4bbb65e77ec348d052c8d6230eba66d435bddf64c8b5be2fcb16880c19953)
  file(GLOB sources "${zstd}/lib/common/*.c" "${zstd}/lib/decompress/*.c")
  sentencode_fetched(sentencode_zstd zstd::libzstd STATIC "${zstd}/lib" ${sources})
  target_compile_definitions(sentencode_zstd PRIVATE ZSTD_DISABLE_ASM)
endif()

sentencode_find(utf8proc utf8proc::utf8proc)
if(NOT utf8proc_FOUND)
  sentencode_fetch(utf8proc u/utf8proc/utf8proc_2.8.0.orig.tar.gz
    a0a60a79fe6f6d54e7d411facbfcc867a6e198608f2cd992490e46f04b1bcecc)
  sentencode_fetched(sentencode_utf8proc utf8proc::utf8proc STATIC "${utf8proc}" "${utf8proc}/utf8proc.c")
  target_compile_definitions(sentencode_utf8proc PUBLIC UTF8PROC_STATIC)
endif()

if(SENTENCODE_BUILD_TESTS)
  sentencode_find(GTest GTest::gtest_main)
  list(REMOVE_ITEM SENTENCODE_SYSTEM_PACKAGES GTest)  # not what is installed needs
  if(NOT GTest_FOUND)
    sentencode_fetch(gtest g/googletest/googletest_1.12.1.orig.tar.gz
      81964fe578e9bd7c94dfdb09c8e4d6e6759e19967e397dbea48d1c10e45d0df2)
    set(gtest "${gtest}/googletest")
    add_library(sentencode_gtest STATIC "${gtest}/src/gtest-all.cc" "${gtest}/src/gtest_main.cc")
    target_include_directories(sentencode_gtest SYSTEM PUBLIC "${gtest}/include" PRIVATE "${gtest}")
    target_link_libraries(sentencode_gtest PUBLIC Threads::Threads)
    add_library(GTest::gtest_main ALIAS sentencode_gtest)
  endif()
endif()
