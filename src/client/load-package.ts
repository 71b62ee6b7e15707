import { MediactlError } from './errors.ts';

/** Loads a package that is installed beside mediactl. @throws MediactlError `not_installed` (exit 1) if it is missing */
export async function loadPackage<T>(name: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    const [reason] = (error as Error).message.split('\n');
    const explanation = { code: 'not_installed', reason, underlying: error } as const;
    throw new MediactlError(`mediactl is not fully installed: cannot load ${name}`, explanation);
  }
}
