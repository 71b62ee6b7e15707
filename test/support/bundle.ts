import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { build, stop } from 'esbuild';

const repository = fileURLToPath(new URL('../..', import.meta.url));
const libsql = createRequire(import.meta.url).resolve('libsql');

/** Bundles TypeScript, whose imports begin with ./src, into a module that Node.js runs in any folder. */
export async function bundle(contents: string, outfile: string): Promise<void> {
  await build({
    stdin: { contents, resolveDir: repository, loader: 'ts' },
    alias: { libsql },
    external: [libsql],
    ...{ bundle: true, platform: 'node', format: 'esm', outfile, logLevel: 'error' },
  });
  await stop(); // esbuild's own process
}
