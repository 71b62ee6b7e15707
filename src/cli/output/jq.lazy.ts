import { runInNewContext } from 'node:vm';
import jqWeb from 'jq-web';

type Jq = { raw(json: string, filter: string, flags: string[]): string | undefined };

const defaultLimitMs = 60_000;

/**
 * Runs a jq filter over JSON text. Returns one result per line, with strings raw and everything else as compact
 * JSON. Returns jq's error message if the filter fails, or a timeout message if it does not finish.
 */
export async function runJq(
  json: string,
  filter: string,
  limitMs = defaultLimitMs,
): Promise<{ text: string } | { problem: string }> {
  const jq = (await jqWeb) as Jq;
  try {
    // jq blocks this thread, so a timer could not fire. V8's own timeout can interrupt it.
    const run = () => jq.raw(json, filter, ['-c', '-r']) ?? '';
    return { text: runInNewContext('run()', { run }, { timeout: limitMs, breakOnSigint: true }) as string };
  } catch (error) {
    if ((error as { code?: string }).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT')
      return { problem: `it did not finish within ${limitMs / 1000} s` };
    const { stderr, message } = error as Error & { stderr?: string };
    return { problem: (stderr || message).replace(/^jq: /, '').trim() };
  }
}
