// Bundles the sources to CommonJS: one file for the tool, one for the sandbox, one for its media
// worker. Dynamic imports become lazy requires, so a command pays for what it uses.
import { rmSync } from 'node:fs';
import { build, context } from 'esbuild';

/** Packages with native parts; they stay what npm installed. */
const external = ['libsql', '@napi-rs/blake-hash', '@napi-rs/keyring'];

const options = {
  entryPoints: {
    mediactl: 'src/main.ts',
    sandbox: 'src/sandbox/main.ts',
    'media-worker': 'src/sandbox/media/worker.ts',
    reference: 'src/reference/reference.ts',
  },
  outdir: 'dist',
  outExtension: { '.js': '.cjs' },
  bundle: true,
  platform: 'node',
  target: 'node20.19',
  format: 'cjs',
  minify: true,
  legalComments: 'linked',
  external,
  logLevel: 'warning',
};

if (process.argv.includes('--watch')) await (await context(options)).watch();
else {
  rmSync('dist', { recursive: true, force: true });
  await build(options);
}
