# Sources in Python as a part of a library.
#
# Included by ../CMakeLists.txt; backend_template/CMakeLists.txt calls it, with the list of these sources. embed.py does the
# work, with the Python whose torch is compiled against.
include_guard(GLOBAL)

# outback_embed(<target> FOLDER <folder> SOURCES <name>... [HEADERS <folder> <name>... AS <source>])
#
# Makes <folder>/<name>.py a part of <target>, as the list of backend_template/python/embedded_sources.h. An edit of one of
# them compiles that list again, and nothing else.
#
#   <target>           a library of the calling folder
#   FOLDER <folder>    where the sources are, relative to the calling folder
#   SOURCES <name>...  without ".py"; a source that is not listed is not there. A folder is a package, with a source such as
#                      "compile/__init__"
#   HEADERS <folder>   relative to the calling folder, and the names of headers there: each becomes a text, with what it
#     <name>...        includes in quotes in place of the lines that include it
#   AS <source>        the source with these texts, HEADERS[<name>]
#
# Example: outback_embed(outback_python FOLDER module/_outback SOURCES __init__ graphs)
function(outback_embed target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "FOLDER;AS" "SOURCES;HEADERS")
  set(folder "${CMAKE_CURRENT_SOURCE_DIR}/${arg_FOLDER}")
  set(made "${CMAKE_CURRENT_BINARY_DIR}/embedded_sources.cpp")
  set(script "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/embed.py")
  set(headers "")
  if(arg_HEADERS)
    list(POP_FRONT arg_HEADERS header_folder)
    set(header_folder "${CMAKE_CURRENT_SOURCE_DIR}/${header_folder}")
    set(headers --headers "${arg_AS}" "${header_folder}" ${arg_HEADERS})
    file(GLOB_RECURSE header_files CONFIGURE_DEPENDS "${header_folder}/outback/dialect/*")
    list(APPEND header_files "${header_folder}/outback/dialect.h" "${header_folder}/outback/host_kernel.h")
  endif()
  list(TRANSFORM arg_SOURCES REPLACE "(.+)" "${folder}/\\1.py" OUTPUT_VARIABLE files)
  # A fixed seed, so that what is compiled is the same in every build, and ccache knows it.
  add_custom_command(
    OUTPUT "${made}"
    COMMAND "${CMAKE_COMMAND}" -E env PYTHONHASHSEED=0 "${Python_EXECUTABLE}" -S "${script}" "${made}" "${folder}"
            ${arg_SOURCES} ${headers}
    DEPENDS ${files} ${header_files} "${script}" "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/inline_includes.py"
    COMMENT "Embedding sources in Python"
    VERBATIM)
  # A library of its own, that depends on nothing: what makes a source waits for all that its library depends on, and the
  # library's other sources would wait for it.
  add_library(${target}_embedded OBJECT ${files} "${made}")
  target_include_directories(${target}_embedded PRIVATE "${PROJECT_SOURCE_DIR}")
  outback_target_defaults(${target}_embedded)
  target_sources(${target} PRIVATE $<TARGET_OBJECTS:${target}_embedded>)
endfunction()
