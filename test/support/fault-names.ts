import { parseFault } from '../../src/sandbox/faults/parse.ts';

/** Returns the names of all sandbox faults, as the error about an unknown fault lists them. */
export function listFaultNames(): string[] {
  try {
    parseFault('none-of-them');
  } catch (error) {
    const [, list = ''] = /there are (.*)$/.exec((error as Error).message) ?? [];
    return list.split(', ').map((usage) => usage.replace(/[=[].*$/, ''));
  }
  throw new Error('a fault that there is not was understood');
}
