# What holds for the tree as a whole.
add_test(NAME house/layers COMMAND bash ${CMAKE_SOURCE_DIR}/tests/house/layers.sh ${CMAKE_SOURCE_DIR})
set_tests_properties(house/layers PROPERTIES LABELS unit)
