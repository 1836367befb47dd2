# What holds for the tree as a whole.
add_test(NAME house/layers COMMAND /usr/bin/python3 ${CMAKE_SOURCE_DIR}/tests/house/layers.py
         ${CMAKE_SOURCE_DIR})
add_test(NAME house/layers_fail_on_a_wrong_arrow
         COMMAND bash ${CMAKE_SOURCE_DIR}/tests/house/layers_test.sh)
set_tests_properties(house/layers house/layers_fail_on_a_wrong_arrow PROPERTIES LABELS unit)
add_test(NAME house/format COMMAND bash ${CMAKE_SOURCE_DIR}/tests/house/format.sh
         ${CMAKE_SOURCE_DIR})
set_tests_properties(house/format PROPERTIES LABELS unit SKIP_RETURN_CODE 77)
add_test(NAME house/columns COMMAND /usr/bin/python3 ${CMAKE_SOURCE_DIR}/tests/house/columns.py
         ${CMAKE_SOURCE_DIR})
set_tests_properties(house/columns PROPERTIES LABELS unit)
if(TARGET hone)
  foreach(page configuration glossary hardware)
    add_test(NAME house/${page}_reference
             COMMAND bash ${CMAKE_SOURCE_DIR}/tests/house/reference.sh $<TARGET_FILE:hone>
                     ${CMAKE_SOURCE_DIR}/doc/${page}.md)
    set_tests_properties(house/${page}_reference PROPERTIES LABELS unit)
  endforeach()
  add_test(NAME house/words COMMAND /usr/bin/python3 ${CMAKE_SOURCE_DIR}/tests/house/words.py
           $<TARGET_FILE:hone> ${CMAKE_SOURCE_DIR})
  add_test(NAME house/codes COMMAND /usr/bin/python3 ${CMAKE_SOURCE_DIR}/tests/house/codes.py
           ${CMAKE_SOURCE_DIR} $<TARGET_FILE:hone>)
  set_tests_properties(house/words house/codes PROPERTIES LABELS unit)
endif()
add_test(NAME house/pages COMMAND /usr/bin/python3 ${CMAKE_SOURCE_DIR}/tests/house/pages.py
         ${CMAKE_SOURCE_DIR})
set_tests_properties(house/pages PROPERTIES LABELS unit)
# By the symbols of a whole build as it is on Linux, where nothing is left out and nothing inlined.
if(TARGET hone AND CMAKE_NM AND CMAKE_SYSTEM_NAME STREQUAL Linux
   AND CMAKE_BUILD_TYPE STREQUAL Debug)
  add_test(NAME house/windows COMMAND /usr/bin/python3 ${CMAKE_SOURCE_DIR}/tests/house/windows.py
           ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR} ${CMAKE_NM})
  set_tests_properties(house/windows PROPERTIES LABELS unit)
endif()
