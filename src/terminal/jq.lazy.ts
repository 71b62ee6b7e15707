import jqWeb from 'jq-web';

/** jq itself, compiled to WebAssembly. */
type Jq = { raw(json: string, filter: string, flags: string[]): string };

/**
 * Runs a jq filter over JSON text: strings come out bare, everything else as compact JSON, a line
 * each. jq's own words where the filter or the value does not fit.
 */
export async function runJq(
  json: string,
  filter: string,
): Promise<{ text: string } | { problem: string }> {
  const jq = (await jqWeb) as Jq;
  try {
    return { text: jq.raw(json, filter, ['-c', '-r']) };
  } catch (error) {
    const { stderr, message } = error as Error & { stderr?: string };
    return { problem: (stderr || message).replace(/^jq: /, '').trim() };
  }
}
