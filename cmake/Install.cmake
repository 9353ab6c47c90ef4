# What `cmake --install <build> --component core` gives to C++ users: headers, the static library, and the package that
# find_package(Sentencode) finds. With `--component nn` beside it, find_package(Sentencode COMPONENTS nn) finds the half
# that needs LibTorch.
include(CMakePackageConfigHelpers)

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/Sentencode)

set(neural_rooms nn models distributed)
set(neural_headers "/(evaluation/(features|logistic)|training/(checkpoints|model|named_tensors|optimizer|trainer))\\.h$")
list(TRANSFORM neural_rooms REPLACE "(.+)" "PATTERN;\\1;EXCLUDE" OUTPUT_VARIABLE without_neural_rooms)
install(DIRECTORY cpp/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT core
  FILES_MATCHING PATTERN "*.h" REGEX "${neural_headers}" EXCLUDE ${without_neural_rooms})
install(TARGETS sentencode_core sentencode_blas ${SENTENCODE_FETCHED_TARGETS} EXPORT SentencodeTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT core)
install(EXPORT SentencodeTargets NAMESPACE Sentencode:: DESTINATION ${package} COMPONENT core)
if(SENTENCODE_NN)
  foreach(room IN LISTS neural_rooms)
    install(DIRECTORY cpp/include/sentencode/${room} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/sentencode COMPONENT nn)
  endforeach()
  install(DIRECTORY cpp/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT nn
    FILES_MATCHING REGEX "${neural_headers}" ${without_neural_rooms})
  install(TARGETS sentencode_nn EXPORT SentencodeNnTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT nn)
  install(EXPORT SentencodeNnTargets NAMESPACE Sentencode:: DESTINATION ${package} COMPONENT nn)
  install(FILES cmake/Torch.cmake DESTINATION ${package} COMPONENT nn)
endif()

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
