# Two components: `runtime` is what runs scenarios (the program, its pages, the schema, the library of scenarios),
# `development` is what find_package(hooke) needs. Each can be installed alone: cmake --install DIR --component runtime.
include(CMakePackageConfigHelpers)

if(TARGET hooke)
  install(TARGETS hooke COMPONENT runtime)
endif()
# Manual pages and completions are what hooke prints of itself.
if(TARGET hooke AND NOT CMAKE_CROSSCOMPILING)
  set(pages ${CMAKE_CURRENT_BINARY_DIR}/pages)
  install(CODE "
    file(REMOVE_RECURSE \"${pages}\")
    file(MAKE_DIRECTORY \"${pages}/man1\")
    execute_process(COMMAND \"$<TARGET_FILE:hooke>\" man --directory \"${pages}/man1\" COMMAND_ERROR_IS_FATAL ANY)
    foreach(shell bash zsh fish)
      execute_process(COMMAND \"$<TARGET_FILE:hooke>\" completion \${shell} OUTPUT_FILE \"${pages}/\${shell}\"
        COMMAND_ERROR_IS_FATAL ANY)
    endforeach()" COMPONENT runtime)
  install(DIRECTORY ${pages}/man1 DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT runtime)
  install(FILES ${pages}/bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME hooke
    COMPONENT runtime)
  install(FILES ${pages}/zsh DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions RENAME _hooke COMPONENT runtime)
  install(FILES ${pages}/fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d RENAME hooke.fish
    COMPONENT runtime)
endif()
install(FILES scenarios/scenario.schema.json DESTINATION ${CMAKE_INSTALL_DATADIR}/hooke COMPONENT runtime)
install(FILES ${output_schemas} DESTINATION ${CMAKE_INSTALL_DATADIR}/hooke/schemas COMPONENT runtime)
install(DIRECTORY scenarios/library DESTINATION ${CMAKE_INSTALL_DATADIR}/hooke COMPONENT runtime
  FILES_MATCHING PATTERN "*.json")

# find_package(hooke) gives hooke::scenarios (run a scenario), hooke::properties_invariants (write an invariant) and
# the layers below.
get_property(libraries GLOBAL PROPERTY HOOKE_LIBRARIES)
install(TARGETS ${libraries} EXPORT hooke-targets COMPONENT development)
install(DIRECTORY sim model properties scenarios reports DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/hooke
  COMPONENT development
  FILES_MATCHING PATTERN "*.h" PATTERN "unit" EXCLUDE PATTERN "property" EXCLUDE PATTERN "conformance" EXCLUDE
  PATTERN "library" EXCLUDE PATTERN "fuzz" EXCLUDE PATTERN "consumer" EXCLUDE PATTERN "structure" EXCLUDE)
set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/hooke)
install(EXPORT hooke-targets NAMESPACE hooke:: DESTINATION ${config_dir} COMPONENT development)
configure_package_config_file(.cmake/hooke-config.cmake.in hooke-config.cmake INSTALL_DESTINATION ${config_dir})
write_basic_package_version_file(hooke-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/hooke-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/hooke-config-version.cmake
  DESTINATION ${config_dir} COMPONENT development)
