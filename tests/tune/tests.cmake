# hone run from the outside.
if(TARGET hone)
  add_test(NAME tune/run COMMAND /usr/bin/python3 ${CMAKE_SOURCE_DIR}/tests/tune/run.py
           $<TARGET_FILE:hone>)
  set_tests_properties(tune/run PROPERTIES LABELS session TIMEOUT 400)
  add_test(NAME tune/two_cores COMMAND /usr/bin/python3
           ${CMAKE_SOURCE_DIR}/tests/tune/two_cores.py $<TARGET_FILE:hone>)
  set_tests_properties(tune/two_cores PROPERTIES LABELS session TIMEOUT 300)
endif()
if(TARGET hone)
  add_test(NAME tune/budgets COMMAND /usr/bin/python3 ${CMAKE_SOURCE_DIR}/tests/tune/budgets.py
           $<TARGET_FILE:hone>)
  set_tests_properties(tune/budgets PROPERTIES LABELS session TIMEOUT 400)
endif()
# Children of hone are killed at random moments.
if(TARGET hone AND CMAKE_SYSTEM_NAME STREQUAL "Linux")
  add_test(NAME tune/killed_children
           COMMAND /usr/bin/python3 ${CMAKE_SOURCE_DIR}/tests/tune/killed.py $<TARGET_FILE:hone>)
  set_tests_properties(tune/killed_children PROPERTIES LABELS session TIMEOUT 500)
endif()
# Two hones share the machine's memory.
if(TARGET hone)
  add_test(NAME tune/hones_together
           COMMAND /usr/bin/python3 ${CMAKE_SOURCE_DIR}/tests/tune/together.py $<TARGET_FILE:hone>)
  set_tests_properties(tune/hones_together PROPERTIES LABELS session TIMEOUT 400)
endif()
# A new user at the screens, in a terminal of tmux's.
if(TARGET hone)
  add_test(NAME tune/person_at_the_screens
           COMMAND /usr/bin/python3 ${CMAKE_SOURCE_DIR}/tests/tune/person.py $<TARGET_FILE:hone>)
  set_tests_properties(tune/person_at_the_screens PROPERTIES LABELS session TIMEOUT 300
                       SKIP_RETURN_CODE 77)
endif()
# Services of models out of order.
if(TARGET hone)
  add_test(NAME tune/outages_of_services
           COMMAND /usr/bin/python3 ${CMAKE_SOURCE_DIR}/tests/tune/outages.py $<TARGET_FILE:hone>)
  set_tests_properties(tune/outages_of_services PROPERTIES LABELS session TIMEOUT 400)
endif()
# doc/events.md is what the table of events says; HONE_REGEN=1 writes it anew.
add_test(NAME house/events_reference COMMAND test_tune_events)
set_tests_properties(house/events_reference PROPERTIES LABELS unit)
# A session with a model by script: what it read is what its events say; it names what matters.
if(TARGET hone)
  add_test(NAME tune/questions_of_a_session
           COMMAND /usr/bin/python3 ${CMAKE_SOURCE_DIR}/tests/tune/record.py $<TARGET_FILE:hone>
           --live $<TARGET_FILE:test_tune_situations> 3)
  set_tests_properties(tune/questions_of_a_session PROPERTIES LABELS session TIMEOUT 600)
endif()
# The kernels that prompts show are correct.
if(TARGET hone)
  add_test(NAME tune/examples COMMAND /usr/bin/python3 ${CMAKE_SOURCE_DIR}/tests/tune/examples.py
           $<TARGET_FILE:hone>)
  set_tests_properties(tune/examples PROPERTIES LABELS session TIMEOUT 200)
endif()
# Bandwidth, floors and what times rest on are one in prompts, texts and files, for every seed.
if(TARGET hone)
  add_test(NAME tune/told_alike COMMAND /usr/bin/python3 ${CMAKE_SOURCE_DIR}/tests/tune/agree.py
           $<TARGET_FILE:hone>)
  set_tests_properties(tune/told_alike PROPERTIES LABELS session TIMEOUT 1800)
endif()
