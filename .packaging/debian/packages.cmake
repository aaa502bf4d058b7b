# `cpack -G DEB` in the build directory makes hooke_VERSION_ARCH.deb and libhooke-dev_VERSION_ARCH.deb.
set(CPACK_PACKAGE_NAME hooke)
set(CPACK_PACKAGE_VENDOR hooke)
set(HOOKE_PACKAGE_CONTACT "hooke <hooke@example.org>" CACHE STRING "Maintainer of the Debian packages: name and address")
set(CPACK_PACKAGE_CONTACT ${HOOKE_PACKAGE_CONTACT})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL runtime development)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_SOURCE_DIR}/.packaging/debian/finish.cmake)

set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME hooke)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION science)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SHLIBDEPS ON)
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION "hooke plays a job of PyTorch Distributed Elastic (torchrun) with its agents,
stores, networks, crashes and clocks in one thread, from one seed: every run
repeats bit for bit. The same protocol code runs on real machines, beside
torchrun's agents. The library of scenarios is in /usr/share/hooke.")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libhooke-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
  "libboost-fiber-dev, nlohmann-json3-dev, libfmt-dev, libssl-dev, libpugixml-dev")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "Libraries and headers, what find_package(hooke) gives a C++ project: run
scenarios, write an invariant, bring a rendezvous, an agent or timers of its own.")
include(CPack)
