import { runInNewContext } from 'node:vm';
import jqWeb from 'jq-web';

/** jq itself, compiled to WebAssembly. */
type Jq = { raw(json: string, filter: string, flags: string[]): string | undefined };

const defaultLimitMs = 60_000;

/**
 * Runs a jq filter over JSON text: strings come out bare, everything else as compact JSON, a line
 * each. Returns jq's own words if the filter or the value does not fit, or if the filter does not end.
 */
export async function runJq(
  json: string,
  filter: string,
  limitMs = defaultLimitMs,
): Promise<{ text: string } | { problem: string }> {
  const jq = (await jqWeb) as Jq;
  try {
    // jq runs in this thread, where no timer fires: V8 itself ends it.
    const run = () => jq.raw(json, filter, ['-c', '-r']) ?? '';
    return {
      text: runInNewContext('run()', { run }, { timeout: limitMs, breakOnSigint: true }) as string,
    };
  } catch (error) {
    if ((error as { code?: string }).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT')
      return { problem: `it did not end within ${limitMs / 1000} s` };
    const { stderr, message } = error as Error & { stderr?: string };
    return { problem: (stderr || message).replace(/^jq: /, '').trim() };
  }
}
