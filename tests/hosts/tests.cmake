# The lab: real SSH servers on loopback for the tests of every folder. They link hone_hosts_lab and
# carry the label hosts; 77 says that something is missing here.
add_library(hone_hosts_lab STATIC ${CMAKE_CURRENT_LIST_DIR}/lab.c ${CMAKE_CURRENT_LIST_DIR}/sshd.c
            ${CMAKE_CURRENT_LIST_DIR}/relay.c ${CMAKE_CURRENT_LIST_DIR}/keeper.c)
target_include_directories(hone_hosts_lab PUBLIC ${CMAKE_SOURCE_DIR}/tests)
target_link_libraries(hone_hosts_lab PUBLIC hone_all)
add_executable(hosts_lab ${CMAKE_CURRENT_LIST_DIR}/main.c)
target_link_libraries(hosts_lab PRIVATE hone_hosts_lab)

# hosts_program(FOLDER/NAME SOURCES...): a cmocka program hosts_FOLDER_NAME that may use the lab.
function(hosts_program name)
  string(REPLACE "/" "_" target "hosts_${name}")
  add_executable(${target} ${ARGN})
  target_link_libraries(${target} PRIVATE hone_hosts_lab PkgConfig::CMOCKA)
  target_compile_definitions(${target} PRIVATE
    HONE_SOURCE_DIR="${CMAKE_SOURCE_DIR}" HONE_BINARY_DIR="${CMAKE_BINARY_DIR}")
endfunction()
# hosts_test(FOLDER/NAME SOURCES...): the program and a test that runs it.
function(hosts_test name)
  string(REPLACE "/" "_" target "hosts_${name}")
  hosts_program(${name} ${ARGN})
  add_test(NAME ${name} COMMAND ${target})
  set_tests_properties(${name} PROPERTIES LABELS hosts TIMEOUT 120 SKIP_RETURN_CODE 77)
endfunction()

hosts_test(hosts/lab ${CMAKE_CURRENT_LIST_DIR}/lab_self.c)
include(${CMAKE_CURRENT_LIST_DIR}/standins/standins.cmake)
