# hone_embed(target pattern...): puts files into the binary as one generated C file, under the path
# they have in the source tree. core/base/embed.h reads them. A folder stands for all files below it.
function(hone_embed target)
  set(files "")
  foreach(pattern IN LISTS ARGN)
    if(IS_DIRECTORY ${CMAKE_SOURCE_DIR}/${pattern})
      file(GLOB_RECURSE found CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${pattern}/*)
    else()
      file(GLOB found CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${pattern})
    endif()
    list(APPEND files ${found})
  endforeach()
  list(FILTER files EXCLUDE REGEX "/__pycache__/|/\\.hone/|\\.swp$")
  set(output ${CMAKE_BINARY_DIR}/embedded.c)
  string(JOIN "\n" names ${files})
  file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/embedded.list CONTENT "${names}\n")
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DLIST=${CMAKE_BINARY_DIR}/embedded.list -DOUTPUT=${output}
            -DROOT=${CMAKE_SOURCE_DIR} -P ${CMAKE_SOURCE_DIR}/cmake/embed_files.cmake
    DEPENDS ${files} ${CMAKE_BINARY_DIR}/embedded.list ${CMAKE_SOURCE_DIR}/cmake/embed_files.cmake
    VERBATIM)
  add_library(${target} OBJECT ${output})
  target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}/core)
endfunction()
