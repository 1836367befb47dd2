# Every page of hone docs: its name is one that a release documents, and its example computes what
# it says.
if(TARGET hone)
  add_executable(docs_evaluate ${CMAKE_SOURCE_DIR}/tests/docs/evaluate.c)
  target_link_libraries(docs_evaluate PRIVATE hone_all)
  add_test(NAME docs/examples COMMAND /usr/bin/python3 ${CMAKE_SOURCE_DIR}/tests/docs/examples.py
           $<TARGET_FILE:hone> $<TARGET_FILE:docs_evaluate>)
  set_tests_properties(docs/examples PROPERTIES LABELS session TIMEOUT 120)
endif()
if(TARGET hone)
  add_test(NAME docs/lookup COMMAND /usr/bin/python3 ${CMAKE_SOURCE_DIR}/tests/docs/lookup.py
           $<TARGET_FILE:hone>)
  set_tests_properties(docs/lookup PROPERTIES LABELS session TIMEOUT 120)
endif()
if(TARGET hone)
  add_test(NAME docs/skills COMMAND /usr/bin/python3 ${CMAKE_SOURCE_DIR}/tests/docs/skills.py
           $<TARGET_FILE:hone>)
  set_tests_properties(docs/skills PROPERTIES LABELS session TIMEOUT 900)
endif()
