# Transports against real SSH servers. behaviour WAY is what all three do alike, connections WAY what
# the two over SSH do alike.
set(scene ${CMAKE_CURRENT_LIST_DIR}/scene.c)
function(transport_test name way)
  add_test(NAME transport/${name}_${way} COMMAND hosts_transport_${name} ${way})
  set_tests_properties(transport/${name}_${way} PROPERTIES LABELS hosts TIMEOUT 120
                       SKIP_RETURN_CODE 77)
endfunction()
hosts_program(transport/behaviour ${CMAKE_CURRENT_LIST_DIR}/behaviour.c ${scene})
hosts_program(transport/connections ${CMAKE_CURRENT_LIST_DIR}/connections.c ${scene})
if(CMAKE_SYSTEM_NAME STREQUAL "Linux")      # network namespaces
  hosts_program(transport/network ${CMAKE_CURRENT_LIST_DIR}/network.c ${scene})
endif()
transport_test(behaviour local)
foreach(way libssh2 ssh)
  if(TARGET hosts_transport_network)
    transport_test(network ${way})
  endif()
  transport_test(behaviour ${way})
  transport_test(connections ${way})
endforeach()
hosts_test(transport/choice ${CMAKE_CURRENT_LIST_DIR}/choice.c ${scene})

# Logging in with what a person answers: libpam of the server under test is a stand-in.
if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
  add_library(fake_pam MODULE ${CMAKE_CURRENT_LIST_DIR}/fake_pam.c)
  target_include_directories(fake_pam PRIVATE ${CMAKE_SOURCE_DIR}/tests)
  hosts_test(transport/login ${CMAKE_CURRENT_LIST_DIR}/login.c ${scene})
  target_compile_definitions(hosts_transport_login PRIVATE FAKE_PAM="$<TARGET_FILE:fake_pam>")
  add_dependencies(hosts_transport_login fake_pam)
endif()
hosts_test(transport/links ${CMAKE_CURRENT_LIST_DIR}/links.c ${scene})
