# The commands of the shell as a user calls them.
add_test(NAME cli/commands COMMAND /usr/bin/python3 ${CMAKE_SOURCE_DIR}/tests/cli/commands.py
         $<TARGET_FILE:hone>)
set_tests_properties(cli/commands PROPERTIES LABELS unit TIMEOUT 300)
# A loop without an end is stopped after so many steps that a sanitised build takes some seconds.
add_test(NAME cli/endless COMMAND /usr/bin/python3 ${CMAKE_SOURCE_DIR}/tests/cli/commands.py
         $<TARGET_FILE:hone> Endless)
set_tests_properties(cli/endless PROPERTIES LABELS session TIMEOUT 300)
add_test(NAME cli/settings COMMAND /usr/bin/python3 ${CMAKE_SOURCE_DIR}/tests/cli/settings.py
         $<TARGET_FILE:hone>)
set_tests_properties(cli/settings PROPERTIES LABELS unit TIMEOUT 120)
add_test(NAME cli/models COMMAND /usr/bin/python3 ${CMAKE_SOURCE_DIR}/tests/cli/models.py
         $<TARGET_FILE:hone>)
set_tests_properties(cli/models PROPERTIES LABELS session TIMEOUT 300)
add_test(NAME cli/sessions COMMAND /usr/bin/python3 ${CMAKE_SOURCE_DIR}/tests/cli/sessions.py
         $<TARGET_FILE:hone>)
set_tests_properties(cli/sessions PROPERTIES LABELS session TIMEOUT 900)
add_test(NAME cli/tasks COMMAND /usr/bin/python3 ${CMAKE_SOURCE_DIR}/tests/cli/tasks.py
  $<TARGET_FILE:hone>)
set_tests_properties(cli/tasks PROPERTIES LABELS unit TIMEOUT 120)

# A wall clock that is set meanwhile; the library that sets it is preloaded.
add_library(clock_set MODULE ${CMAKE_CURRENT_LIST_DIR}/clock_set.c)
target_link_libraries(clock_set PRIVATE ${CMAKE_DL_LIBS})
add_test(NAME cli/clock COMMAND /usr/bin/python3 ${CMAKE_SOURCE_DIR}/tests/cli/clock.py
         $<TARGET_FILE:hone> $<TARGET_FILE:clock_set>)
set_tests_properties(cli/clock PROPERTIES LABELS session TIMEOUT 300)
# Kernels from references alone.
add_test(NAME cli/new COMMAND /usr/bin/python3 ${CMAKE_SOURCE_DIR}/tests/cli/new.py
         $<TARGET_FILE:hone>)
set_tests_properties(cli/new PROPERTIES LABELS session COST 60 TIMEOUT 300)
add_test(NAME cli/new_rows COMMAND /usr/bin/python3 ${CMAKE_SOURCE_DIR}/tests/cli/new_rows.py
         $<TARGET_FILE:hone>)
set_tests_properties(cli/new_rows PROPERTIES LABELS session COST 60 TIMEOUT 600)
add_test(NAME cli/new_chains COMMAND /usr/bin/python3 ${CMAKE_SOURCE_DIR}/tests/cli/new_chains.py
         $<TARGET_FILE:hone>)
set_tests_properties(cli/new_chains PROPERTIES LABELS session TIMEOUT 600)
add_test(NAME cli/new_more COMMAND /usr/bin/python3 ${CMAKE_SOURCE_DIR}/tests/cli/new_more.py
         $<TARGET_FILE:hone>)
set_tests_properties(cli/new_more PROPERTIES LABELS session COST 60 TIMEOUT 600)
add_test(NAME cli/new_images COMMAND /usr/bin/python3 ${CMAKE_SOURCE_DIR}/tests/cli/new_images.py
         $<TARGET_FILE:hone>)
set_tests_properties(cli/new_images PROPERTIES LABELS session COST 60 TIMEOUT 600)
add_test(NAME cli/new_older COMMAND /usr/bin/python3 ${CMAKE_SOURCE_DIR}/tests/cli/new_older.py
         $<TARGET_FILE:hone>)
set_tests_properties(cli/new_older PROPERTIES LABELS session TIMEOUT 600)
add_test(NAME cli/new_scans COMMAND /usr/bin/python3 ${CMAKE_SOURCE_DIR}/tests/cli/new_scans.py
         $<TARGET_FILE:hone>)
set_tests_properties(cli/new_scans PROPERTIES LABELS session TIMEOUT 600)
add_test(NAME cli/new_fast COMMAND /usr/bin/python3 ${CMAKE_SOURCE_DIR}/tests/cli/new_fast.py
         $<TARGET_FILE:hone>)
set_tests_properties(cli/new_fast PROPERTIES LABELS session TIMEOUT 600)
add_test(NAME cli/products COMMAND /usr/bin/python3 ${CMAKE_SOURCE_DIR}/tests/cli/products.py
         $<TARGET_FILE:hone>)
set_tests_properties(cli/products PROPERTIES LABELS session COST 60 TIMEOUT 300)
# The loop with kernels written anew.
add_test(NAME cli/anew COMMAND /usr/bin/python3 ${CMAKE_SOURCE_DIR}/tests/cli/anew.py
         $<TARGET_FILE:hone>)
set_tests_properties(cli/anew PROPERTIES LABELS session COST 60 TIMEOUT 300)
if(TARGET hone)
  add_test(NAME cli/install COMMAND /usr/bin/python3 ${CMAKE_SOURCE_DIR}/tests/cli/install.py
           ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR})
  set_tests_properties(cli/install PROPERTIES LABELS unit TIMEOUT 300)
endif()
# What commands print for people.
if(TARGET hone_cli)
  add_executable(cli_said ${CMAKE_CURRENT_LIST_DIR}/said.c)
  target_link_libraries(cli_said PRIVATE hone_cli PkgConfig::CMOCKA)
  add_test(NAME cli/said COMMAND cli_said)
  set_tests_properties(cli/said PROPERTIES LABELS unit)
endif()
# Questions to profiles and sessions.
add_test(NAME cli/query COMMAND /usr/bin/python3 ${CMAKE_SOURCE_DIR}/tests/cli/query.py
         $<TARGET_FILE:hone>)
set_tests_properties(cli/query PROPERTIES LABELS session TIMEOUT 300)
add_test(NAME cli/tables COMMAND /usr/bin/python3 ${CMAKE_SOURCE_DIR}/tests/cli/tables.py
         $<TARGET_FILE:hone>)
set_tests_properties(cli/tables PROPERTIES LABELS session TIMEOUT 300)
# Agents that work on a session.
add_test(NAME cli/mcp COMMAND /usr/bin/python3 ${CMAKE_SOURCE_DIR}/tests/cli/mcp.py
         $<TARGET_FILE:hone>)
set_tests_properties(cli/mcp PROPERTIES LABELS session TIMEOUT 1800)
add_test(NAME cli/mcp_wire COMMAND /usr/bin/python3 ${CMAKE_SOURCE_DIR}/tests/cli/mcp_wire.py
         $<TARGET_FILE:hone>)
set_tests_properties(cli/mcp_wire PROPERTIES LABELS session TIMEOUT 900)
add_test(NAME cli/mcp_given COMMAND /usr/bin/python3 ${CMAKE_SOURCE_DIR}/tests/cli/mcp_given.py
         $<TARGET_FILE:hone>)
set_tests_properties(cli/mcp_given PROPERTIES LABELS session TIMEOUT 300)
add_test(NAME cli/mcp_plans COMMAND /usr/bin/python3 ${CMAKE_SOURCE_DIR}/tests/cli/mcp_plans.py
         $<TARGET_FILE:hone>)
set_tests_properties(cli/mcp_plans PROPERTIES LABELS session TIMEOUT 900)
# Kernels that cheat; and of honest ones here some, all of them by the label bench.
add_test(NAME cli/cheats COMMAND /usr/bin/python3 ${CMAKE_SOURCE_DIR}/tests/cli/cheats.py
         $<TARGET_FILE:hone> 4)
add_test(NAME bench/cheats COMMAND /usr/bin/python3 ${CMAKE_SOURCE_DIR}/tests/cli/cheats.py
         $<TARGET_FILE:hone> 16 80 4)
set_tests_properties(cli/cheats PROPERTIES LABELS session TIMEOUT 900)
set_tests_properties(bench/cheats PROPERTIES LABELS bench TIMEOUT 7200)
add_test(NAME cli/decisions COMMAND /usr/bin/python3 ${CMAKE_SOURCE_DIR}/tests/cli/decisions.py
         $<TARGET_FILE:hone>)
set_tests_properties(cli/decisions PROPERTIES LABELS session TIMEOUT 300)
# Kernels that Python evaluates.
add_test(NAME cli/tracing COMMAND /usr/bin/python3 ${CMAKE_SOURCE_DIR}/tests/cli/tracing.py
         $<TARGET_FILE:hone> ${CMAKE_SOURCE_DIR}/seeds)
set_tests_properties(cli/tracing PROPERTIES LABELS session TIMEOUT 900)
