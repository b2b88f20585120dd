# Sources in Python as a part of a library.
include_guard(GLOBAL)

# outback_embed(<target> FOLDER <folder> SOURCES <name>...): makes <folder>/<name>.py a part of <target>, as the list of
# backend_template/python/embedded_sources.h. To be called in the folder in which the target was made, since no other one's
# targets learn what makes a source.
function(outback_embed target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "FOLDER" "SOURCES")
  set(folder "${CMAKE_CURRENT_SOURCE_DIR}/${arg_FOLDER}")
  set(made "${CMAKE_CURRENT_BINARY_DIR}/embedded_sources.cpp")
  set(script "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/embed.py")
  list(TRANSFORM arg_SOURCES REPLACE "(.+)" "${folder}/\\1.py" OUTPUT_VARIABLE files)
  # A fixed seed, so that what is compiled is the same in every build, and ccache knows it.
  add_custom_command(
    OUTPUT "${made}"
    COMMAND "${CMAKE_COMMAND}" -E env PYTHONHASHSEED=0 "${Python_EXECUTABLE}" -S "${script}" "${made}" "${folder}"
            ${arg_SOURCES}
    DEPENDS ${files} "${script}"
    COMMENT "Embedding sources in Python"
    VERBATIM)
  # By itself in a unity build, too: an edit is compiled in no time.
  set_source_files_properties("${made}" PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  target_sources(${target} PRIVATE ${files} "${made}")
endfunction()
