# Planted faults: how often the first statement that is suspected is the faulty one.
add_test(NAME diagnose/faults COMMAND /usr/bin/python3
         ${CMAKE_SOURCE_DIR}/tests/diagnose/faults_test.py $<TARGET_FILE:hone> sample)
set_tests_properties(diagnose/faults PROPERTIES LABELS session TIMEOUT 300)
add_test(NAME diagnose/shown COMMAND /usr/bin/python3
         ${CMAKE_SOURCE_DIR}/tests/diagnose/shown.py $<TARGET_FILE:hone>)
set_tests_properties(diagnose/shown PROPERTIES LABELS unit TIMEOUT 120)
