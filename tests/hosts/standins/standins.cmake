# Stand-ins for hosts of each SDK line. The self-test drives them alone, the way Neuron's
# documentation says the real ones are driven. The others have the remote runner evaluate kernels on
# them, the last one over SSH. They take long, so they are started first.
function(standins_test name script)
  add_test(NAME hosts/${name}
           COMMAND /usr/bin/python3 ${CMAKE_SOURCE_DIR}/tests/hosts/standins/${script}.py
           $<TARGET_FILE:hone> ${ARGN})
  set_tests_properties(hosts/${name} PROPERTIES LABELS hosts TIMEOUT 900 COST 100)
endfunction()
if(TARGET hone)
  standins_test(standins selftest)
  standins_test(verdicts verdicts ${HONE_RUNNER_INSIDE} Good)
  standins_test(verdicts_of_bad_kernels verdicts ${HONE_RUNNER_INSIDE} Bad)
  standins_test(verdicts_about_speed verdicts ${HONE_RUNNER_INSIDE} Speed Clocks)
  standins_test(verdicts_where_something_is_wrong verdicts ${HONE_RUNNER_INSIDE} Wrong)
  standins_test(verdicts_where_the_host_is_wrong verdicts ${HONE_RUNNER_INSIDE} Hosts)
  standins_test(seams_of_another_shape seams ${HONE_RUNNER_INSIDE} Shapes)
  standins_test(seams_told_and_heard seams ${HONE_RUNNER_INSIDE} Told Heard)
  standins_test(opinions opinions ${HONE_RUNNER_INSIDE})
  standins_test(opinions_here local ${HONE_RUNNER_INSIDE})
  standins_test(conforming_old conforming ${HONE_RUNNER_INSIDE} Old Changed)
  standins_test(conforming_new conforming ${HONE_RUNNER_INSIDE} New)
  standins_test(chain chain $<TARGET_FILE:hosts_lab>)
  standins_test(calibrating calibrating $<TARGET_FILE:hosts_lab>)
  set_tests_properties(hosts/calibrating PROPERTIES SKIP_RETURN_CODE 77)
  set_tests_properties(hosts/chain PROPERTIES SKIP_RETURN_CODE 77)
endif()
