# Evaluations on a real Slurm on loopback; 77 says that something is missing here.
add_executable(target_cluster ${CMAKE_CURRENT_LIST_DIR}/cluster.c
               ${CMAKE_SOURCE_DIR}/tests/hosts/slurm.c)
target_link_libraries(target_cluster PRIVATE hone_hosts_lab PkgConfig::CMOCKA)
target_compile_definitions(target_cluster PRIVATE
  HONE_SOURCE_DIR="${CMAKE_SOURCE_DIR}" HONE_BINARY_DIR="${CMAKE_BINARY_DIR}")
add_test(NAME target/cluster COMMAND target_cluster)
set_tests_properties(target/cluster PROPERTIES LABELS cluster TIMEOUT 240 SKIP_RETURN_CODE 77)
