# sentencode_target_defaults(<target>): warnings, hidden symbols, hardening and sanitizers of everything that we compile.

if(SENTENCODE_SANITIZE)
  # The Eigen and BLAS allocations stay as they are; frame pointers make the reports readable.
  set(sanitize_flags "-fsanitize=${SENTENCODE_SANITIZE}" -fno-omit-frame-pointer -fno-sanitize-recover=all)
  if(SENTENCODE_SANITIZE MATCHES "address.*undefined")
    # These double the time to compile. AddressSanitizer sees null pointers and ends of allocations by itself; numbers at
    # odd addresses, and objects of another class than their pointer's, are not looked for.
    list(APPEND sanitize_flags -fno-sanitize=null,alignment,object-size,vptr)
  endif()
endif()

# sentencode_quickly_compiled(<target>): for tests and thin bindings, whose compilation takes longer than their work.
function(sentencode_quickly_compiled target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
endfunction()

# sentencode_compiled_together(<target> <files>): for files that are mostly the same headers and templates. Up to <files>
# of a folder are compiled as one, which takes a third of the time; more would need over a gigabyte of memory.
# CMAKE_UNITY_BUILD=OFF compiles each alone: while one is edited, for clang-tidy, and to see whether each includes what
# it uses.
function(sentencode_compiled_together target at_most)
  if(DEFINED CMAKE_UNITY_BUILD)
    return()
  endif()
  get_target_property(files ${target} SOURCES)
  foreach(file IN LISTS files)
    get_filename_component(folder "${file}" DIRECTORY)
    string(MAKE_C_IDENTIFIER "files_${folder}" group)
    math(EXPR part "0${${group}} / ${at_most}")
    math(EXPR ${group} "0${${group}} + 1")
    set_source_files_properties("${file}" PROPERTIES UNITY_GROUP "${group}_${part}")
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  # A class of a source file may have members of its unnamed namespace, and names of another file may be its own.
  target_compile_options(${target} PRIVATE
    $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>
    $<$<CXX_COMPILER_ID:GNU>:-Wno-shadow> $<$<CXX_COMPILER_ID:GNU>:-Wshadow=local>)
endfunction()

# sentencode_with_torch(<target>): for targets whose files include torch. A file takes a gigabyte to compile: two at a
# time (SENTENCODE_TORCH_JOBS), whatever the number of processors. Headers are most of the time, so the largest is
# precompiled; writing more of them would take 1.5 GB. CMAKE_DISABLE_PRECOMPILE_HEADERS=ON shows whether each file
# includes what it uses.
function(sentencode_with_torch target)
  set_target_properties(${target} PROPERTIES JOB_POOL_COMPILE torch)
  target_precompile_headers(${target} PRIVATE <ATen/Functions.h> <ATen/core/Tensor.h>)
endfunction()

function(sentencode_target_defaults target)
  set_target_properties(${target} PROPERTIES
    CXX_VISIBILITY_PRESET hidden
    C_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON)
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wcast-qual -Wundef
    -fstack-protector-strong
    # No path of the machine that built it in a message or a debugger.
    "-ffile-prefix-map=${PROJECT_SOURCE_DIR}/="
    $<$<BOOL:${SENTENCODE_WERROR}>:-Werror>)
  if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
    target_link_options(${target} PRIVATE LINKER:-z,relro,-z,now,-z,noexecstack)
  endif()
  if(SENTENCODE_BUILD_FUZZERS)
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
  endif()
  if(SENTENCODE_SANITIZE)
    # Public: what links an instrumented library needs the same runtime.
    target_compile_options(${target} PUBLIC ${sanitize_flags})
    target_link_options(${target} PUBLIC ${sanitize_flags})
  endif()
endfunction()
