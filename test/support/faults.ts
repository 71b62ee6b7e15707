import { parseFault } from '../../src/sandbox/faults/parse.ts';

/** The names of all faults, as the service itself lists them where one is not known. */
export function faultUsagesIn(): string[] {
  try {
    parseFault('none-of-them');
  } catch (error) {
    const [, list = ''] = /there are (.*)$/.exec((error as Error).message) ?? [];
    return list.split(', ').map((usage) => usage.replace(/[=[].*$/, ''));
  }
  throw new Error('a fault that there is not was understood');
}
