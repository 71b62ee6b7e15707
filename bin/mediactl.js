#!/usr/bin/env node
// Starts dist/mediactl.cjs with a compile cache, which halves the start-up time. Node 22 has one built in;
// for Node 20, code-cache.js implements it.
const { existsSync } = require('node:fs');
const { enableCompileCache } = require('node:module');
const { join } = require('node:path');
const { cacheFolder } = require('./cache-folder.js');

const dist = join(__dirname, '../dist');
const start = (folder) => {
  if (folder && !enableCompileCache) return require('./code-cache.js')(dist, 'mediactl.cjs', folder);
  if (folder) enableCompileCache(folder);
  require('../dist/mediactl.cjs');
};

if (existsSync(join(dist, 'mediactl.cjs'))) start(cacheFolder());
else {
  process.stderr.write('error: mediactl is not built\n  try:   npm ci && npm run build\n');
  process.exitCode = 1;
}
