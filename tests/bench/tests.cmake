# Measurements, not checks: built with the tests, left out of ./test by the label.
add_executable(term_latency ${CMAKE_SOURCE_DIR}/tests/bench/term_latency.c)
target_link_libraries(term_latency PRIVATE util)

# Kills, flipped bits and cut files: all of it takes an hour or two, a few of each some seconds.
add_test(NAME bench/campaign COMMAND /usr/bin/python3 ${CMAKE_SOURCE_DIR}/tests/bench/campaign.py
         $<TARGET_FILE:hone>)
set_tests_properties(bench/campaign PROPERTIES LABELS bench TIMEOUT 14400)
add_test(NAME session/campaign COMMAND /usr/bin/python3 ${CMAKE_SOURCE_DIR}/tests/bench/campaign.py
         $<TARGET_FILE:hone> --kills 9 --flips 8 --cuts 4)
set_tests_properties(session/campaign PROPERTIES LABELS session TIMEOUT 300)

# The device model beside latencies that were measured: HONE_MEASURED names their table,
# HONE_CHECKOUTS the folder with the kernels' repositories. Fails when a group has become worse.
# bench/order prints which ladders of kernels come out in the wrong order, too. Build it optimised.
add_executable(calibrate ${CMAKE_SOURCE_DIR}/tests/bench/calibrate.c)
target_link_libraries(calibrate PRIVATE hone_all)
# The judges themselves, on rows made for it.
add_test(NAME device/judges COMMAND /usr/bin/python3
         ${CMAKE_SOURCE_DIR}/tests/bench/check_calibrate.py $<TARGET_FILE:calibrate>)
add_test(NAME bench/calibrate COMMAND /usr/bin/python3
         ${CMAKE_SOURCE_DIR}/tests/bench/calibrate.py $<TARGET_FILE:calibrate>)
add_test(NAME bench/order COMMAND /usr/bin/python3 ${CMAKE_SOURCE_DIR}/tests/bench/calibrate.py
         $<TARGET_FILE:calibrate> --order)
set_tests_properties(bench/calibrate bench/order PROPERTIES LABELS bench TIMEOUT 1800)

# A connection in this process beside the system's ssh and sftp; build it with the release preset.
add_executable(bench_transport ${CMAKE_SOURCE_DIR}/tests/bench/transport.c)
target_link_libraries(bench_transport PRIVATE hone_hosts_lab)
add_test(NAME bench/transport COMMAND bench_transport)
set_tests_properties(bench/transport PROPERTIES LABELS bench TIMEOUT 900 SKIP_RETURN_CODE 77)

# What kernels without measure take until they are refused; build it with the release preset.
if(TARGET hone)
  add_test(NAME bench/bombs COMMAND /usr/bin/python3 ${CMAKE_SOURCE_DIR}/tests/bombs/refused.py
    $<TARGET_FILE:hone> --bench)
  set_tests_properties(bench/bombs PROPERTIES LABELS bench TIMEOUT 900)
endif()

# Many answers at once on the screen; build it with the release preset.
add_executable(bench_streams ${CMAKE_SOURCE_DIR}/tests/bench/streams.c)
target_link_libraries(bench_streams PRIVATE hone_all util)
target_include_directories(bench_streams PRIVATE ${CMAKE_SOURCE_DIR}/tests)
target_compile_definitions(bench_streams PRIVATE HONE_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
if(TARGET hone)
  add_test(NAME bench/streams COMMAND bench_streams -h $<TARGET_FILE:hone>)
else()
  add_test(NAME bench/streams COMMAND bench_streams)
endif()
set_tests_properties(bench/streams PROPERTIES LABELS bench TIMEOUT 300)

# Long sessions, how opening them grows; build it with the release preset. 100 000 attempts on
# request:
# bench_sessions -n 100000 -f FOLDER -h HONE
if(TARGET hone)
  add_executable(bench_sessions ${CMAKE_SOURCE_DIR}/tests/bench/sessions.c)
  target_link_libraries(bench_sessions PRIVATE hone_all util)
  target_include_directories(bench_sessions PRIVATE ${CMAKE_SOURCE_DIR}/tests)
  target_compile_definitions(bench_sessions PRIVATE HONE_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  add_test(NAME bench/sessions COMMAND bench_sessions -h $<TARGET_FILE:hone>)
  set_tests_properties(bench/sessions PROPERTIES LABELS bench TIMEOUT 900)
endif()

# The state after every event of sessions as hashes, to compare two builds: bench_states FOLDER...
add_executable(bench_states ${CMAKE_SOURCE_DIR}/tests/bench/states.c)
target_link_libraries(bench_states PRIVATE hone_all)

# How far the rewriter comes from published baselines; HONE_CHECKOUTS has their repositories.
if(TARGET hone)
  add_test(NAME bench/baselines COMMAND /usr/bin/python3
    ${CMAKE_SOURCE_DIR}/tests/bench/baselines.py $<TARGET_FILE:hone>)
  set_tests_properties(bench/baselines PROPERTIES LABELS bench TIMEOUT 7200 SKIP_RETURN_CODE 77)
endif()

# How fast the clock is and how it grows with the kernel; build it with the release preset.
add_executable(bench_clock_speed ${CMAKE_SOURCE_DIR}/tests/bench/clock_speed.c)
target_link_libraries(bench_clock_speed PRIVATE hone_all)
add_test(NAME bench/clock_speed COMMAND bench_clock_speed)
set_tests_properties(bench/clock_speed PROPERTIES LABELS bench TIMEOUT 900)

# Questions to the profile of a million instructions; build it with the release preset.
add_executable(bench_queries ${CMAKE_SOURCE_DIR}/tests/bench/queries.c)
target_link_libraries(bench_queries PRIVATE hone_all)
add_test(NAME bench/queries COMMAND bench_queries)
set_tests_properties(bench/queries PROPERTIES LABELS bench TIMEOUT 900)

# Four agents that hand in 500 kernels at once, and how long their cheap tools take; build it with
# the release preset.
if(TARGET hone)
  add_test(NAME bench/agents COMMAND /usr/bin/python3 ${CMAKE_SOURCE_DIR}/tests/bench/agents.py
    $<TARGET_FILE:hone>)
  set_tests_properties(bench/agents PROPERTIES LABELS bench TIMEOUT 1800)
  # The same while their session's holder and agents are killed, and what hone run says of each
  # kernel; a few of them in ./test.
  foreach(crowd "cli 8 2" "bench 500 4")
    separate_arguments(crowd)
    list(POP_FRONT crowd label)
    add_test(NAME ${label}/crowd COMMAND /usr/bin/python3
      ${CMAKE_SOURCE_DIR}/tests/bench/crowd.py $<TARGET_FILE:hone> ${crowd})
  endforeach()
  set_tests_properties(cli/crowd PROPERTIES LABELS session TIMEOUT 900)
  set_tests_properties(bench/crowd PROPERTIES LABELS bench TIMEOUT 3600)
endif()

# What the questions of recorded sessions cost as this build puts them; build it with the release
# preset. What they bring with a model: prompts.py HONE MODEL, or one of ours: --reader.
add_executable(bench_prompts ${CMAKE_SOURCE_DIR}/tests/bench/prompts.c)
target_link_libraries(bench_prompts PRIVATE hone_all)
target_include_directories(bench_prompts PRIVATE ${CMAKE_SOURCE_DIR}/tests)
target_compile_definitions(bench_prompts PRIVATE HONE_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
add_test(NAME bench/prompts COMMAND bench_prompts)
set_tests_properties(bench/prompts PROPERTIES LABELS bench TIMEOUT 300)

# The same with a model by script whose prices stand in the settings, on a small task: a check.
if(TARGET hone)
  add_test(NAME tune/gain_of_questions COMMAND /usr/bin/python3
    ${CMAKE_SOURCE_DIR}/tests/bench/prompts_test.py $<TARGET_FILE:hone>)
  set_tests_properties(tune/gain_of_questions PROPERTIES LABELS session TIMEOUT 900)
endif()
