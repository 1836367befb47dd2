# hone_embed(target pattern...): puts files into the binary as one generated C file, under the path
# they have in the source tree. core/base/files/embed.h reads them. A folder stands for all files
# below it; NAME=FILE puts a file that the build made under that name.
function(hone_embed target)
  set(files "")
  set(made "")
  set(named "")
  foreach(pattern IN LISTS ARGN)
    if(pattern MATCHES "^[^=]+=(.+)$")
      list(APPEND made ${CMAKE_MATCH_1})
      list(APPEND named ${pattern})
      continue()
    elseif(IS_DIRECTORY ${CMAKE_SOURCE_DIR}/${pattern})
      file(GLOB_RECURSE found CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${pattern}/*)
    else()
      file(GLOB found CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${pattern})
    endif()
    list(APPEND files ${found})
  endforeach()
  list(FILTER files EXCLUDE REGEX "/__pycache__/|/\\.hone/|\\.swp$")
  set(output ${CMAKE_BINARY_DIR}/embedded.c)
  string(JOIN "\n" names ${files} ${named})
  file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/embedded.list CONTENT "${names}\n")
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DLIST=${CMAKE_BINARY_DIR}/embedded.list -DOUTPUT=${output}
            -DROOT=${CMAKE_SOURCE_DIR} -P ${CMAKE_SOURCE_DIR}/cmake/embed_files.cmake
    DEPENDS ${files} ${made} ${CMAKE_BINARY_DIR}/embedded.list
            ${CMAKE_SOURCE_DIR}/cmake/embed_files.cmake
    VERBATIM)
  add_library(${target} OBJECT ${output})
  target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}/core)
endfunction()

# hone_pack_runner(output [--compiled]): packs the remote runner, with the module it shares with
# core/task and the tables it shares with C, into one zip archive that Python runs.
function(hone_pack_runner output)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  set(root ${CMAKE_SOURCE_DIR}/core/runner/remote)
  set(shared core/task/harness.py core/runner/messages/messages.def core/nki/release/releases.def
      core/nki/program/generations.def)
  list(TRANSFORM shared PREPEND ${CMAKE_SOURCE_DIR}/)
  set(script ${CMAKE_SOURCE_DIR}/cmake/pack_runner.py)
  file(GLOB_RECURSE names RELATIVE ${root} CONFIGURE_DEPENDS ${root}/*.py)
  set(sources ${names})
  list(TRANSFORM sources PREPEND ${root}/)
  add_custom_command(OUTPUT ${output}
    COMMAND ${Python3_EXECUTABLE} ${script} ${ARGN} ${output} ${root} ${names} ${shared}
    DEPENDS ${sources} ${shared} ${script}
    VERBATIM)
endfunction()

# hone_make_harness(program code): what the Python of a reference runs, the parts of core/task in
# one file, and its byte code for the Python of this build.
function(hone_make_harness program code)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  set(parts harness.py outline.py record/arrays.py record/operations.py record/functions.py
      record/fold.py record/graph.py record/tensors.py record/work.py record/steps.py main.py)
  list(TRANSFORM parts PREPEND ${CMAKE_SOURCE_DIR}/core/task/)
  set(script ${CMAKE_SOURCE_DIR}/cmake/harness.py)
  add_custom_command(OUTPUT ${program} ${code}
    COMMAND ${Python3_EXECUTABLE} ${script} ${program} ${code} ${parts}
    DEPENDS ${parts} ${script}
    VERBATIM)
endfunction()
