#!/usr/bin/env node
// Node 22 keeps compiled code between runs; Node 20 has no such cache and starts without.
require('node:module').enableCompileCache?.();
require('../dist/mediactl.cjs');
