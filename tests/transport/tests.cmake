# Transports against real SSH servers: behaviour WAY is what all three do alike.
set(scene ${CMAKE_CURRENT_LIST_DIR}/scene.c)
hosts_test(transport/behaviour_local ${CMAKE_CURRENT_LIST_DIR}/behaviour.c ${scene})
foreach(way libssh2 ssh)
  add_test(NAME transport/behaviour_${way} COMMAND hosts_transport_behaviour_local ${way})
  set_tests_properties(transport/behaviour_${way} PROPERTIES LABELS hosts TIMEOUT 120
                       SKIP_RETURN_CODE 77)
endforeach()
