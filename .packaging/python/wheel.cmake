# The target hooke_wheel links the program once more, for make_wheel.
# The wheel carries the libraries that a machine may lack; its program looks for them beside itself first.
if(TARGET hooke)
  add_executable(hooke_wheel EXCLUDE_FROM_ALL $<TARGET_OBJECTS:hooke>)
  get_target_property(hooke_links hooke LINK_LIBRARIES)
  target_link_libraries(hooke_wheel PRIVATE ${hooke_links})
  target_link_options(hooke_wheel PRIVATE -Wl,-z,relro,-z,now -Wl,-s)
  set_target_properties(hooke_wheel PROPERTIES ENABLE_EXPORTS ON RUNTIME_OUTPUT_DIRECTORY wheel OUTPUT_NAME hooke
    BUILD_RPATH $ORIGIN)
endif()
