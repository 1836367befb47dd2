# Stand-ins for hosts of each SDK line. The self-test drives them alone, the way Neuron's documentation
# says the real ones are driven.
if(TARGET hone)
  add_test(NAME hosts/standins COMMAND /usr/bin/python3 ${CMAKE_CURRENT_LIST_DIR}/selftest.py
           $<TARGET_FILE:hone>)
  set_tests_properties(hosts/standins PROPERTIES LABELS hosts TIMEOUT 240)
endif()
