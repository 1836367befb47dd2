# Evaluations on a real Slurm on loopback; 77 says that something is missing here.
add_executable(target_cluster ${CMAKE_CURRENT_LIST_DIR}/cluster.c
               ${CMAKE_SOURCE_DIR}/tests/hosts/slurm.c)
target_link_libraries(target_cluster PRIVATE hone_hosts_lab PkgConfig::CMOCKA)
target_compile_definitions(target_cluster PRIVATE
  HONE_SOURCE_DIR="${CMAKE_SOURCE_DIR}" HONE_BINARY_DIR="${CMAKE_BINARY_DIR}")
add_test(NAME target/cluster COMMAND target_cluster)
set_tests_properties(target/cluster PROPERTIES LABELS cluster TIMEOUT 240 SKIP_RETURN_CODE 77)
if(TARGET hone)
  add_test(NAME target/cluster_chain COMMAND /usr/bin/python3
           ${CMAKE_CURRENT_LIST_DIR}/cluster_chain.py $<TARGET_FILE:hone>)
  set_tests_properties(target/cluster_chain PROPERTIES LABELS cluster TIMEOUT 240
                       SKIP_RETURN_CODE 77)
endif()

# Hosts behind real SSH servers.
if(TARGET hone)
  add_executable(target_hosts ${CMAKE_CURRENT_LIST_DIR}/hosts.c)
  target_link_libraries(target_hosts PRIVATE hone_hosts_lab PkgConfig::CMOCKA)
  target_compile_definitions(target_hosts PRIVATE HONE_SOURCE_DIR="${CMAKE_SOURCE_DIR}"
    HONE_PROGRAM="$<TARGET_FILE:hone>")
  add_dependencies(target_hosts hone)
  add_test(NAME target/hosts COMMAND target_hosts)
  set_tests_properties(target/hosts PROPERTIES LABELS hosts TIMEOUT 240 SKIP_RETURN_CODE 77)
endif()
