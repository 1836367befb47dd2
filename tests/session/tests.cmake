# The whole program in a pseudo-terminal, its screen read through libvterm.
pkg_check_modules(VTERM REQUIRED IMPORTED_TARGET vterm)
if(TARGET hone)
  add_executable(session_workbench ${CMAKE_CURRENT_LIST_DIR}/workbench.c
                 ${CMAKE_CURRENT_LIST_DIR}/terminal.c)
  target_link_libraries(session_workbench PRIVATE hone_all PkgConfig::CMOCKA PkgConfig::VTERM util)
  target_include_directories(session_workbench PRIVATE ${CMAKE_SOURCE_DIR}/tests)
  target_compile_definitions(session_workbench PRIVATE HONE_BINARY_DIR="${CMAKE_BINARY_DIR}")
  add_dependencies(session_workbench hone)
  add_test(NAME session/workbench COMMAND session_workbench)
  set_tests_properties(session/workbench PROPERTIES LABELS session TIMEOUT 300)

  add_executable(session_models ${CMAKE_CURRENT_LIST_DIR}/models.c
                 ${CMAKE_CURRENT_LIST_DIR}/terminal.c)
  target_link_libraries(session_models PRIVATE hone_all PkgConfig::CMOCKA PkgConfig::VTERM util)
  target_include_directories(session_models PRIVATE ${CMAKE_SOURCE_DIR}/tests)
  target_compile_definitions(session_models PRIVATE HONE_BINARY_DIR="${CMAKE_BINARY_DIR}"
                             HONE_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  add_dependencies(session_models hone)
  add_test(NAME session/models COMMAND session_models)
  set_tests_properties(session/models PROPERTIES LABELS session TIMEOUT 300)

  # Random keys; each run has a seed of its own.
  add_executable(session_monkey ${CMAKE_CURRENT_LIST_DIR}/monkey.c
                 ${CMAKE_CURRENT_LIST_DIR}/terminal.c)
  target_link_libraries(session_monkey PRIVATE hone_all PkgConfig::CMOCKA PkgConfig::VTERM util)
  target_include_directories(session_monkey PRIVATE ${CMAKE_SOURCE_DIR}/tests)
  target_compile_definitions(session_monkey PRIVATE HONE_BINARY_DIR="${CMAKE_BINARY_DIR}")
  add_dependencies(session_monkey hone)
  add_test(NAME session/monkey COMMAND session_monkey)
  set_tests_properties(session/monkey PROPERTIES LABELS session TIMEOUT 120)

  # A host at a terminal; tests/hosts is included before this folder.
  hosts_test(session/place ${CMAKE_CURRENT_LIST_DIR}/place.c ${CMAKE_CURRENT_LIST_DIR}/terminal.c)
  target_link_libraries(hosts_session_place PRIVATE PkgConfig::VTERM util)
  add_dependencies(hosts_session_place hone)
endif()
