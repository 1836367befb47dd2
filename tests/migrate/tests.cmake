# Kernels migrated from release to release: each row of the table, and numbers before and after.
add_test(NAME migrate/migrate COMMAND /usr/bin/python3
         ${CMAKE_SOURCE_DIR}/tests/migrate/migrate.py $<TARGET_FILE:hone>)
set_tests_properties(migrate/migrate PROPERTIES LABELS session TIMEOUT 300)
