# CPack runs this on the staged files of each package: what Debian's policy asks for beyond `cmake --install`, that is
# compressed manual pages, a changelog and the licence.
file(GLOB packages LIST_DIRECTORIES true "${CPACK_TEMPORARY_INSTALL_DIRECTORY}/*")
set(names_runtime hooke)
set(names_development libhooke-dev)
string(TIMESTAMP now "%a, %d %b %Y %H:%M:%S +0000" UTC)
foreach(staged ${packages})
  cmake_path(GET staged FILENAME component)
  if(NOT names_${component})
    continue()
  endif()
  set(name ${names_${component}})
  set(doc "${staged}/usr/share/doc/${name}")
  file(MAKE_DIRECTORY "${doc}")
  file(READ "${CMAKE_CURRENT_LIST_DIR}/../../LICENSE" licence)
  file(WRITE "${doc}/copyright" "${licence}")
  file(WRITE "${doc}/changelog" "hooke (${CPACK_PACKAGE_VERSION}) unstable; urgency=low\n
  * Built from the sources of this version.\n
 -- ${CPACK_PACKAGE_CONTACT}  ${now}\n")
  file(GLOB pages "${staged}/usr/share/man/man1/*.1")
  execute_process(COMMAND gzip -9nf "${doc}/changelog" ${pages} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
