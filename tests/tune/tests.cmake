# hone run from the outside.
if(TARGET hone)
  add_test(NAME tune/run COMMAND /usr/bin/python3 ${CMAKE_SOURCE_DIR}/tests/tune/run.py
           $<TARGET_FILE:hone>)
  set_tests_properties(tune/run PROPERTIES LABELS session TIMEOUT 400)
endif()
if(TARGET hone)
  add_test(NAME tune/budgets COMMAND /usr/bin/python3 ${CMAKE_SOURCE_DIR}/tests/tune/budgets.py
           $<TARGET_FILE:hone>)
  set_tests_properties(tune/budgets PROPERTIES LABELS session TIMEOUT 400)
endif()
