# What `cmake --install <build> --component core` gives to C++ users: headers, the static library, and the package that
# find_package(Sentencode) finds.
include(CMakePackageConfigHelpers)

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/Sentencode)

# The half that needs LibTorch is Python's alone so far.
install(DIRECTORY cpp/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT core
  FILES_MATCHING PATTERN "*.h" PATTERN "nn" EXCLUDE PATTERN "distributed" EXCLUDE)
install(TARGETS sentencode_core sentencode_blas ${SENTENCODE_FETCHED_TARGETS} EXPORT SentencodeTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT core)
install(EXPORT SentencodeTargets NAMESPACE Sentencode:: DESTINATION ${package} COMPONENT core)

set(SENTENCODE_DEPENDENCIES "")
foreach(arguments IN LISTS SENTENCODE_SYSTEM_PACKAGES)
  string(APPEND SENTENCODE_DEPENDENCIES "find_dependency(${arguments})\n")
endforeach()
configure_package_config_file(cmake/SentencodeConfig.cmake.in "${CMAKE_CURRENT_BINARY_DIR}/SentencodeConfig.cmake"
  INSTALL_DESTINATION ${package})
write_basic_package_version_file("${CMAKE_CURRENT_BINARY_DIR}/SentencodeConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(
  FILES "${CMAKE_CURRENT_BINARY_DIR}/SentencodeConfig.cmake" "${CMAKE_CURRENT_BINARY_DIR}/SentencodeConfigVersion.cmake"
        cmake/Findutf8proc.cmake cmake/Findzstd.cmake
  DESTINATION ${package} COMPONENT core)
