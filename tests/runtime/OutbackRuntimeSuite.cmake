# The runtime conformance suite, for the runtimes of this tree and for a vendor's: outback_add_runtime_suite().
#
# Included by CMakeLists.txt at the top, so that find_package(Outback) brings it. It is installed with the suite's sources.
include_guard(GLOBAL)

# outback_rarely_runs(<target>)
#
# Who tests a runtime waits for the compiler, and then for the device, so that the suite is optimized less than the build type
# says: a third less time than by -O3.
#
#   <target>   a library or a program of the calling folder
#
# Example: outback_rarely_runs(fake_cuda)
function(outback_rarely_runs target)
  if(CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang")
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release,RelWithDebInfo>:-O1>)
  endif()
endfunction()

# _outback_runtime_suite_part(<name> <file>...): files of the suite, as an object library of that name.
function(_outback_runtime_suite_part name)
  set(files ${ARGN})
  list(TRANSFORM files PREPEND "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/suite/")
  add_library(${name} OBJECT ${files})
  target_include_directories(${name} PUBLIC "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../..")
  target_link_libraries(${name} PUBLIC outback::runtime GTest::gmock GTest::gtest Threads::Threads)
  outback_target_defaults(${name})
  outback_rarely_runs(${name})
  # One batch: GoogleTest's headers take longer than a file of ours.
  set_target_properties(${name} PROPERTIES UNITY_BUILD ${OUTBACK_UNITY} UNITY_BUILD_BATCH_SIZE 0)
endfunction()

# _outback_runtime_suite_kernels(<target>): gives <target> the suite's kernels, in all formats of suite/kernels.
function(_outback_runtime_suite_kernels target)
  set(folder "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/suite/kernels")
  add_library(outback_runtime_suite_host_kernels MODULE "${folder}/host_kernels.cpp")
  target_link_libraries(outback_runtime_suite_host_kernels PRIVATE outback::runtime)
  outback_target_defaults(outback_runtime_suite_host_kernels)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${folder}/kernels.cl" "${folder}/kernels.ptx"
                                         "${folder}/kernels.spv")
  file(READ "${folder}/kernels.cl" OUTBACK_KERNELS_OPENCL_C)
  file(READ "${folder}/kernels.ptx" OUTBACK_KERNELS_PTX)
  file(READ "${folder}/kernels.spv" OUTBACK_KERNELS_SPIRV HEX)
  string(REGEX REPLACE "(..)" "0x\\1," OUTBACK_KERNELS_SPIRV "${OUTBACK_KERNELS_SPIRV}")
  set(OUTBACK_KERNELS_HOST "$<TARGET_FILE:outback_runtime_suite_host_kernels>")
  configure_file("${folder}/modules.cpp.in" outback_suite_kernels/modules.cpp.in @ONLY)
  file(GENERATE OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/outback_suite_kernels/modules.cpp"
       INPUT "${CMAKE_CURRENT_BINARY_DIR}/outback_suite_kernels/modules.cpp.in")
  target_sources(${target} PRIVATE "${CMAKE_CURRENT_BINARY_DIR}/outback_suite_kernels/modules.cpp")
endfunction()

# outback_add_runtime_suite_library()
#
# Compiles the suite, with the options of the calling folder, for all programs of the build. The first program does that by
# itself, so that there is no need to call this; a project with programs in several folders calls it above them, and then
# their order says nothing.
#
# Needs GoogleTest (with gmock; fetched where the system has none) and the target outback::runtime; sees no torch.
function(outback_add_runtime_suite_library)
  # Targets that are found are those of a folder: each folder with a program needs them.
  find_package(Threads REQUIRED)
  if(NOT TARGET GTest::gmock)
    include("${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../../cmake/OutbackDependencies.cmake")
    outback_need_gtest()
  endif()
  if(TARGET outback_runtime_suite)
    return()
  endif()
  # Object libraries, since nothing refers to a test and a linker would drop it; two, for two cores, and because tests run in
  # the order of the objects: what the others build on comes first, and what a wrong runtime may crash in comes after what
  # says why.
  _outback_runtime_suite_part(
    outback_runtime_suite_basics
    expectations.cpp
    first_contact.cpp
    guard.cpp
    main.cpp
    options.cpp
    other_process.cpp
    programs/generator.cpp
    programs/model.cpp
    programs/order.cpp
    programs/program.cpp
    programs/runner.cpp
    programs/shrink.cpp
    report.cpp
    suite.cpp
    watched.cpp
    # The tests: a file that is added here, or below, is in every suite, and installed.
    device_test.cpp
    memory_test.cpp
    copy_test.cpp
    fill_test.cpp
    errors_test.cpp)
  _outback_runtime_suite_part(
    outback_runtime_suite
    streams_test.cpp
    events_test.cpp
    host_memory_test.cpp
    host_registration_test.cpp
    atomicity_test.cpp
    threads_test.cpp
    callbacks_test.cpp
    peer_test.cpp
    native_test.cpp
    ipc_test.cpp
    graphs_test.cpp
    telemetry_test.cpp
    activity_test.cpp
    ranges_test.cpp
    kernels_test.cpp
    growth_test.cpp
    programs_test.cpp)
  _outback_runtime_suite_kernels(outback_runtime_suite)
endfunction()

# outback_add_runtime_suite_program(<name> <target> <symbol>)
#
# The program alone, without ctest entries.
#
#   <name>     of the program, and of its target
#   <target>   RUNTIME_LIBRARY of outback_add_runtime_suite
#   <symbol>   TABLE_FUNCTION of it
#
# Example: outback_add_runtime_suite_program(acme_suite acme_runtime acme_table)
function(outback_add_runtime_suite_program name runtime_library table_function)
  outback_add_runtime_suite_library()
  add_executable(${name} "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/suite/table.cpp")
  target_compile_definitions(${name} PRIVATE OUTBACK_SUITE_TABLE=${table_function})
  target_link_libraries(${name} PRIVATE outback_runtime_suite_basics outback_runtime_suite ${runtime_library})
  add_dependencies(${name} outback_runtime_suite_host_kernels) # which the program loads
  outback_target_defaults(${name})
endfunction()

# outback_add_runtime_suite(<name> RUNTIME_LIBRARY <target> TABLE_FUNCTION <symbol> [WHOLE] [SUMMARY_ONLY]
#                           [EXPECTATIONS <file>] [TIME_LIMIT <seconds>] [SIZE <bytes>] [KERNELS <format>:<file>])
#
# Builds the program <name>, which runs the suite on a runtime. ctest gets one entry for each test, and <name>.summary: the
# whole run in one process, which prints "N passed, N unsupported, N failed". A test of a group that the runtime has not got is
# unsupported, which ctest reports as skipped. <name>.programs runs 10,000 random stream programs instead of 200, and only
# where it is asked for: ctest -C long.
#
#   <name>                     of the program, and of its target
#   RUNTIME_LIBRARY <target>   has the runtime
#   TABLE_FUNCTION <symbol>    of it: const outback_runtime* <symbol>(void), with C linkage
#   WHOLE                      an unsupported test fails <name>.summary
#   SUMMARY_ONLY               <name>.summary is the only entry
#   EXPECTATIONS <file>        what the runtime is known not to do, see suite/expectations.hpp: what it lists may fail or, with
#                              WHOLE, be unsupported, and has to be. Default: nothing
#   TIME_LIMIT <seconds>       what one test may take, and ctest waits for it; the whole run has ten times as long. For slow
#                              devices and simulators. Default: 300, and 600 for the whole run
#   SIZE <bytes>               of the big copies: 2M. Default: 8M
#   KERNELS <format>:<file>    the suite's kernels in a format of which the suite has none, or not for this runtime: the number
#                              of the format in outback/runtime.h, and where they are. Default: the suite's own
#
# Example: outback_add_runtime_suite(acme_suite RUNTIME_LIBRARY acme_runtime TABLE_FUNCTION acme_table)
function(outback_add_runtime_suite name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "WHOLE;SUMMARY_ONLY"
                        "RUNTIME_LIBRARY;TABLE_FUNCTION;EXPECTATIONS;TIME_LIMIT;SIZE;KERNELS" "")
  foreach(needed RUNTIME_LIBRARY TABLE_FUNCTION)
    if(NOT arg_${needed})
      message(FATAL_ERROR "outback_add_runtime_suite(${name}): ${needed} is missing")
    endif()
  endforeach()
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "outback_add_runtime_suite(${name}): what is ${arg_UNPARSED_ARGUMENTS}?")
  endif()
  outback_add_runtime_suite_program(${name} ${arg_RUNTIME_LIBRARY} ${arg_TABLE_FUNCTION})

  set(options "")
  if(arg_EXPECTATIONS)
    get_filename_component(file "${arg_EXPECTATIONS}" ABSOLUTE)
    if(NOT EXISTS "${file}")
      message(FATAL_ERROR "outback_add_runtime_suite(${name}): there is no ${file}")
    endif()
    set(options "--expectations=${file}")
  endif()
  set(limit 300)
  set(limit_of_all 600)
  if(arg_TIME_LIMIT)
    if(NOT arg_TIME_LIMIT MATCHES "^[1-9][0-9]*$")
      message(FATAL_ERROR "outback_add_runtime_suite(${name}): TIME_LIMIT is ${arg_TIME_LIMIT}: expected seconds")
    endif()
    set(limit ${arg_TIME_LIMIT})
    math(EXPR limit_of_all "10 * ${limit}")
    list(APPEND options "--time-limit=${limit}")
  endif()
  if(arg_SIZE)
    list(APPEND options "--size=${arg_SIZE}")
  endif()
  if(arg_KERNELS)
    list(APPEND options "--kernels=${arg_KERNELS}")
  endif()
  math(EXPR limit_of_one "${limit} + 30") # the program ends before, and says in what

  if(NOT arg_SUMMARY_ONLY)
    include(GoogleTest)
    gtest_discover_tests(${name} TEST_PREFIX "${name}." EXTRA_ARGS ${options} DISCOVERY_TIMEOUT 60
                         PROPERTIES TIMEOUT ${limit_of_one})
  endif()
  add_test(NAME ${name}.summary COMMAND ${name} ${options} $<$<BOOL:${arg_WHOLE}>:--whole> COMMAND_EXPAND_LISTS)
  # 4: it found nothing to test, where a filter left no more than what the runtime has not got.
  set_tests_properties(${name}.summary PROPERTIES TIMEOUT ${limit_of_all} SKIP_RETURN_CODE 4)
  add_test(NAME ${name}.programs COMMAND ${name} ${options} --gtest_filter=ProgramTest.* --programs=10000
                                         --time-limit=3600 CONFIGURATIONS long)
  set_tests_properties(${name}.programs PROPERTIES TIMEOUT 3600 LABELS long)
endfunction()
