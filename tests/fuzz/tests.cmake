# Fuzz targets: programs that mutate their own seeds for a few seconds, always the same way. With a
# compiler that has libFuzzer, -DHONE_LIBFUZZER and -fsanitize=fuzzer make the same file its target.
add_executable(fuzz_parse ${CMAKE_SOURCE_DIR}/tests/fuzz/fuzz_parse.c)
target_link_libraries(fuzz_parse PRIVATE hone_all)
add_test(NAME fuzz/parse COMMAND fuzz_parse 5)
set_tests_properties(fuzz/parse PROPERTIES LABELS fuzz TIMEOUT 120)
add_executable(fuzz_protocol ${CMAKE_SOURCE_DIR}/tests/fuzz/fuzz_protocol.c)
target_link_libraries(fuzz_protocol PRIVATE hone_all)
add_test(NAME fuzz/protocol COMMAND fuzz_protocol 60000)
set_tests_properties(fuzz/protocol PROPERTIES LABELS fuzz TIMEOUT 120)
add_executable(fuzz_interp ${CMAKE_SOURCE_DIR}/tests/fuzz/fuzz_interp.c)
target_link_libraries(fuzz_interp PRIVATE hone_all)
add_test(NAME fuzz/interp COMMAND fuzz_interp 5)
set_tests_properties(fuzz/interp PROPERTIES LABELS fuzz TIMEOUT 120)
