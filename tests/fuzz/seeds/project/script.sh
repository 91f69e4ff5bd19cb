#!/usr/bin/env python3
# docker
import a.b
. ./lib.sh $HERE/x.sh ../y
npm run x; make; sh setup
"docker.sock"
