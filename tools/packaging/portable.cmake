# Links all but the C library statically, so that one executable runs on every
# system with a glibc as old as that of the machine it is built on. The archives
# are the distribution's, and those of .deps/portable (tools/setup --portable).
set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
if(NOT EXISTS ${DEPS}/portable/libcurl.a)
	message(FATAL_ERROR "run tools/setup --portable first")
endif()

# portable_needs(TARGET LIBRARY...): what the archive behind an imported target
# needs itself.
function(portable_needs target)
	foreach(name ${ARGN})
		find_library(PORTABLE_${name} ${name} REQUIRED)
		set_property(TARGET ${target} APPEND PROPERTY
			INTERFACE_LINK_LIBRARIES ${PORTABLE_${name}})
	endforeach()
endfunction()

# portable_archive(TARGET NAME): one that tools/setup built.
function(portable_archive target name)
	set_property(TARGET ${target} PROPERTY
		INTERFACE_LINK_LIBRARIES ${DEPS}/portable/lib${name}.a)
endfunction()

# portable_fuse(TARGET): pkg-config names these two, without a path, and the
# linker would take the shared ones.
function(portable_fuse target)
	get_target_property(libraries ${target} INTERFACE_LINK_LIBRARIES)
	list(FILTER libraries EXCLUDE REGEX "uring|numa")
	set_property(TARGET ${target} PROPERTY
		INTERFACE_LINK_LIBRARIES ${libraries})
	portable_needs(${target} uring numa)
endfunction()
