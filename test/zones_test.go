package test

import _ "time/tzdata" // the tests' own zones, also where the system has none
